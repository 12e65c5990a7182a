"""The training of :mod:`scansnap_core.engine.model` by SGD, compiled for a CPU: one run on the counts of given samples.

:func:`climb` does what :func:`scansnap_core.engine.model.gradients` and :class:`scansnap_core.engine.optimizers.SGD`
do, which are the reference to read and to test against. Here every sample is worked on over its class's support alone,
and four samples of a class go together: a row of Y that was loaded serves all four, and 4 x 4 products stay in
registers.

Axes: L tokens, O outputs, Q queries, K classes, B samples and S places of a support. Supports shorter than S end in
places with q = 0, and outputs that fill O up to a multiple of 16 have ``log_multiplicity`` of minus infinity (written
as a large number) and ``per_output`` 0.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from scansnap_core.extras import needs

with needs("sweeps"):
    from numba import njit, types
    from numba.extending import overload

TOGETHER = 4
"""Samples that go together, and places of a support too: S is a multiple of it."""
LANES = 16
"""Floats of a vector register: O is a multiple of it."""
SMALLEST = np.float32(1e-20)
"""The square of a sample's attention, in units of its class's largest exp(z), above which nothing is lost."""
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered, as vector registers need; NaN and infinity stay what they are.

A loop either stores or sums, never both. Before a loop that stores, the program looks how far apart its arrays are, and
takes them one by one where registers would overlap; a sum in such a loop would be rounded in an order that depends on
where malloc put the arrays.
"""

_LOG2_E = np.float32(math.log2(math.e))
_ROUNDING = np.float32(1.5 * 2**23)  # adding it rounds a float32 to an integer, held in its low bits
_LN_2 = (
    np.float32(0.693359375),
    np.float32(math.log(2) - 0.693359375),
)  # the first has few bits, so that n ln 2 is exact
_LOWEST = np.float32(-80.0)  # well inside float32's normal range: a CPU is slow on what lies below it
_BIAS, _MANTISSA = np.int32(127), np.int32(23)
_ONE = np.float32(1)
# (e^r - 1 - r)/r^2 for |r| <= ln(2)/2, as in the Cephes library's expf
_P0, _P1, _P2, _P3, _P4, _P5 = (
    np.float32(c)
    for c in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
)


def _exp(x: Any, top: Any, bits: Any, powers: Any, out: Any) -> None:
    """exp(x - top) for x <= top. A loop over a library's exp isn't vectorised.

    ``bits`` and ``powers`` are room for numbers, the same memory as int32 and as float32.
    """


@overload(_exp, jit_options={"fastmath": {"contract"}, "error_model": "numpy"})
def _exp_of_type(x: Any, top: Any, bits: Any, powers: Any, out: Any) -> Any:
    return _exp_single if x.dtype == types.float32 else _exp_double


def _exp_single(x: Any, top: Any, bits: Any, powers: Any, out: Any) -> None:  # pragma: no cover
    for i in range(x.size):
        a = x[i] - top
        a = _LOWEST if a < _LOWEST else a
        t = a * _LOG2_E + _ROUNDING
        n = t - _ROUNDING
        powers[i] = t
        r = (a - n * _LN_2[0]) - n * _LN_2[1]
        p = ((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5
        out[i] = p * (r * r) + r + _ONE
    for i in range(x.size):
        bits[i] = (bits[i] + _BIAS) << _MANTISSA  # the float 2^n
    for i in range(x.size):
        out[i] *= powers[i]


def _exp_double(x: Any, top: Any, bits: Any, powers: Any, out: Any) -> None:  # pragma: no cover
    for i in range(x.size):
        out[i] = np.exp(x[i] - top)


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _largest(x: Any, lanes: Any) -> Any:  # pragma: no cover
    for j in range(LANES):
        lanes[j] = x[j]
    for i in range(LANES, x.size, LANES):
        for j in range(LANES):
            lanes[j] = x[i + j] if x[i + j] > lanes[j] else lanes[j]
    top = lanes[0]
    for j in range(LANES):
        top = lanes[j] if lanes[j] > top else top
    return top


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _attend(q: Any, z: Any, growth: Any, f: Any) -> None:  # pragma: no cover
    """f of one sample, from the exp(z - max z) that a class's samples share, or its own where those vanish."""
    squares = q.dtype.type(0)
    for s in range(f.size):
        f[s] = q[s] * growth[s]
    for s in range(f.size):
        squares += f[s] * f[s]
    if not squares > SMALLEST:
        top = -np.inf * q.dtype.type(1)
        for s in range(f.size):
            top = z[s] if q[s] > 0 and z[s] > top else top
        squares = q.dtype.type(0)
        for s in range(f.size):
            f[s] = q[s] * np.exp(z[s] - top) if q[s] > 0 else q.dtype.type(0)
        for s in range(f.size):
            squares += f[s] * f[s]
    per_norm = q.dtype.type(1) / np.sqrt(squares)
    for s in range(f.size):
        f[s] *= per_norm


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _err(
    logits: Any, hit: Any, num_outputs: Any, lanes: Any, bits: Any, powers: Any, error: Any
) -> Any:  # pragma: no cover
    """error = x_{T+1} - alpha of one sample, and its loss."""
    top = _largest(logits, lanes)
    _exp(logits, top, bits, powers, error)
    summed = error.dtype.type(0)
    for o in range(error.size):
        summed += error[o]
    per_sum = error.dtype.type(-1) / summed
    for o in range(error.size):
        error[o] *= per_sum
    for o in range(num_outputs, error.size):
        error[o] = error.dtype.type(0)
    error[hit] += error.dtype.type(1)
    return np.log(summed) - (logits[hit] - top)


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _decode(F: Any, Y: Any, rows: Any, logits: Any) -> None:  # pragma: no cover
    """logits += F Y: four samples by S places, S rows of Y."""
    a0, a1, a2, a3 = logits[0], logits[1], logits[2], logits[3]
    for s in range(0, rows.size, 4):
        y0, y1, y2, y3 = Y[rows[s]], Y[rows[s + 1]], Y[rows[s + 2]], Y[rows[s + 3]]
        f00, f01, f02, f03 = F[0, s], F[0, s + 1], F[0, s + 2], F[0, s + 3]
        f10, f11, f12, f13 = F[1, s], F[1, s + 1], F[1, s + 2], F[1, s + 3]
        f20, f21, f22, f23 = F[2, s], F[2, s + 1], F[2, s + 2], F[2, s + 3]
        f30, f31, f32, f33 = F[3, s], F[3, s + 1], F[3, s + 2], F[3, s + 3]
        for o in range(a0.size):
            u0, u1, u2, u3 = y0[o], y1[o], y2[o], y3[o]
            a0[o] += f00 * u0 + f01 * u1 + f02 * u2 + f03 * u3
            a1[o] += f10 * u0 + f11 * u1 + f12 * u2 + f13 * u3
            a2[o] += f20 * u0 + f21 * u1 + f22 * u2 + f23 * u3
            a3[o] += f30 * u0 + f31 * u1 + f32 * u2 + f33 * u3


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _back(errors: Any, Y: Any, rows: Any, G: Any) -> None:  # pragma: no cover
    """G = errors Y^T: four samples by O outputs, S rows of Y."""
    e0, e1, e2, e3 = errors[0], errors[1], errors[2], errors[3]
    for s in range(0, rows.size, 4):
        y0, y1, y2, y3 = Y[rows[s]], Y[rows[s + 1]], Y[rows[s + 2]], Y[rows[s + 3]]
        g00 = g01 = g02 = g03 = g10 = g11 = g12 = g13 = Y.dtype.type(0)
        g20 = g21 = g22 = g23 = g30 = g31 = g32 = g33 = Y.dtype.type(0)
        for o in range(e0.size):
            u0, u1, u2, u3 = y0[o], y1[o], y2[o], y3[o]
            a, b, c, d = e0[o], e1[o], e2[o], e3[o]
            g00 += a * u0
            g01 += a * u1
            g02 += a * u2
            g03 += a * u3
            g10 += b * u0
            g11 += b * u1
            g12 += b * u2
            g13 += b * u3
            g20 += c * u0
            g21 += c * u1
            g22 += c * u2
            g23 += c * u3
            g30 += d * u0
            g31 += d * u1
            g32 += d * u2
            g33 += d * u3
        G[0, s], G[0, s + 1], G[0, s + 2], G[0, s + 3] = g00, g01, g02, g03
        G[1, s], G[1, s + 1], G[1, s + 2], G[1, s + 3] = g10, g11, g12, g13
        G[2, s], G[2, s + 1], G[2, s + 2], G[2, s + 3] = g20, g21, g22, g23
        G[3, s], G[3, s + 1], G[3, s + 2], G[3, s + 3] = g30, g31, g32, g33


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _gather(F: Any, errors: Any, rows: Any, V: Any) -> None:  # pragma: no cover
    """V += F^T errors: S rows of V, four samples."""
    e0, e1, e2, e3 = errors[0], errors[1], errors[2], errors[3]
    for s in range(0, rows.size, 4):
        v0, v1, v2, v3 = V[rows[s]], V[rows[s + 1]], V[rows[s + 2]], V[rows[s + 3]]
        f00, f01, f02, f03 = F[0, s], F[0, s + 1], F[0, s + 2], F[0, s + 3]
        f10, f11, f12, f13 = F[1, s], F[1, s + 1], F[1, s + 2], F[1, s + 3]
        f20, f21, f22, f23 = F[2, s], F[2, s + 1], F[2, s + 2], F[2, s + 3]
        f30, f31, f32, f33 = F[3, s], F[3, s + 1], F[3, s + 2], F[3, s + 3]
        for o in range(e0.size):
            a, b, c, d = e0[o], e1[o], e2[o], e3[o]
            v0[o] += f00 * a + f10 * b + f20 * c + f30 * d
            v1[o] += f01 * a + f11 * b + f21 * c + f31 * d
            v2[o] += f02 * a + f12 * b + f22 * c + f32 * d
            v3[o] += f03 * a + f13 * b + f23 * c + f33 * d


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def climb(
    Y: Any, Z: Any, velocity_Y: Any, velocity_Z: Any, lr_y: Any, lr_z: Any, momentum: Any, samples: Any, q: Any,
    rows: Any, query_row: Any, target: Any, log_multiplicity: Any, per_output: Any, loss: Any,
) -> None:  # fmt: skip # pragma: no cover
    """Update one run with a batch a step, in place.

    Parameters
    ----------
    Y, Z, velocity_Y, velocity_Z
        Shapes (L, O) and (Q, L).
    lr_y, lr_z, momentum
        eta_Y, eta_Z and the momentum, of the arrays' type.
    samples, q
        The class of every sample, ascending in each step, shape (steps, B), and its token frequencies on the class's
        support, shape (steps, B, S).
    rows, query_row, target
        By class: its support among the L tokens, shape (K, S), its query and the output that it names, shape (K,).
    log_multiplicity, per_output
        ln of how many outputs each of the O stands for, and the share of one of them, shape (O,).
    loss
        Filled with -J before each update, in nats, shape (steps,).
    """
    B, S, O = samples.shape[1], rows.shape[1], Y.shape[1]  # noqa: E741
    zero, one = Y.dtype.type(0), Y.dtype.type(1)
    logits, errors = np.empty((TOGETHER, O), Y.dtype), np.empty((TOGETHER, O), Y.dtype)
    F, G = np.empty((TOGETHER, S), Y.dtype), np.empty((TOGETHER, S), Y.dtype)
    z, growth, lanes = np.empty(S, Y.dtype), np.empty(S, Y.dtype), np.empty(LANES, Y.dtype)
    bits = np.empty(max(O, S), np.int32)
    powers = bits.view(np.float32)
    share = one / Y.dtype.type(B)
    num_outputs = np.count_nonzero(per_output)
    all_alike = (per_output[:num_outputs] == one).all()
    for step in range(samples.shape[0]):
        total = zero
        first = 0
        while first < B:
            n = samples[step, first]
            support, z_m, velocity, hit = rows[n], Z[query_row[n]], velocity_Z[query_row[n]], target[n]
            if first == 0 or samples[step, first - 1] != n:
                top = z_m[support[0]]
                for s in range(S):
                    z[s] = z_m[support[s]]
                    top = z[s] if z[s] > top else top
                _exp(z, top, bits, powers, growth)
            count = 0
            while count < TOGETHER and first + count < B and samples[step, first + count] == n:
                _attend(q[step, first + count], z, growth, F[count])
                count += 1
            for k in range(TOGETHER):
                for o in range(O):
                    logits[k, o] = log_multiplicity[o]
            for k in range(count, TOGETHER):
                for s in range(S):
                    F[k, s] = zero
                for o in range(O):
                    errors[k, o] = zero
            _decode(F, Y, support, logits)
            for k in range(count):
                total += _err(logits[k], hit, num_outputs, lanes, bits, powers, errors[k])
            _back(errors, Y, support, G)
            for k in range(count):
                f, g = F[k], G[k]
                along = zero
                for s in range(S):
                    along += f[s] * g[s]
                for s in range(S):
                    g[s] = share * f[s] * (g[s] - f[s] * along)
                    f[s] *= share
                for s in range(S):
                    velocity[support[s]] += g[s]
                if not all_alike:
                    for o in range(O):
                        errors[k, o] *= per_output[o]
            _gather(F, errors, support, velocity_Y)
            first += count
        loss[step] = share * total
        for parameter, speed, lr in ((Y, velocity_Y, lr_y), (Z, velocity_Z, lr_z)):
            for row in range(parameter.shape[0]):
                p, v = parameter[row], speed[row]
                for i in range(p.size):
                    p[i] += lr * v[i]
                    v[i] *= momentum


@functools.cache
def prepare() -> None:
    """Compile :func:`climb` for float32 and then for float64, or load what was compiled before.

    Numba numbers what it keeps on the disk in the order in which types come, and processes that begin at once don't
    see each other's numbers. So all of them keep to one order.
    """
    for dtype in (np.float32, np.float64):
        Y, Z, support = np.zeros((TOGETHER, LANES), dtype), np.zeros((1, TOGETHER), dtype), np.arange(TOGETHER)[None]
        one, nothing = np.zeros(1, np.int64), dtype(0)
        climb(
            Y, Z, Y.copy(), Z.copy(), nothing, nothing, nothing, one[None], np.ones((1, 1, TOGETHER), dtype),
            support, one, one, np.zeros(LANES, dtype), np.ones(LANES, dtype), np.zeros(1, dtype),
        )  # fmt: skip
