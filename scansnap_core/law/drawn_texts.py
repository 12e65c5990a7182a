"""Train on drawn texts: the mean of a few runs, where sequences are too short for the law.

Our law takes the scatter of samples to first order in 1/T. Contexts of a sentence's length are
shorter than that bears: a class's texts then have few words in common. But they are cheap to draw.
A text of T tokens moves at most T - 1 words of Y and Z, so a run of SGD costs as much as the words
that it reads, whatever the vocabulary.

So a few runs answer what the law can't. They scatter around their mean, and by how much is what one
doesn't know of it: the error is measured, and not looked up.

In endless sequences a text holds every word of its class in its share. There runs differ by the
order in which the classes come. Full batches of them don't scatter at all, and need no runs.

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
LIKELY_SCALE = 0.7
"""The error to expect and the likely error are that many standard errors of the mean. Runs are few
and tokens many, so these aren't quantiles of a Gaussian. In ``tools.recording.drawn_texts`` nine in
ten errors were smaller than the first and seven in ten larger than the second on the systems that
set them: counts of WikiText-2 before "the", "and" and the comma, and half of the small ones.
"""
MOST_WORDS = 1e9
"""The most contextual tokens that are drawn in all, which takes some minutes."""
MOST_UPDATES = 1e6
"""The most updates of all runs together, which take some minutes too, however few words they
read.
"""


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
    seq_len: float,
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
    updates = float(runs) * kept[-1]
    if updates > MOST_UPDATES:
        rule = f"all runs together make at most {MOST_UPDATES:,.0f} updates"
        raise BadInput(f"{updates:,.0f} updates by {runs} runs", rule, "ask for earlier times")
    words = updates * _words_of_batch(classes, seq_len, batch_size)
    if words > MOST_WORDS:
        rule = f"runs draw at most {MOST_WORDS:g} contextual tokens in all"
        raise BadInput(f"{runs} runs that draw {words:.2g}", rule, "ask for earlier times")

    def path(run: int) -> tuple[Floats, Floats]:
        """Train the run of this number."""
        drawer = _drawer(classes, seq_len, batch_size, seed + run)
        return _run(classes, lr_y, lr_z, kept, momentum, drawer)

    paths = [path(run) for run in range(runs)]

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


class _Texts(NamedTuple):
    """The texts of an update."""

    class_of: Ints
    """Each text's class, shape (texts,)."""
    weight: Floats
    """Each text's share in the gradient, shape (texts,)."""
    counts: sparse.csr_array
    """How often a text holds each token, shape (texts, L). It is sparse: a text holds few words."""


class _Drawer:
    """Draws the texts of one update after the other."""

    def __init__(
        self, classes: SequenceClasses, seq_len: int, batch_size: int | None, seed: int
    ) -> None:
        """Prepare each class's tokens, and the chance of all tokens up to each."""
        self._rng = np.random.default_rng(seed)
        self._num_context = seq_len - 1
        self._batch_size = batch_size
        self._frequencies = np.asarray(classes.frequencies)
        self._in_full_batch = _texts_by_class(classes)
        P = classes.compact.probs
        self._num_tokens = P.shape[1]
        self._held = [np.flatnonzero(row) for row in P]
        self._chance = [
            np.cumsum(row[tokens]) / row.sum() for row, tokens in zip(P, self._held, strict=True)
        ]

    def draw(self) -> _Texts:
        """Draw the next update's texts: T - 1 tokens each, from the text's class."""
        # How many texts each class has, (K,), and the weight of one of them.
        if self._batch_size is None:
            number = self._in_full_batch
            class_weight = self._frequencies / number
        else:
            number = self._rng.multinomial(self._batch_size, self._frequencies)
            class_weight = np.full(len(number), 1 / self._batch_size)
        class_of = np.repeat(np.arange(len(number)), number)

        # A uniform number falls below the chance of all tokens up to the one that it stands for.
        drawn = [
            tokens[np.searchsorted(chance, self._rng.random((texts, self._num_context)))]
            for tokens, chance, texts in zip(self._held, self._chance, number, strict=True)
        ]
        columns = np.concatenate(drawn).ravel()
        rows = np.repeat(np.arange(len(class_of)), self._num_context)
        shape = (len(class_of), self._num_tokens)
        counts = sparse.csr_array((np.ones(columns.size), (rows, columns)), shape)
        return _Texts(class_of, class_weight[class_of], counts)


class _EndlessDrawer:
    """Draws the classes of one update after the other, whose sequences are endless."""

    def __init__(self, classes: SequenceClasses, batch_size: int | None, seed: int) -> None:
        """Prepare the words of each class, which all its texts hold in the same shares."""
        self._rng = np.random.default_rng(seed)
        self._batch_size = batch_size
        self._frequencies = np.asarray(classes.frequencies)
        self._probs = sparse.csr_array(classes.compact.probs)

    def draw(self) -> _Texts:
        """Draw the next update's classes: one text for each that comes, of the weight of all."""
        weight = self._frequencies
        if self._batch_size is not None:
            weight = self._rng.multinomial(self._batch_size, weight) / self._batch_size
        class_of = np.flatnonzero(weight)
        return _Texts(class_of, weight[class_of], self._probs[class_of])


def _drawer(
    classes: SequenceClasses, seq_len: float, batch_size: int | None, seed: int
) -> _Drawer | _EndlessDrawer:
    """Return what draws the texts of sequences of this length."""
    if np.isinf(seq_len):
        return _EndlessDrawer(classes, batch_size, seed)
    return _Drawer(classes, int(seq_len), batch_size, seed)


def _words_of_batch(classes: SequenceClasses, seq_len: float, batch_size: int | None) -> float:
    """Count the words that an update reads."""
    if np.isinf(seq_len):
        # Of each class that comes, all its words once.
        by_class = classes.compact.held.sum(axis=1)
        return float(by_class.mean() * min(batch_size or np.inf, len(by_class)))
    return (batch_size or int(_texts_by_class(classes).sum())) * (seq_len - 1)


class _Change(NamedTuple):
    """How Y, Z and the evidence move in an update, per unit of their rates."""

    Y: Floats
    Z: Floats
    evidence: Floats


def _change(classes: SequenceClasses, texts: _Texts, Y: Floats, Z: Floats) -> _Change:
    """Compute Lemma 1's gradients on some texts at Y (L, O) and Z (Q, L), and each class's error.

    Only the words of a text count for it, so the work is that of the words that the texts hold.
    """
    class_of, weight, counts = texts
    num_texts, L = counts.shape
    outputs = classes.outputs
    own_output = outputs.targets.argmax(axis=1)

    # For every word of every text: its token, its text, and its place in Z, row after row.
    token = counts.indices
    text = np.repeat(np.arange(num_texts), np.diff(counts.indptr))
    place = classes.compact.query_row[class_of[text]] * L + token

    # f = LN(counts∘e^z) on the words of each text, and the errors x_{T+1} - alpha (Eqn 3).
    # Each text's largest logit is subtracted so that no exponential overflows.
    logits = Z.ravel()[place]
    largest = np.maximum.reduceat(logits, counts.indptr[:-1])
    x = counts.data * np.exp(logits - largest[text])
    f = x / np.sqrt(np.bincount(text, x**2, num_texts))[text]
    f_rows = sparse.csr_array((f, token, counts.indptr), shape=counts.shape)
    alpha = softmax(f_rows @ Y + np.log(outputs.multiplicity), axis=1)
    error = (outputs.targets[class_of] - alpha) * weight[:, None]

    # Lemma 1's gradients: f (x_{T+1} - alpha)^T for Y, and f∘(g - f f·g) for Z by Eqn 4.
    g = np.einsum("ij,ij->i", error[text], Y[token])
    f_g = np.bincount(text, f * g, num_texts)
    push = np.bincount(place, f * (g - f * f_g[text]), Z.size)
    learned = (f_rows.T @ error) / outputs.multiplicity

    # A class's evidence grows by the error at its own next token.
    missed = np.bincount(
        class_of, error[np.arange(num_texts), own_output[class_of]], classes.num_classes
    )
    return _Change(learned, np.asarray(push, float).reshape(Z.shape), np.asarray(missed, float))


def _run(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    kept: Ints,
    momentum: float,
    drawer: _Drawer | _EndlessDrawer,
) -> tuple[Floats, Floats]:
    """Train one run; return Z, shape (times, Q, L), and evidence, (times, K), after the updates
    ``kept``.
    """
    L = len(classes.compact.tokens)
    Y = np.zeros((L, len(classes.outputs.multiplicity)))
    Z = np.zeros((len(classes.compact.queries), L))
    evidence = np.zeros(classes.num_classes)
    velocity = _Change(np.zeros_like(Y), np.zeros_like(Z), np.zeros_like(evidence))

    kept_Z = []
    kept_evidence = []
    for update in range(kept[-1] + 1):
        if update in kept:
            kept_Z.append(Z)
            kept_evidence.append(evidence)
        change = _change(classes, drawer.draw(), Y, Z)
        velocity = _Change(
            momentum * velocity.Y + change.Y,
            momentum * velocity.Z + change.Z,
            momentum * velocity.evidence + change.evidence,
        )
        # New arrays each time: those that were kept don't move any more.
        Y = Y + lr_y * velocity.Y
        Z = Z + lr_z * velocity.Z
        evidence = evidence + lr_y * velocity.evidence
    return np.stack(kept_Z), np.stack(kept_evidence)
