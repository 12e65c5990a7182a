"""P(l|n), psi and P(n) of sequence classes by number (Sec. 3.2), with token kinds and overlaps.

A sequence enters the model only through its token counts, because there is no positional encoding.
So a sample of class n is its class and ``q = counts / (T - 1)``; as T grows, q becomes P(.|n), and
T = infinity is the same code with q = P.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import SEQ_LEN, takes, whole
from scansnap_core.data.inputs import (
    GENERATOR,
    SIZE,
    check_places,
    checked_frequencies,
    checked_next,
    checked_probs,
    checked_tokens,
    fix,
)
from scansnap_core.data.inputs import OTHERS as OTHERS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Compact:
    """The rows and columns of Y and Z that gradient descent can move.

    Rows of Y and columns of Z outside every support, and rows of Z that are no class's query, have
    zero gradient (Lemma 1), so a run needs only L tokens and Q queries, exactly.
    """

    tokens: NDArray[np.int64]
    """The L tokens that some class holds, shape (L,)."""
    probs: NDArray[np.float64]
    """P(l|n) over those tokens, shape (K, L)."""
    queries: NDArray[np.int64]
    """The Q distinct query tokens, shape (Q,)."""
    query_row: NDArray[np.int64]
    """The place of each class's query in ``queries``, shape (K,)."""

    def __post_init__(self) -> None:
        # The other two go to PyTorch, which warns of read-only arrays.
        fix(self.tokens, self.queries)

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Return True where a class holds a token, shape (K, L)."""
        return fix(self.probs > 0)

    @cached_property
    def drawn(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return each class's tokens, as places on the L tokens, and their probabilities.

        Both have the shape (K, W). Counts drawn on these W places equal those drawn on all L from
        the same random numbers. For NumPy's multinomial uses no random number for an outcome of
        probability 0, and none for its last outcome, which gets what is left. So the last of the L
        tokens has to be the last of each row too, and W is at most one more than the largest
        support. A shorter row begins with place 0 at probability 0, again and again: counts are
        added to their places, not assigned.
        """
        num_tokens = self.probs.shape[1]
        own = [np.flatnonzero(row) for row in self.probs]
        ends = [
            places if places[-1] == num_tokens - 1 else np.append(places, num_tokens - 1)
            for places in own
        ]

        # Fill each row from its end.
        width = max(map(len, ends))
        places = np.zeros((len(own), width), np.int64)
        probs = np.zeros((len(own), width))
        for n, end in enumerate(ends):
            places[n, width - len(end) :] = end
            probs[n, width - len(end) :] = self.probs[n, end]
        fix(places, probs)
        return places, probs

    def spread(
        self, classes: NDArray[np.int64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Spread values on the W places of :attr:`drawn` over the L tokens.

        Classes of shape (...) and their values (..., W) give an array (..., L).
        """
        on_tokens = np.zeros((*classes.shape, self.probs.shape[1]))
        starts = np.arange(0, on_tokens.size, self.probs.shape[1]).reshape(*classes.shape, 1)
        # A padded row begins with place 0 again and again. If the class holds token 0, its value is
        # written last, so it stays.
        on_tokens.ravel()[self.drawn[0][classes] + starts] = values
        return on_tokens


@dataclass(frozen=True, eq=False)
class Outputs:
    """The O outputs of a model, each a column of Y that stands for one token or for several.

    From Y(0) = 0 the columns of the M - K tokens that are no next token stay equal, so one column
    with the multiplicity M - K holds them all exactly: :meth:`lumped`. From other starts every
    token has its own column: :meth:`separate`.

    Examples
    --------
    >>> outputs = Outputs.lumped([5, 3], vocab_size=10)
    >>> outputs.labels.tolist(), outputs.multiplicity.tolist()
    ([5, 3, -1], [1.0, 1.0, 8.0])
    >>> outputs.targets.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    labels: NDArray[np.int64]
    """The token that each column stands for, or ``OTHERS``, shape (O,)."""
    multiplicity: NDArray[np.float64]
    """The number of tokens that each column stands for, shape (O,)."""
    columns: NDArray[np.int64]
    """The column of each class's next token, shape (K,)."""

    def __post_init__(self) -> None:
        fix(self.labels, self.multiplicity, self.columns)

    @classmethod
    def lumped(cls, next_of: ArrayLike, vocab_size: float) -> Outputs:
        """Make a column for each next token, in the order of their classes, and one for all other
        tokens, if any.

        The M - K tokens that are no class's next token begin with equal columns of Y and get equal
        gradients, so one column stands for all. The loss counts it M - K times, which is its
        multiplicity, so M may be as large as one likes.

        ``next_of`` has each class's next token, shape (K,), all different, and ``vocab_size`` is
        M >= K; :class:`BadInput` says so otherwise. Class n's next token is column n.
        """
        vocab_size = _checked_size(vocab_size)
        tokens = checked_next(next_of, vocab_size)
        K = len(tokens)
        rest = [OTHERS] if vocab_size > K else []
        multiplicity = np.array([1.0] * K + [vocab_size - K] * len(rest))
        return cls(np.append(tokens, np.array(rest, dtype=np.int64)), multiplicity, np.arange(K))

    @classmethod
    def separate(cls, next_of: ArrayLike, vocab_size: float) -> Outputs:
        """Make one column per token of the vocabulary, so O = M. Parameters and errors are those of
        :meth:`lumped`, and M must fit into memory.
        """
        vocab_size = _checked_size(vocab_size)
        tokens = checked_next(next_of, vocab_size)
        check_places("one output for every token", vocab_size)
        return cls(np.arange(vocab_size), np.ones(vocab_size), tokens)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def targets(self) -> NDArray[np.float64]:
        """Make a new array of x_{T+1} of every class as one-hot rows, shape (K, O), at every
        call.
        """
        check_places("one-hot rows", len(self.columns) * len(self))
        return np.asarray(self.columns[:, None] == np.arange(len(self)), dtype=np.float64)


def _checked_size(vocab_size: Any) -> int:
    """Return M as an integer, or raise BadInput; 10.0 is whole too."""
    # NaN and inf aren't whole: they leave NaN.
    is_whole = isinstance(vocab_size, float | np.floating) and vocab_size % 1 == 0
    SIZE("vocab_size", vocab_size := int(vocab_size) if is_whole else vocab_size)
    return int(vocab_size)


class Probabilities:
    """The numbers of K classes over M tokens:
    :class:`~scansnap_core.data.sequences.SequenceClasses` adds names.

    Its arguments are the same; ``class_names`` is empty if they have none.
    """

    def __init__(
        self,
        probs: ArrayLike | Any,
        query_of: ArrayLike,
        next_of: ArrayLike | None,
        frequencies: ArrayLike | None,
        class_names: tuple[str, ...],
    ) -> None:
        """Check the arrays, and keep them as given and with the sum 1; BadInput names what is
        wrong.

        ``probs`` has the shape (K, M); ``query_of``, ``next_of`` and ``frequencies`` have (K,).
        """
        self.class_names = class_names
        # The probabilities as given, and with each row divided by its sum.
        self.given_probs, self._probs = checked_probs(probs, class_names)
        K, M = self._probs.shape
        self.num_classes = K
        self.vocab_size = M
        self.query_of = fix(checked_tokens("query_of", query_of, M, num_classes=K))
        self.next_of = checked_next(np.arange(K) if next_of is None else next_of, M, K)
        # The frequencies as given, and divided by their sum.
        self.given_frequencies, self.frequencies = checked_frequencies(frequencies, K)

    @cached_property
    def is_uniform(self) -> bool:
        """Return whether all classes are equally frequent, P(n) = 1/K."""
        return bool(np.ptp(self.frequencies) == 0)

    @cached_property
    def paces(self) -> Floats:
        """Return K P(n), shape (K,): how often each class is seen, relative to the mean class."""
        if self.is_uniform:
            return fix(np.ones(self.num_classes))
        return fix(self.num_classes * self.frequencies)

    def check_uniform(self, what: str) -> None:
        """Raise :class:`~scansnap_core.BadInput` unless classes are equally frequent, P(n) = 1/K.

        ``what`` says in the message what needs it.
        """
        if not self.is_uniform:
            raise BadInput(
                f"{what} of classes with P(n) from {self.frequencies.min():.3g} to "
                f"{self.frequencies.max():.3g}",
                f"it's defined for uniform classes, P(n) = 1/K = {1 / self.num_classes:.3g}",
                "pass classes.with_frequencies(None)",
            )

    @property
    def probs(self) -> Floats:
        """Return P(l|n) as a dense array, shape (K, M)."""
        check_places("P(l|n)", self.num_classes * self.vocab_size)
        return self._probs.toarray()

    def number_of(self, n: int | str) -> int:
        """Return the number in 0..K-1 of a class that is given by its number or its name; BadInput
        if there is none.

        Examples
        --------
        >>> import scansnap_core as ss
        >>> ss.SequenceClasses.from_dicts({"ship": {"and": 1.0}}, query_of="the").number_of("ship")
        0
        """
        if isinstance(n, str) and n in self.class_names:
            return self.class_names.index(n)
        numbered = f"classes are numbered 0..{self.num_classes - 1}"
        remedy = "choose one of them, by number or by its name in classes.coords['class']"
        whole(0, self.num_classes - 1, says=numbered, remedy=remedy)("n", n)
        return int(n)

    def support(self, n: int | str) -> Ints:
        """Return the tokens l with P(l|n) > 0, ascending, shape (S,); n is a class's number in
        0..K-1 or its name.
        """
        n = self.number_of(n)
        # The sparse matrix holds entries above 0 alone, row by row.
        return self._probs.indices[self._probs.indptr[n] : self._probs.indptr[n + 1]].astype(
            np.int64
        )

    @cached_property
    def tokens(self) -> Ints:
        """Return the tokens that some class holds: only these rows of Y and columns of Z ever
        move.
        """
        return fix(np.unique(self._probs.indices).astype(np.int64))

    @cached_property
    def num_holders(self) -> Ints:
        """Count the classes in which each token l occurs, |Omega(l)|, shape (M,)."""
        check_places("|Omega(l)| of every token", self.vocab_size)
        return fix(np.bincount(self._probs.indices, minlength=self.vocab_size).astype(np.int64))

    @cached_property
    def sparse_probs(self) -> sparse.csr_array:
        """Return P(l|n) over :attr:`tokens` alone, SciPy sparse, shape (K, L)."""
        # Slicing columns would allocate an array of size M.
        columns = fix(np.searchsorted(self.tokens, self._probs.indices))
        shape = (self.num_classes, len(self.tokens))
        return sparse.csr_array((self._probs.data, columns, self._probs.indptr), shape=shape)

    @property
    def common_tokens(self) -> Ints:
        """Return the common tokens G_CT, those with |Omega(l)| > 1."""
        return self.tokens[np.bincount(self.sparse_probs.indices) > 1]

    def distinct_tokens(self, n: int | str) -> Ints:
        """Return G_DT(n), the tokens that occur in class n alone; n is a class's number in 0..K-1
        or its name.
        """
        support = self.support(n)
        # Both are ascending and without repetition; the hint saves time.
        return np.setdiff1d(support, self.common_tokens, assume_unique=True)

    @cached_property
    def E(self) -> Floats:
        """Compute E = F^T F - I at Z = 0, shape (K, K) (Assumption 2).

        Its entries are the overlaps f_n^T f_n' of the l2-normalised classes.
        """
        check_places("E", self.num_classes**2)
        probs = self.sparse_probs
        norms = np.sqrt(probs.multiply(probs).sum(axis=1))
        F = sparse.csr_array(probs.multiply(1 / np.asarray(norms).reshape(-1, 1)))
        overlaps = (F @ F.T).toarray()
        np.fill_diagonal(overlaps, 0.0)
        return fix(overlaps)

    @cached_property
    def eigenvalues(self) -> Floats:
        """Return the eigenvalues of E, ordered as in the paper: |lambda_1| >= |lambda_2| >= ..."""
        values = np.linalg.eigvalsh(self.E)
        return fix(np.asarray(values[np.argsort(-np.abs(values), kind="stable")], dtype=np.float64))

    @cached_property
    def compact(self) -> Compact:
        """Return the same classes on the axes that can move; see :class:`Compact`."""
        check_places("P(l|n) of the tokens that classes hold", self.num_classes * len(self.tokens))
        queries, query_row = np.unique(self.query_of, return_inverse=True)
        return Compact(
            self.tokens, self.sparse_probs.toarray(), queries, query_row.astype(np.int64)
        )

    @cached_property
    def outputs(self) -> Outputs:
        """Return the outputs of a model that starts at Y(0) = 0: the K next tokens, and one for all
        other tokens.
        """
        return Outputs.lumped(self.next_of, self.vocab_size)

    @takes(batch_size=SIZE, seq_len=SEQ_LEN, rng=GENERATOR)
    def sample(
        self, batch_size: int, seq_len: float, rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """Draw a batch: classes by P(n), then T - 1 contextual tokens i.i.d. from P(.|n).

        Returns
        -------
        classes, q
            The class of each sample, shape (B,), and its token frequencies over :attr:`tokens`,
            shape (B, L). With ``seq_len = inf`` the frequencies are P itself.
        """
        check_places("a batch", batch_size * len(self.tokens))  # BadInput if memory can't hold it
        classes = self.draw(batch_size, rng)
        if math.isinf(seq_len):
            return classes, self.compact.probs[classes]
        # The last token of a sequence is its query; the T - 1 others are drawn, as one multinomial
        # over the few tokens of the sample's class. Then they are written to their places among L.
        num_context = int(seq_len) - 1
        _, own_probs = self.compact.drawn
        counts = rng.multinomial(num_context, own_probs[classes])
        return classes, self.compact.spread(classes, counts / num_context)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw classes i.i.d. from P(n), shape (size,)."""
        if self.is_uniform:
            return rng.integers(self.num_classes, size=size)
        return rng.choice(self.num_classes, size, p=self.frequencies)
