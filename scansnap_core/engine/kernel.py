"""The training of :mod:`scansnap_core.engine.model` by SGD, compiled for a CPU: one run on the counts of given samples.

:func:`climb` does what :func:`scansnap_core.engine.model.gradients` and :class:`scansnap_core.engine.optimizers.SGD`
do, which are the reference to read and to test against. Here every sample is worked on over its class's support alone,
and four samples of a class go together: a row of Y that was loaded serves all four, and 4 x 4 products stay in
registers (:mod:`scansnap_core.engine.vectors`).

Axes: L tokens, O outputs, Q queries, K classes, B samples, S places of a support, and S' of these filled up to a
multiple of 16. Supports shorter than S end in places with q = 0, and outputs that fill O up to a multiple of 16 have
``log_multiplicity`` of minus infinity (written as a large number) and ``per_output`` 0.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from scansnap_core.engine.compiling import compiled_for_cpu
from scansnap_core.engine.vectors import (
    LANES,
    add_product,
    exp,
    larger,
    largest,
    load,
    minus,
    plus,
    product,
    splat,
    store,
    total,
)

TOGETHER = 4
"""Samples that go together, and places of a support too: S is a multiple of it."""
SMALLEST = np.float32(1e-20)
"""The square of a sample's attention, in units of its class's largest exp(z), above which nothing is lost."""
NO_OUTPUT = np.float32(-1e30)
"""The logit of columns that fill up a register: its exponential is nothing beside any other."""


@compiled_for_cpu
def _attend(q: Any, z: Any, growth: Any, f: Any) -> None:  # pragma: no cover
    """f of one sample, from the exp(z - max z) that a class's samples share, or its own where those vanish."""
    squares = splat(q.dtype.type(0))
    for s in range(0, f.size, LANES):
        part = product(load(q, s), load(growth, s))
        store(f, s, part)
        squares = add_product(squares, part, part)
    norm = total(squares)
    if not norm > SMALLEST:
        top = -np.inf * q.dtype.type(1)
        for s in range(f.size):
            top = z[s] if q[s] > 0 and z[s] > top else top
        norm = q.dtype.type(0)
        for s in range(f.size):
            f[s] = q[s] * np.exp(z[s] - top) if q[s] > 0 else q.dtype.type(0)
            norm += f[s] * f[s]
    per_norm = splat(q.dtype.type(1) / np.sqrt(norm))
    for s in range(0, f.size, LANES):
        store(f, s, product(load(f, s), per_norm))


@compiled_for_cpu
def _decode(F: Any, Y: Any, rows: Any, log_multiplicity: Any, logits: Any, tops: Any) -> None:  # pragma: no cover
    """logits = F Y of four samples by S places, and each sample's largest: two registers of outputs at a time."""
    f0, f1, f2, f3 = F[0], F[1], F[2], F[3]
    l0, l1, l2, l3 = logits[0], logits[1], logits[2], logits[3]
    t0 = t1 = t2 = t3 = splat(Y.dtype.type(NO_OUTPUT))
    in_twos = l0.size - l0.size % (2 * LANES)
    for o in range(0, in_twos, 2 * LANES):
        a0 = a1 = a2 = a3 = load(log_multiplicity, o)
        b0 = b1 = b2 = b3 = load(log_multiplicity, o + LANES)
        for s in range(rows.size):
            y, f = Y[rows[s]], splat(f0[s])
            u, v = load(y, o), load(y, o + LANES)
            a0, b0 = add_product(a0, f, u), add_product(b0, f, v)
            f = splat(f1[s])
            a1, b1 = add_product(a1, f, u), add_product(b1, f, v)
            f = splat(f2[s])
            a2, b2 = add_product(a2, f, u), add_product(b2, f, v)
            f = splat(f3[s])
            a3, b3 = add_product(a3, f, u), add_product(b3, f, v)
        store(l0, o, a0), store(l1, o, a1), store(l2, o, a2), store(l3, o, a3)
        store(l0, o + LANES, b0), store(l1, o + LANES, b1), store(l2, o + LANES, b2), store(l3, o + LANES, b3)
        t0, t1 = larger(t0, larger(a0, b0)), larger(t1, larger(a1, b1))
        t2, t3 = larger(t2, larger(a2, b2)), larger(t3, larger(a3, b3))
    for o in range(in_twos, l0.size, LANES):
        a0 = a1 = a2 = a3 = load(log_multiplicity, o)
        for s in range(rows.size):
            u = load(Y[rows[s]], o)
            a0, a1 = add_product(a0, splat(f0[s]), u), add_product(a1, splat(f1[s]), u)
            a2, a3 = add_product(a2, splat(f2[s]), u), add_product(a3, splat(f3[s]), u)
        store(l0, o, a0), store(l1, o, a1), store(l2, o, a2), store(l3, o, a3)
        t0, t1, t2, t3 = larger(t0, a0), larger(t1, a1), larger(t2, a2), larger(t3, a3)
    tops[0], tops[1], tops[2], tops[3] = largest(t0), largest(t1), largest(t2), largest(t3)


@compiled_for_cpu
def _exponentiate(logits: Any, tops: Any, sums: Any) -> None:  # pragma: no cover
    """exp(logits - tops) in place of the logits, and each sample's sum: alpha but for a factor."""
    l0, l1, l2, l3 = logits[0], logits[1], logits[2], logits[3]
    t0, t1, t2, t3 = splat(tops[0]), splat(tops[1]), splat(tops[2]), splat(tops[3])
    s0 = s1 = s2 = s3 = splat(logits.dtype.type(0))
    for o in range(0, l0.size, LANES):
        a, b = exp(minus(load(l0, o), t0)), exp(minus(load(l1, o), t1))
        c, d = exp(minus(load(l2, o), t2)), exp(minus(load(l3, o), t3))
        store(l0, o, a), store(l1, o, b), store(l2, o, c), store(l3, o, d)
        s0, s1, s2, s3 = plus(s0, a), plus(s1, b), plus(s2, c), plus(s3, d)
    sums[0], sums[1], sums[2], sums[3] = total(s0), total(s1), total(s2), total(s3)


@compiled_for_cpu
def _back(alphas: Any, Y: Any, rows: Any, G: Any) -> None:  # pragma: no cover
    """G = alphas Y^T: four samples by O outputs, S rows of Y."""
    e0, e1, e2, e3 = alphas[0], alphas[1], alphas[2], alphas[3]
    for s in range(0, rows.size, TOGETHER):
        y0, y1, y2, y3 = Y[rows[s]], Y[rows[s + 1]], Y[rows[s + 2]], Y[rows[s + 3]]
        g00 = g01 = g02 = g03 = g10 = g11 = g12 = g13 = splat(Y.dtype.type(0))
        g20 = g21 = g22 = g23 = g30 = g31 = g32 = g33 = splat(Y.dtype.type(0))
        for o in range(0, e0.size, LANES):
            u0, u1, u2, u3 = load(y0, o), load(y1, o), load(y2, o), load(y3, o)
            a, b, c, d = load(e0, o), load(e1, o), load(e2, o), load(e3, o)
            g00, g01 = add_product(g00, a, u0), add_product(g01, a, u1)
            g02, g03 = add_product(g02, a, u2), add_product(g03, a, u3)
            g10, g11 = add_product(g10, b, u0), add_product(g11, b, u1)
            g12, g13 = add_product(g12, b, u2), add_product(g13, b, u3)
            g20, g21 = add_product(g20, c, u0), add_product(g21, c, u1)
            g22, g23 = add_product(g22, c, u2), add_product(g23, c, u3)
            g30, g31 = add_product(g30, d, u0), add_product(g31, d, u1)
            g32, g33 = add_product(g32, d, u2), add_product(g33, d, u3)
        G[0, s], G[0, s + 1], G[0, s + 2], G[0, s + 3] = total(g00), total(g01), total(g02), total(g03)
        G[1, s], G[1, s + 1], G[1, s + 2], G[1, s + 3] = total(g10), total(g11), total(g12), total(g13)
        G[2, s], G[2, s + 1], G[2, s + 2], G[2, s + 3] = total(g20), total(g21), total(g22), total(g23)
        G[3, s], G[3, s + 1], G[3, s + 2], G[3, s + 3] = total(g30), total(g31), total(g32), total(g33)


@compiled_for_cpu
def _gather(F: Any, alphas: Any, rows: Any, V: Any) -> None:  # pragma: no cover
    """V += F^T alphas: S rows of V, four samples."""
    e0, e1, e2, e3 = alphas[0], alphas[1], alphas[2], alphas[3]
    for s in range(0, rows.size, TOGETHER):
        v0, v1, v2, v3 = V[rows[s]], V[rows[s + 1]], V[rows[s + 2]], V[rows[s + 3]]
        f00, f01, f02, f03 = splat(F[0, s]), splat(F[0, s + 1]), splat(F[0, s + 2]), splat(F[0, s + 3])
        f10, f11, f12, f13 = splat(F[1, s]), splat(F[1, s + 1]), splat(F[1, s + 2]), splat(F[1, s + 3])
        f20, f21, f22, f23 = splat(F[2, s]), splat(F[2, s + 1]), splat(F[2, s + 2]), splat(F[2, s + 3])
        f30, f31, f32, f33 = splat(F[3, s]), splat(F[3, s + 1]), splat(F[3, s + 2]), splat(F[3, s + 3])
        for o in range(0, e0.size, LANES):
            a, b, c, d = load(e0, o), load(e1, o), load(e2, o), load(e3, o)
            u0, u1, u2, u3 = load(v0, o), load(v1, o), load(v2, o), load(v3, o)
            u0, u1 = add_product(u0, f00, a), add_product(u1, f01, a)
            u2, u3 = add_product(u2, f02, a), add_product(u3, f03, a)
            u0, u1 = add_product(u0, f10, b), add_product(u1, f11, b)
            u2, u3 = add_product(u2, f12, b), add_product(u3, f13, b)
            u0, u1 = add_product(u0, f20, c), add_product(u1, f21, c)
            u2, u3 = add_product(u2, f22, c), add_product(u3, f23, c)
            store(v0, o, add_product(u0, f30, d)), store(v1, o, add_product(u1, f31, d))
            store(v2, o, add_product(u2, f32, d)), store(v3, o, add_product(u3, f33, d))


@compiled_for_cpu
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
        support, shape (steps, B, S').
    rows, query_row, target
        By class: its support among the L tokens, shape (K, S), its query and the output that it names, shape (K,).
    log_multiplicity, per_output
        ln of how many outputs each of the O stands for, and the share of one of them, shape (O,).
    loss
        Filled with -J before each update, in nats, shape (steps,).
    """
    B, S, O = samples.shape[1], rows.shape[1], Y.shape[1]  # noqa: E741
    size, number = q.shape[2], Y.dtype.type
    alphas = np.empty((TOGETHER, O), Y.dtype)
    F, G = np.zeros((TOGETHER, size), Y.dtype), np.zeros((TOGETHER, size), Y.dtype)
    z, growth, y_hit = np.empty(size, Y.dtype), np.empty(size, Y.dtype), np.zeros(size, Y.dtype)
    seen, moved = np.empty(size, Y.dtype), np.empty(size, Y.dtype)
    tops, sums, hits = np.empty(TOGETHER, Y.dtype), np.empty(TOGETHER, Y.dtype), np.empty(TOGETHER, Y.dtype)
    share = number(1) / number(B)
    all_alike = (per_output[: np.count_nonzero(per_output)] == number(1)).all()
    for step in range(samples.shape[0]):
        lost = number(0)
        first = 0
        while first < B:
            n = samples[step, first]
            support, z_m, hit = rows[n], Z[query_row[n]], target[n]
            top = z_m[support[0]]
            for s in range(S):
                z[s], y_hit[s] = z_m[support[s]], Y[support[s], hit]
                top = z[s] if z[s] > top else top
            z[S:] = top
            for s in range(0, size, LANES):
                store(growth, s, exp(minus(load(z, s), splat(top))))
            seen[:] = number(0)
            moved[:] = number(0)
            while first < B and samples[step, first] == n:
                count = 0
                while count < TOGETHER and first + count < B and samples[step, first + count] == n:
                    _attend(q[step, first + count], z, growth, F[count])
                    count += 1
                F[count:] = number(0)
                _decode(F, Y, support, log_multiplicity, alphas, tops)
                hits[:] = alphas[:, hit]
                _exponentiate(alphas, tops, sums)
                together = number(1)
                for k in range(count):
                    together *= sums[k]
                    lost += tops[k] - hits[k]
                lost += np.log(together)
                _back(alphas, Y, support, G)
                for k in range(count):
                    f, g = F[k], G[k]
                    per_sum, along = splat(number(-1) / sums[k]), splat(number(0))
                    for s in range(0, size, LANES):
                        pull = add_product(load(y_hit, s), load(g, s), per_sum)
                        store(g, s, pull)
                        along = add_product(along, load(f, s), pull)
                    along, of_f = splat(-total(along)), splat(-share / sums[k])
                    for s in range(0, size, LANES):
                        part = load(f, s)
                        push = add_product(load(g, s), part, along)
                        store(moved, s, add_product(load(moved, s), part, push))
                        store(seen, s, plus(load(seen, s), part))
                        store(f, s, product(part, of_f))
                if not all_alike:
                    for k in range(count):
                        for o in range(O):
                            alphas[k, o] *= per_output[o]
                _gather(F, alphas, support, velocity_Y)
                first += count
            velocity = velocity_Z[query_row[n]]
            for s in range(S):
                velocity[support[s]] += share * moved[s]
                velocity_Y[support[s], hit] += share * seen[s]
        loss[step] = share * lost
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
            Y, Z, Y.copy(), Z.copy(), nothing, nothing, nothing, one[None], np.ones((1, 1, LANES), dtype),
            support, one, one, np.zeros(LANES, dtype), np.ones(LANES, dtype), np.zeros(1, dtype),
        )  # fmt: skip
