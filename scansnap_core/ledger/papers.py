"""The papers that a book checks, as its table of contents names them.

They stand in ``_toc.yml``, the one that the book is about first::

    meta:
      papers:
        tian2023:
          title: Scan and Snap
          authors: [Yuandong Tian, Yiping Wang, Beidi Chen, Simon S. Du]
          year: 2023
          statements: [lemma, theorem, corollary]
          dynamics:
            sgd: {row: under SGD, named: SGD}

What a card says of a statement beside "as printed" and "repaired" depends on the paper, and stands
under ``dynamics``: of each other setting in which the chapters try the paper's statements, the key
in the cards, the name of its row and column, and its name in a sentence. A paper may have none.

Whatever is missing or wrong raises `BadInput`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import COUNT, MAPPING, TEXT, Entry, list_of

TABLE_OF_CONTENTS = "_toc.yml"
_PAPER_KEYS = ("title", "authors", "year", "statements", "dynamics")
_OWN_ROWS = ("printed", "repaired", "figure")
"""What every card has."""


@dataclass(frozen=True)
class Dynamics:
    """A setting, other than the paper's own, in which the chapters try what a paper states."""

    key: str
    """Its key in the cards, such as ``"sgd"``."""
    row: str
    """The name of its row on a card, such as ``"under SGD"``."""
    named: str
    """Its name in a sentence."""


@dataclass(frozen=True)
class Paper:
    """A paper that the book checks.

    Examples
    --------
    >>> authors = ("Yuchen Li", "Yuanzhi Li")
    >>> Paper("li2023", "How Transformers Learn", authors, 2023, ("theorem",), own=False).of
    ' of Li and Li (2023)'
    """

    id: str
    """Its key among the papers of the table of contents."""
    title: str
    authors: tuple[str, ...]
    """Full names, surnames last."""
    year: int
    statements: tuple[str, ...]
    """The kinds of its statements, such as ``("lemma", "theorem")``, in the order in which the
    board lists them.
    """
    own: bool = True
    """Whether the book is about it: its statements are named without it, and those of other papers
    with theirs.
    """
    dynamics: tuple[Dynamics, ...] = ()
    """The rows of its cards beside "as printed" and "repaired", in their order."""

    @property
    def citation(self) -> str:
        """Write it as a text cites it, such as ``"Tian et al. (2023)"``."""
        surnames = [author.split()[-1] for author in self.authors]
        return (
            f"{' and '.join(surnames) if len(surnames) < 3 else f'{surnames[0]} et al.'} "
            f"({self.year})"
        )

    @property
    def of(self) -> str:
        """Return what the names of its statements end with: nothing for the paper that the book is
        about.
        """
        return "" if self.own else f" of {self.citation}"


def papers_of(contents: Mapping[str, Any]) -> dict[str, Paper]:
    """Return the papers that a table of contents names, the one that the book is about first."""
    try:
        named = dict(contents["meta"]["papers"])
        first = next(iter(named))
    except (KeyError, TypeError, ValueError, StopIteration):
        rule = "the table of contents names the papers that the book checks"
        raise BadInput(
            f"{TABLE_OF_CONTENTS}: meta.papers", rule, "add the paper that the book is about"
        ) from None
    found = {}
    for key, entry in named.items():
        take = Entry(f"{TABLE_OF_CONTENTS}: paper {key}", entry, _PAPER_KEYS)
        authors = tuple(take("authors", list_of(TEXT, "it is a list of full names", least=1)))
        kinds = tuple(
            take("statements", list_of(TEXT, "it is a list of kinds, such as [lemma, theorem]"))
        )
        dynamics = _dynamics(f"{take.place}.dynamics", take("dynamics", MAPPING, {}))
        found[key] = Paper(
            key,
            take("title", TEXT),
            authors,
            take("year", COUNT),
            kinds,
            own=key == first,
            dynamics=dynamics,
        )
    return found


def _dynamics(place: str, entries: Mapping[Any, Any]) -> tuple[Dynamics, ...]:
    """Read the rows that a paper's cards have beside those of every card; messages call the mapping
    ``place``.
    """
    found: list[Dynamics] = []
    for key, entry in entries.items():
        if not (isinstance(key, str) and key.isidentifier()) or key in _OWN_ROWS:
            rule = f"a key is one word of letters, digits and _, and none of {', '.join(_OWN_ROWS)}"
            raise BadInput(f"{place}: {key!r}", rule, "rename it")
        take = Entry(f"{place}.{key}", entry, ("row", "named"))
        row = take("row", TEXT)
        if row in [other.row for other in found]:
            raise BadInput(f"{take.place}.row = {row!r}", "another row has this name", "rename one")
        found.append(Dynamics(key, row, take("named", TEXT, row)))
    return tuple(found)
