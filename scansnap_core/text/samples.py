"""Next-word samples after one query word: running text as the paper's sequence classes (Sec. 3.2).

A position where the query word m stands is one sample: x_T = m, the T - 1 words before it are the
contextual tokens, and the word after it is x_{T+1}. All samples with one next word n are a class,
and P(l|n) is what its contexts hold.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import takes, whole
from scansnap_core.data.probabilities import Floats, Ints


@dataclass(frozen=True, eq=False)
class Samples:
    """N samples of one query word, over the L words of their contexts and K next words."""

    query: int
    """m, the query word's number."""
    words: Ints
    """The numbers of the words that occur in some context, ascending, shape (L,)."""
    next_words: Ints
    """The numbers of the next words, most frequent first, shape (K,)."""
    q: sparse.csr_array
    """The contexts as token frequencies, SciPy sparse, shape (N, L); rows sum to 1."""
    target: Ints
    """The next word of each sample, as its place among ``next_words``, in 0..K-1, shape (N,)."""
    weight: Floats
    """The share of each sample, shape (N,); it sums to 1."""

    @cached_property
    def next_probs(self) -> Floats:
        """Return P(n), the share of each next word, shape (K,)."""
        return np.asarray(
            np.bincount(self.target, self.weight, minlength=len(self.next_words)), dtype=np.float64
        )

    @cached_property
    def class_means(self) -> sparse.csr_array:
        """Return the matrix that takes the mean of each class over rows like those of :attr:`q`,
        shape (K, N).
        """
        rows = self.target
        size = len(self.target)
        share = self.weight / self.next_probs[rows]
        return sparse.csr_array(
            (share, (rows, np.arange(size))), shape=(len(self.next_words), size)
        )

    @cached_property
    def probs(self) -> Floats:
        """Return P(l|n), the mean token frequencies of a class's contexts, shape (K, L)."""
        return (self.class_means @ self.q).toarray()

    def shuffled(self, rng: np.random.Generator) -> Samples:
        """Pair contexts and next words at random, as a control."""
        return replace(self, target=rng.permutation(self.target))

    def halves(self, rng: np.random.Generator) -> tuple[Samples, Samples]:
        """Split the samples into two random halves on the same words and next words, to train on
        and to test on.
        """
        order = rng.permutation(len(self.target))
        return self.only(order[::2]), self.only(order[1::2])

    def only(self, rows: Ints, *, even: bool = False) -> Samples:
        """Keep these samples alone, by number, on the same words and next words; ``even`` ones
        weigh the same.
        """
        weight = (
            np.full(len(rows), 1 / len(rows))
            if even
            else self.weight[rows] / self.weight[rows].sum()
        )
        return replace(self, q=self.q[rows], target=self.target[rows], weight=weight)

    def at_infinity(self) -> Samples:
        """Take the same classes to T = infinity: one sample per class, with frequencies P(l|n) and
        weight P(n).
        """
        classes = np.arange(len(self.next_words))
        return replace(self, q=sparse.csr_array(self.probs), target=classes, weight=self.next_probs)


@takes(seq_len=whole(2, says="T counts the query and at least one contextual word", example=35))
def samples_after(
    text: Ints,
    query: int,
    *,
    seq_len: int,
    num_next: int,
    least: int = 1,
    without: Collection[int] = (),
) -> Samples:
    """Collect the samples of a query word whose next word is a frequent one.

    Rare next words are left out because a class needs samples: P(l|n) of a class seen a few times
    says more about those few windows than about the class.

    Parameters
    ----------
    text
        Word numbers in their order, shape (length,). Contexts run across line ends, as they do in
        training.
    query
        m.
    seq_len
        T, the query included, at least 2. A query with fewer than T - 1 words before it is no
        sample.
    num_next
        The K most frequent next words are kept (ties: the smaller number first), or fewer if there
        aren't as many.
    least
        The least number of samples that a next word must follow to be kept. Two next words at least
        have to be left.
    without
        Next words that are left out, such as ``<unk>``, which stands for many different words.
    """
    places = np.flatnonzero(text[:-1] == query)
    places = places[places >= seq_len - 1]
    follower = text[places + 1]
    candidates, seen = np.unique(follower, return_counts=True)
    allowed = (seen >= least) & ~np.isin(candidates, list(without))
    candidates = candidates[allowed]
    seen = seen[allowed]
    next_words = candidates[np.argsort(-seen, kind="stable")][:num_next]
    if len(next_words) < 2:
        raise BadInput(
            f"query word {query} with {len(next_words)} next words seen {least} times or more",
            "common and distinct are told apart by two next words or more",
            "choose a more frequent query word, or a smaller `least`",
        )
    kept = np.isin(follower, next_words)
    places = places[kept]
    follower = follower[kept]
    contexts = text[places[:, None] - np.arange(seq_len - 1, 0, -1)]
    words, column = np.unique(contexts, return_inverse=True)
    row = np.repeat(np.arange(len(places)), seq_len - 1)
    entries = (np.full(row.size, 1 / (seq_len - 1)), (row, column.ravel()))
    q = sparse.csr_array(entries, shape=(len(places), len(words)))  # sums what falls on one place
    ascending = np.argsort(next_words)
    target = ascending[np.searchsorted(next_words, follower, sorter=ascending)]
    weight = np.full(len(places), 1 / len(places))
    return Samples(
        query,
        words.astype(np.int64),
        next_words.astype(np.int64),
        q,
        target.astype(np.int64),
        weight,
    )
