"""A page and the paper that it is about, as the page's notebook says it of itself.

Its title stands in one place, the notebook's heading, such as ``# Lemma 6: the clock of the decoder``. The notebook's
metadata hold the rest under ``scansnap``::

    {"paper": "tian2023", "kind": "lemma", "number": 6, "equations": [44, 45], "uses": ["lemma_05"], "proof_uses": []}

Two kinds of edges lead from a statement to its grounds. ``uses`` names the statements without which the statement
itself can't be read, because they define a symbol or a condition that it contains; ``proof_uses`` names those that its
proof appeals to, by name or by one of their formulas. A pointer ahead is no appeal.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from scansnap_core.bad_input import BadInput

KEY = "scansnap"
OTHER_KINDS = ("figure", "notation", "claim", "law", "beyond", "equations")
"""What a page can be beside a statement: "claim" is what a paper says in words, "law" this book's own statement,
"beyond" what a paper leaves open, and "equations" tries formulas that stand between its statements."""
WITHOUT_CARD = ("notation", "equations")
"""Kinds of pages that open without a verdict card."""


@dataclass(frozen=True)
class Paper:
    """A paper that the book checks.

    Attributes
    ----------
    id : str
        Its key among the papers of the table of contents, such as ``"tian2023"``.
    title : str
    authors : tuple of str
        Full names, surnames last.
    year : int
    statements : tuple of str
        The kinds of its statements, such as ``("lemma", "theorem")``, in the order in which the board lists them.
    own : bool
        Whether the book is about it: its statements are named without it, and those of other papers with theirs.

    Examples
    --------
    >>> Paper("li2023", "How Transformers Learn", ("Yuchen Li", "Yuanzhi Li"), 2023, ("theorem",), own=False).of
    ' of Li and Li (2023)'
    """

    id: str
    title: str
    authors: tuple[str, ...]
    year: int
    statements: tuple[str, ...]
    own: bool = True

    @property
    def citation(self) -> str:
        """Write it as a text cites it, such as ``"Tian et al. (2023)"``."""
        surnames = [author.split()[-1] for author in self.authors]
        return f"{' and '.join(surnames) if len(surnames) < 3 else f'{surnames[0]} et al.'} ({self.year})"

    @property
    def of(self) -> str:
        """Return what the names of its statements end with: nothing for the paper that the book is about."""
        return "" if self.own else f" of {self.citation}"


@dataclass(frozen=True)
class Page:
    """A page that can hold a verdict.

    Attributes
    ----------
    id : str
        The stem of its notebook's file name, such as ``"lemma_06"``.
    paper : Paper
    kind : str
        One of the paper's kinds of statements, ``"figure"``, ``"notation"``, ``"claim"`` (what the paper says in
        words), ``"law"`` (this book's own statement), ``"beyond"`` (what the paper leaves open) or ``"equations"``
        (formulas that stand between its statements).
    number : int
        The paper's number; 0 for a page that has none.
    title : str
        What its heading says that it is about.
    equations : tuple of int
        The paper's numbers of the formulas that state it, or that prove it where the statement has none of its own.
    uses : tuple of str
        Statements that the statement itself rests on.
    proof_uses : tuple of str
        Statements that its proof rests on.
    """

    id: str
    paper: Paper
    kind: str
    number: int
    title: str
    equations: tuple[int, ...] = ()
    uses: tuple[str, ...] = ()
    proof_uses: tuple[str, ...] = ()

    @property
    def is_statement(self) -> bool:
        """Tell whether the page is one of its paper's statements."""
        return self.kind in self.paper.statements

    @property
    def name(self) -> str:
        """Return the paper's name of it, such as ``"Lemma 6"``, or where it has no number, its title."""
        return _numbered(self.kind, self.number, self.paper) or self.title

    @property
    def label(self) -> str:
        """Return the name where there is little room: of another paper's statement ``"Lemma 6, Li 2023"``."""
        paper = self.paper
        if paper.own or not self.number:
            return self.name
        return f"{self.kind.capitalize()} {self.number}, {paper.authors[0].split()[-1]} {paper.year}"


def paper_of(paper_id: str, entry: Any, source: str, *, own: bool) -> Paper:
    """Make a paper of what the table of contents says.

    Parameters
    ----------
    paper_id : str
    entry : mapping
        Its title, authors, year and statements.
    source : str
        Where it stands, for errors.
    own : bool
        Whether the book is about it.

    Raises
    ------
    BadInput
        If a key is missing, unknown or of another kind.
    """
    take = _Entry(f"{source}: paper {paper_id}", entry, {"title", "authors", "year", "statements"})
    return Paper(
        paper_id,
        take("title", _is_text, "a title in a few words"),
        tuple(take("authors", lambda value: bool(value) and _all(_is_text)(value), "a list of full names")),
        take("year", _is_number, "a year"),
        tuple(take("statements", _all(_is_text), "a list of kinds, such as [lemma, theorem]")),
        own,
    )


def page_of(page_id: str, heading: str, metadata: Mapping[str, Any], papers: Mapping[str, Paper], source: str) -> Page:
    """Make a page of what its notebook's heading and metadata say.

    Parameters
    ----------
    page_id : str
        The stem of the notebook's file name.
    heading : str
        The notebook's first line, in Markdown.
    metadata : mapping
        The notebook's own.
    papers : mapping from str to Paper
        The papers of the book.
    source : str
        The notebook, for errors.

    Raises
    ------
    BadInput
        If a key is missing, unknown or of another kind, or the file or the heading has another page's name.
    """
    keys = {"paper", "kind", "number", "equations", "uses", "proof_uses"}
    take = _Entry(f"{source}: metadata.{KEY}", metadata.get(KEY), keys)
    paper = papers[take("paper", lambda value: value in list(papers), f"a paper of the book: {', '.join(papers)}")]
    kinds = (*paper.statements, *OTHER_KINDS)
    kind = take("kind", lambda value: value in kinds, f"one of {', '.join(kinds)}")
    numbered = kind == "figure" or kind in paper.statements
    number = take("number", _is_number, "the paper's number, from 1") if numbered else 0
    named = rf"(.+_)?{'fig' if kind == 'figure' else kind}_0*{number}"
    if numbered and not re.fullmatch(named, page_id):
        take.refuse("number", f"the number that the file's name says, after {kind}")
    start = f"# {_numbered(kind, number, paper)}: " if number else "# "
    if not (title := heading.removeprefix(start).strip()) or not heading.startswith(start):
        raise BadInput(
            f"{source}: the heading {heading!r}", f"it is '{start}' and what the page is about", "correct it"
        )
    return Page(
        page_id,
        paper,
        kind,
        number,
        title[0].upper() + title[1:],
        *(
            tuple(take(key, _all(is_one), what, ()))
            for key, is_one, what in (
                ("equations", _is_number, "a list of the paper's numbers"),
                ("uses", _is_text, "a list of statements' ids"),
                ("proof_uses", _is_text, "a list of statements' ids"),
            )
        ),
    )


def _numbered(kind: str, number: int, paper: Paper) -> str:
    """Return the paper's name of what it numbers; empty for what has no number."""
    return f"{kind.capitalize()} {number}{paper.of}" if number else ""


class _Entry:
    """Takes values out of a mapping that people write, and says which of them is wrong."""

    def __init__(self, source: str, entry: Any, keys: set[str]) -> None:
        if not isinstance(entry, Mapping):
            raise BadInput(source, "it is missing", f"write a mapping with the keys {', '.join(sorted(keys))}")
        if unknown := sorted(set(entry) - keys, key=str):
            raise BadInput(f"{source}.{unknown[0]}", "there is no such key", f"the keys are {', '.join(sorted(keys))}")
        self._source = source
        self._entry = entry

    def __call__(self, key: str, is_right: Callable[[Any], bool], what: str, default: Any = None) -> Any:
        value = self._entry.get(key, default)
        if not is_right(value):
            self.refuse(key, what)
        return value

    def refuse(self, key: str, what: str) -> NoReturn:
        """Raise :class:`BadInput` for a key, which should have been something else."""
        given = f" = {self._entry[key]!r}" if key in self._entry else ""
        raise BadInput(f"{self._source}.{key}{given}", f"it is {what}", "correct it" if given else "add it")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _all(is_one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(is_one, value)) and len(set(value)) == len(value)
