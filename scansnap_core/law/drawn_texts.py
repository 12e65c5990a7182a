"""Train on drawn texts: the mean of a few runs, where sequences are too short for the law.

Our law takes the scatter of samples to first order in 1/T. Contexts of a sentence's length are
shorter than that bears: a class's texts then have few words in common. But they are cheap to draw.
A text of T tokens moves at most T - 1 words of Y and Z, so a run of SGD costs as much as the words
that it reads, whatever the vocabulary.

So a few runs answer what the law can't. They scatter around their mean, and by how much is what one
doesn't know of it: the error is measured, and not looked up.

Each update draws its texts anew. To draw some once and to keep them is as cheap, but another
problem: the decoder learns these texts by heart, words that happen to stand in one alone.

Clock: t in updates of batch size B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax

from scansnap_core.base.bad_input import BadInput
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses

TEXTS = 128
"""Texts that stand for a full batch in each update. Every class has its share of them, and two at
least.
"""
LEAST_RUNS = 4
SCALE = 1.8
"""The error to expect is that many standard errors of the mean. Runs are few and tokens many, so
this isn't a quantile of a Gaussian. In ``tools.recording.drawn_texts`` nine in ten errors were
smaller on the systems that set it: counts of WikiText-2 before "the", "and" and the comma, and
half of the small ones.
"""
MOST_WORDS = 1e9
"""The most contextual tokens that are drawn in all, which takes some minutes."""


class Runs(NamedTuple):
    """What runs of SGD have reached at some times.

    Attributes
    ----------
    Z
        Attention logits, shape (runs, times, Q, L), in the tokens of ``classes.compact``.
    evidence
        The evidence on each class, shape (times, K): the mean over runs.
    """

    Z: Floats
    evidence: Floats


def train_on_texts(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    t: Floats,
    *,
    seq_len: int,
    runs: int,
    momentum: float = 0.0,
    batch_size: int | None = None,
    seed: int = 0,
) -> Runs:
    """Train from Y = Z = 0 on texts drawn from the classes, with the seeds from ``seed`` on.

    Between two updates z is interpolated. Without ``batch_size`` an update shows every class in its
    share P(n), by :data:`TEXTS` texts.

    Examples
    --------
    >>> from scansnap_core import with_overlap
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> found = train_on_texts(classes, 1.0, 0.1, np.array([100.0]), seq_len=16, runs=8)
    >>> found.Z.mean(axis=0).ravel().round(2)
    array([-0.08, -0.09,  0.13, -0.09,  0.13])
    """
    before = np.floor(t).astype(int)
    share = t - before
    kept = np.unique([before, np.ceil(t).astype(int)])
    texts = batch_size or int(_texts_by_class(classes).sum())
    words = float(runs) * kept[-1] * texts * (seq_len - 1)
    if words > MOST_WORDS:
        rule = f"runs draw at most {MOST_WORDS:g} contextual tokens in all"
        raise BadInput(f"{runs} runs that draw {words:.2g}", rule, "ask for earlier times")
    paths = [
        _run(classes, lr_y, lr_z, kept, int(seq_len), momentum, batch_size, seed + run)
        for run in range(runs)
    ]

    def at_times(values: Floats) -> Floats:
        """Interpolate values at the updates ``kept``, along the second axis, to the times t."""
        first = np.searchsorted(kept, before)
        last = np.searchsorted(kept, np.ceil(t))
        part = share.reshape(-1, *[1] * (values.ndim - 2))
        return np.asarray((1 - part) * values[:, first] + part * values[:, last])

    Z = at_times(np.stack([path[0] for path in paths]))
    evidence = at_times(np.stack([path[1] for path in paths]))
    return Runs(Z, evidence.mean(axis=0))


def error_of_mean(Z: Floats) -> Floats:
    """Compute the error to expect of the mean over runs, shape (times,): a share of the whole z.

    ``Z`` has the shape (runs, times, Q, L). Where nothing has moved the error is 0.
    """
    whole = np.sqrt(np.square(Z.mean(axis=0)).sum(axis=(1, 2)))
    scatter = np.sqrt(Z.var(axis=0, ddof=1).sum(axis=(1, 2)) / len(Z))
    return SCALE * np.divide(scatter, whole, out=np.zeros_like(whole), where=whole > 0)


def _texts_by_class(classes: SequenceClasses) -> Ints:
    """Return how many texts of each class stand for a full batch, shape (K,)."""
    return np.maximum(2, np.round(TEXTS * classes.frequencies)).astype(int)


def _run(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    kept: Ints,
    seq_len: int,
    momentum: float,
    batch_size: int | None,
    seed: int,
) -> tuple[Floats, Floats]:
    """Train one run; return Z, shape (times, Q, L), and evidence, (times, K), after the updates
    ``kept``.
    """
    rng = np.random.default_rng(seed)
    P = classes.compact.probs
    K, L = P.shape
    query_row = classes.compact.query_row
    outputs = classes.outputs
    log_multiplicity = np.log(outputs.multiplicity)
    own_output = outputs.targets.argmax(axis=1)
    frequencies = np.asarray(classes.frequencies)
    held = [np.flatnonzero(row) for row in P]
    below = [np.cumsum(row[tokens]) / row.sum() for row, tokens in zip(P, held, strict=True)]

    Z = np.zeros((len(classes.compact.queries), L))
    Y = np.zeros((L, len(outputs.multiplicity)))
    evidence = np.zeros(K)
    velocity: tuple[Floats, ...] = (np.zeros_like(Y), np.zeros_like(Z), np.zeros(K))
    found = []
    for update in range(kept[-1] + 1):
        if update in kept:
            found.append((Z.copy(), evidence.copy()))

        # The texts of this update: how many of each class, the class of each, and their weights.
        if batch_size is None:
            number = _texts_by_class(classes)
            class_weight = frequencies / number
        else:
            number = rng.multinomial(batch_size, frequencies)
            class_weight = np.full(K, 1 / batch_size)
        class_of = np.repeat(np.arange(K), number)

        # Draw T - 1 tokens for each text. Counts (texts, L) are sparse, as a text holds few words.
        drawn = [
            tokens[np.searchsorted(chance, rng.random((texts, seq_len - 1)))]
            for tokens, chance, texts in zip(held, below, number, strict=True)
        ]
        columns = np.concatenate(drawn).ravel()
        rows = np.repeat(np.arange(len(class_of)), seq_len - 1)
        counts = sparse.csr_array((np.ones(columns.size), (rows, columns)), (len(class_of), L))
        token = counts.indices
        text = np.repeat(np.arange(len(class_of)), np.diff(counts.indptr))
        place = query_row[class_of[text]] * L + token

        # f = LN(counts∘e^z) on the words of each text, and the errors x_{T+1} - alpha (Eqn 3).
        x = counts.data * np.exp(Z.ravel()[place])
        f = x / np.sqrt(np.bincount(text, x**2, len(class_of)))[text]
        f_rows = sparse.csr_array((f, token, counts.indptr), shape=counts.shape)
        alpha = softmax(f_rows @ Y + log_multiplicity, axis=1)
        error = (outputs.targets[class_of] - alpha) * class_weight[class_of, None]

        # Lemma 1's gradients: f (x_{T+1} - alpha)^T for Y, and f∘(g - f f·g) for Z by Eqn 4.
        g = np.einsum("ij,ij->i", error[text], Y[token])
        f_g = np.bincount(text, f * g, len(class_of))
        push = np.bincount(place, f * (g - f * f_g[text]), Z.size).reshape(Z.shape)
        learned = (f_rows.T @ error) / outputs.multiplicity
        missed = np.bincount(class_of, error[np.arange(len(class_of)), own_output[class_of]], K)
        velocity = tuple(
            momentum * old + new for old, new in zip(velocity, (learned, push, missed), strict=True)
        )
        Y = Y + lr_y * velocity[0]
        Z = Z + lr_z * velocity[1]
        evidence = evidence + lr_y * velocity[2]
    Zs, evidences = zip(*found, strict=True)
    return np.stack(Zs), np.stack(evidences)
