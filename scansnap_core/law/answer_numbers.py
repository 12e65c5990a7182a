"""Compute the numbers of what attention will do on given classes.

:mod:`scansnap_core.law.answer` writes sentences with them, and the book's calculator shows
the sentences with numbers that it computes itself.

Clock: updates of any batch size; with momentum mu an update moves 1/(1 - mu) times as far.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
import xarray as xr
from scipy.interpolate import CubicSpline

from scansnap_core.base.digits import digits
from scansnap_core.base.rules import RATE, SEQ_LEN, number, one_of, takes
from scansnap_core.data.sequences import CLASSES, Floats, Ints, SequenceClasses
from scansnap_core.engine.settings import checked_momentum
from scansnap_core.law.adam import first_signs
from scansnap_core.law.expected_error import LEAST, PredictionOutOfRange
from scansnap_core.law.memory import Law
from scansnap_core.law.phases import AT_REST, tilt
from scansnap_core.law.predicting import ALL, OPTIMIZERS, predict
from scansnap_core.law.sentences import ADAM_DERIVED, DERIVED
from scansnap_core.law.trials import columns, lowest, positions
from scansnap_core.law.types import types_of
from scansnap_core.theory.clocks import transition
from scansnap_core.theory.flows import Flow, IdealisedFlow, TrueFlow
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.solving import solve
from scansnap_core.theory.spectrum import F

NAMES = ("common", "first", "last")
"""What the sentences are about: words of the first class, its most frequent common, and its most
and least frequent distinct ones. Each name stands for all that are equally frequent."""
ANSWERED = (*OPTIMIZERS, "adam")
HORIZON = 1e6
"""The last time looked at, in t_0."""
END = 40
"""The time up to which the book compares movements, in t_0."""
GRID = 0.01
POINTS = 400
"""The first time looked at, in t_0, and how many there are up to the horizon."""


def numbers(
    classes: SequenceClasses, lr_y: float, lr_z: float, steps: float, **settings: Any
) -> dict[str, float]:
    """Return the numbers of :func:`numbers_and_tokens`."""
    return numbers_and_tokens(classes, lr_y, lr_z, steps, **settings)[0]


@takes(classes=CLASSES, lr_y=RATE, lr_z=RATE, seq_len=SEQ_LEN, optimizer=one_of(ANSWERED))
def numbers_and_tokens(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    steps: float,
    *,
    seq_len: float = np.inf,
    optimizer: str = "sgd",
    momentum: float | None = None,
    batch_size: int | None = None,
    forecast: xr.Dataset | None = None,
) -> tuple[dict[str, float], dict[str, Ints]]:
    """Compute the numbers of the sentences, for tokens of the first class and its query.

    The tokens are the most frequent common ones, and the most and the least frequent distinct ones
    ("first", "last"). Equally frequent distinct tokens have one z, so a number of one is a number
    of each. Equally frequent common tokens may differ, if other classes hold them unequally. Of
    them, those are meant whose z is lowest at t_0 under the gradient; with Adam, those that fall
    first.

    Arguments are as :func:`~scansnap_core.predict` takes them, with ``steps`` from 1 to a million
    t_0, and with "adam" as an optimizer. The ``forecast`` is what it returned for them, with
    ``steps`` as the last time, if that is known already.

    Returns
    -------
    numbers : dict
        The numbers by name, below.
    tokens : dict
        The columns of Z of the tokens that are meant by each of :data:`NAMES`.

    Notes
    -----
    Numbers of the system and the tokens:

    - ``num_common``, ``num_first``, ``num_last``: how many tokens are meant
    - ``num_tied``: how many common tokens are as frequent as the most frequent one
    - ``several``: 1 if some distinct token is more frequent than another
    - ``scan``, ``snap``: t_0' and t_0
    - ``rho``: the largest overlap of two classes at the start
    - ``mu``, ``batch``, ``flow``: momentum's mu; B, infinite for full batches; 1 for the flow, else
      0

    Numbers of the forces:

    - ``sampled_first``, ``sampled_last``: T - 1 times the way that sampling has pushed a token by
      t_0, over the way that the overlap has, to first order in 1/T and in eta_Z
    - ``t_drift``: when the overlap has pushed both distinct tokens farther than sampling has; 0 if
      always, and infinite if not within the horizon

    Numbers of the movement, under the paper's law (10) (``_ten``) and the gradient (``_true``):

    - ``snap_*``, ``end_*``: z of the common token at t_0 and at 40 t_0
    - ``share``: the common token's attention at the start
    - ``lost_*``, ``horizon_*``: how much of that is lost at ``steps``, and at a million t_0
    - ``half_*``: when half of it is lost
    - ``lead``, ``lead_*``: the attention of "first" over that of "last", at the start and at
      ``steps``

    How far they can be trusted:

    - ``likely``, ``error``: :func:`~scansnap_core.predict`'s ``likely_error`` and
      ``expected_error`` at ``steps``
    - ``whole``: whether all of Y and Z were followed, and nothing was left out
    - ``order``: the share of z by which the order of classes has changed it by then

    For Adam instead of the forces and the movement:

    - ``*_sign``: where its first updates move a token
    - ``rising``, ``held``: how many tokens they raise, of how many
    - ``total``: the sum of f_l

    The rest follows by the formulas of ``DERIVED`` in
    :mod:`scansnap_core.law.sentences`, or by those of ``ADAM_DERIVED``.
    """
    mu = checked_momentum(momentum, optimizer)
    # Momentum moves 1/(1 - mu) times as far per update.
    rates = lr_y / (1 - mu), lr_z / (1 - mu)
    K = classes.num_classes
    M = classes.vocab_size
    row, (_, first, last) = positions(classes)
    tokens = dict(zip(NAMES, columns(classes).values(), strict=True))
    found = {"K": K, "M": M, "T": seq_len, "eta_Y": rates[0], "eta_Z": rates[1], "steps": steps}
    found |= {"several": first != last, "num_tied": len(tokens["common"])}
    if optimizer == "adam":
        number(least=1, remedy="pass e.g. 100")("steps", steps)
        signs = first_signs(classes)[row]
        tokens["common"] = lowest(signs, tokens["common"])
        return _completed(found | _of_signs(classes, signs, tokens), tokens, ADAM_DERIVED)

    scan, snap = transition(K, M, rates[0])
    remedy = f"pass e.g. {digits(snap)}, which is t_0"
    number(least=1, below=HORIZON * snap, remedy=remedy)("steps", steps)
    found |= {"scan": scan, "snap": snap} | _of_classes(classes)

    # Z under both dynamics, over times in which t_0, 40 t_0 and ``steps`` are.
    times = np.union1d(np.geomspace(GRID * snap, HORIZON * snap, POINTS), [snap, END * snap, steps])
    paths = {
        name: _path(flow(classes, *rates), times)[:, row]
        for name, flow in (("ten", IdealisedFlow), ("true", TrueFlow))
    }
    at_snap = int(np.searchsorted(times, snap))
    tokens["common"] = lowest(paths["true"][at_snap], tokens["common"])

    # Sampling against drift.
    law = Law(types_of(classes), AT_REST)
    over = _sampling_over_drift(law, classes, row, times * rates[0] / K)[:, [first, last]]
    found["sampled_first"] = over[at_snap, 0]
    found["sampled_last"] = over[at_snap, 1]
    found["t_drift"] = 0.0
    if not np.isinf(seq_len):
        found["t_drift"] = _first_time(times, seq_len - 1 - np.abs(over).max(axis=1))

    if forecast is None:
        how: dict[str, Any] = {"seq_len": seq_len, "optimizer": optimizer, "momentum": momentum}
        with warnings.catch_warnings():
            # The sentences say how far the forecast is likely off.
            warnings.simplefilter("ignore", PredictionOutOfRange)
            forecast = predict(classes, lr_y, lr_z, steps, batch_size=batch_size, **how)
    found["likely"] = forecast.likely_error.values[-1]
    found["error"] = forecast.expected_error.values[-1]
    # Of the mean of runs nothing is known about the order alone.
    found["order"] = np.nan_to_num(forecast.order.values[-1])
    found["batch"] = np.inf if batch_size is None else batch_size
    found["flow"] = optimizer == "flow"
    found["whole"] = forecast.law == ALL and found["error"] < LEAST
    found["mu"] = mu

    P = classes.compact.probs[0]
    places = (tokens["common"][0], first, last)
    found |= {"share": P[places[0]], "lead": P[first] / P[last]}
    found["square_first"] = P[first] ** 2 / (P @ P)
    moments = tuple(np.searchsorted(times, [snap, END * snap, steps]))
    for name, z in paths.items():
        movement = _of_movement(times, z, P, places, moments)
        found |= {f"{number}_{name}": value for number, value in movement.items()}
    return _completed(found, tokens, DERIVED)


def _of_signs(
    classes: SequenceClasses, signs: Floats, tokens: Mapping[str, Ints]
) -> dict[str, float]:
    """Compute the numbers of Adam's first updates: ``*_sign``, ``rising``, ``held`` and ``total``
    of :func:`numbers_and_tokens`.

    ``signs``, shape (L,), says where the updates move each token under the first class's query: 1
    for up, -1 for down.
    """
    P = classes.compact.probs[0]
    found = {f"{name}_sign": signs[group[0]] for name, group in tokens.items()}
    found["rising"] = (signs[P > 0] > 0).sum()
    found["held"] = (P > 0).sum()
    found["total"] = F(P).sum()
    return found


def _of_classes(classes: SequenceClasses) -> dict[str, float]:
    """Compute the numbers of the class system alone, which the paper's assumptions are about.

    ``largest`` and ``smallest`` are moduli of eigenvalues of E, ``rho`` is the largest overlap
    f_n^T f_n' of two classes, and ``uniform`` says whether all classes are equally frequent.
    """
    moduli = np.abs(classes.eigenvalues)
    probs = classes.compact.probs
    f = F(probs)
    return {
        "uniform": classes.is_uniform,
        "largest": moduli[0],
        "smallest": moduli[-1],
        "rho": (f @ f.T - np.eye(classes.num_classes)).max(),
    }


def _of_movement(
    times: Floats,
    z: Floats,
    P: Floats,
    places: tuple[int, int, int],
    moments: tuple[int, ...],
) -> dict[str, float]:
    """Compute how far the tokens at ``places`` (common, first, last) move under one dynamics: the
    numbers of the movement in :func:`numbers_and_tokens`, without their suffix.

    z has the shape (times, L) and P the shape (L,). ``times`` are updates of batch size 1, and
    ``moments`` the indices of t_0, 40 t_0 and ``steps`` among them.
    """
    common, first, last = places
    at_snap, at_end, now = moments

    # Attention c of each token, and the common token's, relative to the start.
    c = P * np.exp(z)
    c /= c.sum(axis=1, keepdims=True)
    kept = c[:, common] / P[common]
    return {
        "snap": z[at_snap, common],
        "end": z[at_end, common],
        "lost": 1 - kept[now],
        "horizon": 1 - kept[-1],
        "half": _first_time(times, 0.5 - kept),
        "lead": c[now, first] / c[now, last],
    }


def _completed(
    found: dict[str, Any], tokens: dict[str, Ints], formulas: Mapping[str, sp.Expr]
) -> tuple[dict[str, float], dict[str, Ints]]:
    """Complete the numbers behind an answer by what follows from them.

    ``tokens`` has, for each group that a sentence may name, the tokens in it; their numbers are
    added as ``num_...``. Then each formula is evaluated, in order, so that a later one may use an
    earlier one's value. A time that never comes is infinite. Returns all numbers as floats, and
    ``tokens`` as they are.
    """
    found |= {f"num_{name}": len(group) for name, group in tokens.items()}
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for name, expression in formulas.items():
            found[name] = value_of(expression, found)
    return {name: float(value) for name, value in found.items()}, tokens


def value_of(expression: sp.Basic, found: Mapping[str, float]) -> float:
    """Evaluate a formula or a condition at the numbers of its symbols' names."""
    names, function = _compiled(expression)
    return float(function(*(found[name] for name in names)))


@cache
def _compiled(expression: sp.Basic) -> tuple[list[str], Any]:
    """Compile a formula or a condition, once. Return the names of its symbols, and a function that
    takes their values in this order.

    :func:`function_of` makes functions of formulas alone, so a condition, which gives True or
    False, is compiled by SymPy.
    """
    symbols = sorted(expression.free_symbols, key=str)
    is_formula = isinstance(expression, sp.Expr)
    function = (
        function_of(expression, symbols)
        if is_formula
        else sp.lambdify(symbols, expression, modules="math")
    )
    return [str(symbol) for symbol in symbols], function


def _path(flow: Flow, times: Floats) -> Floats:
    """Compute Z at the times, shape (times, Q, L), to ten digits; ``times`` are updates of batch
    size 1.

    Where attention's rate isn't above the decoder's, the flow isn't stiff, and an explicit solver
    is the faster one.
    """
    is_stiff = isinstance(flow, TrueFlow) and flow.lr_z > flow.lr_y
    found = solve(flow, times, method=None if is_stiff else "DOP853", rtol=1e-10)
    return np.asarray(found.Z.sel(token=flow.classes.coords["token"]).values)


def _first_time(times: Floats, rising: Floats) -> float:
    """Find the time at which ``rising``, known at ``times``, first passes 0; both have one shape.

    It is 0 if ``rising`` begins above 0, and infinity if it stays below.
    """
    above = np.flatnonzero(rising > 0)
    if not above.size:
        return np.inf
    if above[0] == 0:
        return 0.0
    # The root of a spline over ln t, through eight moments on either side, that lies after the last
    # moment below 0.
    near = slice(max(0, above[0] - 8), above[0] + 8)
    roots = CubicSpline(np.log(times[near]), rising[near]).roots(extrapolate=False)
    return float(np.exp(roots[roots > np.log(times[above[0] - 1]) - 1e-9][0]))


def _sampling_over_drift(law: Law, classes: SequenceClasses, row: int, taus: Floats) -> Floats:
    """Compute (T - 1) times how far sampling has pushed each token by each tau, over how far the
    overlap has, under the query in this row of Z; shape (taus, L).

    To first order in 1/(T - 1) class n pushes token l by s_nl |y_n|²/2 with (T - 1) s_nl = f_nl²
    tilt_nl (:mod:`~scansnap_core.law.phases`). The law's ratio is :data:`AT_REST`, so that z
    over it is the overlap's push.
    """
    probs = classes.compact.probs
    types = law.types
    # (T - 1) s_nl of the classes that ask with this query, shape (K, L); f = P/|P| at rest.
    weights = np.square(probs) / np.square(probs).sum(axis=1, keepdims=True) * tilt(probs)
    weights[classes.compact.query_row != row] = 0
    drift = []
    strength = []
    for state in law.path(taus):
        # |y_n|²/2, to which sampling's push is proportional.
        square = (
            state.a**2
            + (types.others * state.b**2).sum(axis=1)
            + types.rest * law.rest_of(state) ** 2
        )
        strength.append(square[types.of_class] / 2)
        drift.append(types.per_query(state.z_common, state.z_distinct)[row] / AT_REST)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.array(strength) @ weights / np.array(drift))
