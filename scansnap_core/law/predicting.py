"""Predict by our law what SGD does to given classes, with the error to expect.

The module ``expected_error`` says what takes a prediction out of its range, and how large the error
is then.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import (
    FLOW_RATE,
    RATE,
    SEQ_LEN,
    Rule,
    check_memory,
    checked_times,
    number,
    one_of,
    optional,
    takes,
    whole,
)
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.engine.settings import checked_momentum
from scansnap_core.law import exact as exactly
from scansnap_core.law import inertia, many_classes
from scansnap_core.law.drawn_texts import LEAST_RUNS, train_on_texts
from scansnap_core.law.exact import Exact, ExactState
from scansnap_core.law.expected_error import order_of, warn
from scansnap_core.law.forecast import described, empty_forecast, fill_by_runs
from scansnap_core.law.forecast_errors import ErrorsOverTime
from scansnap_core.law.inertia import InertialLaw
from scansnap_core.law.memory import MOST_WHOLE, Law, State
from scansnap_core.law.order import OrderTerm, Shift
from scansnap_core.law.overshoot import Overshoot, Updates, overshoot_of
from scansnap_core.law.rounding import FAST_DECODER, NEAR_TWO, Disturbed, allow_for_rounding
from scansnap_core.law.sampled_law import SampledLaw
from scansnap_core.law.types import types_of
from scansnap_core.theory.solving import IntegrationFailed

T = TypeVar("T")
AnyState = TypeVar("AnyState", State, ExactState)

OPTIMIZERS = ("sgd", "momentum", "flow")
"""SGD in steps of finite size without and with momentum, and the gradient flow, which is the limit
of small steps.
"""
LONG = Rule(
    lambda T: T > 2,
    "a forecast takes T of at least 3: with one contextual token a sequence, Z stays 0",
    "pass 3 or more; at 2 there is nothing to predict",
)
EXACT = Rule(
    lambda exact: exact is None or isinstance(exact, bool),
    "exact is True, False or None",
    "pass False for our law, or leave it out",
)
FINITE = number(says="ratios of rates and times times rates are finite", remedy="use smaller ones")
LOOK = 1.2
"""The size of updates is evaluated after the first update, and whenever time has grown by this
factor since.
"""
ALL = "all of Y and Z"
ONE_MEMORY = "one memory a class"
RUNS = "the mean of runs"
"""What a forecast comes from."""
UNSEEN = 1e-290
"""Before this tau, squares of what was learned underflow, and nothing has moved."""


@takes(
    classes=CLASSES,
    lr_y=RATE,
    lr_z=FLOW_RATE,
    seq_len=SEQ_LEN,
    optimizer=one_of(OPTIMIZERS),
    batch_size=optional(whole()),
    exact=EXACT,
    runs=optional(whole(LEAST_RUNS, says="fewer runs don't tell how far they scatter")),
)
def predict(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    t: ArrayLike,
    *,
    seq_len: float = np.inf,
    optimizer: str = "sgd",
    momentum: float | None = None,
    batch_size: int | None = None,
    exact: bool | None = None,
    runs: int | None = None,
) -> xr.Dataset:
    """Predict by our law what SGD does to these classes from Y(0) = Z(0) = 0, without training; or,
    with ``runs``, by a few trainings.

    It is the mean over runs in batches of ``batch_size``; single runs scatter around it. Without
    ``batch_size`` it is what full batches do, which show every class in its share. Where z is
    likely off by more than 10 %, it warns.

    Where Y and Z have up to 2,000 numbers, as those of twenty unlike classes of four words, our law
    would cost more than what it approximates, at T = inf. There all of Y and Z are followed, and
    the attribute ``law`` says so.

    Parameters
    ----------
    classes
        The classes, with any P(n). By our law one of each group of alike classes is integrated. Up
        to about 300 classes that are all unlike are integrated to six digits of the largest z.
        More, if they are more than their common tokens, are integrated to a hundredth of it; a
        thousand with some tens of common tokens take some seconds and 300 MB.
    lr_y, lr_z
        eta_Y > 0 and eta_Z >= 0, per step.
    t
        When: ascending, finite, not negative; in updates, of whatever batch size (from one state a
        batch mean moves Y and Z, in expectation, as far as a step of batch size 1). Shape
        (recorded,), or one number.
    seq_len
        T, the query included, 3 or more, or ``inf``. A finite T is for lengths well above the
        evidence, which grows as ln(M t).
    optimizer
        "sgd"; "momentum", with which ``t`` counts its updates; or "flow", the gradient flow, to
        which SGD comes as the rates go to 0 at the same eta_Y t. For Adam there is a law of its
        first updates alone, which ``scansnap predict --optimizer adam`` says.
    momentum
        mu of "momentum" alone, in [0, 1); 0.9 if not given.
    batch_size
        B, a positive integer: z then has the shift by the order of classes, to first order in
        eta_Y/B (:mod:`scansnap_core.law.order`). It is the share rho (1 - 1/K) eta_Y/B of z
        at first. None: full batches, to which large ones come near. The flow has no batches. At
        finite T the scatter of a class's samples moves z a little further in small batches, which
        is left out.
    exact
        Whether all of Y and Z are followed, at T = inf (:mod:`scansnap_core.law.exact`). The first
        thousand updates of full batches are then made one by one, and later ones and the flow are
        integrated. The shift by the order of classes is our law's in any case. None: up to 2,000
        numbers in Y and Z. False: our law. True: however long it takes.
    runs
        How many runs to train in the law's place; 4 or more, and 8 are a good start. None: the law.
        They are for SGD where the law doesn't hold, as on sequences as short as sentences. They
        start from fixed seeds, and at finite T full batches are played by some 128 texts
        (:mod:`scansnap_core.law.drawn_texts`).

    Returns
    -------
    xarray.Dataset
        ``Z`` (recorded, query, token), in the labels of :func:`scansnap_core.train`; ``regime`` of
        each of them, an index into its attribute ``flag_meanings``: ``rest``, ``free`` or
        ``slaved`` (memory gives way to the drift or holds the token). By class: ``dominant``
        (class), its most frequent distinct token, -1 for none, and of several equally frequent
        ones, whose z is the same, that with the smallest number. Over (recorded, class):
        ``entropy`` over its distinct tokens in nats, ``chi_dominant``, the growth factor of the
        dominant one, ``evidence``, the integral of its error in full batches and the clock of
        memory, and ``phase``: ``start``, ``scan`` (before t_0'), ``drift`` or ``late``.

        Over (recorded), how far it can be trusted. ``likely_error`` and ``expected_error`` are
        errors of the whole Z, as shares of its norm. About seven in ten of such predictions were
        off by more than ``likely_error``, which is 0 where nothing is known to go wrong. About nine
        in ten were off by less than ``expected_error``; it can be above 1.

        By our law both are looked up by three measures, of which the one with the largest error
        counts (:mod:`~scansnap_core.law.expected_error`). ``expected_error`` is 3 % at least.

        - ``shortness``: the largest evidence over T - 1, 0 at T = inf.
        - ``growth`` of an oscillation of attention: how far the logarithm of its size would have
          grown in updates that overshoot. An update's ``step`` is how far it moves Z, as a multiple
          of Z's distance from where memory holds it; from 2 on the distance grows.
        - ``chance``: what the first order leaves out of the order of classes, 0 for full batches.
          It goes by ``order`` and ``largest_order``, the share of Z by which the order has moved it
          and the largest such share so far, and by eta_Y/B.

        Where all of Y and Z are followed in batches, the shift by the order is our law's, and so
        are the errors.

        Where all of Y and Z are followed in a flow or in full batches, nothing is left out.
        ``expected_error`` is 1e-4, and ``likely_error`` 0. But where updates overshoot, rounding
        grows, up to where training itself would end elsewhere on another machine. ``rounding`` is
        how far a path that is disturbed by 1e-15 in each update parts from this one, as a share of
        Z. ``likely_error`` is half of it, which about half of such predictions exceeded, and
        ``expected_error`` ten times the largest so far.
        An oscillation that reaches beyond the thousandth update counts by its ``growth``, too.

        With ``runs`` Z, entropy and evidence are those of the runs' mean. ``likely_error`` is 0.7
        standard errors of this mean, and ``expected_error`` is 1.8; the measures are not a number,
        and the attributes ``law`` and ``runs`` say so.

    Warns
    -----
    ~scansnap_core.PredictionOutOfRange
        Once, if ``likely_error`` is above 0.1 at any time.

    Raises
    ------
    BadInput
        Arguments that aren't as above; momentum or a batch size with more than 100,000 numbers in
        the law's state, as some 300 unlike classes of a few words have; more results than there is
        memory for.
    ~scansnap_core.IntegrationFailed
        Rates so unlike, or times so late, that the law's equations can't be integrated. ``last`` is
        the last time reached, as ``t`` counts it, and ``reached`` the data set of the times asked
        for up to there, or None.

    Notes
    -----
    How far the errors can be trusted was tried on systems held out: of nine strata of
    :mod:`scansnap_core.data.population`, up to twelve of each, of at most 12 classes, by our law
    (``exact=False``), at the times at which the mean of SGD's runs was known to 5 %.

    - T = inf, at rates up to where training overshoots, in full batches and, without and with
      momentum, in small ones: 1688 of 1753 points were within the expected error, by stratum 92 to
      99 %; of the 1210 whose expected error was 10 % at most, 1203 were within 10 %. Of the 231
      whose likely error was above 10 % 221 were off by more than 10 %, by stratum 50 to 100 %; of
      the others 103 were. Where the likely error was above 1 %, 78 % were off by more than it says.
      427 points were known less well, and are left out.
    - T of 8 to 256, in small batches for up to five classes: 522 of 534 points were within the
      expected error, by stratum 90 to 100 %; of the 61 whose expected error was 10 % at most, 60
      were within 10 %. Of the 120 whose likely error was above 10 % 102 were off by more than 10 %,
      by stratum 68 to 100 %; of the others 115 were. Where the likely error was above 1 %, 71 %
      were off by more than it says. 909 points were known less well, and are left out.
    - Flows at T = inf, of 40 other systems, four of each stratum, at five times up to 1000 K ln M:
      none was off by more than 2.4 %.
    - ``runs`` on counts of real text: 69 of 72 forecasts by eight runs were within the expected
      error, and the likely error was at most twice the real one in 72.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> found = ss.predict(classes, lr_y=1, lr_z=0.1, t=[100, 10_000])
    >>> found.Z.isel(recorded=0).values.ravel().round(4)
    array([-0.0154,  0.0022,  0.0055,  0.0022,  0.0055])
    >>> found.phase.sel({"class": 0}).values.tolist()
    ['drift', 'drift']
    >>> one_by_one = ss.predict(classes, lr_y=1, lr_z=0.1, t=[100, 10_000], batch_size=1)
    >>> one_by_one.Z.isel(recorded=0).values.ravel().round(4)
    array([-0.0167,  0.0024,  0.006 ,  0.0024,  0.006 ])
    """
    LONG("seq_len", seq_len)
    mu = checked_momentum(momentum, optimizer)
    recorded = checked_times("t", t, "pass e.g. [0, 100, 10_000]")
    is_flow = optimizer == "flow"
    if is_flow and batch_size is not None:
        remedy = 'leave batch_size out, or ask for optimizer="sgd"'
        raise BadInput(
            f"batch_size = {batch_size} of a flow", "the gradient flow has no batches", remedy
        )
    types = types_of(classes)
    K = classes.num_classes
    places = recorded.size * len(types.of_query) * len(classes.tokens)
    check_memory(
        f"{places:,} attention logits and their regimes", 9.0 * places + 100.0 * K * recorded.size
    )
    if runs is not None and is_flow:
        remedy = "leave runs out"
        raise BadInput(f"runs = {runs} of a flow", "runs are of SGD", remedy)
    if runs is not None and np.isinf(seq_len) and batch_size is None:
        value = f"runs = {runs} in full batches of endless sequences"
        remedy = "leave runs out and pass exact=True, or pass a batch_size"
        raise BadInput(value, "runs differ by what is drawn, and here nothing is", remedy)
    is_exact = _is_exact(exact, classes, seq_len, runs)
    ratio = lr_z / lr_y
    pace = lr_y / K
    update = pace / (1 - mu)
    with np.errstate(over="ignore"):  # refused below
        taus = recorded * update
    FINITE("lr_z/lr_y", ratio)
    FINITE("lr_y t/K", taus[-1])
    law = Law(types, ratio) if np.isinf(seq_len) else SampledLaw(types, ratio, seq_len)
    by = ONE_MEMORY
    if is_exact:
        by = ALL
    elif runs is not None:
        by = RUNS
    found = empty_forecast(classes, law, recorded).assign_attrs(
        law=by,
        lr_y=lr_y,
        lr_z=lr_z,
        seq_len=seq_len,
        optimizer=optimizer,
        momentum=mu,
        vocab_size=classes.vocab_size,
        num_classes=K,
        batch_size=batch_size or "full",
        runs=runs or 0,
    )
    if runs is not None:
        mean = train_on_texts(
            classes,
            lr_y,
            lr_z,
            recorded,
            seq_len=seq_len,
            runs=runs,
            momentum=mu,
            batch_size=batch_size,
        )
        fill_by_runs(found, law, mean, taus)
        warn(found)
        return found

    # The states of full batches: update by update and by momentum's law, or by the flow.
    motion: Law | Exact = Exact(classes, types, ratio) if is_exact else law
    own_errors: Callable[[Any], Floats] = motion.own_errors
    is_whole = is_exact and batch_size is None  # nothing is left out then
    if not is_whole:
        _check_size(law, mu, batch_size)
    made_one_by_one = exactly.ONE_BY_ONE if is_exact else inertia.ONE_BY_ONE
    path: Callable[[Floats], Iterable[State | ExactState]]
    path = InertialLaw[Any](motion, mu, pace, one_by_one=made_one_by_one).path
    if is_flow:
        path = partial(many_classes.path, law) if law.is_split and not is_exact else motion.path

    # Times at which nothing has moved yet are answered by the state at the start. To the others
    # belong the times at which the size of updates is evaluated.
    unseen, moments = np.split(taus, [np.count_nonzero(taus < UNSEEN)])
    looks = np.zeros(0)
    if not is_flow and moments.size and moments[-1] >= update:
        looks = update * LOOK ** np.arange(1 + int(np.log(moments[-1] / update) / np.log(LOOK)))
        looks = looks[looks <= moments[-1]]  # rounding may have put the last one beyond
        moments = np.union1d(moments, looks)
    states = itertools.chain(
        [motion.unpack(motion.start(0.0))] * unseen.size, _until_it_fails(path, moments)
    )

    # How far the order of classes moves z at batch size 1.
    shifts: Iterator[Shift | None] = itertools.repeat(None, unseen.size + moments.size)
    if batch_size is not None:
        order = OrderTerm(classes, types, ratio, pace, seq_len=seq_len, momentum=mu)
        shifts = itertools.chain([None] * unseen.size, _until_it_fails(order.path, moments))

    updates = Updates(pace, mu, batch_size)
    made_until = made_one_by_one * update
    errors = ErrorsOverTime(law, seq_len, updates, made_until=made_until, is_whole=is_whole)
    follows_rounding = is_whole and not is_flow
    disturbed = Disturbed(classes, types, ratio) if follows_rounding else law
    twin = InertialLaw[Any](disturbed, mu, pace, one_by_one=made_one_by_one)
    seen: dict[float, Any] = {}
    num_recorded = 0
    try:
        for tau, state, shift in zip([*unseen, *moments], states, shifts, strict=True):
            overshoot = Overshoot(0.0, 0.0)
            if state.a[0] and not is_flow:
                overshoot = overshoot_of(law, state, own_errors(state), updates)
            order_share = 0.0
            if batch_size is not None and shift is not None:
                order_share = order_of(law, state, shift) / batch_size
                state = _shifted(state, shift, batch_size)
            if follows_rounding:
                seen[tau] = state
            if tau in looks:
                errors.advance(tau, overshoot, order_share)
            if tau == taus[num_recorded]:
                trusted = errors.at(tau, state, overshoot, order_share)
                for name, values in (described(law, state, tau) | trusted).items():
                    found[name].values[num_recorded] = values
                num_recorded += 1
    except IntegrationFailed as failure:
        failure.last = None if failure.last is None else failure.last / update
        failure.reached = found.isel(recorded=slice(num_recorded)) if num_recorded else None
        if follows_rounding and num_recorded:
            allow_for_rounding(failure.reached, twin, update, seen)
        raise
    if follows_rounding and (errors.largest_step > NEAR_TWO or lr_y > FAST_DECODER):
        allow_for_rounding(found, twin, update, seen)
    warn(found)
    return found


def _is_exact(
    exact: bool | None, classes: SequenceClasses, seq_len: float, runs: int | None
) -> bool:
    """Return whether all of Y and Z are integrated: as asked for, or where it costs less."""
    can_be = bool(np.isinf(seq_len)) and runs is None
    if exact and not can_be:
        asked = f"seq_len = {seq_len:g}" if runs is None else f"runs = {runs}"
        rule = "Y and Z are integrated exactly for endless sequences, without runs"
        raise BadInput(f"exact = True with {asked}", rule, "leave exact out")
    if exact is None:
        return can_be and exactly.num_values(classes) <= exactly.MOST_NUMBERS
    return exact


def _check_size(law: Law, mu: float, batch_size: int | None) -> None:
    """Refuse momentum (``mu`` above 0) and the order of classes (a batch size) for laws so large
    that they would take many minutes.
    """
    if law.num_values <= MOST_WHOLE or (mu == 0 and batch_size is None):
        return
    asked = "momentum" if mu else "batch_size"
    remedy = (
        'ask for optimizer="sgd", or for fewer classes'
        if mu
        else "leave batch_size out for full batches, or use fewer classes"
    )
    raise BadInput(
        f"{len(law.types.size)} unlike classes with {asked}",
        f"with {asked} the law has at most {MOST_WHOLE:,} numbers, of some 300 unlike classes",
        remedy,
    )


def _until_it_fails(path: Callable[[Floats], Iterable[T]], taus: Floats) -> Iterator[T]:
    """Yield what a path yields at ascending taus; if it fails, yield what it had reached, and then
    raise.

    So :func:`predict` has filled in all times before the failure when it hears of it.
    """
    try:
        yield from path(taus) if taus.size else ()
    except IntegrationFailed as error:
        yield from error.reached or ()
        raise


def _shifted(state: AnyState, shift: Shift, batch_size: int) -> AnyState:
    """Return the state with z's mean over runs in batches of this size: the shift by the order of
    classes is known at batch size 1, and goes with 1/B.
    """
    z_common = state.z_common + shift.z_common / batch_size
    z_distinct = state.z_distinct + shift.z_distinct / batch_size
    return state._replace(z_common=z_common, z_distinct=z_distinct)
