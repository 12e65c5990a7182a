"""Our law predicts what SGD does to given classes: attention, its entropy, and the regime of every token."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import ATTRIBUTE, Floats, SequenceClasses, check_classes, checksum
from scansnap_core.engine.settings import checked_momentum
from scansnap_core.rules import check_choice, check_flow_rate, check_memory, check_rate, check_seq_len, checked_times
from scansnap_core.theory import formulas
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.law import closed, many_classes, validity
from scansnap_core.theory.law.inertia import InertialLaw
from scansnap_core.theory.law.memory import Law, State
from scansnap_core.theory.law.sampled_law import SampledLaw
from scansnap_core.theory.law.types import Types, types_of
from scansnap_core.theory.solving import IntegrationFailed

OPTIMIZERS = ("sgd", "momentum", "flow")
"""The first two are SGD in steps of finite size; the last is the gradient flow, its limit of small steps."""
REGIMES = ("rest", "free", "slaved")
"""A token under a query is held by no class, not caught by memory yet (lambda a^2/2 < 1), or caught."""
PHASES = ("start", "scan", "drift", "late")
"""A class hasn't been seen; tau < ln M; has learned its next token; or its errors favour other classes in full."""

MOST_WITH_MOMENTUM = 3_000
"""Up to so many numbers in the law's state momentum, which takes as many again, is integrated in minutes."""
LOOKS = 24
"""The size of updates is looked at so often between the first one and the last time."""
UNSEEN = 1e-290
"""Before this tau squares of what was learned underflow: nothing has moved."""

_chi = function_of(formulas.chi, (formulas.z, formulas.z_0))
_limit = function_of(closed.X, (formulas.M, formulas.rho))


def predict(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    t: ArrayLike,
    *,
    seq_len: float = np.inf,
    optimizer: str = "sgd",
    momentum: float | None = None,
) -> xr.Dataset:
    """Predict by our law what SGD does to these classes from Y(0) = Z(0) = 0, without training.

    It is the mean over samples: batches scatter around it. Where an error of z above 10 % isn't unlikely, it warns.

    Parameters
    ----------
    classes
        The sequence classes, with any P(n). Those alike count once, so a thousand of one type cost no more than two. Up
        to some ten that are all unlike are integrated to seven digits; more, up to a hundredth of the largest z, and a
        thousand with some tens of common tokens take some seconds and 300 MB. With more common tokens than classes, 400
        take some ten seconds.
    lr_y, lr_z
        eta_Y > 0 and eta_Z >= 0, per step, of any size at which training doesn't overshoot: see ``step`` below.
    t
        When: ascending, finite, not negative; in steps of batch size 1, or in updates of any batch size (a batch mean
        moves Y and Z, in expectation, as far as one such step). Shape (recorded,), or one number.
    seq_len
        T, the query included, 3 or more, or ``inf``. A finite T is for lengths well above the evidence, which grows as
        ln(M t): means over samples, each weighed by its error, are taken to the first order in 1/T beside their exact
        values at z = 0. See ``shortness`` below.
    optimizer
        "sgd"; "momentum", with which ``t`` counts its updates; or "flow", the gradient flow, to which SGD comes as the
        rates go to 0 at the same eta_Y t. For Adam there is a flow,
        :class:`scansnap_core.theory.law.inertia.AdamFlow`, and no law.
    momentum
        mu of "momentum" alone, in [0, 1); 0.9 if not given. As it goes to 0 the forecast goes to that of "sgd".

    Returns
    -------
    xarray.Dataset
        ``Z`` (recorded, query, token), in the labels of :func:`scansnap_core.train`; ``regime`` of each of them, an
        index into its attribute ``flag_meanings``: ``rest``, ``free`` or ``slaved`` (memory gives way to the drift or
        holds the token). By class: ``dominant`` (class), its most frequent distinct token, -1 for none; and over
        (recorded, class) ``entropy`` over its distinct tokens in nats, ``chi_dominant``, the growth factor of the
        dominant one, ``evidence``, the integral of its error and the clock of memory, and ``phase``: ``start``,
        ``scan`` (before t_0'), ``drift`` or ``late``.

        Over (recorded), how far it can be trusted. ``expected_error``: the error of the whole Z, as a share of its
        norm, that some nine in ten of such predictions stayed below; 3 % at least. It comes from the tables of
        :mod:`scansnap_core.theory.law.validity`, of two measures: ``shortness``, the largest evidence over T - 1, over
        the root of 1 - rho of the two classes whose attention is nearest (0 at T = inf); and ``step``,
        eta_Z f_l^2 a (1 - alpha)/(K (1 + mu)), the largest so far, of any token. Training overshoots from about 4 on.
        Of 220 predictions with an expected error of at most 10 %, 218 were within it.

    Warns
    -----
    ~scansnap_core.PredictionOutOfRange
        Once, if ``expected_error`` is above 0.1 at any time.

    Raises
    ------
    BadInput
        Arguments that aren't as above; a sequence length or an optimizer that the law doesn't cover; more than some 50
        unlike classes with momentum; more results than there is memory for.
    ~scansnap_core.IntegrationFailed
        Rates so unlike, or times so late, that the law's equations can't be integrated. ``last`` is the last time
        reached, as ``t`` counts it, and ``reached`` the data set of the times asked for up to there, or None.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> found = ss.predict(classes, lr_y=1, lr_z=0.1, t=[100, 10_000])
    >>> found.Z.isel(recorded=0).values.ravel().round(4)
    array([-0.0154,  0.0022,  0.0055,  0.0022,  0.0055])
    >>> found.phase.sel({"class": 0}).values.tolist()
    ['drift', 'drift']
    """
    check_classes(classes)
    check_rate("lr_y", lr_y)
    check_flow_rate("lr_z", lr_z)
    check_seq_len(seq_len)
    if seq_len == 2:
        raise BadInput(
            value="seq_len = 2",
            rule="a forecast takes T of at least 3: with one contextual token a sequence, Z stays 0",
            remedy="pass 3 or more; at 2 there is nothing to predict",
        )
    check_choice("optimizer", optimizer, OPTIMIZERS)
    mu = checked_momentum(momentum, optimizer)
    recorded = checked_times("t", t, "pass e.g. [0, 100, 10_000]")

    types, K = types_of(classes), classes.num_classes
    places = recorded.size * len(types.of_query) * len(classes.tokens)
    check_memory(f"{places:,} attention logits and their regimes", 9.0 * places + 100.0 * K * recorded.size)
    ratio, pace = lr_z / lr_y, lr_y / K
    with np.errstate(over="ignore"):  # refused below
        taus = recorded * pace / (1 - mu)
    for name, value in (("lr_z/lr_y", ratio), ("lr_y t/K", taus[-1])):
        if not np.isfinite(value):
            raise BadInput(
                f"{name} = {value:g}", "ratios of rates and times times rates are finite", "use smaller ones"
            )
    law = Law(types, ratio) if np.isinf(seq_len) else SampledLaw(types, ratio, seq_len)
    if mu and law.num_values > MOST_WITH_MOMENTUM:
        raise BadInput(
            value=f"{len(types.size)} unlike classes with momentum",
            rule=f"with momentum the law has at most {MOST_WITH_MOMENTUM:,} numbers, of some 50 unlike classes",
            remedy='ask for optimizer="sgd", or for fewer classes',
        )
    path: Callable[[Floats], Iterable[State]] = InertialLaw(law, mu, pace).path
    if optimizer == "flow":
        path = partial(many_classes.path, law) if law.is_split else law.path
    attrs = {"lr_y": lr_y, "lr_z": lr_z, "seq_len": seq_len, "optimizer": optimizer, "momentum": mu}
    began = int(np.count_nonzero(taus < UNSEEN))
    moments = taus[began:] if optimizer == "flow" else _with_looks_between(taus[began:], pace / (1 - mu))
    states = itertools.chain([None] * began, _until_it_fails(path, moments))
    try:
        return _dataset(classes, law, recorded, taus, zip([*taus[:began], *moments], states, strict=True), attrs)
    except IntegrationFailed as error:
        error.last = None if error.last is None else error.last * (1 - mu) / pace
        raise


def _with_looks_between(taus: Floats, update: float) -> Floats:
    """The taus, and :data:`LOOKS` more from the first update on, at which the size of updates is looked at."""
    if not taus.size or taus[-1] <= update:
        return taus
    return np.union1d(taus, np.geomspace(update, taus[-1], LOOKS))


def _until_it_fails(path: Callable[[Floats], Iterable[State]], taus: Floats) -> Iterator[State]:
    """The states, and those that were reached where it fails."""
    try:
        yield from path(taus) if taus.size else ()
    except IntegrationFailed as error:
        yield from error.reached or ()
        raise


def _dataset(
    classes: SequenceClasses,
    law: Law,
    recorded: Floats,
    taus: Floats,
    states: Iterable[tuple[float, State | None]],
    attrs: dict[str, Any],
) -> xr.Dataset:
    types, K, M = law.types, classes.num_classes, classes.vocab_size
    Q, L = len(types.of_query), len(classes.tokens)
    Z, regime = np.zeros((taus.size, Q, L)), np.zeros((taus.size, Q, L), dtype=np.int8)
    entropy, chi, evidence = np.empty((3, taus.size, K))
    phase = np.full((taus.size, K), PHASES[0], dtype=f"<U{max(map(len, PHASES))}")
    shortness, step, largest, told, failure = np.zeros(taus.size), np.zeros(taus.size), 0.0, 0, None
    flow, mu, pace = attrs["optimizer"] == "flow", attrs["momentum"], attrs["lr_y"] / K
    try:
        for tau, state in states:
            i = told
            if state is not None and not flow:
                largest = max(largest, validity.step_of(law, state) * pace / (1 + mu))
            if tau != taus[i]:
                continue
            step[i] = largest
            if state is not None:
                shortness[i] = validity.shortness_of(law, state, attrs["seq_len"])
            state = law.unpack(np.zeros_like(law.start(1.0))) if state is None else state
            Z[i] = types.per_query(state.z_common, state.z_distinct)
            regime[i] = _regime(law, state)
            of_type = (_entropy(types, state), _growth(types, state), state.a, _phase(law, state, tau))
            for values, each in zip((entropy, chi, evidence, phase), of_type, strict=True):
                values[i] = each[types.of_class]
            told = i + 1
    except IntegrationFailed as error:
        failure = error
    recorded, taus = recorded[:told], taus[:told]
    trust = validity.Validity(shortness[:told], step[:told], 0.0 if flow else pace / (1 + mu))
    dominant = np.full(K, -1)
    if types.distinct.shape[1]:
        dominant = np.where(types.distinct_columns[:, 0] >= 0, classes.tokens[types.distinct_columns[:, 0]], -1)
    flags = {"flag_values": list(range(len(REGIMES))), "flag_meanings": " ".join(REGIMES)}
    axes, by_class = ("recorded", "query", "token"), ("recorded", "class")
    found = xr.Dataset(
        {
            "Z": (axes, Z[:told], {"units": "logits", ATTRIBUTE: checksum(classes)}),
            "regime": (axes, regime[:told], flags),
            "entropy": (by_class, entropy[:told], {"units": "nats"}),
            "dominant": ("class", dominant, {"units": "token"}),
            "chi_dominant": (by_class, chi[:told], {"units": "1", "equation": "Eqn 11"}),
            "evidence": (by_class, evidence[:told], {"units": "logits"}),
            "phase": (by_class, phase[:told]),
            "shortness": ("recorded", shortness[:told], {"units": "logits per token"}),
            "step": ("recorded", step[:told], {"units": "1"}),
            "expected_error": ("recorded", trust.expected, {"units": "share of |Z|"}),
        },
        coords={"recorded": ("recorded", recorded, {"units": formulas.registry.STEPS}), **classes.coords},
        attrs={"law": "one memory a class", **attrs, "vocab_size": M, "num_classes": K},
    )
    if failure is not None:
        failure.reached = found if told else None
        raise failure
    trust.warn(recorded, attrs["seq_len"])
    return found


def _regime(law: Law, state: State) -> Floats:
    """The regime by query and token, shape (Q, L), from lambda a^2/2 with lambda = eta_Z/eta_Y sum_n f_nl^2."""
    types = law.types
    f = law.attention(state)
    common, distinct = (law.ratio / 2 * state.a[:, None] ** 2 * each**2 for each in f)
    grips = (types.asking @ (types.common > 0), types.asking @ common), (types.distinct, distinct)
    return types.per_query(*(np.where(holders > 0, np.where(grip < 1, 1, 2), 0) for holders, grip in grips))


def _entropy(types: Types, state: State) -> Floats:
    top = state.z_distinct.max(axis=1, keepdims=True, initial=0.0)
    weights = types.distinct * np.exp(state.z_distinct - top)
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(total[:, 0] > 0, special.entr(weights / total).sum(axis=1), np.nan)


def _growth(types: Types, state: State) -> Floats:
    if not types.distinct.shape[1]:
        return np.full_like(state.a, np.nan)
    with np.errstate(over="ignore"):
        return np.where(types.distinct[:, 0] > 0, _chi(state.z_distinct[:, 0], 0.0), np.nan)


def _phase(law: Law, state: State, tau: float) -> Any:
    types, M = law.types, law.types.vocab_size
    if tau == 0:
        return np.full(len(state.a), PHASES[0])
    f, _ = law.attention(state)
    rho = np.where(types.others > 0, f @ f.T, 0.0).max(axis=1)
    late = rho * state.a >= np.log(_limit(M, np.minimum(rho, 1 - 1e-12)))
    return np.where(types.paces * tau < np.log(M), PHASES[1], np.where(late & (rho > 0), PHASES[3], PHASES[2]))
