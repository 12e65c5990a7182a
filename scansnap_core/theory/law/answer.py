"""What attention will do on given classes: the numbers behind :mod:`scansnap_core.theory.law.sentences`.

``scansnap predict`` prints the sentences and the book's calculator shows them, with numbers that it computes itself.

Clock: steps of batch size 1, or updates of any batch size; with momentum mu an update moves 1/(1 - mu) times as far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, check_classes
from scansnap_core.digits import digits
from scansnap_core.engine.settings import checked_momentum
from scansnap_core.rules import check_choice, check_rate, check_seq_len, check_within
from scansnap_core.theory.clocks import transition
from scansnap_core.theory.flows import Flow, IdealisedFlow, TrueFlow
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.law.memory import Law
from scansnap_core.theory.law.phases import AT_REST, tilt
from scansnap_core.theory.law.predicting import LOOKS, OPTIMIZERS
from scansnap_core.theory.law.sentences import DERIVED, SENTENCES
from scansnap_core.theory.law.trials import positions
from scansnap_core.theory.law.types import types_of
from scansnap_core.theory.law.validity import Validity, shortness_of, step_of
from scansnap_core.theory.solving import solve

Floats = NDArray[np.float64]

HORIZON = 1e6
"""How many t_0 are looked ahead."""
END = 40
"""The t_0 up to which the book compares movements."""
GRID, POINTS = (0.01, 400)
"""The first time looked at, in t_0, and how many there are up to the horizon."""


def answer(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    steps: float,
    *,
    seq_len: float = np.inf,
    optimizer: str = "sgd",
    momentum: float | None = None,
) -> dict[str, list[str]]:
    """Say what attention will do on these classes: sentences by topic.

    Parameters
    ----------
    classes, lr_y, lr_z, steps, seq_len, optimizer, momentum
        As :func:`numbers` takes them.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(10, 1000, 0.1, distinct_weights=[1, 0.5])
    >>> answer(classes, 0.5, 0.05, 1000)["The moment t₀"][0]
    'Attention scans up to t₀′ = 138 and snaps from t₀ = 365 on, by Theorem 4, in steps that show one sequence each.'
    """
    found = numbers(classes, lr_y, lr_z, steps, seq_len=seq_len, optimizer=optimizer, momentum=momentum)
    _, columns = positions(classes)
    words = {
        name: f"“{classes.coords['token'][at]}”" for name, at in zip(("common", "first", "last"), columns, strict=True)
    }
    return said(found, words)


def said(found: Mapping[str, float], words: Mapping[str, str]) -> dict[str, list[str]]:
    """The sentences of these numbers, by topic; ``words`` are the names of ``common``, ``first`` and ``last``."""

    def fill(match: re.Match[str]) -> str:
        name, percent = match[1], match[2]
        if name in words:
            return words[name]
        number = digits(100 * found[name], 2) + " %" if percent else digits(found[name])
        return number.replace("-", "−")

    told: dict[str, list[str]] = {}
    for topic, when, text in SENTENCES:
        if _when(when)(**{str(symbol): found[str(symbol)] for symbol in when.free_symbols}):
            told.setdefault(topic, []).append(re.sub(r"\{(\w+)(%?)\}", fill, text))
    return told


def numbers(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    steps: float,
    *,
    seq_len: float = np.inf,
    optimizer: str = "sgd",
    momentum: float | None = None,
) -> dict[str, float]:
    """Compute what the sentences are about, of three tokens of the first class and its query.

    The tokens are the most frequent common one, and the most and the least frequent distinct one ("first", "last").

    Parameters
    ----------
    classes
        The sequence classes. The first one holds a common and a distinct token.
    lr_y, lr_z
        eta_Y and eta_Z, both positive.
    steps
        The time in question: 1 or more, and at most a million t_0.
    seq_len, optimizer, momentum
        As :func:`~scansnap_core.predict` takes them.

    Returns
    -------
    dict
        By name. ``scan``, ``snap``: t_0' and t_0. ``sampled_*``: T - 1 times the way that sampling has pushed a
        token by t_0, over the way that the overlap has, to first order in 1/T and in eta_Z. ``t_drift``: when the
        overlap has pushed both distinct tokens farther than sampling, 0 if always and infinite if not within the
        horizon. ``snap_*``, ``end_*``: z of the common token at t_0 and at 40 t_0, under (10) (``ten``) and the
        gradient (``true``). ``lead``: the attention of "first" over that of "last". ``share``, ``lost_*``,
        ``horizon_*``, ``half_*``: the common token's attention at the start, what is lost at ``steps`` and at a million
        t_0, and when half of it is. ``error``: the error of z to be expected of SGD, read off the tables of
        :mod:`scansnap_core.theory.law.validity` for attention at rest. The
        rest is ``DERIVED`` of :mod:`scansnap_core.theory.law.sentences`.

    Raises
    ------
    BadInput
        Arguments that aren't as above.
    """
    check_classes(classes)
    check_rate("lr_y", lr_y)
    check_rate("lr_z", lr_z)
    check_seq_len(seq_len)
    check_choice("optimizer", optimizer, OPTIMIZERS)
    mu = checked_momentum(momentum, optimizer)
    rates = lr_y / (1 - mu), lr_z / (1 - mu)
    K, M = classes.num_classes, classes.vocab_size
    scan, snap = transition(K, M, rates[0])
    check_within("steps", steps, least=1, below=HORIZON * snap, remedy=f"pass e.g. {digits(snap)}, which is t_0")
    row, columns = _tokens(classes)
    times = np.union1d(np.geomspace(GRID * snap, HORIZON * snap, POINTS), [snap, END * snap, steps])
    at = {name: int(np.searchsorted(times, time)) for name, time in (("snap", snap), ("end", END * snap), ("t", steps))}
    P = classes.compact.probs[0]
    f = P / np.linalg.norm(P)
    magnitudes = np.abs(classes.eigenvalues)
    found: dict[str, float] = {
        "K": K,
        "M": M,
        "T": seq_len,
        "eta_Y": rates[0],
        "eta_Z": rates[1],
        "steps": steps,
        "scan": scan,
        "snap": snap,
        "largest": magnitudes[0],
        "smallest": magnitudes[-1],
        "uniform": float(classes.is_uniform),
        "several": float(columns[1] != columns[2]),
        "square_first": f[columns[1]] ** 2,
        "share": P[columns[0]],
        "lead": P[columns[1]] / P[columns[2]],
    }
    found |= _forces(classes, rates[0], times, at, seq_len)
    found["error"] = _error(classes, lr_y, lr_z, mu, steps, seq_len, flow=optimizer == "flow")
    for name, flow in (("ten", IdealisedFlow), ("true", TrueFlow)):
        z = _path(flow(classes, *rates), times)[:, row]
        c = P * np.exp(z)
        c /= c.sum(axis=1, keepdims=True)
        kept = c[:, columns[0]] / P[columns[0]]
        found |= {
            f"snap_{name}": z[at["snap"], columns[0]],
            f"end_{name}": z[at["end"], columns[0]],
            f"lead_{name}": c[at["t"], columns[1]] / c[at["t"], columns[2]],
            f"lost_{name}": 1 - kept[at["t"]],
            f"horizon_{name}": 1 - kept[-1],
            f"half_{name}": _first_time(times, 0.5 - kept),
        }
    for name, expression in DERIVED.items():
        symbols = sorted(expression.free_symbols, key=str)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            found[name] = float(_of(expression, tuple(symbols))(*(found[str(symbol)] for symbol in symbols)))
    return {name: float(value) for name, value in found.items()}


@cache
def _of(expression: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> Any:
    return function_of(expression, symbols)


@cache
def _when(condition: sp.Basic) -> Any:
    return sp.lambdify(sorted(condition.free_symbols, key=str), condition, modules="math")


def _tokens(classes: SequenceClasses) -> tuple[int, list[int]]:
    """The row of the first class's query in Z, and the columns of the three tokens."""
    probs = classes.compact.probs
    shared = (probs > 0).sum(axis=0) > 1
    for kind, held in (("common", shared), ("distinct", ~shared)):
        if not (probs[0] > 0)[held].any():
            name = classes.coords["class"][0]
            raise BadInput(f"class {name}", f"the first class holds a {kind} token", "put another class first")
    return positions(classes)


def _path(flow: Flow, times: Floats) -> Floats:
    """Z at the times, shape (times, Q, L), to ten digits: explicitly where the flow isn't stiff."""
    method = "LSODA" if isinstance(flow, TrueFlow) and flow.lr_z > flow.lr_y else "DOP853"
    found = solve(flow, times, method=method, rtol=1e-10)
    return np.asarray(found.Z.sel(token=flow.classes.coords["token"]).values)


def _first_time(times: Floats, rising: Floats) -> float:
    """When ``rising`` first passes 0, by a spline over ln t; 0 if it begins above, infinity if it stays below."""
    above = np.flatnonzero(rising > 0)
    if not above.size:
        return np.inf
    if above[0] == 0:
        return 0.0
    near = slice(max(0, above[0] - 8), above[0] + 8)
    roots = CubicSpline(np.log(times[near]), rising[near]).roots(extrapolate=False)
    return float(np.exp(roots[roots > np.log(times[above[0] - 1]) - 1e-9][0]))


def _forces(
    classes: SequenceClasses, lr_y: float, times: Floats, at: Mapping[str, int], seq_len: float
) -> dict[str, float]:
    """What sampling pushes over what the overlap does, times T - 1, and when the overlap is the stronger one."""
    row, (_, *columns) = _tokens(classes)
    probs = classes.compact.probs
    law = Law(types_of(classes), AT_REST)
    types = law.types
    weights = np.square(probs) / np.square(probs).sum(axis=1, keepdims=True) * tilt(probs)
    weights[classes.compact.query_row != row] = 0
    moved, learned = [], []
    for state in law.path(times * lr_y / classes.num_classes):
        c = (state.a - (types.others * state.b).sum(axis=1)) / max(types.rest, 1)
        square = state.a**2 + (types.others * state.b**2).sum(axis=1) + types.rest * c**2
        learned.append(square[types.of_class] / 2)
        moved.append(types.per_query(state.z_common, state.z_distinct)[row, columns] / AT_REST)
    over = np.array(learned) @ weights[:, columns] / np.array(moved)
    hardest = np.abs(over).max(axis=1)
    return {
        "sampled_first": over[at["snap"], 0],
        "sampled_last": over[at["snap"], 1],
        "t_drift": _first_time(times, seq_len - 1 - hardest) if np.isfinite(seq_len) else 0.0,
    }


def _error(
    classes: SequenceClasses, lr_y: float, lr_z: float, mu: float, steps: float, seq_len: float, *, flow: bool
) -> float:
    """The error to be expected at ``steps``, of attention at rest."""
    law, pace = Law(types_of(classes), AT_REST), lr_y / classes.num_classes
    states = law.path(np.geomspace(min(1.0, steps / 2), steps, LOOKS) * pace / (1 - mu))
    fastest = max(step_of(law, state) for state in states) / AT_REST * lr_z / lr_y * pace / (1 + mu)
    shortness = np.array([shortness_of(law, states[-1], seq_len)])
    if flow:
        return float(Validity(shortness, np.zeros(1), 0.0).expected[0])
    return float(Validity(shortness, np.array([fastest]), pace / (1 + mu)).expected[0])
