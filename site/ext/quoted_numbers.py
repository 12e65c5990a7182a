"""A number that a page quotes from a chapter shows the chapter's claim and its scope.

It is a term of the glossary: a script shows the meaning under the pointer, on focus and at a tap,
and the number leads to the claim. The meanings stand in a folded list at the page's end, drawn from
the chapters' files of claims.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from page_description import ended
from sphinx.application import Sphinx

from scansnap_core.ledger.claims import Claims, read_claims
from scansnap_core.ledger.display import rich
from scansnap_core.ledger.registry import notebook_of, read_pages

QUOTED = re.compile(r'<data value="(?P<page>\w+):(?P<name>\w+)">(?P<number>.*?)</data>', re.DOTALL)
"""A number of another page, in a page's HTML."""


def read_all(app: Sphinx) -> None:
    """Read the claims of every chapter that has some, once a build."""
    book = Path(app.srcdir)
    found: dict[str, tuple[str, str, Claims]] = {}
    for page in read_pages(book).values():
        notebook = notebook_of(page.id, book)
        claims = notebook.with_suffix(".yaml")
        if claims.is_file():
            document = notebook.resolve().relative_to(book.resolve()).with_suffix("").as_posix()
            found[page.id] = document, page.name, read_claims(claims)
    app.env.quotable = found  # type: ignore[attr-defined]


def meaning(name: str, title: str, claims: Claims) -> tuple[str, str] | None:
    """Return the id of the claim that a number belongs to, and its description as HTML.

    None if it belongs to no claim.
    """
    scope = claims.numbers.get(name)
    claim = claims.claims.get(scope.of if scope else name)
    if claim is None:
        return None
    paragraphs = [f"<strong>{escape(ended(title))}</strong> {rich(claim.says)}."]
    if scope:
        paragraphs.append(f"<em>Measured on:</em> {rich(scope.scope)}.")
    paragraphs.append(f"<em>Control:</em> {rich(claim.control)}.")
    return claim.id, "".join(f"<p>{line}</p>" for line in paragraphs)


def mark_page(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Link the numbers that a page quotes, and list what they mean."""
    if doctree is None or app.builder.name != "html":
        return
    quotable: dict[str, tuple[str, str, Claims]] = getattr(app.env, "quotable", {})
    listed: dict[tuple[str, str], str] = {}

    def link(quoted: re.Match[str]) -> str:
        if quoted["page"] not in quotable:
            return quoted[0]
        document, title, claims = quotable[quoted["page"]]
        found = meaning(quoted["name"], title, claims)
        if found is None:
            return quoted[0]
        claim_id, words = found
        address = f"{app.builder.get_relative_uri(pagename, document)}#claim-{claim_id}"
        anchor = f"number-{quoted['page']}-{quoted['name']}".replace("_", "-")
        listed[quoted["page"], quoted["name"]] = (
            f'<dt id="{anchor}"><a href="{address}">{quoted["number"]}</a></dt><dd>{words}</dd>'
        )
        return f'<a class="ss-term" href="{address}" data-terms="{anchor}">{quoted[0]}</a>'

    context["body"] = QUOTED.sub(link, context["body"])
    if listed:
        head = f"Where the numbers on this page come from ({len(listed)})"
        context["body"] += (
            "<details "
            f'class="ss-symbols"><summary>{head}</summary><dl>{"".join(listed.values())}</dl></details>'
        )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", read_all)
    # Before the glossary, which leaves links alone.
    app.connect("html-page-context", mark_page, priority=550)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
