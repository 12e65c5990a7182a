"""The paper's own quantities along any run: h, gamma, Gamma, xi_n, B_n, chi, r, and the bounds of
Theorems 3 and 4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import cumulative_trapezoid
from sympy import diff

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import takes
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.engine.names import PLAIN
from scansnap_core.theory import clocks, decoder, formulas, measures, spectrum
from scansnap_core.theory.functions import function_of

EQUAL_OVERLAPS = 1e-9
"""Overlaps that differ by no more, relatively, count as Theorem 4's equal ones."""

_GRADIENT = "projection of the gradient g on f (Theorem 1), at T = infinity"
_IDEALISED = "gamma times the pull of E' (Eqn 10), as the run has no Y"

_ABOUT = {
    "h": ("size of the decoder's weights, read at t P(n)", "logits", "Eqn 45"),
    "gamma": ("speed control coefficient", "per step", "Eqn 85"),
    "Gamma": (
        "eta_Z times the integral of gamma, weighed as the clock weighs a class",
        "1",
        "Eqn 125-128",
    ),
    "xi": ("growth rate of distinct tokens", "per step", "Theorem 1(a)"),
    "B": (
        "eta_Z times the integral of xi, weighed as the clock weighs a class",
        "logits",
        "Theorem 3",
    ),
    "chi": ("growth factor of a token that the class holds", "1", "Eqn 11"),
    "r": ("relative gain of the dominant token over another distinct token", "1", "Theorem 3"),
    "dominant": (
        "index of the distinct token with the largest f at the start, of equal ones the first; "
        "-1: none",
        "token",
        "Theorem 3",
    ),
    "dominance": (
        "the dominant token is ahead of every other distinct token at the start",
        "truth",
        "Theorem 3",
    ),
    "common_falls": (
        "no common token of the class rises: z' <= 0 (at rest z' = 0)",
        "truth",
        "Theorem 3",
    ),
    "conditions": (
        "both conditions of Theorem 3 held at every recorded moment so far",
        "truth",
        "Theorem 3",
    ),
    "chi_dominant": ("growth factor of the dominant token", "1", "Eqn 11"),
    "chi_lower": ("lower bound of chi_dominant while the conditions hold", "1", "Eqn 12"),
    "chi_upper": ("upper bound of chi_dominant while the conditions hold", "1", "Eqn 12"),
    "t_0_prime": ("end of scanning", "steps of batch size 1", "Theorem 4"),
    "t_0": ("begin of snapping; NaN for M < 4", "steps of batch size 1", "Theorem 4"),
    "rho": ("overlap at the start in Theorem 4's setting, else NaN", "1", "Sec. 6: 1/rho_0^2"),
    "xi_printed": ("xi as printed", "per step", "Eqn 123"),
    "xi_shared": ("xi with the K classes sharing one logarithm", "per step", "Eqn 123, repaired"),
    "B_printed": ("B as printed", "logits", "Eqn 124"),
    "B_shared": ("B with the K classes sharing one logarithm", "logits", "Eqn 124, repaired"),
}
"""Each variable of :func:`theory_of` has a meaning, a unit and a place in the paper."""

_Gamma = function_of(
    formulas.Gamma, (formulas.h_, formulas.M, formulas.K, formulas.eta_Y, formulas.eta_Z)
)
_r = function_of(formulas.r, (formulas.c_l, formulas.c_other))
_chi = function_of(formulas.chi, (formulas.z, formulas.z_0))
_chi_lower = function_of(formulas.chi_lower, (formulas.f_0, formulas.B_))
_chi_upper = function_of(formulas.chi_upper, (formulas.B_,))
_B_printed = function_of(formulas.B, (formulas.Gamma_, formulas.C_0))
_xi_printed = function_of(formulas.xi_snap, (formulas.gamma_, formulas.Gamma_, formulas.C_0))
_B_shared = function_of(formulas.B_shared, (formulas.Gamma_, formulas.K, formulas.rho))
_xi_shared = function_of(
    formulas.gamma_ * diff(formulas.B_shared, formulas.Gamma_),
    (formulas.gamma_, formulas.Gamma_, formulas.K, formulas.rho),
)


@takes(classes=CLASSES)
def theory_of(classes: SequenceClasses, run: xr.Dataset) -> xr.Dataset:
    """Compute the quantities of Theorems 1, 3 and 4 along a run or a solved flow.

    Parameters
    ----------
    classes
        The sequence classes, those of the run. If they aren't uniform, h, gamma and Gamma differ
        between classes and get the dimension ``class``, and all that is Theorem 4's is NaN.
    run
        What :func:`scansnap_core.engine.training.train` or
        :func:`scansnap_core.theory.solving.solve` returned, with its start (``recorded`` 0); random
        starts and any further dimensions are welcome. A batch of any size moves, in expectation, as
        far as a step of batch size 1.

    Returns
    -------
    xarray.Dataset
        The variables, whose attributes name meaning, unit and equation:

        - ``h``, ``gamma``, ``Gamma`` (..., recorded): computed for Y(0) = 0, whatever the run's
          start
        - ``xi``, ``B`` (..., recorded, class): their attribute ``from`` says how they were computed
        - ``chi``, and ``r`` of the dominant token over each other one (..., recorded, class,
          token): NaN for tokens that have none
        - ``dominant``, ``dominance`` (..., class)
        - ``common_falls``, ``conditions`` (..., recorded, class)
        - ``chi_lower`` <= ``chi_dominant`` <= ``chi_upper`` by Eqn 12 (..., recorded, class)
        - ``t_0_prime`` and ``t_0``
        - ``rho``, and Theorem 4's xi and B as printed and as repaired: NaN unless all classes share
          one query and one common token with equal overlaps

        The coordinate ``t`` counts steps of batch size 1.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3)
    >>> flow = ss.IdealisedFlow(classes, lr_y=1, lr_z=0.1)
    >>> found = theory_of(classes, ss.solve(flow, [0, 10, 100]))
    >>> found.dominant.values
    array([10, 20])
    >>> bool((found.chi_lower <= found.chi_dominant).all())
    True
    >>> bool((found.chi_dominant <= found.chi_upper).all())
    True
    >>> found.B.isel(recorded=-1).values.round(3), found.B.equation
    (array([0.258, 0.258]), 'Theorem 3')
    """
    run = _checked(run, classes)
    K = classes.num_classes
    M = classes.vocab_size

    # ``period`` is the number of steps between two that show a class, 1/P(n).
    period: Any = K
    paces: Any = 1.0
    if not classes.is_uniform:
        period = xr.DataArray(1 / classes.frequencies, dims="class")
        paces = xr.DataArray(classes.paces, dims="class")

    # The rates are coordinates of a training, and attributes of a solved flow.
    rate_y = xr.DataArray(run.coords.get("lr_y", run.attrs.get("lr_y")))
    rate_z = xr.DataArray(run.coords.get("lr_z", run.attrs.get("lr_z")))
    weight = run.attrs.get("class_weight", 1 / K) * paces
    steps = run.recorded.drop_vars("recorded") * run.attrs.get("steps_per_unit", 1.0)

    h = xr.apply_ufunc(lambda t, rate: clocks.h(t, M, rate), steps / period, rate_y)
    gamma = xr.apply_ufunc(clocks.gamma, h, M)
    Gamma = weight * xr.apply_ufunc(_Gamma, h, M, period, rate_y, rate_z)
    f, xi, force = _motion(run, classes, gamma)
    found = {"h": h, "gamma": gamma, "Gamma": Gamma, "xi": xi}

    # B is eta_Z P(n) times the integral of xi. A solved flow has integrated it already.
    if "B" in run:
        found["B"] = run.B.drop_vars("class", errors="ignore")
    else:
        area = xr.apply_ufunc(
            lambda rates: cumulative_trapezoid(rates, steps.values, axis=-1, initial=0),
            xi,
            input_core_dims=[["recorded"]],
            output_core_dims=[["recorded"]],
        )
        found["B"] = weight * rate_z * area
    found |= _theorem_3(run, classes, f, force, found["B"])
    found |= _theorem_4(classes, f, rate_y, gamma, Gamma)

    result = xr.Dataset({name: found[name].drop_attrs() for name in _ABOUT})
    result = result.transpose(..., "recorded", "class", "token")
    for name, (meaning, unit, equation) in _ABOUT.items():
        result[name].attrs = {"long_name": meaning, "units": unit, "equation": equation}
    result.xi.attrs["from"] = _GRADIENT if "Y" in run else _IDEALISED
    result.B.attrs["from"] = (
        "the flow's own integral" if "B" in run else "trapezoids of xi over the recorded times"
    )
    labels = {
        "recorded": run.recorded,
        "class": classes.coords["class"],
        "token": classes.coords["token"],
    }
    result = result.assign_coords(labels | {"t": ("recorded", steps.values)})
    result.t.attrs["units"] = "steps of batch size 1"
    result.attrs = run.attrs
    return result


def _checked(run: xr.Dataset, classes: SequenceClasses) -> xr.Dataset:
    """Return the run's Z, and Y and B where it has them, on the axes of its classes, with its
    rates; or raise BadInput.

    A run of several data sets is padded, and one that was selected from may lack a dimension of
    size 1; both are mended here.
    """
    if not isinstance(run, xr.Dataset) or "Z" not in run:
        raise BadInput(
            f"a run of type {type(run).__name__}",
            "a run is a data set with Z",
            "pass train's or solve's",
        )
    if run.attrs.get("model", PLAIN) != PLAIN:
        remedy = "pass a run or a flow with model='plain'; attention and entropy take variants"
        raise BadInput(
            f"a run of the model {run.attrs['model']}",
            "the theorems are of the paper's model",
            remedy,
        )
    if "recorded" not in run.dims or float(run.recorded[0]) != 0:
        remedy = "record step 0, or begin times with 0, and keep the dimension recorded"
        raise BadInput(
            "a run without its start", "growth and B_n are counted from recorded = 0 on", remedy
        )
    # A dimension that was selected away stays with each variable as a scalar coordinate.
    squeezed = [dim for dim in ("class", "query", "token") if dim not in run.dims]
    parts = {"Z": measures.on_axes_of(run.Z.drop_vars("class", errors="ignore"), classes)}
    if "Y" in run:
        parts["Y"] = measures.on_axes_of(
            run.Y.drop_vars(["class", "query"], errors="ignore"), classes, ("token",)
        )
        # Two data sets of one training can have different outputs, and where one lacks them its
        # multiplicity is NaN.
        parts["Y"] = parts["Y"].isel(output=np.flatnonzero(run.multiplicity.notnull()))
        parts["multiplicity"] = run.multiplicity.drop_vars(squeezed, errors="ignore").dropna(
            "output"
        )
    if "B" in run:
        B = run.B.drop_vars(squeezed, errors="ignore")
        parts["B"] = B if "class" in B.dims else B.expand_dims("class")
    rates = {
        name: run.coords[name].drop_vars(squeezed, errors="ignore")
        for name in ("lr_y", "lr_z")
        if name in run.coords
    }
    return xr.Dataset(parts, attrs=run.attrs).assign_coords(rates)


def _motion(
    run: xr.Dataset, classes: SequenceClasses, gamma: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Compute attention and what moves it, for eta_Z = 1.

    Returns
    -------
    f (..., class, token), xi (..., class), and the force on the logits that each class reads, which
    are those of its query (..., class, token): dz/dt in steps of batch size 1, over eta_Z. They are
    NaN where the run has diverged. A run that has no Y is one of the law (10), whose speed is
    ``gamma``.
    """
    compact = classes.compact
    logits = run.Z.transpose(..., "recorded", "query", "token")
    lead = [str(dim) for dim in logits.dims[:-2]]
    finite = np.isfinite(logits).all(["query", "token"])
    # Where a run has diverged, 0 takes the place of NaN; the result is made NaN below.
    Z = logits.where(finite, 0.0).values[..., compact.query_row, :]
    F = spectrum.F(compact.probs, Z)
    if "Y" in run:
        Y = run.Y.transpose(*lead, "token", "output")
        finite = finite & np.isfinite(Y).all(["token", "output"])
        targets = classes.labels(classes.next_of)[:, None] == Y.output.values
        # By Theorem 1, from the gradient g of the objective with respect to f, on the run's own Y.
        g = decoder.forward(F, Y.where(finite, 0.0).values, targets, run.multiplicity.values).g
        xi = spectrum.xi(F, g)
        per_class = decoder.through_attention(F, g)
    else:
        # By Eqn 10: as M grows, beta tends to E' of the present F.
        clocked = gamma if "class" in gamma.dims else gamma.expand_dims("class")
        speed = clocked.broadcast_like(finite).transpose(*lead, "class").values
        E = spectrum.E(F)
        beta = spectrum.beta(E, math.inf)
        # E and beta are symmetric.
        xi = speed * (beta * E).sum(axis=-1)
        per_class = speed[..., None] * spectrum.force(F, beta)
    force = decoder.Expectation(classes).per_query(classes.paces[:, None] * per_class)

    def labelled(values: Floats, *dims: str) -> xr.DataArray:
        """Name the axes after the run's own, and put NaN where the run has diverged."""
        return xr.DataArray(values, dims=(*lead, *dims)).where(
            finite.drop_vars(list(finite.coords))
        )

    by_class = force[..., compact.query_row, :]
    return (
        labelled(F, "class", "token"),
        labelled(xi, "class"),
        labelled(by_class, "class", "token"),
    )


def _theorem_3(
    run: xr.Dataset, classes: SequenceClasses, f: xr.DataArray, force: xr.DataArray, B: xr.DataArray
) -> dict[str, xr.DataArray]:
    """Compute Theorem 3's quantities by name: the dominant token, the growth factors and their
    bounds, and whether the theorem's conditions hold.

    ``f``, ``force`` and ``B`` are those of :func:`_motion` and :func:`theory_of`, over (...,
    recorded, class) and, f and force, token. So are the results, without ``recorded`` for what is
    said of the start.
    """
    compact = classes.compact
    dims = ("class", "token")
    held = xr.DataArray(compact.held, dims=dims)
    common = held & xr.DataArray(np.isin(compact.tokens, classes.common_tokens), dims="token")
    distinct = held & ~common
    z = run.Z.isel(query=xr.DataArray(compact.query_row, dims="class"))
    z = z.drop_vars(["query", "token", "recorded", "class"], errors="ignore")

    # The dominant token has the largest f at the start. f of a distinct token is positive, so -1
    # stands for the others; a class without a distinct token gets some token, which is masked.
    start = f.isel(recorded=0).where(distinct)
    leader = start.fillna(-1.0).argmax("token")
    has_one = distinct.any("token")
    place = xr.DataArray(np.arange(len(compact.tokens)), dims="token")
    others = distinct & (place != leader) & has_one

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        r = xr.apply_ufunc(_r, f.isel(token=leader), f).where(others)
        chi = xr.apply_ufunc(_chi, z, z.isel(recorded=0)).where(held)
        f_0 = start.isel(token=leader)
        upper = xr.apply_ufunc(_chi_upper, B).where(has_one)
        bounds = {"chi_lower": xr.apply_ufunc(_chi_lower, f_0, B), "chi_upper": upper}

    # Theorem 3's two conditions, each at its moment, and both at every moment so far.
    leads = ((r.isel(recorded=0) > 0) | ~others).all("token")
    dominance = (has_one & leads).transpose(..., "class")
    falls = ((force <= 0) | ~common).all("token")
    so_far = (falls & dominance).cumprod("recorded").astype(bool)
    tokens = xr.DataArray(compact.tokens, dims="token")
    return bounds | {
        "chi": chi,
        "r": r,
        "dominant": xr.where(has_one, tokens.isel(token=leader), -1),
        "dominance": dominance,
        "common_falls": falls,
        "conditions": so_far,
        "chi_dominant": chi.isel(token=leader).where(has_one),
    }


def _theorem_4(
    classes: SequenceClasses,
    f: xr.DataArray,
    rate_y: xr.DataArray,
    gamma: xr.DataArray,
    Gamma: xr.DataArray,
) -> dict[str, xr.DataArray]:
    """Compute Theorem 4's quantities by name, NaN outside of its setting.

    ``gamma`` and ``Gamma`` are at the recorded moments; t_0' and t_0 are in steps of batch size 1.
    """
    K = classes.num_classes
    M = classes.vocab_size
    omega_1 = float(clocks.omega(M)[1]) if M >= 4 else math.nan

    # The setting: one query, one common token, and equal overlaps, whose mean is rho.
    F = f.isel(recorded=0).transpose(..., "class", "token")
    pairs = ~np.eye(K, dtype=bool)
    overlaps = spectrum.E(F.values)[..., pairs] if K > 1 else np.full((*F.shape[:-2], 1), np.nan)
    equal = np.ptp(overlaps, axis=-1) < EQUAL_OVERLAPS * overlaps.max(axis=-1)
    one_of_each = len(classes.compact.queries) == len(classes.common_tokens) == 1
    # Selecting one class and one token leaves the right dimensions and labels.
    rho = F.isel({"class": 0, "token": 0}).copy(data=overlaps.mean(axis=-1))
    rho = rho.where(np.logical_and(one_of_each and classes.is_uniform, equal))
    C_0 = 1 / (K * rho**2)
    return {
        "rho": rho,
        "t_0_prime": xr.apply_ufunc(clocks.t_0_prime, K, M, rate_y).where(classes.is_uniform),
        "t_0": xr.apply_ufunc(clocks.t_0, K, M, rate_y, omega_1).where(classes.is_uniform),
        "xi_printed": xr.apply_ufunc(_xi_printed, gamma, Gamma, C_0),
        "xi_shared": xr.apply_ufunc(_xi_shared, gamma, Gamma, K, rho),
        "B_printed": xr.apply_ufunc(_B_printed, Gamma, C_0),
        "B_shared": xr.apply_ufunc(_B_shared, Gamma, K, rho),
    }
