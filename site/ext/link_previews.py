"""A link to a page or an erratum shows, under the pointer and on focus, what stands there.

The previews are a page's first sentences, and what an erratum corrects. They stand once, in a
script of their own, which the glossary's script loads at the first link that is pointed at. So they
work offline, and cost a page nothing.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from page_description import description_of, plain, shortened
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from scansnap_core.book.errata import read_errata
from scansnap_core.ledger.contents import document_of

FILE = "previews.js"
_FORMULA = re.compile(r"\$+(.*?)\$+", re.DOTALL)


def keep_description(app: Sphinx, doctree: nodes.document) -> None:
    """Keep a page's title and first sentences."""
    title = next(iter(doctree.findall(nodes.title)), None)
    words = description_of(doctree)
    if title is not None and words:
        _previews(app.env)[app.env.docname] = [title.astext(), words]


def forget_description(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    _previews(env).pop(docname, None)


def without_tex(text: str) -> str:
    r"""Write a text's formulas in plain letters.

    Examples
    --------
    >>> without_tex(r"It is $\eta_Y/K$.")
    'It is η_Y/K.'
    """
    return _FORMULA.sub(lambda formula: plain(formula[1]), text)


def of_errata(book: Path) -> dict[str, list[str]]:
    """Return the previews of the errata, by the address of each below the site's root."""
    found = {}
    page = document_of("errata", book)
    for erratum in read_errata(book):
        first = erratum.places[0]
        words = f"Printed: {first.refutation.printed}. Repair: {first.refutation.repair}."
        title = f"{erratum.number}: {first.name}"
        found[f"{page}#{erratum.anchor}"] = [title, shortened(without_tex(words))]
    return found


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write all previews as a script: a page opened from the disk can read no other file."""
    if exception or app.builder.name != "html":
        return
    previews = dict(sorted(_previews(app.env).items())) | of_errata(Path(app.srcdir))
    text = json.dumps(previews, ensure_ascii=False)
    Path(app.outdir, "_static", FILE).write_text(f"window.ssPreviews = {text};\n", "utf-8")


def _previews(env: BuildEnvironment) -> dict[str, list[str]]:
    if not hasattr(env, "link_previews"):
        env.link_previews = {}  # type: ignore[attr-defined]
    return env.link_previews  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", keep_description)
    app.connect("env-purge-doc", forget_description)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
