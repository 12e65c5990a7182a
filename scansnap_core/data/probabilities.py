"""P(l|n), psi and P(n) of sequence classes by number (Sec. 3.2), and what follows: token kinds, overlaps, samples.

A sequence enters the model only through its token counts, because there is no positional encoding. So a sample of
class n is its class and ``q = counts / (T - 1)``; as T grows, q becomes P(.|n), and T = infinity is the same code
with q = P.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.data.axes import Compact, Outputs
from scansnap_core.data.checks import (
    GENERATOR,
    SIZE,
    check_places,
    checked_frequencies,
    checked_probs,
    checked_tokens,
    fix,
)
from scansnap_core.rules import SEQ_LEN, is_whole, shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Probabilities:
    """The numbers of K classes over M tokens; :class:`~scansnap_core.data.sequences.SequenceClasses` adds names.

    Parameters
    ----------
    probs, query_of, next_of, frequencies
        The same as of :class:`~scansnap_core.data.sequences.SequenceClasses`.
    class_names
        The names of the classes; empty if they have none.
    """

    def __init__(
        self,
        probs: ArrayLike | Any,
        query_of: ArrayLike,
        next_of: ArrayLike | None,
        frequencies: ArrayLike | None,
        class_names: tuple[str, ...],
    ) -> None:
        self.class_names = class_names
        # as given, and with each row divided by its sum
        self.given_probs, self._probs = checked_probs(probs, class_names)
        self.num_classes, self.vocab_size = K, M = self._probs.shape
        self.query_of = checked_tokens("query_of", query_of, M, num_classes=K)
        following = np.arange(K) if next_of is None else next_of
        self.next_of = checked_tokens("next_of", following, M, num_classes=K, distinct=True)
        # as given, and divided by their sum
        self.given_frequencies, self.frequencies = checked_frequencies(frequencies, K)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all classes are equally frequent, P(n) = 1/K."""
        return bool(np.ptp(self.frequencies) == 0)

    @cached_property
    def paces(self) -> Floats:
        """K P(n), shape (K,): how much more often each class is seen than if all were equally frequent."""
        return fix(np.ones(self.num_classes) if self.is_uniform else self.num_classes * self.frequencies)

    def check_uniform(self, what: str) -> None:
        """Raise :class:`~scansnap_core.BadInput` unless classes are equally frequent, as ``what`` needs."""
        if not self.is_uniform:
            raise BadInput(
                f"{what} of classes with P(n) from {self.frequencies.min():.3g} to {self.frequencies.max():.3g}",
                f"it's defined for uniform classes, P(n) = 1/K = {1 / self.num_classes:.3g}",
                "pass classes.with_frequencies(None)",
            )

    @property
    def probs(self) -> Floats:
        """P(l|n) as a dense array, shape (K, M)."""
        check_places("P(l|n)", self.num_classes * self.vocab_size)
        return self._probs.toarray()

    def number_of(self, n: int | str) -> int:
        """Return the number in 0..K-1 of a class that is given by its number or its name.

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
            numbered = f"classes are numbered 0..{self.num_classes - 1}"
            remedy = "choose one of them, by number or by its name in classes.coords['class']"
            raise BadInput(f"n = {shown(n)}", numbered, remedy)
        return int(n)

    def support(self, n: int | str) -> Ints:
        """Return the tokens l with P(l|n) > 0, ascending; n is a class's number in 0..K-1 or its name."""
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
        # mutant: each of these tokens is held by one class at least.
        return self.tokens[np.bincount(self.sparse_probs.indices) > 1]

    def distinct_tokens(self, n: int | str) -> Ints:
        """Return G_DT(n), the tokens that occur in class n alone; n is a class's number in 0..K-1 or its name."""
        support = self.support(n)
        # mutant: both are without repetition and ascending; without the hint it only takes longer.
        return np.setdiff1d(support, self.common_tokens, assume_unique=True)

    @cached_property
    def E(self) -> Floats:
        """E = F^T F - I at Z = 0, shape (K, K): the overlaps f_n^T f_n' of the l2-normalised classes (Assumption 2)."""
        check_places("E", self.num_classes**2)
        probs = self.sparse_probs
        norms = np.sqrt(probs.multiply(probs).sum(axis=1))
        # mutant: NumPy takes any negative size as the one that it shall find.
        F = sparse.csr_array(probs.multiply(1 / np.asarray(norms).reshape(-1, 1)))
        overlaps = (F @ F.T).toarray()
        np.fill_diagonal(overlaps, 0.0)
        return fix(overlaps)

    @cached_property
    def eigenvalues(self) -> Floats:
        """The eigenvalues of E, ordered as in the paper: |lambda_1| >= |lambda_2| >= ..."""
        values = np.linalg.eigvalsh(self.E)
        return fix(np.asarray(values[np.argsort(-np.abs(values), kind="stable")], dtype=np.float64))

    @cached_property
    def compact(self) -> Compact:
        """The same classes on the axes that can move; see :class:`~scansnap_core.data.axes.Compact`."""
        check_places("P(l|n) of the tokens that classes hold", self.num_classes * len(self.tokens))
        queries, query_row = np.unique(self.query_of, return_inverse=True)
        return Compact(self.tokens, self.sparse_probs.toarray(), queries, query_row.astype(np.int64))

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs of a model that starts at Y(0) = 0: the K next tokens, and one for all other tokens."""
        return Outputs.lumped(self.next_of, self.vocab_size)

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
        SIZE("batch_size", batch_size)
        check_places("a batch", batch_size * len(self.tokens))
        SEQ_LEN("seq_len", seq_len)
        GENERATOR("rng", rng)
        classes = self.draw(batch_size, rng)
        if math.isinf(seq_len):
            return classes, self.compact.probs[classes]
        num_context = int(seq_len) - 1
        counts = rng.multinomial(num_context, self.compact.drawn[1][classes])
        return classes, self.compact.spread(classes, counts / num_context)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw classes i.i.d. from P(n), shape (size,)."""
        if self.is_uniform:
            return rng.integers(self.num_classes, size=size)
        return rng.choice(self.num_classes, size, p=self.frequencies)
