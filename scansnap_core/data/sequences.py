"""Sequence classes with names: made of arrays, mappings, counts or files, and told apart by a
checksum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.base.rules import PATH, Rule, takes
from scansnap_core.data import class_files
from scansnap_core.data.inputs import (
    check_places,
    checked_names,
    checked_tokens,
    labels,
    named_classes,
    shares_of,
)
from scansnap_core.data.probabilities import Floats as Floats
from scansnap_core.data.probabilities import Ints as Ints
from scansnap_core.data.probabilities import Probabilities

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTRIBUTE = "classes"
"""Recorded attention logits name the classes that they belong to by this attribute, which holds
their checksum.
"""
MOST_NAMES_SHOWN = 4


class SequenceClasses(Probabilities):
    """K sequence classes over a vocabulary of M tokens: equal if their numbers and names are, and
    unchangeable.

    Parameters
    ----------
    probs
        P(l|n), shape (K, M): one row a class, dense or SciPy sparse. Rows sum to 1.
    query_of
        psi, shape (K,): the query token m = psi(n) of each class, in 0..M-1.
    next_of
        The next token (label) of each class, shape (K,), in 0..M-1 and distinct. Default 0..K-1,
        the paper's n in [K].
    token_names
        Names of the first tokens, at most M. All that a class holds, asks with or predicts are
        among them.
    class_names
        Names of the classes, K. Default: those of their next tokens, if tokens have names.
    frequencies
        P(n), shape (K,): how often a sample is of each class. Positive, with the sum 1. Default:
        uniform, 1/K, which the paper assumes.

    Raises
    ------
    BadInput
        Probabilities that are negative, not finite, don't sum to 1 or have the wrong shape; an
        empty class; K > M; psi or a next token out of range; two classes with one next token; names
        that don't differ or don't suffice; frequencies that aren't K positive numbers with the sum
        1.

    Examples
    --------
    >>> classes = SequenceClasses([[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0]], query_of=[3, 3])
    >>> classes
    SequenceClasses(K=2, M=4, queries=1)
    >>> classes.common_tokens.tolist(), classes.distinct_tokens(1).tolist()
    ([0], [2])
    """

    def __init__(
        self,
        probs: ArrayLike | Any,
        query_of: ArrayLike,
        next_of: ArrayLike | None = None,
        *,
        token_names: Any = (),
        class_names: Any = (),
        frequencies: ArrayLike | None = None,
    ) -> None:
        """Check and keep the arrays, and the names of classes and tokens.

        The first tokens have names, on to the last that a class holds, asks with or predicts.
        Classes are called by their next tokens if they have no names of their own.
        """
        # Numbers first; names are then compared with how many there are of classes and tokens.
        super().__init__(
            probs, query_of, next_of, frequencies, checked_names("class_names", class_names)
        )
        self.token_names: tuple[str, ...] = checked_names("token_names", token_names)
        if len(self.class_names) not in (0, self.num_classes):
            rule = f"each of K = {self.num_classes} classes has a name, or none has"
            raise BadInput(
                f"{len(self.class_names)} names of classes", rule, "pass one name for each class"
            )
        used = max(self._probs.indices.max(), self.query_of.max(), self.next_of.max())
        if self.token_names and not used < len(self.token_names) <= self.vocab_size:
            rule = (
                f"the first of M = {self.vocab_size} tokens have names, on to the last that a "
                f"class uses, {used}"
            )
            raise BadInput(
                f"{len(self.token_names)} names of tokens",
                rule,
                "name more, or number unnamed ones last",
            )
        if self.token_names and not self.class_names:
            self.class_names = tuple(self.token_names[token] for token in self.next_of)

    @classmethod
    def from_dicts(
        cls,
        classes: Mapping[str, Mapping[str, float]],
        *,
        query_of: str | Mapping[str, str],
        next_of: Mapping[str, str] | None = None,
        vocab_size: int | None = None,
        frequencies: Mapping[str, float] | None = None,
    ) -> SequenceClasses:
        """Make classes by name, over tokens by name.

        Tokens are numbered in the order in which they are first mentioned: class by class, then
        query tokens, then next tokens. Names run through to the coordinates ``class``, ``token``,
        ``query`` and ``output`` of all results.

        Parameters
        ----------
        classes
            P(l|n) by class and token. A class's probabilities sum to 1, as in arrays and files.
        query_of
            The query token of all classes, or of each by name.
        next_of
            The next token by class. A class that it leaves out has its own name as next token.
        vocab_size
            M, if there are tokens without a name. Default: the number of names.
        frequencies
            P(n) by class, of every class; they sum to 1. Default: uniform.

        Examples
        --------
        The coordinate ``token`` has the tokens that some class holds.

        >>> topics = {"ship": {"and": 0.4, "wave": 0.6}, "plane": {"and": 0.4, "cloud": 0.6}}
        >>> classes = SequenceClasses.from_dicts(topics, query_of="the", vocab_size=100)
        >>> classes
        SequenceClasses(K=2, M=100, queries=1, classes=[ship, plane])
        >>> classes.coords["token"].tolist()
        ['and', 'wave', 'cloud']
        """
        tables: dict[str, Any] = {
            "query_of": query_of,
            "next_of": next_of,
            "frequencies": frequencies,
        }
        return cls(**named_classes(classes, vocab_size=vocab_size, **tables))

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike | Any,
        *,
        query_of: Any,
        next_of: Any = None,
        token_names: Any = (),
        class_names: Any = (),
        frequencies: Any = None,
    ) -> SequenceClasses:
        """Make classes from counts: P(l|n) is the share of token l in the counts of class n.

        Parameters
        ----------
        counts
            Not negative, with a positive sum in each class. Shape (K, M), dense or SciPy sparse, as
            :class:`SequenceClasses` takes ``probs``. The counts are of contextual tokens: the query
            token isn't among them.
        query_of, next_of, token_names, class_names, frequencies
            As :class:`SequenceClasses` takes them. How many tokens a class has in all doesn't
            settle its frequency.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> ss.SequenceClasses.from_counts([[3, 1, 0], [3, 0, 1]], query_of=[2, 2]).probs
        array([[0.75, 0.25, 0.  ],
               [0.75, 0.  , 0.25]])
        """
        names = {"token_names": token_names, "class_names": class_names}
        return cls(shares_of(counts), query_of, next_of, **names, frequencies=frequencies)

    @classmethod
    @takes(path=PATH)
    def load(cls, path: str | Path) -> SequenceClasses:
        """Read a ``.yaml``, ``.yml`` or ``.json`` file, which
        :mod:`scansnap_core.data.class_files` describes.
        """
        content = files.read(Path(path), example=class_files.EXAMPLE)
        with files.inside(Path(path)):
            return cls(**class_files.arguments_of(content))

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write a file, of the kind that its ending says; :meth:`load` makes equal classes of
        it.
        """
        files.write(Path(path), class_files.content_of(self))

    def with_frequencies(self, frequencies: ArrayLike | None) -> SequenceClasses:
        """Copy the classes with other frequencies P(n): K positive numbers with the sum 1, or None
        for uniform ones.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> ss.syn_small().with_frequencies([0.8, 0.2])
        SequenceClasses(K=2, M=34, queries=2, frequencies=0.2..0.8)
        """
        names = {"token_names": self.token_names, "class_names": self.class_names}
        return SequenceClasses(
            self.given_probs, self.query_of, self.next_of, **names, frequencies=frequencies
        )

    def plot(self) -> Figure:
        """Draw P(l|n): a row for each class and a column for each token that some class holds."""
        check_places("a picture of P(l|n)", self.num_classes * len(self.tokens))
        with needs("plots"):  # here, because Matplotlib takes a second to import
            import matplotlib.pyplot as plt

            from scansnap_core import plots

        probs = np.ma.masked_equal(self.compact.probs, 0)
        coords = self.coords
        fig = plots.heat_map(
            probs, ("class", coords["class"]), ("token", coords["token"]), "P(l|n)"
        )
        # A notebook shows the figure that a cell returns, and would show an open one again.
        plt.close(fig)
        return fig

    def __repr__(self) -> str:
        size = f"K={self.num_classes}, M={self.vocab_size}, queries={len(np.unique(self.query_of))}"
        if not self.is_uniform:
            size += f", frequencies={self.frequencies.min():.3g}..{self.frequencies.max():.3g}"
        if not self.class_names:
            return f"SequenceClasses({size})"
        names = self.class_names[:MOST_NAMES_SHOWN] + ("…",) * (self.num_classes > MOST_NAMES_SHOWN)
        return f"SequenceClasses({size}, classes=[{', '.join(names)}])"

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, SequenceClasses) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        """Return all numbers and names, for ``==`` and ``hash`` in this process.

        It isn't :func:`checksum`: that makes P(l|n) a dense array, and the way in which it is
        computed has to stay, because stored results hold checksums.
        """
        # SciPy chooses 32 or 64 bits for the places of a sparse matrix.
        arrays = (self._probs.indptr, self._probs.indices, self.query_of, self.next_of)
        numbers = (
            self.vocab_size,
            self._probs.data.tobytes(),
            *(array.astype(np.int64).tobytes() for array in arrays),
        )
        return *numbers, self.token_names, self.class_names, self.frequencies.tobytes()

    def labels(self, tokens: ArrayLike) -> NDArray[Any]:
        """Label tokens as coordinates do: by their names, or by their numbers if tokens have no
        names.

        Tokens are given by their numbers, in an array of any shape; -1 stands for all that are no
        next token.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> sea = {"ship": {"and": 0.4, "wave": 0.6}}
        >>> ss.SequenceClasses.from_dicts(sea, query_of="the").labels([1, 2]).tolist()
        ['wave', 'the']
        """
        return labels(checked_tokens("tokens", tokens, self.vocab_size, least=-1), self.token_names)

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Return the coordinates of all results: ``class`` (K), and ``token`` (L) and ``query``
        (Q) of ``compact``.
        """
        return {
            "class": np.array(self.class_names or range(self.num_classes)),
            "token": self.labels(self.tokens),
            "query": self.labels(np.unique(self.query_of)),
        }


CLASSES = Rule(
    lambda value: isinstance(value, SequenceClasses),
    "the data are SequenceClasses",
    "make them of arrays, with SequenceClasses.from_dicts, or from a file with "
    "SequenceClasses.load",
)


def checksum(classes: SequenceClasses) -> str:
    """Digest a class system's numbers and names: two systems share a checksum only if they are
    equal.

    Results and stores hold it to name their classes, so what it digests can't change, or no stored
    one would be read again. ``==`` doesn't need it: it compares the sparse arrays themselves.

    Examples
    --------
    >>> from scansnap_core.data.datasets import syn_medium, syn_small
    >>> small = checksum(syn_small())
    >>> small == checksum(syn_small()), small == checksum(syn_medium(1))
    (True, False)
    """
    compact = classes.compact
    parts = (compact.tokens, compact.probs, classes.query_of, classes.next_of, [classes.vocab_size])
    numbers = b"".join(np.asarray(part, dtype=np.float64).tobytes() for part in parts)
    names = (
        json.dumps([classes.token_names, classes.class_names]).encode()
        if classes.class_names
        else b""
    )
    frequencies = b"" if classes.is_uniform else classes.frequencies.tobytes()
    return hashlib.sha256(numbers + names + frequencies).hexdigest()
