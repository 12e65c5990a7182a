"""Turns a notebook's plain Markdown, which every reader understands, into what the site shows.

Below a chapter's heading and its first paragraph stands the verdict's card, and below a statement
as printed stand what is tried of it, in a fold, and the links to what it rests on. At its end
stands how to check it. A paragraph that is one link into the lab becomes the lab itself, folded. A
link to an erratum or to the references becomes one to the very entry. Numbers for the prose aren't
shown.
"""

import json
import re
from typing import Any

from sphinx.application import Sphinx
from tried import READING, fold

from scansnap_core.ledger.display import anchor_of
from scansnap_core.ledger.prose import NUMBERS_MIME
from scansnap_core.ledger.registry import KEY
from scansnap_core.ledger.verdicts import VERDICT_MIME, Verdict

_CARD = "```{verdict-card}\n```"
_END = {
    "cell_type": "markdown",
    "id": "check-yourself",
    "metadata": {},
    "source": "```{check-yourself}\n```",
}
_LAB = re.compile(r"^\[([^\]]+)\]\([./]*lab\.md#([^)]+)\)$", re.MULTILINE)
_FOLDED_LAB = """```{raw} html
<details><summary>\\1</summary>
```
```{lab} \\2
```
```{raw} html
</details>
```"""
_ERRATUM = re.compile(r"\[(E\d+)\]\([./]*errata\.md#e\d+\)")
_CITED = re.compile(r"\[[^\]]+\]\([./]*references\.md#(\w+)\)")
_QUOTE = re.compile(r"^(?:>.*\n?)+", re.MULTILINE)


def for_the_site(notebook: dict[str, Any], page_id: str) -> dict[str, Any]:
    """Return the notebook with the site's own elements in its text."""
    page = notebook["metadata"].get(KEY, {})
    links = (
        f"\n\n```{{statement-links}} {page_id}\n```\n"
        if "number" in page and page["kind"] != "figure"
        else ""
    )
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    read = (Verdict.of_json(output.get("data", {}).get(VERDICT_MIME)) for output in outputs)
    verdict = next(filter(None, read), Verdict(page_id))
    for cell in notebook["cells"]:
        if "outputs" in cell:  # an empty text would be drawn as an empty box
            cell["outputs"] = [
                output for output in cell["outputs"] if NUMBERS_MIME not in output.get("data", {})
            ]
    texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    for cell in texts:
        text = "".join(cell["source"])
        text = _LAB.sub(_FOLDED_LAB, text)
        text = _ERRATUM.sub(r"{erratum}`\1`", text)
        cell["source"] = _CITED.sub(r"{cite}`\1`", text)
    if texts:
        head, _, rest = texts[0]["source"].partition("\n\n")
        texts[0]["source"] = _with_card(head, rest, bool(verdict.card))
        printed = next((cell for cell in texts if _quote(cell["source"])), texts[0])
        printed["source"] = _with_links(printed["source"], _tried(verdict) + links)
        if verdict.card:
            notebook["cells"].append(dict(_END))
    return notebook


def _tried(verdict: Verdict) -> str:
    found = fold(((f"#{anchor_of(entry.id)}", entry) for entry in verdict.tried), reading=READING)
    return f"\n\n```{{raw}} html\n{found}\n```\n" if found else ""


def _with_card(head: str, rest: str, has_card: bool) -> str:
    sentence, _, rest = rest.partition("\n\n") if rest.startswith("**In short") else ("", "", rest)
    return "\n\n".join(part for part in (head, sentence, _CARD if has_card else "", rest) if part)


def _quote(text: str) -> re.Match[str] | None:
    return next((q for q in _QUOTE.finditer(text) if ", as printed.**" in q[0]), None)


def _with_links(text: str, links: str) -> str:
    quote = _quote(text)
    return text if quote is None else text[: quote.end()] + links + text[quote.end() :]


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).endswith(".ipynb"):
        source[0] = json.dumps(for_the_site(json.loads(source[0]), docname.rpartition("/")[2]))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
