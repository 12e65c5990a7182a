"""A gallery of overlap matrices E (Assumption 2) to hold a claim against: extreme, random, and of
trained models.

They span what claims about E hinge on: how many classes an overlap involves, how uneven overlaps
are, and how close the classes come to being linearly dependent.

Sentences about many systems are measured on :mod:`scansnap_core.data.population`. Here are what its
strata don't give: shapes of E without classes (:func:`overlaps`), attention at a largest eigenvalue
that is asked for, thousands at once (:func:`attentions`), classes that share most of their tokens
or share them in pairs (:func:`random_classes`, :func:`tied_classes`), and a few systems that pages
name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from scansnap_core.base.rules import checked_numbers, number, takes, whole
from scansnap_core.data.datasets import syn_medium, syn_small, with_overlap
from scansnap_core.data.inputs import GENERATOR, check_places
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.theory import spectrum

MOST_CLASSES = 10_000
"""The number of classes whose overlaps take 0.8 GB."""
_CLASSES = whole(
    2, MOST_CLASSES, says=f"overlaps need two classes, {MOST_CLASSES:,} at most", example=3
)
_TOP = number(
    above=0, says="|lambda_1| is positive where two classes overlap", remedy="pass e.g. 0.3"
)


@takes(num_classes=_CLASSES, top=_TOP, rng=GENERATOR)
def overlaps(num_classes: int, top: float, rng: np.random.Generator) -> dict[str, Floats]:
    """Make five matrices E by name with |lambda_1| = top: symmetric, zero diagonal, no negative
    entry, shape (K, K).

    ``equal``: all overlaps the same. ``pair``: two classes overlap, the others overlap with none.
    ``pairs``: classes overlap two by two. ``star``: the first class overlaps with all others, and
    these not with each other. ``random``: of :func:`random_classes`, scaled. With K = 2 the five
    are one. With ``top < 1``, I + E is positive definite.
    """
    pair, pairs, star = np.zeros((3, num_classes, num_classes))
    pair[0, 1] = 1
    first = np.arange(0, num_classes - 1, 2)
    pairs[first, first + 1] = 1
    star[0, 1:] = 1
    shapes = {
        "equal": 1 - np.eye(num_classes),
        "pair": pair + pair.T,
        "pairs": pairs + pairs.T,
        "star": star + star.T,
        "random": random_classes(num_classes, rng).E,
    }
    return {name: top / np.linalg.eigvalsh(shape)[-1] * shape for name, shape in shapes.items()}


@takes(num_classes=_CLASSES, rng=GENERATOR)
def random_classes(num_classes: int, rng: np.random.Generator) -> SequenceClasses:
    """Draw K >= 2 classes that hold 8 tokens each of 4K, with Dirichlet(1) probabilities; 4 query
    tokens take turns.

    Where K is large, a class overlaps with about 16 others, some hardly and some nearly whole.
    """
    tokens = 4 * num_classes
    held = 8
    columns = np.concatenate([rng.choice(tokens, held, replace=False) for _ in range(num_classes)])
    probs = rng.dirichlet(np.ones(held), num_classes).ravel()
    rows = np.repeat(np.arange(num_classes), held)
    shape = (num_classes, tokens + 4)
    return SequenceClasses(
        sparse.csr_array((probs, (rows, columns)), shape=shape), tokens + np.arange(num_classes) % 4
    )


@takes(num_classes=_CLASSES, top=_TOP, rng=GENERATOR)
def tied_classes(
    num_classes: int, vocab_size: int, top: float, rng: np.random.Generator
) -> SequenceClasses:
    """Draw classes whose overlaps E have a largest eigenvalue of the given size, |lambda_1| = top.

    All classes share one query, and each has two tokens of its own. About 7 in 10 pairs of classes
    hold one token together, one pair at least. The frequencies of all these shared tokens are
    scaled by one factor until |lambda_1| is ``top``. That can be at most about 0.6 (below 1 for
    K = 2), in the limit in which classes hold hardly anything but shared tokens. M has to be above
    2K + K(K - 1)/2, the number of tokens held.
    """
    K = num_classes
    pairs = [(i, j) for i in range(K) for j in range(i)]
    own = rng.uniform(0.5, 1.5, (K, 2))
    tied = rng.exponential(1, (len(pairs), 2)) * (rng.random((len(pairs), 1)) < 0.7)
    tied[0] += 0.1

    def probs(scale: float) -> Floats:
        """Return P(l|n), (K, M), with all ties scaled by a factor."""
        rows = np.zeros((K, vocab_size))
        rows[np.arange(K)[:, None], np.arange(2 * K).reshape(K, 2)] = own
        for token, pair in enumerate(pairs, start=2 * K):
            rows[pair, token] = scale * tied[token - 2 * K]
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    def excess(log_scale: float) -> float:
        """Return by how much |lambda_1| is above ``top``; it rises with the scale."""
        F = spectrum.F(probs(math.exp(log_scale)))
        return float(np.max(np.abs(np.linalg.eigvalsh(spectrum.E(F)))) - top)

    return SequenceClasses(probs(math.exp(brentq(excess, -12, 6))), np.full(K, vocab_size - 1))


@takes(
    num_classes=_CLASSES,
    num_common=whole(1, MOST_CLASSES),
    rng=GENERATOR,
    spread=number(above=0, remedy="pass e.g. 1.0"),
)
def attentions(
    num_classes: int,
    num_common: int,
    tops: Floats,
    rng: np.random.Generator,
    *,
    spread: float = 1.0,
) -> Floats:
    """Draw attention F with |lambda_1(E)| = tops[s]: f_n as rows, shape (S, K, num_common + 2K).

    Tokens: the common ones, held by every class, then two distinct ones a class. At Z = 0 it is the
    attention of classes with P(l|n) = f_nl / sum_l f_nl. Classes differ in how much of their
    attention is common, by up to five times, and in how they split it.

    Parameters
    ----------
    tops
        The |lambda_1| asked for, positive, shape (S,). A value can be out of reach, because a class
        would attend to common tokens alone before |lambda_1| gets there. Then this class keeps 1
        part in 10⁴ for its distinct tokens, and |lambda_1| is smaller than asked.
    spread
        How unevenly a class splits its common attention: Dirichlet(1/spread), positive.
    """
    tops = checked_numbers(
        "tops", tops, above=0, rule="positive finite numbers", remedy="pass e.g. [0.1]", dims=1
    )
    check_places("attention", len(tops) * num_classes * (num_common + 2 * num_classes))
    split = rng.dirichlet(np.full(num_common, 1 / spread), (len(tops), num_classes))
    common = (
        rng.uniform(0.2, 1, (len(tops), num_classes, 1))
        * split
        / np.linalg.norm(split, axis=-1, keepdims=True)
    )
    # E is quadratic in the common entries, so these are scaled by a root, as far as a class keeps
    # some attention for its distinct tokens. What remains of its length 1 goes to these two, at a
    # random angle.
    top = np.linalg.eigvalsh(spectrum.E(common))[:, -1]
    reachable = 0.9999 / np.linalg.norm(common, axis=-1).max(axis=-1)
    common *= np.minimum(np.sqrt(tops / top), reachable)[:, None, None]
    own = np.sqrt(1 - (common**2).sum(axis=-1))
    angle = rng.uniform(0.1, np.pi / 2 - 0.1, own.shape)
    distinct = np.zeros((len(tops), num_classes, num_classes, 2))
    n = np.arange(num_classes)
    distinct[:, n, n] = np.stack([own * np.cos(angle), own * np.sin(angle)], axis=-1)
    return np.concatenate([common, distinct.reshape(len(tops), num_classes, -1)], axis=-1)


def systems() -> dict[str, SequenceClasses]:
    """Make five class systems by name, the paper's own among them. Only ``inside`` satisfies
    Assumption 2.
    """
    return {
        "Syn-Small": syn_small(),
        "Syn-Medium": syn_medium(10),
        "inside": with_overlap(5, 40_000, 0.04),
        "outside": with_overlap(5, 1_000, 0.3),
        "irregular": random_classes(12, np.random.default_rng(0)),
    }


def compared() -> dict[str, SequenceClasses]:
    """Make the class systems on which dynamics are compared: two that satisfy Assumption 2, and
    Syn-Small.
    """
    weights = [1, 0.8, 0.5]
    return {
        "K = 2": with_overlap(2, 1_000, 0.3, distinct_weights=weights),
        "K = 3": with_overlap(3, 10_000, 0.1, distinct_weights=weights),
        "Syn-Small": syn_small(),
    }


def with_attention(F: Floats, num_queries: int) -> SequenceClasses:
    """Make classes with a given attention at Z = 0, over the smallest vocabulary that Assumption 2
    allows.

    F has f_n as rows, shape (K, L): not negative, of length 1, and no eigenvalue of their overlaps
    is zero. The classes take the queries in turn.

    Examples
    --------
    >>> with_attention(np.array([[0.6, 0.8, 0.0], [0.6, 0.0, 0.8]]), 1).vocab_size
    278
    """
    num_classes, held = F.shape
    smallest = np.abs(np.linalg.eigvalsh(spectrum.E(F))).min()
    vocab_size = max(10 * num_classes**2, math.ceil((6 / smallest) ** 2), held + num_classes)
    probs = np.zeros((num_classes, vocab_size))
    probs[:, :held] = F / F.sum(axis=1, keepdims=True)
    return SequenceClasses(probs, query_of=vocab_size - 1 - np.arange(num_classes) % num_queries)


def uneven() -> SequenceClasses:
    """Make two different classes inside Assumption 2: one distinct token each, and token 0 common
    to both.

    The first class gives the common token 0.9 of its attention's length, the second 0.2.
    """
    return with_attention(
        np.array([[0.9, math.sqrt(1 - 0.9**2), 0.0], [0.2, 0.0, math.sqrt(1 - 0.2**2)]]), 1
    )


def lopsided() -> SequenceClasses:
    """Make two classes inside Assumption 2 with one distinct token each and three common ones, of
    which two rise.

    Token 0 is as probable in both classes, token 1 almost only in the first and token 2 almost only
    in the second. Such classes are the control where a single common token is said to fall.
    """
    weights = np.array([[0.35, 1, 0.002, 0.5, 0], [0.35, 0.002, 1, 0, 0.5]])
    return with_attention(weights / np.linalg.norm(weights, axis=1, keepdims=True), 1)


def along_training(
    classes: SequenceClasses, marks: Sequence[int], *, lr_y: float, lr_z: float
) -> Floats:
    """Train a model, and compute its E at T = infinity, shape (len(marks), K, K).

    ``marks`` tells after how many steps of SGD with batch size 32 and T = 128, ascending; 0 is the
    start, Z = 0.
    """
    from scansnap_core.engine.training import train  # brings torch, which the systems don't need

    run = train(
        classes, lr_y=lr_y, lr_z=lr_z, steps=marks[-1], batch_size=32, record=marks, device="cpu"
    )
    compact = classes.compact
    logits = run.Z.isel(seed=0, rate=0).transpose("recorded", "query", "token").values
    return np.stack([spectrum.E(spectrum.F(compact.probs, Z[compact.query_row])) for Z in logits])
