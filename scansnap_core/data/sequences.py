"""Sequence classes (Sec. 3.2): P(l|n), psi, token kinds, overlaps, and samples of token counts.

A sequence enters the model only through its token counts, because there is no positional encoding. So a sample of
class n is its class and ``q = counts / (T - 1)``; as T grows, q becomes P(.|n), and T = infinity is the same code
with q = P.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.data.checks import (
    check_generator,
    check_places,
    checked_frequencies,
    checked_numbering,
    checked_probs,
    checked_size,
    checked_tokens,
    fix,
    shares_of_rows,
)
from scansnap_core.data.compact import Compact
from scansnap_core.data.naming import (
    check_naming,
    checked_names,
    frequencies_by_class,
    labels,
    named_classes,
    shares_by_name,
)
from scansnap_core.data.outputs import Outputs
from scansnap_core.rules import check_seq_len, is_whole, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_NAMES_SHOWN = 4


class SequenceClasses:
    """K sequence classes over a vocabulary of M tokens: equal if their numbers and names are, and unchangeable.

    Parameters
    ----------
    probs
        P(l|n), shape (K, M): one row a class, dense or SciPy sparse. Rows sum to 1.
    query_of
        psi, shape (K,): the query token m = psi(n) of each class, in 0..M-1.
    next_of
        The next token (label) of each class, shape (K,), in 0..M-1 and distinct. Default 0..K-1, the paper's n in [K].
    token_names
        Names of the first tokens, at most M. All that a class holds, asks with or predicts are among them.
    class_names
        Names of the classes, K. Default: those of their next tokens, if tokens have names.
    frequencies
        P(n), shape (K,): how often a sample is of each class. Positive, with the sum 1. Default: uniform, 1/K, which
        the paper assumes.

    Raises
    ------
    BadInput
        Probabilities that are negative, not finite, don't sum to 1 or have the wrong shape; an empty class; K > M;
        psi or a next token out of range; two classes with one next token; names that don't differ or don't suffice;
        frequencies that aren't K positive numbers with the sum 1.

    Examples
    --------
    >>> from scansnap_core.data.sequences import SequenceClasses
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
        self.class_names: tuple[str, ...] = checked_names("class_names", class_names)
        # as given, and with each row divided by its sum
        self.given_probs, self._probs = checked_probs(probs, self.class_names)
        self.num_classes, self.vocab_size = K, M = self._probs.shape
        self.query_of = checked_tokens("query_of", query_of, M, num_classes=K)
        following = np.arange(K) if next_of is None else next_of
        self.next_of = checked_tokens("next_of", following, M, num_classes=K, distinct=True)
        self.token_names: tuple[str, ...] = checked_names("token_names", token_names)
        used = max(self._probs.indices.max(), self.query_of.max(), self.next_of.max())
        check_naming(self.token_names, self.class_names, num_classes=K, vocab_size=M, last_token=int(used))
        if self.token_names and not self.class_names:
            self.class_names = tuple(self.token_names[token] for token in self.next_of)
        # as given, and divided by their sum
        self.given_frequencies, self.frequencies = checked_frequencies(frequencies, K)

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
        """Classes by name, over tokens by name.

        Tokens are numbered in the order in which they are first mentioned: class by class, then query tokens, then
        next tokens. Names run through to the coordinates ``class``, ``token``, ``query`` and ``output`` of all results.

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
            P(n) by class, of every class. Default: uniform.

        Raises
        ------
        BadInput
            As for arrays; a name that is no text; a class that isn't there; more names than tokens.

        Examples
        --------
        >>> from scansnap_core.data.sequences import SequenceClasses
        >>> topics = {"ship": {"and": 0.4, "wave": 0.6}, "plane": {"and": 0.4, "cloud": 0.6}}
        >>> classes = SequenceClasses.from_dicts(topics, query_of="the", vocab_size=100)
        >>> classes
        SequenceClasses(K=2, M=100, queries=1, classes=[ship, plane])
        >>> classes.coords["token"].tolist()
        ['and', 'wave', 'cloud']
        """
        named = named_classes(classes, query_of=query_of, next_of=next_of, vocab_size=vocab_size)
        return cls(**named, frequencies=frequencies_by_class(frequencies, named["class_names"]))

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike | Mapping[str, Mapping[str, float]] | Any,
        *,
        query_of: Any,
        next_of: Any = None,
        vocab_size: int | None = None,
        token_names: Any = (),
        class_names: Any = (),
        frequencies: Any = None,
    ) -> SequenceClasses:
        """Classes from how often each token was counted in each: P(l|n) is the token's share of its class's counts.

        Parameters
        ----------
        counts
            Not negative, with a positive sum in each class. Shape (K, M), dense or SciPy sparse, as
            :class:`SequenceClasses` takes ``probs``; or by class and token, as :meth:`from_dicts` takes ``classes``.
            The counts are of contextual tokens: the query token isn't among them.
        query_of, next_of, frequencies
            As :class:`SequenceClasses` takes them for an array, as :meth:`from_dicts` for a mapping. How many tokens a
            class has in all doesn't settle its frequency.
        vocab_size
            M, for a mapping alone.
        token_names, class_names
            For an array alone.

        Raises
        ------
        BadInput
            Counts that are negative, not finite or no numbers; a class without any; all that arrays and mappings of
            probabilities are refused for.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> ss.SequenceClasses.from_counts([[3, 1, 0], [3, 0, 1]], query_of=[2, 2]).probs
        array([[0.75, 0.25, 0.  ],
               [0.75, 0.  , 0.25]])
        >>> seen = {"ship": {"and": 3, "wave": 1}, "plane": {"and": 3, "cloud": 1}}
        >>> ss.SequenceClasses.from_counts(seen, query_of="the")
        SequenceClasses(K=2, M=6, queries=1, classes=[ship, plane])
        """
        if isinstance(counts, Mapping):
            if token_names or class_names:
                raise BadInput("names beside a mapping", "a mapping names tokens and classes", "leave them out")
            shares = shares_by_name(counts)
            options = {"query_of": query_of, "next_of": next_of, "vocab_size": vocab_size, "frequencies": frequencies}
            return cls.from_dicts(shares, **options)
        if vocab_size is not None:
            raise BadInput("vocab_size beside an array", "its columns are the M tokens", "leave vocab_size out")
        names = {"token_names": token_names, "class_names": class_names}
        return cls(shares_of_rows(counts), query_of, next_of, **names, frequencies=frequencies)

    @classmethod
    def load(cls, path: str | Path) -> SequenceClasses:
        """The classes of a YAML or JSON file: :func:`scansnap_core.data.class_files.load_classes`."""
        from scansnap_core.data import class_files  # which imports this module

        return class_files.load_classes(path)

    def save(self, path: str | Path) -> None:
        """Write a file of equal classes: :func:`scansnap_core.data.class_files.save_classes`."""
        from scansnap_core.data import class_files

        class_files.save_classes(self, path)

    def with_frequencies(self, frequencies: ArrayLike | None) -> SequenceClasses:
        """The same classes, seen with other frequencies P(n): K positive numbers with the sum 1, or None for uniform.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> ss.syn_small().with_frequencies([0.8, 0.2])
        SequenceClasses(K=2, M=34, queries=2, frequencies=0.2..0.8)
        """
        names = {"token_names": self.token_names, "class_names": self.class_names}
        return SequenceClasses(self.given_probs, self.query_of, self.next_of, **names, frequencies=frequencies)

    def plot(self) -> Figure:
        """P(l|n) as a picture, a row for each class and a column for each token that some class holds."""
        from scansnap_core.data.pictures import picture_of  # Matplotlib takes a second

        return picture_of(self)

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
        arrays = (self._probs.indptr, self._probs.indices, self.query_of, self.next_of)
        numbers = (self.vocab_size, self._probs.data.tobytes(), *(array.astype(np.int64).tobytes() for array in arrays))
        return *numbers, self.token_names, self.class_names, self.frequencies.tobytes()

    # -- frequencies -------------------------------------------------------------------------------------------

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all classes are equally frequent, P(n) = 1/K."""
        return bool(np.ptp(self.frequencies) == 0)

    @cached_property
    def paces(self) -> Floats:
        """K P(n), shape (K,): how often each class is seen, over how often if all were seen alike; all 1 if uniform."""
        return fix(np.ones(self.num_classes) if self.is_uniform else self.num_classes * self.frequencies)

    def check_uniform(self, what: str) -> None:
        """Raise :class:`~scansnap_core.BadInput` unless classes are equally frequent, as ``what`` needs."""
        if not self.is_uniform:
            raise BadInput(
                value=f"{what} of classes with P(n) from {self.frequencies.min():.3g} to {self.frequencies.max():.3g}",
                rule=f"it's defined for uniform classes, P(n) = 1/K = {1 / self.num_classes:.3g}",
                remedy="pass classes.with_frequencies(None)",
            )

    # -- tokens ------------------------------------------------------------------------------------------------

    @property
    def probs(self) -> Floats:
        """P(l|n) as a dense array, shape (K, M)."""
        check_places("P(l|n)", self.num_classes * self.vocab_size)
        return self._probs.toarray()

    def number_of(self, n: int | str) -> int:
        """The number in 0..K-1 of a class that is given by its number or its name.

        Raises
        ------
        BadInput
            There is no such class.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> ss.SequenceClasses.from_dicts({"ship": {"and": 1.0}}, query_of="the").number_of("ship")
        0
        """
        if isinstance(n, str) and n in self.class_names:
            return self.class_names.index(n)
        if not is_whole(n) or not 0 <= int(n) < self.num_classes:
            raise BadInput(
                value=f"n = {shown(n)}",
                rule=f"classes are numbered 0..{self.num_classes - 1}",
                remedy="choose one of them, by number or by its name in classes.coords['class']",
            )
        return int(n)

    def support(self, n: int | str) -> Ints:
        """The tokens l with P(l|n) > 0, ascending; n is a class's number in 0..K-1 or its name."""
        n = self.number_of(n)
        return self._probs.indices[self._probs.indptr[n] : self._probs.indptr[n + 1]].astype(np.int64)

    @cached_property
    def tokens(self) -> Ints:
        """The tokens that some class holds: the only rows of Y and columns of Z that ever move."""
        return fix(np.unique(self._probs.indices).astype(np.int64))

    @cached_property
    def num_holders(self) -> Ints:
        """|Omega(l)| for every token l, shape (M,): in how many classes it occurs."""
        check_places("|Omega(l)| of every token", self.vocab_size)
        return fix(np.bincount(self._probs.indices, minlength=self.vocab_size).astype(np.int64))

    @cached_property
    def sparse_probs(self) -> sparse.csr_array:
        """P(l|n) over :attr:`tokens` alone, SciPy sparse, shape (K, L)."""
        # slicing columns would allocate an array of size M
        columns = fix(np.searchsorted(self.tokens, self._probs.indices))
        shape = (self.num_classes, len(self.tokens))
        return sparse.csr_array((self._probs.data, columns, self._probs.indptr), shape=shape)

    @property
    def common_tokens(self) -> Ints:
        """G_CT: the tokens with |Omega(l)| > 1."""
        return self.tokens[np.bincount(self.sparse_probs.indices) > 1]

    def distinct_tokens(self, n: int | str) -> Ints:
        """G_DT(n): the tokens that occur in class n alone; n is a class's number in 0..K-1 or its name."""
        support = self.support(n)
        return np.setdiff1d(support, self.common_tokens, assume_unique=True)

    # -- overlaps ----------------------------------------------------------------------------------------------

    @cached_property
    def E(self) -> Floats:
        """E = F^T F - I at Z = 0, shape (K, K): the overlaps f_n^T f_n' of the l2-normalised classes (Assumption 2)."""
        check_places("E", self.num_classes**2)
        probs = self.sparse_probs
        norms = np.sqrt(probs.multiply(probs).sum(axis=1))
        F = sparse.csr_array(probs.multiply(1 / np.asarray(norms).reshape(-1, 1)))
        overlaps = (F @ F.T).toarray()
        np.fill_diagonal(overlaps, 0.0)
        return fix(overlaps)

    @cached_property
    def eigenvalues(self) -> Floats:
        """The eigenvalues of E, ordered as in the paper: |lambda_1| >= |lambda_2| >= ..."""
        values = np.linalg.eigvalsh(self.E)
        return fix(np.asarray(values[np.argsort(-np.abs(values), kind="stable")], dtype=np.float64))

    # -- axes --------------------------------------------------------------------------------------------------

    @cached_property
    def compact(self) -> Compact:
        """The same classes on the axes that can move; see :class:`~scansnap_core.data.compact.Compact`."""
        check_places("P(l|n) of the tokens that classes hold", self.num_classes * len(self.tokens))
        queries, query_row = np.unique(self.query_of, return_inverse=True)
        return Compact(self.tokens, self.sparse_probs.toarray(), queries, query_row.astype(np.int64))

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs of a model that starts at Y(0) = 0: the K next tokens, and one for all other tokens."""
        return Outputs.lumped(self.next_of, self.vocab_size)

    def labels(self, tokens: ArrayLike) -> NDArray[Any]:
        """What coordinates call these tokens: their names, or their numbers where tokens have no names.

        Parameters
        ----------
        tokens
            Numbers of tokens in 0..M-1, of any shape; -1 stands for all tokens that are no next token.

        Raises
        ------
        BadInput
            A name, or another number.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> sea = {"ship": {"and": 0.4, "wave": 0.6}}
        >>> ss.SequenceClasses.from_dicts(sea, query_of="the").labels([1, 2]).tolist()
        ['wave', 'the']
        """
        return labels(checked_numbering(tokens, self.vocab_size), self.token_names)

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """The coordinates of all results: ``class`` (K), and ``token`` (L) and ``query`` (Q) of :attr:`compact`."""
        return {
            "class": np.array(self.class_names or range(self.num_classes)),
            "token": self.labels(self.tokens),
            "query": self.labels(np.unique(self.query_of)),
        }

    # -- samples -----------------------------------------------------------------------------------------------

    def sample(self, batch_size: int, seq_len: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Draw a batch: classes by P(n), then T - 1 contextual tokens i.i.d. from P(.|n).

        Returns
        -------
        classes, q
            The class of each sample, shape (B,), and its token frequencies over :attr:`tokens`, shape (B, L).
            With ``seq_len = inf`` the frequencies are P itself.

        Raises
        ------
        BadInput
            No generator of NumPy's, a batch size that is no positive integer, T < 2.
        """
        checked_size("batch_size", batch_size)
        check_places("a batch", batch_size * len(self.tokens))
        check_seq_len(seq_len)
        check_generator(rng)
        classes = self.draw(batch_size, rng)
        if math.isinf(seq_len):
            return classes, self.compact.probs[classes]
        num_context = int(seq_len) - 1
        counts = rng.multinomial(num_context, self.compact.drawn[1][classes])
        return classes, self.compact.spread(classes, counts / num_context)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Classes i.i.d. from P(n), shape (size,)."""
        if self.is_uniform:
            return rng.integers(self.num_classes, size=size)
        return rng.choice(self.num_classes, size, p=self.frequencies)


def check_classes(classes: Any) -> None:
    """Raise :class:`~scansnap_core.BadInput` for anything but sequence classes."""
    if not isinstance(classes, SequenceClasses):
        raise BadInput(
            value=f"classes of type {type(classes).__name__}",
            rule="the data are SequenceClasses",
            remedy="make them of arrays, with SequenceClasses.from_dicts, or from a file with SequenceClasses.load",
        )
