"""The 25 statements of the paper and the book's other pages.

The edges were read off the paper. ``uses`` names the statements without which the statement itself can't be read,
because they define a symbol or a condition that it contains; ``proof_uses`` names those that its proof appeals to, by
name or by one of their formulas. A pointer ahead is no appeal: the proof of Lemma 3 announces Remark 1 after Lemma 5,
and Lemma 5 rests on Lemma 3.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scansnap_core.bad_input import BadInput

STATEMENT_KINDS = ("lemma", "theorem", "corollary")
_KIND_OF = {kind[0].upper(): kind for kind in STATEMENT_KINDS}


@dataclass(frozen=True)
class Page:
    """A page that can hold a verdict.

    Attributes
    ----------
    id : str
        The stem of its notebook's file name, such as ``"lemma_06"``.
    kind : str
        ``"lemma"``, ``"theorem"``, ``"corollary"``, ``"figure"``, ``"notation"`` or ``"beyond"`` (what the paper leaves
        open).
    number : int
        The paper's number; 0 for a page that has none.
    title : str
        What it is about, in a few words.
    equations : tuple of int
        The paper's numbers of the formulas that state it, or that prove it where the statement has none of its own.
    uses : tuple of str
        Statements that the statement itself rests on.
    proof_uses : tuple of str
        Statements that its proof rests on.
    """

    id: str
    kind: str
    number: int
    title: str
    equations: tuple[int, ...] = ()
    uses: tuple[str, ...] = ()
    proof_uses: tuple[str, ...] = ()

    @property
    def is_statement(self) -> bool:
        """Whether the page is one of the 25 statements."""
        return self.kind in STATEMENT_KINDS

    @property
    def name(self) -> str:
        """The paper's name of it, such as ``"Lemma 6"``, or its own, such as ``"One path"``."""
        return f"{self.kind.capitalize()} {self.number}" if self.number else self.id.replace("_", " ").capitalize()

    @property
    def label(self) -> str:
        """A short form of the name, such as ``"L6"``."""
        return f"{self.kind[0].upper()}{self.number}"


def _statement(kind: str, number: int, title: str, equations: tuple[int, ...], uses: str, proof_uses: str) -> Page:
    return Page(_id(kind, number), kind, number, title, equations, _ids(uses), _ids(proof_uses))


def _id(kind: str, number: int) -> str:
    return f"lemma_{number:02d}" if kind == "lemma" else f"{kind}_{number}"


def _ids(labels: str) -> tuple[str, ...]:
    """The ids of labels such as ``"L6 T1"``."""
    return tuple(_id(_KIND_OF[label[0]], int(label[1:])) for label in labels.split())


def _lemma(number: int, title: str, equations: tuple[int, ...], uses: str = "", proof_uses: str = "") -> Page:
    return _statement("lemma", number, title, equations, uses, proof_uses)


def _theorem(number: int, title: str, equations: tuple[int, ...], uses: str = "", proof_uses: str = "") -> Page:
    return _statement("theorem", number, title, equations, uses, proof_uses)


def _corollary(number: int, title: str, equations: tuple[int, ...], uses: str = "", proof_uses: str = "") -> Page:
    return _statement("corollary", number, title, equations, uses, proof_uses)


def _figure(number: int, title: str) -> Page:
    return Page(f"fig_{number:02d}", "figure", number, title)


_PAGES = (
    _lemma(1, "Gradient flow of the one-layer Transformer", equations=(3, 4)),
    _lemma(2, "Attention over an infinite sequence", equations=(6,), proof_uses="L18"),
    _lemma(3, "Decoder dynamics, one row a class", equations=(8,), uses="L1 L2 L14", proof_uses="L17"),
    _lemma(
        4,
        "Self-attention dynamics given the decoder",
        equations=(10,),
        uses="L1 L2 T1",
        proof_uses="L1 L2 T1",
    ),
    _lemma(5, "Decoder steps on a single class", equations=(31, 32, 33), uses="L3", proof_uses="L3"),
    _lemma(6, "Closed form of the continuous clock h", equations=(44, 45), uses="L5"),
    _lemma(
        7,
        "Discrete clock against the continuous one",
        equations=(46, 47, 48, 49),
        uses="L5 L6",
        proof_uses="L5 L6 L9",
    ),
    _lemma(8, "Exponential against linear growth", equations=(50, 51)),
    _lemma(
        9,
        "Speed control: linear rise, then decay",
        equations=(52, 53, 54, 55, 56, 57),
        uses="L6 L8",
        proof_uses="L6 L8",
    ),
    _lemma(10, "How often a class has been seen", equations=(58,)),
    _lemma(11, "The clock under random class counts", equations=(61, 62), uses="L6 L8", proof_uses="L6 L8 L10"),
    _lemma(
        12,
        "Decoder weights in the full-rank basis",
        equations=(66, 67, 68, 69),
        uses="L5 L6",
        proof_uses="L3 L5 L7 L11",
    ),
    _lemma(13, "Overlaps are below their top eigenvalue", equations=(74,)),
    _lemma(14, "Inverse of the Gram matrix", equations=(75, 76, 77)),
    _lemma(15, "Spectral bound of the inverse's deviation", equations=(78,), uses="L14", proof_uses="L14"),
    _lemma(16, "Sign of the deviation's diagonal", equations=(79,), uses="L14", proof_uses="L14"),
    _lemma(17, "The deviation is close to the overlap", equations=(80,), uses="L14", proof_uses="L14"),
    _lemma(18, "Empirical counts of a long sequence", equations=(134, 135, 136)),
    _theorem(
        1,
        "Gradient that reaches the attention layer",
        equations=(9,),
        uses="L1 L2 L9",
        proof_uses="T5 C1 L9 L13 L14 L15 L16",
    ),
    _theorem(2, "Fates of distinct and of common tokens", equations=(97, 98, 99, 100), uses="L4", proof_uses="L4 T1"),
    _theorem(3, "Growth of the dominant distinct token", equations=(11, 12), uses="L4 T1", proof_uses="T2"),
    _theorem(
        4, "Phase transition from scanning to snapping", equations=(14,), uses="T1 T3", proof_uses="T1 L6 L7 L8 L9"
    ),
    _theorem(5, "Solution of the decoder dynamics", equations=(70,), uses="L3 L6 L14", proof_uses="L3 L12 L14"),
    _corollary(1, "Decay of the prediction error", equations=(71,), uses="L3 L6 L8", proof_uses="L5 L6 L7 L11"),
    _corollary(
        2,
        "Several common tokens, symmetric classes",
        equations=(101, 102, 103, 104, 105, 106, 107),
        uses="L4",
        proof_uses="L4 T1",
    ),
    _figure(3, "Growth factor over time"),
    _figure(4, "Attention scores over training, SGD"),
    _figure(5, "Attention scores over training, Adam"),
    _figure(6, "Entropy of attention against the ratio of rates"),
    _figure(7, "Attention maps of a standard Transformer"),
    _figure(8, "The discrete and the continuous clock"),
    _figure(9, "The bound B over time"),
    _figure(10, "Entropy of attention against the learning rate"),
    _figure(11, "Recall of distinct tokens, a panel per attention rate"),
    _figure(12, "Recall of distinct tokens, a panel per ratio of rates"),
    Page("notation", "notation", 0, "Symbols, code names, shapes and units"),
    Page("assumptions", "beyond", 0, "Which experiment satisfies which assumption"),
    Page("one_path", "beyond", 0, "By (10) all rates move attention along one curve, each on its own clock"),
    Page("real_text", "beyond", 0, "Which words of real text gain attention, and when"),
    Page("cost", "beyond", 0, "What a training costs, in operations and in seconds"),
)

PAGES: Mapping[str, Page] = MappingProxyType({page.id: page for page in _PAGES})
STATEMENTS: Mapping[str, Page] = MappingProxyType({page.id: page for page in _PAGES if page.is_statement})


def page(page_id: str) -> Page:
    """Look a page up.

    Raises
    ------
    BadInput
        If there is no such page; the nearest ids are suggested.
    """
    if page_id in PAGES:
        return PAGES[page_id]
    same = [known for known in PAGES if _bare(known) == _bare(page_id)]
    nearest = same or difflib.get_close_matches(page_id.lower(), PAGES, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(nearest)}?" if nearest else f"the ids are {', '.join(PAGES)}"
    raise BadInput(f"id = {page_id!r}", "it names no statement, figure or page", remedy)


def _bare(page_id: str) -> str:
    """An id without what people forget or add: ``"Lemma 6"`` and ``"lemma_06"`` are the same."""
    return re.sub(r"[^a-z0-9]|(?<![0-9])0", "", page_id.lower())
