"""The data set that :func:`scansnap_core.predict` returns: its labels, and what it says of each
state of the law.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from scansnap_core.data.sequences import ATTRIBUTE, Floats, SequenceClasses, checksum
from scansnap_core.law import closed
from scansnap_core.law.drawn_texts import LIKELY_SCALE, SCALE, Runs, error_of_mean
from scansnap_core.law.expected_error import shortness_of
from scansnap_core.law.memory import Law, Moved
from scansnap_core.law.types import mean_by
from scansnap_core.theory import formulas
from scansnap_core.theory.functions import function_of

REGIMES = ("rest", "free", "slaved")
"""The regimes of a token under a query: no class holds it; its memory number lambda a^2/2 is below
1; or it is 1 or more.
"""
PHASES = ("start", "scan", "drift", "late")
"""The phases of a class in order: it wasn't seen; tau < ln M; it is learned; the odds of other
classes' outputs have reached their limit.
"""

_chi = function_of(formulas.chi, (formulas.z, formulas.z_0))
_limit = function_of(closed.X, (formulas.M, formulas.rho))


def empty_forecast(classes: SequenceClasses, law: Law, recorded: Floats) -> xr.Dataset:
    """Return the labelled data set of a forecast, to be filled one recorded time after the other.

    Only ``dominant`` has its values; those of the others are undefined.
    """
    types = law.types
    K = classes.num_classes
    # A class's distinct tokens are in descending order, so the first is its dominant one. A column
    # of -1 is added for systems in which no class has any.
    first = np.hstack([types.distinct_columns, np.full((K, 1), -1)])[:, 0]
    dominant = np.where(first >= 0, classes.tokens[first], -1)
    shape = (recorded.size, len(types.of_query), len(classes.tokens))
    by_class = ("recorded", "class")
    flags = {"flag_values": list(range(len(REGIMES))), "flag_meanings": " ".join(REGIMES)}
    entropy, chi, evidence = np.empty((3, recorded.size, K))
    return xr.Dataset(
        {
            "Z": (
                ("recorded", "query", "token"),
                np.empty(shape),
                {"units": "logits", ATTRIBUTE: checksum(classes)},
            ),
            "regime": (("recorded", "query", "token"), np.empty(shape, dtype=np.int8), flags),
            "entropy": (by_class, entropy, {"units": "nats"}),
            "dominant": ("class", dominant, {"units": "token"}),
            "chi_dominant": (by_class, chi, {"units": "1", "equation": "Eqn 11"}),
            "evidence": (by_class, evidence, {"units": "logits"}),
            # The longest name, because NumPy would cut a longer one off.
            "phase": (by_class, np.full((recorded.size, K), max(PHASES, key=len))),
            "shortness": ("recorded", np.empty(recorded.size), {"units": "logits per token"}),
            "step": ("recorded", np.empty(recorded.size), {"units": "1"}),
            "growth": ("recorded", np.empty(recorded.size), {"units": "1"}),
            "order": ("recorded", np.empty(recorded.size), {"units": "share of |Z|"}),
            "largest_order": ("recorded", np.empty(recorded.size), {"units": "share of |Z|"}),
            "chance": ("recorded", np.empty(recorded.size), {"units": "1"}),
            "rounding": ("recorded", np.empty(recorded.size), {"units": "share of |Z|"}),
            "likely_error": ("recorded", np.empty(recorded.size), {"units": "share of |Z|"}),
            "expected_error": ("recorded", np.empty(recorded.size), {"units": "share of |Z|"}),
        },
        coords={
            "recorded": ("recorded", recorded, {"units": formulas.registry.STEPS}),
            **classes.coords,
        },
    )


def described(law: Law, state: Moved, tau: float) -> dict[str, Any]:
    """Compute the variables of a forecast that describe one state of the law, by name.

    ``tau`` = eta_Y t/K is the state's. ``Z`` and ``regime`` have the shape (Q, L), the others (K,).
    """
    types = law.types

    # The regime is an index into REGIMES: 0 where no class holds the token, 1 where its memory
    # number is below 1, and 2 elsewhere.
    common, distinct = law.weighted_lambda(state, state.a**2 / 2)
    num_holders = types.asking @ (types.common > 0)
    regime_common = np.where(num_holders > 0, np.where(common < 1, 1, 2), 0)
    regime_distinct = np.where(types.distinct > 0, np.where(distinct < 1, 1, 2), 0)

    # The entropy of attention over a class's distinct tokens, and the growth of its dominant one.
    top = state.z_distinct.max(axis=1, keepdims=True, initial=0.0)
    weights = types.distinct * np.exp(state.z_distinct - top)
    total = weights.sum(axis=1)
    chi = np.full_like(state.a, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        entropy = np.where(total > 0, special.entr(weights / total[:, None]).sum(axis=1), np.nan)
        if types.distinct.shape[1]:
            chi = np.where(types.distinct[:, 0] > 0, _chi(state.z_distinct[:, 0], 0.0), np.nan)
    by_type = {
        "entropy": entropy,
        "chi_dominant": chi,
        "evidence": state.a,
        "phase": _phase(law, state, tau),
    }
    by_token = {
        "Z": types.per_query(state.z_common, state.z_distinct),
        "regime": types.per_query(regime_common, regime_distinct),
    }
    return by_token | {name: values[types.of_class] for name, values in by_type.items()}


def _phase(law: Law, state: Moved, tau: float) -> Floats:
    """Name the phase of a class of each type at tau = eta_Y t/K, one of PHASES; shape (T,)."""
    types = law.types
    M = law.types.vocab_size
    if tau == 0:
        return np.full(len(state.a), PHASES[0])

    # A class has learned at tau K P(n) = ln M. Then the odds of another class's output grow as
    # e^(rho a) up to their limit X (of the module ``closed``), which ends the phase of drift; rho
    # is the largest overlap with another class.
    rho = types.overlaps(law.attention(state)[0]).max(axis=1)
    late = rho * state.a >= np.log(_limit(M, np.minimum(rho, 1 - 1e-12)))
    learned = np.where(late & (rho > 0), PHASES[3], PHASES[2])
    return np.where(types.paces * tau < np.log(M), PHASES[1], learned)


def fill_by_runs(found: xr.Dataset, law: Law, runs: Runs, taus: Floats) -> None:
    """Fill a forecast with the mean of runs at the times ``taus``, which are ascending."""
    types = law.types
    # Classes that are alike go alike in the mean. So they are averaged, run by run.
    pairs = [[types.by_type(Z) for Z in run] for run in runs.Z]
    Z = np.array([[types.per_query(*pair) for pair in run] for run in pairs])
    errors = error_of_mean(Z)
    nothing = law.unpack(np.zeros(law.num_values))
    for i, (tau, evidence) in enumerate(zip(taus, runs.evidence, strict=True)):
        z_common, z_distinct = types.by_type(Z[:, i].mean(axis=0))
        a = mean_by(types.of_class, evidence[:, None])[:, 0]
        state = nothing._replace(a=a, z_common=z_common, z_distinct=z_distinct)
        trust = {
            "shortness": shortness_of(law, state, found.seq_len),
            "step": np.nan,
            "growth": np.nan,
            "order": np.nan,
            "largest_order": np.nan,
            "chance": np.nan,
            "rounding": np.nan,
            "likely_error": LIKELY_SCALE * errors[i] / SCALE,
            "expected_error": errors[i],
        }
        for name, values in (described(law, state, tau) | trust).items():
            found[name].values[i] = values
