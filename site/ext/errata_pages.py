"""The errata in the site.

``{errata}`` draws a rank, ``{errata-by-equation}`` an index, ``{errata-retired}`` the retired
numbers, and ``{erratum}`` links one.

Refutations carry their numbers. Below each erratum, folded, stands how to cite it. A build writes
``errata.json`` and the book's BibTeX into the site's root. Without `CITATION.cff` nothing is cited.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from ledger_pages import page_urls
from pybtex.database import BibliographyData, Entry, parse_string
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from stored_once import errata_in, key_in, place_of

from scansnap_core.base.bad_input import BadInput
from scansnap_core.book.citation import CITATION_FILE, bibtex
from scansnap_core.book.equations import errata_index_html
from scansnap_core.book.errata import Erratum, errata_html, errata_json, retired_html
from scansnap_core.ledger.display import rich

_ERRATUM = re.compile(r'(<section class="ss-erratum" id="(\w+)">.*?)(</section>)', re.DOTALL)
_HEAD = re.compile(r'(<section class="ss-refutation [^>]*id="(claim-\w+)"><p class="ss-head">)')


class ErrataDirective(SphinxDirective):
    """The errata of the rank that the directive's argument names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the stored verdicts in every build."""
        self.env.note_reread()
        book = Path(self.env.srcdir)
        drawing = errata_html(book, page_urls(self), self.arguments[0])
        if (book / CITATION_FILE).is_file():
            drawing = with_citations(drawing, book, errata_in(self.env.app))
        return [nodes.raw("", drawing, format="html")]


def with_citations(drawing: str, book: Path, errata: list[Erratum]) -> str:
    """Put into a drawing of errata, below each of them, how it is cited."""
    by_anchor = {erratum.anchor: erratum for erratum in errata}

    def add(found: re.Match[str]) -> str:
        return f"{found[1]}{citation_html(by_anchor[found[2]], book)}{found[3]}"

    return _ERRATUM.sub(add, drawing)


def erratum_bibtex(erratum: Erratum, key: str, cited: Entry, address: str) -> str:
    """Write an erratum's BibTeX: the book's entry, with the erratum's number and place as the
    title.
    """
    title = f"Erratum {erratum.number}: {erratum.places[0].name}"
    note = f"In: {cited.fields['title']}, {address}"
    entry = Entry("misc", [*cited.fields.items(), ("title", title), ("note", note)], cited.persons)
    written = BibliographyData({f"{key}-{erratum.number}": entry}).to_string("bibtex")
    return str(written).replace("\\_", "_")  # an index in mathematics


def citation_html(erratum: Erratum, book: Path) -> str:
    """Write an erratum's permanent link, a citation in words, and BibTeX, folded."""
    key = key_in(book)
    cited = parse_string(bibtex(book), "bibtex").entries[key]
    address = f"{cited.fields['url']}{place_of('errata', book)}.html#{erratum.anchor}"
    fields = {name: escape(value) for name, value in cited.fields.items()}
    who = escape(str(cited.persons["author"][0]).strip("{}"))
    return (
        f'<details class="ss-cite"><summary>Cite {erratum.number}</summary>'
        f'<p>{who}: <a href="#{erratum.anchor}">Erratum {erratum.number}</a>, '
        f"{rich(erratum.places[0].name)}. "
        f"In: <em>{fields['title']}</em>, version {fields['version']}, {fields['year']}. "
        f"{escape(address)}</p>"
        '<div class="highlight"><pre>'
        f"{escape(erratum_bibtex(erratum, key, cited, address))}</pre></div></details>"
    )


class ErrataIndex(SphinxDirective):
    """The equations that have errata."""

    def run(self) -> list[nodes.Node]:
        """Read the stored verdicts in every build."""
        self.env.note_reread()
        return [
            nodes.raw("", errata_index_html(Path(self.env.srcdir), page_urls(self)), format="html")
        ]


class RetiredDirective(SphinxDirective):
    """The numbers that are no longer in use."""

    def run(self) -> list[nodes.Node]:
        """Read the file in every build."""
        self.env.note_reread()
        return [nodes.raw("", retired_html(Path(self.env.srcdir)), format="html")]


class ErratumRole(SphinxRole):
    """A link to an erratum, such as ``{erratum}`E7```."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Refuse a number that there isn't."""
        self.env.note_reread()
        numbers = [erratum.number for erratum in errata_in(self.env.app)]
        if self.text not in numbers:
            raise BadInput(
                f"{self.text!r}", "there is no such erratum", f"they are {', '.join(numbers)}"
            )
        place = place_of("errata", Path(self.env.srcdir))
        page = self.env.app.builder.get_relative_uri(self.env.docname, place)
        return [
            nodes.reference(
                "", self.text, refuri=f"{page}#{self.text.lower()}", classes=["ss-number"]
            )
        ], []


def number_refutations(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the number of its erratum, with a link, at the head of every refutation of the page
    that has one.
    """
    shown = [raw for raw in doctree.findall(nodes.raw) if "ss-refutation" in raw.astext()]
    if not shown or app.builder.format != "html":
        return
    page_id = docname.rpartition("/")[2]
    page = app.builder.get_relative_uri(docname, place_of("errata", Path(app.srcdir)))
    links = {
        place.cell: f'<a class="ss-number" href="{page}#{erratum.anchor}">{erratum.number}</a> '
        for erratum in errata_in(app)
        for place in erratum.places
        if place.page.id == page_id
    }
    for raw in shown:
        # What hits only the scope of a sentence is no erratum, and has no number.
        numbered = _HEAD.sub(lambda head: head[1] + links.get(head[2], ""), raw.astext())
        raw.replace_self(nodes.raw("", numbered, format="html"))


def write_files(app: Sphinx, exception: Exception | None) -> None:
    """Write the errata for scripts, and the citations."""
    if exception or app.builder.format != "html":
        return
    book = Path(app.srcdir)
    out = Path(app.outdir)
    errata = json.dumps(errata_json(book), indent=2, ensure_ascii=False)
    (out / "errata.json").write_text(f"{errata}\n", encoding="utf-8")
    if (book / CITATION_FILE).is_file():
        (out / f"{key_in(book)}.bib").write_text(bibtex(book), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("errata", ErrataDirective)
    app.add_directive("errata-by-equation", ErrataIndex)
    app.add_directive("errata-retired", RetiredDirective)
    app.add_role("erratum", ErratumRole())
    app.connect("doctree-resolved", number_refutations)
    app.connect("build-finished", write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
