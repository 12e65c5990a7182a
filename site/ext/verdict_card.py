"""``{verdict-card}``: the card of a chapter's stored verdict, with its figure, which links to the
cell that draws it. ``{check-yourself}``: how a reader checks the page.

The site puts the first directive into the chapter's first cell and the second one at its end
(`notebook_source`). A code cell gets its id as an anchor. How a page is checked is the setting
``check_yourself``, as HTML, in which ``{page}`` is the page's id.
"""

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from scansnap_core.book.cited import shown_of
from scansnap_core.book.notebooks import read_notebook, verdicts_in
from scansnap_core.ledger.cards import page_cited
from scansnap_core.ledger.display import anchor_of, card_html
from scansnap_core.ledger.registry import KEY, notebook_of, page

CHECK = "To check this yourself: <code>scansnap verify {page}</code>."


class CardFigure(nodes.Element):
    """Marks where a copy of a cell's figure will stand: ``cell`` is the cell's id."""


class VerdictCard(SphinxDirective):
    """Puts the card into the page."""

    def run(self) -> list[nodes.Node]:
        """Read the rows from the notebook's outputs."""
        notebook = read_notebook(Path(self.env.doc2path(self.env.docname)))
        verdicts = verdicts_in(notebook)
        if len(verdicts) != 1 or not verdicts[0].card:
            raise self.error(
                "the notebook stores no card: give conclude() one, and store its outputs"
            )
        kind = notebook.metadata[KEY]["kind"]
        names = " ".join(row.cited for row in verdicts[0].card).split()
        cited = {name: self.cited(name) for name in names}
        rows = card_html(verdicts[0].card, kind, links=True, cited=cited)
        shown = [CardFigure(cell=verdicts[0].figure)] if verdicts[0].figure else []
        card = nodes.raw("", rows, format="html")
        return [nodes.container("", card, *shown, classes=["ss-card-at-head"])]

    def cited(self, name: str) -> dict[str, str]:
        """Read what is shown of a claim of another page from that page's notebook, with a link."""
        book = Path(self.env.srcdir)
        path = notebook_of(page_cited(name), book)
        self.env.note_dependency(str(path))
        (verdict,) = verdicts_in(read_notebook(path))
        shown = shown_of(name, verdict)
        this_folder = Path(self.env.doc2path(self.env.docname)).parent
        address = Path(os.path.relpath(path.with_suffix(".html"), this_folder)).as_posix()
        link = f"{address}#{anchor_of(shown['by'])}"
        return {**shown, "page": page(path.stem, book).name, "link": link}


class CheckYourself(SphinxDirective):
    """Says how to check the page."""

    def run(self) -> list[nodes.Node]:
        """Fill the page's id into the setting."""
        how = self.config.check_yourself.replace("{page}", self.env.docname.rpartition("/")[2])
        return [nodes.raw("", f'<p class="ss-check-yourself">{how}</p>', format="html")]


def caption_after(image: nodes.image) -> list[nodes.Element]:
    """Copy the caption of a figure: the text that the same cell puts out next."""
    bundle = image.parent.parent
    following = bundle.next_node(descend=False, siblings=True)
    if following is None:
        return []
    texts = [part for part in following.children if part.get("mime_type") == "text/markdown"]
    copies = [child.deepcopy() for part in texts for child in part.children]
    for copy in copies:
        copy["classes"].append("ss-card-caption")
    return copies


class CellAnchors(SphinxTransform):
    """Gives each code cell its id, and the card a copy of its figure."""

    default_priority = 200  # before images are collected, and before output formats are chosen

    def apply(self, **_: Any) -> None:
        """Find the cells by their places in the notebook."""
        figures = list(self.document.findall(CardFigure))
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix != ".ipynb":
            return
        ids = [cell.id for cell in read_notebook(path).cells]
        cells = {}
        for node in self.document.findall(nodes.container):
            if node.get("nb_element") == "cell_code":
                node["ids"].append(ids[node["cell_index"]])
                cells[ids[node["cell_index"]]] = node
        for figure in figures:
            image = next(cells[figure["cell"]].findall(nodes.image))
            caption = caption_after(image)
            image = image.deepcopy()
            link = nodes.reference(
                "",
                "",
                image,
                refuri=f"#{figure['cell']}",
                internal=True,
                classes=["ss-card-figure"],
            )
            figure.replace_self([nodes.paragraph("", "", link), *caption])


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("figure_links")
    app.add_config_value("check_yourself", CHECK, "env")
    app.add_node(CardFigure)
    app.add_directive("verdict-card", VerdictCard)
    app.add_directive("check-yourself", CheckYourself)
    app.add_transform(CellAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
