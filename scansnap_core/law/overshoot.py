"""Whether updates are so large that attention overshoots, and how far an oscillation then grows.

Memory holds z at some place, and an update moves z towards it. A large one moves z past it, and the
next one back and farther still. We say how fast that grows by its second moments: of SGD, the mean
square over runs of the distance from that place. It is the mean over runs that a prediction is of,
and a mean square can grow while most single runs keep near.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scansnap_core.data.sequences import Floats, Ints
from scansnap_core.law.memory import Law, Moved, Pair
from scansnap_core.law.types import Types

ROUNDS = 20
"""The rounds of the power method."""


class Updates(NamedTuple):
    """How SGD updates.

    Attributes
    ----------
    pace
        eta_Y/K.
    momentum
        mu, 0 for plain SGD.
    batch_size
        B, or None for full batches.
    """

    pace: float
    momentum: float
    batch_size: int | None


class Overshoot(NamedTuple):
    """How far an update takes z past the place where memory holds it, on the average over runs.

    Attributes
    ----------
    step
        How far an update moves z, as a multiple of its distance from that place. From 2 on the
        distance grows. It is :func:`step_of`.
    growth
        The logarithm of the factor by which an update makes the distance grow (its root mean
        square over runs), 0 if it shrinks. It is :func:`growth_of`.
    """

    step: float
    growth: float


class Stiffness(NamedTuple):
    """How strongly an update moves z back towards where memory holds it, along one direction of z.

    An update of stiffness x changes the distance d to d - x d.

    Attributes
    ----------
    mean, variance
        The mean of x over single draws of the classes, by their shares P(n), and its variance.
    """

    mean: float
    variance: float


def step_of(stiffness: Stiffness, updates: Updates) -> float:
    """Compute the step of an update along a direction, a pure number.

    In full batches it is the mean stiffness over 1 + mu, because with momentum updates can be
    larger by that factor before an oscillation grows. In batches of B the stiffness varies from
    update to update, and the mean square of the distance grows as if it were larger. With l the
    mean and s² the variance of single draws, the step is

        l/(1 + mu) + s²/(B l (1 - mu)).

    If l is positive it is above 2 exactly where :func:`growth_of` is above 0.

    Examples
    --------
    >>> step_of(Stiffness(mean=3.0, variance=0.5), Updates(1.0, momentum=0.5, batch_size=None))
    2.0
    """
    step = stiffness.mean / (1 + updates.momentum)
    if updates.batch_size is None or stiffness.mean <= 0:
        return step
    scale = updates.batch_size * stiffness.mean * (1 - updates.momentum)
    return step + stiffness.variance / scale


def growth_of(stiffness: Stiffness, updates: Updates) -> float:
    """Compute by how much the logarithm of the distance grows in an update, along a direction.

    It is negative where the distance shrinks, and -inf where an update leaves nothing of it. In
    full batches without momentum it is ln|l - 1| with l the mean stiffness.

    Examples
    --------
    >>> round(growth_of(Stiffness(mean=3.0, variance=0.5), Updates(1.0, 0.0, None)), 6)  # ln 2
    0.693147
    """
    mean = stiffness.mean
    mu = updates.momentum
    scatter = 0.0 if updates.batch_size is None else stiffness.variance / updates.batch_size

    # Distance d and velocity v become
    #
    #     d' = (1 - x) d + mu v,    v' = -x d + mu v,
    #
    # with x drawn anew in each update, E x = mean and E x² = mean² + scatter. The rows below are
    # E d'², E d'v' and E v'² as sums of E d², E d v and E v².
    moments = np.array(
        [
            [(1 - mean) ** 2 + scatter, 2 * mu * (1 - mean), mu**2],
            [scatter - mean * (1 - mean), mu * (1 - 2 * mean), mu**2],
            [mean**2 + scatter, -2 * mu * mean, mu**2],
        ]
    )
    largest = float(np.abs(np.linalg.eigvals(moments)).max())
    return 0.5 * math.log(largest) if largest else -math.inf


def overshoot_of(law: Law, state: Moved, own_errors: Floats, updates: Updates) -> Overshoot:
    """Compute how far an update overshoots, at one state.

    One draw of class n moves a distance d from where memory holds z by -A_n d. To leading order

        A_n = eta_Z a_n (1 - alpha_nn) (diag(f_n²) - f_n² (f_n²)^T),

    squares by token: d changes f_n by f_n∘(d - (f_n²)·d), g_n stays along the f_n that memory
    holds, with the strength a_n (1 - alpha_nn), and Eqn 4 makes of the two a motion of z against d.
    What overlapping classes and the change of the errors add is left out: in full batches, on seven
    strata of the population at tau up to 8 ln M, 2 % at most of what the Jacobian of our law says;
    but near pairs have down to .37 of it, classes outside the paper's assumptions down to .76, and
    the paper's own data between .62 and 1.45. At finite T this is the stiffness of endless
    sequences; how a class's samples scatter is left out too.

    Along a direction v of length 1, draws of class n have the stiffness v^T A_n v. Two directions
    are tried; the larger step and the larger growth count. Along the first, all classes together
    are stiffest, each weighted by what its updates count in :func:`step_of` if no other class acts
    along with it. The second is that of the one class whose weighted stiffness is largest.

    The mean square of the distance as a whole grows by the largest eigenvalue of a map of matrices.
    Without momentum no direction has a larger growth than that. At states of 39 systems of the
    population of at most 6 classes and 40 places in Z, at tau = ln M and at rates where attention
    overshoots, the growth was above .81 of it in 95 % of 156 cases, and .31 of it at least.

    Parameters
    ----------
    law, state
        The law of the classes, whose types and ratio count; and what Z and the evidence are.
    own_errors
        1 - alpha_nn there, of a class of each type, shape (T,).
    updates
        How SGD updates.

    Examples
    --------
    >>> import numpy as np
    >>> from scansnap_core import with_overlap
    >>> from scansnap_core.law.types import types_of
    >>> law = Law(types_of(with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])), ratio=2.0)
    >>> (state,) = law.path(np.array([5.0]))
    >>> found = overshoot_of(law, state, law.own_errors(state), Updates(1.0, 0.0, None))
    >>> round(found.step, 1), round(found.growth, 1)
    (5.0, 1.4)
    """
    types = law.types
    f = law.attention(state)
    K = len(types.of_class)
    shares = types.paces / K
    # One draw moves Y by eta_Y, which is K times the pace.
    strength = law.ratio * K * updates.pace * state.a * own_errors
    weights = shares / (1 + updates.momentum)
    if updates.batch_size is not None:
        weights = weights + (1 - shares) / (updates.batch_size * (1 - updates.momentum))
    squares = f[0] ** 2, f[1] ** 2

    along = [_along_all_classes(types, squares, strength, weights)]
    # In full batches nothing varies, and no direction is stiffer than the first.
    if updates.batch_size is not None:
        along.append(_along_one_class(types, squares, strength, weights))
    return Overshoot(
        step=max(step_of(stiffness, updates) for stiffness in along),
        growth=max(0.0, *[growth_of(stiffness, updates) for stiffness in along]),
    )


def _along_all_classes(types: Types, squares: Pair, strength: Floats, weights: Floats) -> Stiffness:
    """Compute the stiffness along the direction in which all classes together are stiffest.

    Along it, classes and queries that are alike go alike.

    Parameters
    ----------
    types, squares
        The types, and f² on common and on distinct tokens.
    strength, weights
        eta_Z a_n (1 - alpha_nn) of one draw, and each class's weight, by type, shape (T,).
    """
    v_common, v_distinct = _stiffest(types.asking, types.query, squares, strength * weights)
    of_query = v_common[types.query]
    of_draws = strength * _quadratic(squares, (of_query, v_distinct))

    # The direction's length, over all queries and all classes of each kind.
    length = np.bincount(types.of_query) @ np.square(v_common).sum(axis=1)
    length += types.size @ np.square(v_distinct).sum(axis=1)
    if length == 0:
        return Stiffness(0.0, 0.0)
    return _mean_and_variance(of_draws / length, types.paces / len(types.of_class) * types.size)


def _along_one_class(types: Types, squares: Pair, strength: Floats, weights: Floats) -> Stiffness:
    """Compute the stiffness along the direction in which one class is stiffest, of the class whose
    weighted stiffness in a token is largest.

    Parameters are as above.
    """
    on_tokens = np.hstack(squares)
    weighted = strength * weights * (on_tokens * (1 - on_tokens)).max(axis=1)
    n = int(weighted.argmax())
    own = squares[0][n : n + 1], squares[1][n : n + 1]
    v_common, v_distinct = _stiffest(
        np.ones((1, 1)), np.zeros(1, dtype=int), own, strength[n : n + 1]
    )
    of_one = strength[n] * _quadratic(own, (v_common, v_distinct))

    # Other classes move z along this direction too, if they ask with the same query; but on common
    # tokens alone.
    of_others = strength * _quadratic(squares, (v_common, 0 * squares[1]))
    others = types.asking[types.query[n]] - np.eye(len(strength))[n]

    shares = types.paces / len(types.of_class)
    of_draws = np.append(of_others, of_one)
    return _mean_and_variance(of_draws, np.append(shares * others, shares[n]))


def _mean_and_variance(of_draws: Floats, shares: Floats) -> Stiffness:
    """Compute mean and variance of the stiffness; draws that ``shares`` leaves out have none."""
    mean = float(shares @ of_draws)
    return Stiffness(mean, float(shares @ np.square(of_draws)) - mean**2)


def _quadratic(squares: Pair, v: Pair) -> Floats:
    """Compute v^T (diag(f²) - f² (f²)^T) v of a class of each type, shape (T,)."""
    (common, distinct), (v_common, v_distinct) = squares, v
    mean = (common * v_common).sum(axis=1) + (distinct * v_distinct).sum(axis=1)
    mean_square = (common * v_common**2).sum(axis=1) + (distinct * v_distinct**2).sum(axis=1)
    return np.asarray(mean_square - mean**2)


def _stiffest(asking: Floats, query: Ints, squares: Pair, strength: Floats) -> Pair:
    """Find the direction in which A = sum_n strength_n (diag(f_n²) - f_n² (f_n²)^T) is stiffest, by
    the power method: A is applied to a vector, which turns towards the eigenvector of the largest
    eigenvalue. Twenty rounds find the eigenvalue well, if not always the vector.

    Parameters
    ----------
    asking, query
        How many classes of each type ask by kind of query, (R, T), and the kind of each type's
        query, (T,).
    squares, strength
        f² on common and on distinct tokens, and strength_n, by type.
    """
    common, distinct = squares
    strength = strength[:, None]
    # Classes may share no token, so it begins with a token of each: up at the distinct one whose
    # entry on A's diagonal is largest, and down at such a common token of each query, because f²
    # sums to 1 and what one token gains the others lose. A common token is moved by all classes
    # that ask with the same query.
    v_common = -_at_largest(asking @ (strength * common * (1 - common)))
    v_distinct = _at_largest(strength * distinct * (1 - distinct))
    for _ in range(ROUNDS):
        of_query = v_common[query]
        mean = (common * of_query).sum(axis=1) + (distinct * v_distinct).sum(axis=1)
        v_common = asking @ (strength * common * (of_query - mean[:, None]))
        v_distinct = strength * distinct * (v_distinct - mean[:, None])
        length = float(np.sqrt(np.square(v_common).sum() + np.square(v_distinct).sum()))
        if length == 0:
            break
        v_common /= length
        v_distinct /= length
    return v_common, v_distinct


def _at_largest(rows: Floats) -> Floats:
    """Return 1 at the first largest entry of each row, and 0 elsewhere."""
    found = np.zeros_like(rows)
    if rows.size:
        found[np.arange(len(rows)), rows.argmax(axis=1)] = 1
    return found
