"""Draw trial systems, and compute z of three of their tokens by our law, by (10) and by the
gradient.

Half of the systems have equal overlaps, half have none alike: up to three common tokens and three
queries. The tokens are chosen before anything is integrated: of the first class its most frequent
common token, and its most and its least frequent distinct one. In the systems that are drawn here
no two tokens of a class are equally frequent.

Sentences about many systems are measured on :mod:`scansnap_core.data.population`, not here. These
systems stay because recorded results rest on them. For the page on what SGD really does, the law's
predictions were written down before anything was integrated or trained, which can't be done twice.
Most of the systems lie outside Assumption 2.

Clock: tau = eta_Y t/K, t in steps of batch size 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import takes, whole
from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.population import log_uniform
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.law.memory import Law
from scansnap_core.law.predicting import predict
from scansnap_core.law.sampled_law import SampledLaw
from scansnap_core.law.types import types_of
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from scansnap_core.theory.solving import solve

TOKENS = ("common", "winner", "last")
"""The first class's most frequent common token, and its most and least frequent distinct one."""
TIED = 1e-9
"""Probabilities of a class within this share of each other are equal; the difference is
rounding.
"""
ALIKE = 1e-6
"""Logits within this share of each other belong to tokens that attention doesn't tell apart."""
MOST_CLASSES = 20
MOST_COMMON = 3
MOST_QUERIES = 3
SMALLEST = 1e2
LARGEST = 1e6
"""M lies between these, unless K classes need a larger M."""
LEAST_SHARE = 0.02
LARGEST_SHARE = 0.6
"""The common tokens' share of |f_n|² = 1 lies between these; with equal overlaps it is the
overlap.
"""


@takes(seed=whole(0), count=whole())
def systems(seed: int, count: int) -> list[SequenceClasses]:
    """Draw ``count`` class systems, the same for the same seed: even ones with equal overlaps, odd
    ones with unequal.

    K = 2 to 20, M and the share of the common tokens are drawn uniformly in their logarithms; a
    class has two to four distinct tokens with probabilities within a factor of five.

    Examples
    --------
    >>> systems(0, 2)
    [SequenceClasses(K=16, M=30481, queries=1), SequenceClasses(K=7, M=549908, queries=1)]
    """
    rng = np.random.default_rng(seed)
    return [(_unequal if number % 2 else _equal)(rng) for number in range(count)]


def law(
    classes: SequenceClasses,
    ratio: float,
    taus: ArrayLike,
    *,
    lr_y: float | None = None,
    seq_len: float = np.inf,
    momentum: float = 0.0,
) -> Floats:
    """Compute z of :data:`TOKENS` by the law at eta_Z/eta_Y = ``ratio``, shape (taus, 3).

    With ``lr_y`` it is :func:`scansnap_core.predict` for SGD at that eta_Y; without, the law of the
    gradient flow.
    """
    if lr_y is None:
        types = types_of(classes)
        of_types = Law(types, ratio) if np.isinf(seq_len) else SampledLaw(types, ratio, seq_len)
        path = of_types.path(np.asarray(taus, dtype=np.float64))
        Z = np.stack([types.per_query(state.z_common, state.z_distinct) for state in path])
        return _at_tokens(classes, Z)

    t = steps(classes, taus, lr_y=lr_y, momentum=momentum)
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    forecast = predict(classes, lr_y, ratio * lr_y, t, seq_len=seq_len, exact=False, **how)
    return _at_tokens(classes, forecast.Z.values)


def steps(
    classes: SequenceClasses, taus: ArrayLike, *, lr_y: float, momentum: float = 0.0
) -> Floats:
    """Convert tau = eta_Y t/K to a number of updates.

    With momentum one update counts 1/(1 - mu) times.
    """
    return np.asarray(taus) * classes.num_classes * (1 - momentum) / lr_y


def quasi_static(classes: SequenceClasses, ratio: float, taus: ArrayLike) -> Floats:
    """Integrate the paper's law (10) as repaired, and return z of :data:`TOKENS`, (taus, 3).

    gamma is at h(t/K), each class has the weight 1/K, and E' is that of the present F.
    """
    path = solve(IdealisedFlow(classes, 1.0, ratio), taus, unit="tau", rtol=1e-8)
    return _at_tokens(classes, path.Z.values)


def true_flow(classes: SequenceClasses, ratio: float, taus: ArrayLike) -> Floats:
    """Integrate the true gradient flow of all of Y and Z, and return z of :data:`TOKENS`, (taus,
    3).

    The method is explicit, because the Jacobian of all of Y costs more than the many steps that
    fast attention needs.
    """
    how: dict[str, Any] = {"method": "DOP853", "rtol": 1e-8, "atol": 1e-16}
    path = solve(TrueFlow(classes, 1.0, ratio), taus, unit="tau", **how)
    return _at_tokens(classes, path.Z.values)


def descend(
    classes: SequenceClasses,
    batches: Iterable[ArrayLike],
    lr_y: float,
    lr_z: float,
    *,
    momentum: float = 0.0,
) -> Iterator[Floats]:
    """Train many runs at once at T = infinity on given batches, and yield Z after each update.

    The gradients are those of :func:`scansnap_core.train`, which draws batches by itself.

    Parameters
    ----------
    classes
        The class system. At T = infinity a sample is its class, so a batch is known by the shares
        of the classes in it.
    batches
        For each update the shares, shape (runs, K): with B samples, how often each class is drawn,
        over B.
    lr_y, lr_z, momentum
        eta_Y and eta_Z per update, and mu, which is 0 for plain SGD.

    Yields
    ------
    Z of every run, shape (runs, Q, L) in the tokens of ``classes.compact``. The next update reads
    this array, so it mustn't be written to.

    Examples
    --------
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> one_by_one = [[[1, 0]], [[0, 1]]]  # one run, two updates: class 0 alone, then class 1
    >>> [Z.round(4).ravel().tolist() for Z in descend(classes, one_by_one, lr_y=1, lr_z=1)][-1]
    [-0.0003, 0.0, 0.0, 0.0001, 0.0002]
    """
    import torch

    from scansnap_core.engine import variants
    from scansnap_core.engine.surroundings import undisturbed

    every = variants.at_infinite_length(classes, classes.tokens)
    Y = every.q.new_zeros(1, every.q.shape[-1], every.target.shape[-1])
    Z = every.q.new_zeros(1, every.query.shape[-1], every.q.shape[-1])
    velocity_Y = Y
    velocity_Z = Z
    for shares in batches:
        # Not around ``yield``: who iterates has the caller's own settings of PyTorch there.
        with undisturbed(), torch.inference_mode():
            weight = torch.tensor(np.asarray(shares, dtype=np.float64), device="cpu")
            found = variants.plain(every._replace(weight=weight), Y, Z)
            velocity_Y = momentum * velocity_Y + found.Y
            velocity_Z = momentum * velocity_Z + found.Z
            Y = Y + lr_y * velocity_Y
            Z = Z + lr_z * velocity_Z
        yield Z.numpy()


def columns(classes: SequenceClasses, n: int = 0) -> dict[str, Ints]:
    """Return class n's columns of Z by kind; equally frequent tokens are all of them included.

    ``common`` are its most frequent common tokens, ``dominant`` and ``rarest`` its most and least
    frequent distinct ones: the same tokens, if all are equally frequent. A kind of token that the
    class doesn't hold is left out.

    Examples
    --------
    >>> rows = {"a": {"and": 0.4, "x": 0.2, "y": 0.2, "z": 0.2}, "b": {"and": 0.5, "w": 0.5}}
    >>> classes = SequenceClasses.from_dicts(rows, query_of="q", vocab_size=20)
    >>> for kind, found in columns(classes).items():
    ...     print(kind, classes.labels(classes.tokens[found]))
    common ['and']
    dominant ['x' 'y' 'z']
    rarest ['x' 'y' 'z']
    """
    P = classes.compact.probs[n]
    held = classes.compact.held
    shared = held.sum(axis=0) > 1
    common = np.flatnonzero(held[n] & shared)
    own = np.flatnonzero(held[n] & ~shared)
    kinds = (("common", common, np.max), ("dominant", own, np.max), ("rarest", own, np.min))
    return {
        kind: among[equal(P[among], best(P[among]))] for kind, among, best in kinds if among.size
    }


def equal(values: Floats, value: float) -> NDArray[np.bool_]:
    """Return whether each of the probabilities equals this one, up to rounding."""
    return np.isclose(values, value, rtol=TIED, atol=0)


def lowest(z: Floats, group: Ints) -> Ints:
    """Return the tokens of a group whose z is lowest, and those whose z is equal to it."""
    low = z[group].min()
    return group[z[group] <= low + ALIKE * abs(low)]


def positions(classes: SequenceClasses) -> tuple[int, list[int]]:
    """Return the places of :data:`TOKENS` in Z: the row of the first class's query, and three
    columns.

    Of tokens that are equally frequent it returns the first one. Equally frequent distinct tokens
    of a class have the same z under any law; equally frequent common ones needn't.
    """
    found = columns(classes)
    for kind, column in (("common", "common"), ("distinct", "dominant")):
        if column not in found:
            name = classes.coords["class"][0]
            raise BadInput(
                f"class {name}", f"the first class holds a {kind} token", "put another class first"
            )
    return int(classes.compact.query_row[0]), [int(group[0]) for group in found.values()]


def _at_tokens(classes: SequenceClasses, Z: Floats) -> Floats:
    """Take z of :data:`TOKENS`, shape (times, 3), from Z of shape (times, Q, L)."""
    query, tokens = positions(classes)
    return Z[:, query, tokens]


def _size(tokens_of_class: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw K and M, with M at least twice the number of tokens that classes and queries need."""
    K = round(log_uniform(2, MOST_CLASSES, rng))
    least = max(SMALLEST, 2.0 * (K * tokens_of_class + MOST_COMMON + MOST_QUERIES))
    return K, round(log_uniform(least, LARGEST, rng))


def _weights(rng: np.random.Generator) -> Floats:
    """Draw the weights of a class's two to four distinct tokens, within a factor of five."""
    return rng.uniform(0.2, 1.0, rng.integers(2, 5))


def _equal(rng: np.random.Generator) -> SequenceClasses:
    """Draw a system of classes with one overlap, which share a common token and a query."""
    weights = _weights(rng)
    K, M = _size(len(weights), rng)
    return with_overlap(
        K, M, log_uniform(LEAST_SHARE, LARGEST_SHARE, rng), distinct_weights=weights
    )


def _unequal(rng: np.random.Generator) -> SequenceClasses:
    """Draw a system of classes that differ, with up to three common tokens and three queries.

    Class n holds the common token n mod C, and each other one with probability 1/2, so that each is
    held by two classes at least.
    """
    K, M = _size(4, rng)
    C = rng.integers(1, min(MOST_COMMON, K // 2), endpoint=True)
    Q = rng.integers(1, MOST_QUERIES, endpoint=True)
    probs = sparse.lil_array((K, M))
    first = C
    for n in range(K):
        own = _weights(rng)
        common = rng.uniform(0.2, 1.0, C)
        common[(rng.random(C) < 0.5) & (np.arange(C) != n % C)] = 0
        # The share is that of |f_n|², and f_n is P normalised. So P on the common tokens is scaled
        # to the root of share/(1 - share) times P on the distinct ones.
        share = log_uniform(LEAST_SHARE, LARGEST_SHARE, rng)
        common *= math.sqrt(share / (1 - share)) * np.linalg.norm(own) / np.linalg.norm(common)
        total = common.sum() + own.sum()
        probs[n, :C] = common / total
        probs[n, first : first + len(own)] = own / total
        first += len(own)
    return SequenceClasses(sparse.csr_array(probs), query_of=M - 1 - rng.integers(Q, size=K))
