"""Directives for what the ledger knows.

They draw the board, the dependency graph, proofs, what survives, what isn't known, and a
statement's links.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from stored_once import place_of, stored_in

from scansnap_core import ledger
from scansnap_core.book.board import board_html, holding_html, proofs_html
from scansnap_core.book.graph import graph_svg
from scansnap_core.book.open_points import LABELS, marked, sampled_html, untried_html
from scansnap_core.ledger.registry import check_id

_PROOFS = re.compile(
    r'<table class="ss-proofs">.*?<th scope="col">(.*?)</th>.*?</table>', re.DOTALL
)


COMPUTED = ("equations", "errata", "open")
"""Pages of what is computed, to which drawings lead."""


class LedgerDirective(SphinxDirective):
    """Puts what the ledger draws from the chapters' stored outputs into the page."""

    draw: ClassVar[dict[str, Callable[[Path, Callable[[str], str]], str]]] = {
        "statement-board": board_html,
        "dependency-graph": graph_svg,
        "proofs": proofs_html,
        "what-survives": holding_html,
        "untried": untried_html,
        "only-sampled": sampled_html,
    }

    def run(self) -> list[nodes.Node]:
        """Draw what the directive's name asks for."""
        # A chapter that doesn't exist yet can't be noted as a dependency, so every build reads the
        # page again.
        self.env.note_reread()
        drawing = fold_proofs(self.draw[self.name](Path(self.env.srcdir), page_urls(self)))
        return [nodes.raw("", f'<div class="ss-scroll">{drawing}</div>', format="html")]


def fold_proofs(drawing: str) -> str:
    """Fold the long tables of proofs, each under what it lists."""

    def fold(table: re.Match[str]) -> str:
        rows = table[0].count("<tr>") - 1
        return (
            f'<details class="ss-fold"><summary>The {rows} claims that are '
            f"{table[1]}</summary>{table[0]}</details>"
        )

    return _PROOFS.sub(fold, drawing)


def page_urls(directive: SphinxDirective) -> Callable[[str], str]:
    """Map a page's id to its address as seen from the page that the directive is on.

    In a small book what is computed stands on the first page.
    """
    documents = {document.rpartition("/")[2]: document for document in directive.env.found_docs}
    for name in COMPUTED:
        documents.setdefault(name, place_of(name, Path(directive.env.srcdir)))
    this_document = directive.env.docname
    builder = directive.env.app.builder

    def page_url(page_id: str) -> str:
        if page_id not in documents:
            raise directive.error(f"the chapter {page_id} is missing in _toc.yml")
        return str(builder.get_relative_uri(this_document, documents[page_id]))

    return page_url


class StatementLinks(SphinxDirective):
    """Links a statement to what it rests on and to what rests on it, where a chapter exists."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Take the edges from the registry."""
        self.env.note_reread()
        pages = stored_in(self.env.app).pages
        check_id(self.arguments[0], pages)
        page = pages[self.arguments[0]]
        statements = ledger.statements(pages).values()
        rows = {
            "The statement rests on": [pages[i] for i in page.uses],
            "Its proof rests on": [pages[i] for i in page.proof_uses],
            "Statements that rest on it": [s for s in statements if page.id in s.uses],
            "Proofs that rest on it": [s for s in statements if page.id in s.proof_uses],
        }
        items = nodes.definition_list(classes=["ss-links"])
        for term, others in rows.items():
            text = nodes.paragraph("", "", *self._links(others))
            items += nodes.definition_list_item(
                "", nodes.term("", term), nodes.definition("", text)
            )
        return [items]

    def _links(self, pages: Iterable[ledger.Page]) -> list[nodes.Node]:
        documents = {document.rpartition("/")[2]: document for document in self.env.found_docs}
        links: list[nodes.Node] = []
        for page in pages:
            link: nodes.Node = nodes.inline("", page.name)
            if page.id in documents:
                target = f"/{documents[page.id]}"
                link = pending_xref(
                    "",
                    link,
                    refdomain="std",
                    reftype="doc",
                    reftarget=target,
                    refexplicit=True,
                    refwarn=True,
                )
            links += [nodes.Text(", "), link] if links else [link]
        return links or [nodes.Text("nothing")]


class OpenPoints(SphinxDirective):
    """What the chapters mark with a label, such as conjectures, in their own words."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the chapters in every build."""
        label = self.arguments[0]
        if label not in LABELS:
            raise self.error(f"no label is called {label}; use {', '.join(LABELS)}")
        self.env.note_reread()
        documents = {document.rpartition("/")[2]: document for document in self.env.found_docs}
        points = marked(Path(self.env.srcdir), label)
        lines = [
            f"- [{point.page.name}](/{documents[point.page.id]}): {point.text}" for point in points
        ]
        return self.parse_text_to_nodes("\n".join(lines))


def load_graph(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give the script that lights up the graph to the page that holds it."""
    if doctree and any('class="ss-graph"' in node.astext() for node in doctree.findall(nodes.raw)):
        app.add_js_file("graph.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    for name in LedgerDirective.draw:
        app.add_directive(name, LedgerDirective)
    app.add_directive("statement-links", StatementLinks)
    app.add_directive("open-points", OpenPoints)
    app.connect("html-page-context", load_graph)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
