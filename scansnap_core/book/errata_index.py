"""The errata of each numbered equation: those whose place names it, and those whose refutation tries it.

CSS classes
-----------
``ss-errata-index``
    The list (``ul``) of the equations that have errata.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from scansnap_core.book.equations import Equation, equation_anchor, read_equations
from scansnap_core.book.errata import Erratum, read_errata
from scansnap_core.ledger.markup import render

_NUMBERS = re.compile(r"Eqns? ((?:\d+(?:-\d+)?(?:, | and )?)+)")
_TEMPLATE = Path(__file__).with_name("templates") / "errata_index.html"


def equations_named(place: str) -> list[int]:
    """The numbered equations that the name of a place names.

    Examples
    --------
    >>> equations_named("Theorem 4, Eqn 14, 124, 129-131")
    [14, 124, 129, 130, 131]
    """
    spans = [span.split("-") for names in _NUMBERS.findall(place) for span in re.split(", | and ", names) if span]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def by_equation(errata: Iterable[Erratum], equations: Iterable[Equation]) -> dict[int, list[Erratum]]:
    """The errata of every equation that has some, equations in their order and errata in that given."""
    errata = list(errata)
    found = {}
    for equation in equations:
        cells = {(trial.page.id, trial.anchor) for trial in equation.trials if trial.refutes}
        hit = [erratum for erratum in errata if _is_about(erratum, equation.number, cells)]
        if hit:
            found[equation.number] = hit
    return found


def _is_about(erratum: Erratum, number: int, cells: set[tuple[str, str]]) -> bool:
    return any(
        (place.page.id, place.cell) in cells
        or (place.page.paper.own and number in equations_named(place.refutation["place"]))
        for place in erratum.places
    )


def errata_index_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the list of the equations that have errata, each linked to its own place and to its errata.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.
    page_url : callable
        From an id to its page's address.

    Raises
    ------
    BadInput
        If the book, its errata or its equations can't be read.
    """
    return render(
        _TEMPLATE,
        found=by_equation(read_errata(book), read_equations(book)),
        anchor=equation_anchor,
        equations_url=page_url("equations"),
        errata_url=page_url("errata"),
    )
