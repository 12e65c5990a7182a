"""Balls of h, gamma and Gamma, and of a scalar flow that has no closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, arb_series, ctx

from scansnap_core.bad_input import BadInput
from scansnap_core.theory import formulas
from scansnap_core.theory.certify.balls import PRECISION, ball, between, enclose


def _u_at(M: arb, tau: arb) -> arb:
    return (M * enclose(formulas.h, {formulas.M: M, formulas.eta_Y: 1, formulas.t: tau}, ctx.prec)).nonnegative_part()


def h_ball(t: Any, M: Any, lr_y: Any, precision: int = PRECISION) -> arb:
    """A ball of h(t), the solution of (44) by (45).

    M h rises with t, with the rate and with M, so that two corners of a box give it.

    Parameters
    ----------
    t
        At least 0, in steps that show the class: a number or a ball, as all three.
    M, lr_y
        Above 1 and 0.
    precision
        In bits; 80 give some 20 digits of a point.

    Examples
    --------
    >>> abs(1000 * h_ball(1, 1000, 1) - 0.9995) < 1e-3
    True
    """
    with ctx.workprec(precision):
        vocab, tau = ball(M), ball(lr_y) * ball(t)
        return between(_u_at(vocab.lower(), tau.lower()), _u_at(vocab.upper(), tau.upper())) / vocab


def gamma_ball(t: Any, M: Any, lr_y: Any, K: Any = 1, precision: int = PRECISION) -> arb:
    """A ball of gamma(t) of Lemma 9, t in steps of batch size 1; its arguments as `h_ball` takes them."""
    with ctx.workprec(precision):
        values = {formulas.M: ball(M), formulas.h_: h_ball(ball(t) / ball(K), M, lr_y, precision)}
        return enclose(formulas.gamma, values, precision)


def Gamma_ball(t: Any, M: Any, lr_y: Any, lr_z: Any, K: Any = 1, precision: int = PRECISION) -> arb:
    """A ball of Gamma(t) as (128) has it, t in steps of batch size 1; its arguments as `h_ball` takes them."""
    with ctx.workprec(precision):
        values = {
            formulas.M: ball(M),
            formulas.K: ball(K),
            formulas.eta_Y: ball(lr_y),
            formulas.eta_Z: ball(lr_z),
            formulas.h_: h_ball(ball(t) / ball(K), M, lr_y, precision),
        }
        return enclose(formulas.Gamma, values, precision)


def enclose_ode(
    rate: Callable[[Any], Any], start: Any, end: Any, *, steps: int = 200, order: int = 12, precision: int = PRECISION
) -> arb:
    """A ball of y(end) for y' = rate(y), y(0) = start.

    Taylor steps of the solution with Lagrange's remainder, which is taken over a ball that Picard's iteration shows to
    hold the solution for the whole step. Solutions don't cross, so that the two ends of the start are followed alone.

    Parameters
    ----------
    rate
        Of one argument, a ball or an ``arb_series``, by what both know (``+ - * /``, ``.exp()``, ``.log()``).
    start, end
        Numbers or balls; the time in the units of the rate.
    steps, order
        Equal steps, and the order of the Taylor polynomials.
    precision
        In bits.

    Raises
    ------
    BadInput
        If no ball can be shown to hold the solution over a step: take more of them.

    Examples
    --------
    >>> enclose_ode(lambda y: -y, 1, 1).overlaps(arb(-1).exp())
    True
    """
    with ctx.workprec(precision):
        first, last, step = ball(start).lower(), ball(start).upper(), ball(end) / steps
        for number in range(steps):
            ends = [_step(rate, y, step, order) for y in (first, last)]
            if not all(y.is_finite() for y in ends):
                rule = f"the solution isn't shown to stay in a ball over step {number + 1}"
                raise BadInput(value=f"steps = {steps}", rule=rule, remedy="take more steps")
            first, last = ends[0].lower(), ends[1].upper()
        return between(first, last)


def _step(rate: Callable[[Any], Any], y: arb, step: arb, order: int) -> arb:
    inside = _picard(rate, y, step)
    if not inside.is_finite():  # of which a series may know nothing any more
        return inside
    taylor, remainder = _taylor(rate, y, order), _taylor(rate, inside, order + 1)[-1] * step ** (order + 1)
    return sum((taylor[k] * step**k for k in range(order + 1)), remainder)


def _picard(rate: Callable[[Any], Any], y: arb, step: arb) -> arb:
    """A ball that holds the solution for the whole step; not finite if none is found."""
    whole = between(arb(0), step)
    guess = y + whole * rate(y)
    for _ in range(20):
        wider = guess + (guess - guess.mid()) / 4 + arb(0, 1e-30)
        image = y + whole * rate(wider)
        if wider.contains(image):
            return wider
        guess = image.union(guess)
    return arb.nan()


def _taylor(rate: Callable[[Any], Any], y: arb, order: int) -> list[arb]:
    """The Taylor coefficients of the solution that starts in a ball, up to an order."""
    coefficients = [y]
    for k in range(order):
        with _series_length(k + 1):
            slope = rate(arb_series(coefficients, prec=k + 1))
        coefficients.append(_coefficient(slope, k) / (k + 1))
    return coefficients


def _coefficient(series: Any, k: int) -> arb:
    return series[k] if isinstance(series, arb_series) else (arb(0) if k else series)


class _series_length:  # noqa: N801
    def __init__(self, length: int) -> None:
        self._length = length

    def __enter__(self) -> None:
        self._before, ctx.cap = ctx.cap, self._length

    def __exit__(self, *_: object) -> None:
        ctx.cap = self._before
