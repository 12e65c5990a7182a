"""Compile Lemma 1's step for a CPU, with Numba.

:mod:`scansnap_core.engine.compiled` calls it.
:func:`scansnap_core.engine.model.gradients` is the reference to read and to test against. There a
step multiplies by all L tokens, although a sample of class n has f_nl = 0 off the class's support.
Here a sample reads only the rows of Y that its class holds: 6 S O operations, with S tokens of its
class and O outputs, instead of 6 L O.

Axes: B samples, K classes, L tokens, O outputs, Q queries, and the *places* of P, its nonzero
entries, class by class. Class n has the places ``starts[n]`` to ``starts[n + 1]``, and ``rows``
has the number of each one's token among the L.

Vectors and Lemma 1 stand in one file on purpose. Numba stores the machine code of :func:`climb` by
this file's time, and the loops that it calls become a part of it: in a file of their own, a change
of them wouldn't reach a stored :func:`climb`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scansnap_core.base.extras import needs

with needs("sweeps"):
    from numba import njit, types
    from numba.extending import overload

IN_ORDER = {"contract"}
"""Allow fused multiply-add, where the processor has it."""
ANY_ORDER = {"contract", "reassoc"}
"""Allow a sum in as many parts as a register holds too. The order is the same at each run on one
processor."""
ANY_MAXIMUM = ANY_ORDER | {"nnan", "nsz"}
"""Allow the parts of a maximum too: they agree unless a NaN or the sign of a zero counts."""
LOWEST = -80.0
"""The exponential of a smaller number is set to exp(-80), which is negligible against the largest
term, which is 1.
"""
SMALLEST = 1e-20
"""If a sample's squared norm, in units of its class's largest exp(z), is above this, no digit is
lost by sharing the class's exponentials.
"""
EXP = tuple(1 / math.factorial(power) for power in range(12, -1, -1))
"""Taylor's coefficients of e^r. The remainder is below 1e-15 for |r| <= ln(2)/2."""
LOG2_E = 1 / math.log(2)
LN_2_HIGH = 0.693359375
LN_2_LOW = -2.12194440054690583e-4
"""ln 2 in two parts, so that a product of the first with a small integer is exact."""
part = functools.partial(njit, nogil=True, error_model="numpy")
"""Compile a function that compiled ones call, without the GIL; division by zero gives inf, as in
NumPy.
"""


def compiled_for_cpu(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, and store the machine code.

    It is stored in the source's folder or in the user's cache. If neither can be written, as on a
    read-only file system without a home, every process compiles it again.
    """
    try:
        return part(fastmath=IN_ORDER, cache=True)(function)
    except RuntimeError:  # Numba found no place for its cache.
        return part(fastmath=IN_ORDER)(function)


# -- Rows of Y, and exponentials: LLVM vectorises each of these loops ------------------------------


@part(fastmath=IN_ORDER)
def _add_rows(
    out: Any, weights: Any, rows: Any, places: Any, first: Any, last: Any
) -> None:  # pragma: no cover
    """Add sum_i weights[i] rows[places[i]] to ``out`` on the columns first..last-1.

    Four rows at a time need a quarter of the loads and stores of ``out``.
    """
    in_fours = places.size - places.size % 4
    for i in range(0, in_fours, 4):
        r0 = rows[places[i]]
        r1 = rows[places[i + 1]]
        r2 = rows[places[i + 2]]
        r3 = rows[places[i + 3]]
        w0 = weights[i]
        w1 = weights[i + 1]
        w2 = weights[i + 2]
        w3 = weights[i + 3]
        for o in range(first, last):
            out[o] += w0 * r0[o] + w1 * r1[o] + w2 * r2[o] + w3 * r3[o]
    for i in range(in_fours, places.size):
        row = rows[places[i]]
        weight = weights[i]
        for o in range(first, last):
            out[o] += weight * row[o]


@part(fastmath=ANY_ORDER)
def _dot(a: Any, b: Any) -> Any:  # pragma: no cover
    """Return a . b."""
    dot = a.dtype.type(0)
    for i in range(a.size):
        dot += a[i] * b[i]
    return dot


@part(fastmath=ANY_ORDER)
def _dots(rows: Any, places: Any, a: Any, out: Any) -> None:  # pragma: no cover
    """Set out[i] = rows[places[i]] . a.

    Four rows at a time need a quarter of the loads of ``a``.
    """
    in_fours = places.size - places.size % 4
    for i in range(0, in_fours, 4):
        r0 = rows[places[i]]
        r1 = rows[places[i + 1]]
        r2 = rows[places[i + 2]]
        r3 = rows[places[i + 3]]
        dot0 = a.dtype.type(0)
        dot1 = a.dtype.type(0)
        dot2 = a.dtype.type(0)
        dot3 = a.dtype.type(0)
        for o in range(a.size):
            dot0 += r0[o] * a[o]
            dot1 += r1[o] * a[o]
            dot2 += r2[o] * a[o]
            dot3 += r3[o] * a[o]
        out[i] = dot0
        out[i + 1] = dot1
        out[i + 2] = dot2
        out[i + 3] = dot3
    for i in range(in_fours, places.size):
        out[i] = _dot(rows[places[i]], a)


@part(fastmath=ANY_ORDER)
def _sum(a: Any) -> Any:  # pragma: no cover
    """Return the sum of a; Numba's version of NumPy's sum isn't vectorised."""
    total = a.dtype.type(0)
    for i in range(a.size):
        total += a[i]
    return total


@part(fastmath=ANY_MAXIMUM)
def _largest(a: Any) -> Any:  # pragma: no cover
    """Return the largest number of a; Numba's version of NumPy's isn't vectorised.

    NaNs may be passed over. That loses none: what is computed with the largest number is computed
    with each number of ``a`` too.
    """
    top = a.dtype.type(-np.inf)
    for i in range(a.size):
        top = a[i] if a[i] > top else top
    return top


def _power_of_half(halvings: float) -> float:
    """Return 2^-halvings for a whole number from 0 to 126.

    Compiled code takes :func:`_power_of_half_in` in its place.
    """
    return 0.5**halvings


@overload(_power_of_half, inline="always")
def _power_of_half_in(halvings: Any) -> Any:  # pragma: no cover
    """Make the number from its bits, as many at once as a vector holds.

    A float's exponent stands in bits of its own, above the 23 (float64: 52) bits of its fraction,
    with 127 (1023) added.
    """

    def in_32_bits(halvings: Any) -> Any:
        return np.int32((127 - np.int32(halvings)) << 23).view(np.float32)

    def in_64_bits(halvings: Any) -> Any:
        return np.int64((1023 - np.int64(halvings)) << 52).view(np.float64)

    return in_32_bits if halvings == types.float32 else in_64_bits


@part(fastmath=IN_ORDER)
def _exponentiate(x: Any, top: Any) -> None:  # pragma: no cover
    """Replace x <= top by exp(x - top), in place.

    Without SVML np.exp isn't vectorised, and takes more than twice as long.
    """
    number = x.dtype.type
    for i in range(x.size):
        below = x[i] - top
        below = number(LOWEST) if below < number(LOWEST) else below
        # e^below = 2^-halvings e^rest with |rest| <= ln(2)/2, so that few Taylor terms are enough.
        halvings = np.floor(number(0.5) - below * number(LOG2_E))
        rest = below + halvings * number(LN_2_HIGH) + halvings * number(LN_2_LOW)
        power = number(EXP[0])
        for coefficient in EXP[1:]:
            power = power * rest + number(coefficient)
        # NaN has no bits of a whole number, but ``power`` is NaN then, and so is the product.
        x[i] = power * _power_of_half(halvings)


# -- Lemma 1 ---------------------------------------------------------------------------------------


@part(fastmath=IN_ORDER)
def _attend(q: Any, z: Any, growth: Any, f: Any) -> None:  # pragma: no cover
    """Fill f = LN(q∘exp(z)) of one sample, on the S tokens of its class; all arrays are (S,).

    ``growth`` is exp(z - max z), which all samples of a class share. If the sample lacks the tokens
    with most of the attention, the products q∘growth are too small to keep their digits. Then
    exponentials relative to the sample's own largest z are taken.
    """
    number = f.dtype.type
    for s in range(f.size):
        f[s] = q[s] * growth[s]
    squares = _dot(f, f)
    if not squares > number(SMALLEST):
        # The largest z of a token that the sample holds. The other tokens get it too, so that their
        # exponential is 1 and not infinite, and q = 0 removes them: 0 times infinity would be NaN.
        # Comparisons are negated so that a NaN, of a run that diverged, stays visible.
        top = number(-np.inf)
        for s in range(f.size):
            top = z[s] if q[s] > 0 and not z[s] <= top else top
        for s in range(f.size):
            f[s] = z[s] if q[s] > 0 else top
        _exponentiate(f, top)
        for s in range(f.size):
            f[s] *= q[s]
        squares = _dot(f, f)
    per_norm = number(1) / np.sqrt(squares)
    for s in range(f.size):
        f[s] *= per_norm


@part(fastmath=IN_ORDER)
def _lemma_1(
    q: Any,
    z: Any,
    Y: Any,
    held: Any,
    target: Any,
    log_multiplicity: Any,
    scale: Any,
    F: Any,
    errors: Any,
    dz: Any,
) -> Any:  # pragma: no cover
    """Compute Lemma 1 for samples q (B, S) of one class, which holds the rows ``held`` of Y.

    Fills F, the samples' f (B, S); ``errors`` = scale (x_{T+1} - alpha) (B, O), so that dJ/dY is
    the sum of f errors^T on the rows held; and ``dz``, dJ/dz without the scale (B, S). Returns the
    loss, summed over samples.
    """
    number = Y.dtype.type
    loss = Y.dtype.type(0)
    growth = z[: held.size].copy()
    _exponentiate(growth, _largest(growth))
    for b in range(len(F)):
        f = F[b]
        error = errors[b]
        g = dz[b]
        _attend(q[b], z, growth, f)

        # The logits f^T Y. A column that stands for several outputs has ln of their number added.
        for o in range(error.size):
            error[o] = log_multiplicity[o]
        _add_rows(error, f, Y, held, 0, error.size)

        # alpha, the softmax of the logits, and the loss -ln alpha at the target.
        top = _largest(error)
        loss += top - error[target]
        _exponentiate(error, top)
        total = _sum(error)
        loss += np.log(total)

        # x_{T+1} - alpha.
        per_total = number(-1) / total
        for o in range(error.size):
            error[o] *= per_total
        error[target] += number(1)

        # g = Y (x_{T+1} - alpha), and dz = f∘(g - f f·g).
        _dots(Y, held, error, g)
        f_g = _dot(f, g)
        for s in range(f.size):
            g[s] = f[s] * (g[s] - f[s] * f_g)
        for o in range(error.size):
            error[o] *= scale[o]
    return loss


@compiled_for_cpu
def climb(
    Y: Any,
    Z: Any,
    velocity_Y: Any,
    velocity_Z: Any,
    lr_y: Any,
    lr_z: Any,
    momentum: Any,
    samples: Any,
    q: Any,
    starts: Any,
    rows: Any,
    query_row: Any,
    target: Any,
    log_multiplicity: Any,
    per_output: Any,
    loss: Any,
) -> None:  # pragma: no cover
    """Update one run by SGD with one batch per step, in place.

    Parameters
    ----------
    Y, Z, velocity_Y, velocity_Z
        Shapes (L, O) and (Q, L).
    lr_y, lr_z, momentum
        eta_Y, eta_Z and the momentum, of the arrays' type.
    samples, q
        The class of every sample, ascending in each step, shape (steps, B), and its token
        frequencies on the class's support, shape (steps, B, S) with the largest class's S.
    starts, rows, query_row, target
        The places of P; and for each class its query and the output of its next token, shape (K,).
    log_multiplicity, per_output
        ln of the number of outputs for which each of the O stands, and 1 over that number, (O,).
    loss
        Filled with -J before each update, in nats, shape (steps,).
    """
    B = samples.shape[1]
    S = q.shape[2]
    number = Y.dtype.type
    F = np.empty(B * S, Y.dtype)
    dz = np.empty(B * S, Y.dtype)
    errors = np.empty((B, Y.shape[1]), Y.dtype)
    z = np.empty(S, Y.dtype)
    weights = np.empty(B, Y.dtype)
    every = np.arange(B)
    share = number(1) / number(B)
    scale = share * per_output
    for step in range(samples.shape[0]):
        lost = number(0)
        first = 0
        while first < B:
            # The samples first..last-1 are of one class n.
            n = samples[step, first]
            last = first
            while last < B and samples[step, last] == n:
                last += 1
            held = rows[starts[n] : starts[n + 1]]
            count = last - first
            size = held.size
            f = F[: count * size].reshape(count, size)
            g = dz[: count * size].reshape(count, size)
            for s in range(size):
                z[s] = Z[query_row[n], held[s]]
            lost += _lemma_1(
                q[step, first:last], z, Y, held, target[n], log_multiplicity, scale, f, errors, g
            )

            # Velocities take the gradient at once. Parameters don't move until all classes have
            # read them.
            for s in range(size):
                total = number(0)
                for b in range(count):
                    weights[b] = f[b, s]
                    total += g[b, s]
                velocity_Z[query_row[n], held[s]] += share * total
                _add_rows(velocity_Y[held[s]], weights, errors, every[:count], 0, Y.shape[1])
            first = last
        loss[step] = share * lost

        # Parameters move by their velocities, which then decay for the next step.
        for parameter, velocity, lr in ((Y, velocity_Y, lr_y), (Z, velocity_Z, lr_z)):
            for row in range(len(parameter)):
                p = parameter[row]
                v = velocity[row]
                for i in range(p.size):
                    p[i] += lr * v[i]
                    v[i] *= momentum


@compiled_for_cpu
def climb_classes(
    first: Any,
    last: Any,
    Y: Any,
    z: Any,
    starts: Any,
    q: Any,
    rows: Any,
    is_own: Any,
    target: Any,
    log_multiplicity: Any,
    scale: Any,
    f: Any,
    errors: Any,
    dz: Any,
    loss: Any,
) -> None:  # pragma: no cover
    """Make a step of the true gradient flow for classes first..last-1.

    At T = infinity a class is one sample, with q = P(.|n). Fills f and dz at their places, and
    ``errors`` (K, O), the classes' ``scale`` (x_{T+1} - alpha). Rows of Y that one class alone
    holds move at once, while they are in the cache; :func:`climb_common` moves the others.
    """
    for n in range(first, last):
        places = slice(starts[n], starts[n + 1])
        held = rows[places]
        own = is_own[places]
        error = errors[n]
        each = (1, held.size)
        loss[n] = _lemma_1(
            q[places].reshape(each),
            z[places],
            Y,
            held,
            target[n],
            log_multiplicity,
            scale,
            f[places].reshape(each),
            errors[n : n + 1],
            dz[places].reshape(each),
        )
        for s in range(held.size):
            if own[s]:
                y = Y[held[s]]
                weight = f[starts[n] + s]
                for o in range(y.size):
                    y[o] += weight * error[o]


@compiled_for_cpu
def climb_common(
    first: Any,
    last: Any,
    Y: Any,
    tokens: Any,
    ends: Any,
    places: Any,
    class_of: Any,
    f: Any,
    errors: Any,
) -> None:  # pragma: no cover
    """Move the common tokens' rows of Y on the columns first..last-1.

    It is called after all classes have read these rows. The classes hold token i at the places
    ``places[ends[i] : ends[i + 1]]``.
    """
    for i in range(tokens.size):
        of_token = places[ends[i] : ends[i + 1]]
        _add_rows(Y[tokens[i]], f[of_token], errors, class_of[of_token], first, last)


@functools.cache
def prepare() -> None:
    """Compile :func:`climb` for float32 and then float64.

    Numba numbers what it stores in the order of compilation, so all processes have to keep to one.
    """
    one = np.zeros(1, np.int64)
    ends = np.arange(2)
    for dtype in (np.float32, np.float64):
        Y = np.zeros((1, 1), dtype)
        few = np.ones(1, dtype)
        nothing = dtype(0)
        climb(
            Y,
            Y.copy(),
            Y.copy(),
            Y.copy(),
            nothing,
            nothing,
            nothing,
            one[None],
            np.ones((1, 1, 1), dtype),
            ends,
            one,
            one,
            one,
            few,
            few,
            few.copy(),
        )
