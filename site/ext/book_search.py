"""The search: what there is to find, written as a script that a page from the disk can load, in
place of Sphinx's own.

Sphinx's index knows no equation's number and no symbol, and ranks code like prose. Here code isn't
read at all, and each part of a page carries the numbers of its equations and the symbols of its
formulas.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from page_text import parts_of
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from symbols import SYMBOL_ROW
from tex_symbols import symbols

from scansnap_core import ledger
from scansnap_core.base import files

SYNONYMS = Path("chapters", "synonyms.yaml")
"""What else a page is found under; a book may do without."""
CODE_PAGES = ("chapters/api", "chapters/modules")
"""The code's own description comes after all prose."""
CLAIM_WEIGHT = 0.3
"""A single claim weighs so much beside the section that it stands in."""
_FORMULA = re.compile(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", re.DOTALL)
_NUMBERS = re.compile(r"\((\d{1,3})(?:\)?\s*(?:-|–|to)\s*\(?(\d{1,3}))?\)")


def equations_in(text: str) -> list[int]:
    """List the equations that a text names as (88), (44)-(46) or (44-46)."""
    return sorted(
        {
            n
            for a, b in _NUMBERS.findall(_FORMULA.sub(" ", text))
            for n in range(int(a), int(b or a) + 1)
        }
    )


def symbols_in(text: str) -> str:
    """List the symbols of a text's formulas, as readers type them."""
    found = (symbol for formula in _FORMULA.findall(text) for symbol in symbols("".join(formula)))
    return " ".join(dict.fromkeys(symbol.words for symbol in found))


def documents_of(
    document: str, title: str, body: str, keywords: str, own: Iterable[int]
) -> Iterator[dict[str, Any]]:
    """List what can be found on one page: a record for each of its parts.

    ``keywords`` and the equations ``own`` are the page's. What a row of the notation tables
    explains and an equation in a title are their part's own, and count for more than what its text
    mentions.
    """
    for number, (anchor, heading, text) in enumerate(parts_of(body)):
        spoken_of = symbols_in(heading) if anchor.startswith(SYMBOL_ROW) else ""
        yield {
            "url": f"{document}.html" + (f"#{anchor}" if anchor and number else ""),
            "page": title,
            "title": heading or title,
            "text": text,
            "keywords": f"{keywords if number == 0 else ''} {spoken_of}",
            "symbols": symbols_in(f"{heading} {text}"),
            "own": " ".join(map(str, [*(own if number == 0 else ()), *equations_in(heading)])),
            "named": " ".join(map(str, equations_in(text))),
            "weight": CLAIM_WEIGHT if anchor.startswith("claim-") else 1,
            "last": document in CODE_PAGES,
        }


def collect(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if doctree is None or app.builder.name != "html":
        return
    page = app.env.search_pages.get(pagename.rpartition("/")[2])  # type: ignore[attr-defined]
    keywords = [
        node["content"] for node in doctree.findall(nodes.meta) if node.get("name") == "keywords"
    ]
    keywords += [page.title] if page else []
    keywords += [app.env.search_synonyms.get(pagename.removeprefix("chapters/"), "")]  # type: ignore[attr-defined]
    found = documents_of(
        pagename,
        app.env.titles[pagename].astext(),
        context["body"],
        " ".join(keywords),
        page.equations if page else (),
    )
    app.env.search_documents[pagename] = list(found)  # type: ignore[attr-defined]


def begin(app: Sphinx) -> None:
    app.env.search_documents = {}  # type: ignore[attr-defined]
    synonyms = Path(app.srcdir) / SYNONYMS
    found = files.read(synonyms, example="correct it") if synonyms.is_file() else {}
    app.env.search_synonyms = found  # type: ignore[attr-defined]
    app.env.search_pages = ledger.read_pages(Path(app.srcdir))  # type: ignore[attr-defined]
    if app.builder.name == "html":
        app.builder.search = False  # type: ignore[attr-defined]  # Sphinx's


def add_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "search", {}, "search.html"


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    target = Path(app.outdir, "_static", "search")
    source = Path(app.srcdir, "site/search")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("search.js", "vendor/MiniSearch.js", "vendor/MiniSearch.LICENSE"):
        shutil.copy2(source / name, target)
    found = [record for page in app.env.search_documents.values() for record in page]  # type: ignore[attr-defined]
    script = f"const bookDocuments = {json.dumps(found, ensure_ascii=False)};\n"
    (target / "documents.js").write_text(script, encoding="utf8")
    # Porter's, as Sphinx has it
    (target / "stemmer.js").write_text(SearchEnglish.js_stemmer_code, encoding="utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
