import math
from bisect import bisect_left

import sympy as sp
from flint import arb, fmpq

from scansnap_core.ledger import Certificate, Chapter, all_of
from scansnap_core.theory.certify import at, decide, positive

proved = Chapter("lemma_12").witness("proved")
# %% idea
u, v, r, s_log, y = sp.symbols("u v r s y", positive=True)  # u = Mh, y = e^-v = 1/(M - 1), r = e^s = y e^u
sixth, half = sp.Rational(1, 6), sp.Rational(1, 2)


def half_a_step(c):
    """The gap w = M(h* - h) is reached too late: ((M-1) + e^u) w >= M eta_Y times the bound on the lead at w = c u/s.

    s = Q/(M eta_Y) by (45), Q = e^u - 1 + (M-1)u, and Lemma 7's bound is ln((M-1 + e^(u+w))/M)/2 + eta_Y/6. Over
    M eta_Y/2, at the largest rate 1. Far out `first` is u - u(u - 1 - y)/(r + u - y).
    """
    over_y = y * (sp.exp(u) - 1) + u  # Q y
    first, gap = (1 + y * sp.exp(u)) * u / over_y, c * (1 + y) * u / over_y
    room = 2 * c * first - sp.log((1 + y * sp.exp(u + gap)) / (1 + y)) - 2 * sixth
    far = first.subs(u, sp.log(r / y)) - (u - u * (u - 1 - y) / (r + u - y)).subs(u, sp.log(r / y))
    steep = 5 * (1 + r) / (r + 5) - sp.log(1 + sp.exp(sp.Rational(21, 40)) * r) - 2 * sixth  # u = 5 is the least
    beyond = 3 - sp.Rational(21, 40) - 2 * sixth - sp.exp(-s_log)  # less (s + 3)(s + 2)/(e^s + s + 3)
    edge = sp.log(1 + 1 / y) - 2 * sixth - 25 / (y * sp.exp(5) + 4) - sp.exp(-5) / y
    return all_of(
        first_falls_short_by=sp.simplify(far) == 0,
        small_u=at(2 * c - sp.log((1 + sp.exp(half + c)) / 2) - 2 * sixth, {}),
        boxes=positive(room.subs(y, sp.exp(-v)), {u: (half, 5), v: (0, 6)}),
        small_u_beyond_v_6=at(2 * c - sp.log(1 + sp.exp(-1 + sp.Rational(51, 100))) - 2 * sixth, {}),
        from_u_5_and_v_3_small_r=positive(steep, {r: (0, sp.exp(2))}),
        from_u_5_and_v_3_r_between=positive(
            beyond - (s_log + 3) * (s_log + 2) / (sp.exp(s_log) + s_log + 3), {s_log: (2, 10)}
        ),
        from_u_5_and_v_3_large_r=at(beyond - (s_log + 3) * (s_log + 2) * sp.exp(-s_log), {s_log: 10}),
        and_falling=decide((s_log + 3) * (s_log + 2) >= 2 * s_log + 5, s_log >= 10),
        from_u_5_to_v_3_falling=decide(2 * u * (r + u - 1) <= u**2 * (r + 1), r >= 1, u >= 5),
        from_u_5_to_v_3=positive(edge, {y: (sp.exp(-3), 1)}),
    )


# %% hide
def no_less_than(c):
    """A step's lead over what it adds to half the logarithm tends to 1 with D, so the whole lead does, as s grows.

    The lead over s falls to 0, and so s (h*/h - 1) tends to the lead times the elasticity of h over 1.
    """
    D, a, m = sp.symbols("D a m", positive=True)
    step = a * (sp.exp(D) - 1 - D) / D / (sp.log(1 + a * (sp.exp(D) - 1)) / 2)
    elasticity = (sp.exp(u) - 1 + m * u) / (u * (m + sp.exp(u)))
    end = sp.limit(sp.log((m + sp.exp(u)) / (m + 1)) / 2 * elasticity, u, sp.oo)
    return all_of(a_step=sp.limit(step, D, 0) == 1, in_the_limit=bool(end >= c))


# %% hide
def few_steps(constant, ends):
    """Exactly, N < end for each K: s sightings are a miss as long as ln(K/delta) is below `until`.

    A count above the mean is half a step farther, one below isn't; two classes miss together.
    """
    for K, N in ((K, N) for K, end in ends.items() for N in range(1, end)):
        mean = -(-N // K)
        off = [fmpq(2 * (s - mean) + 1, 2) if s >= mean else fmpq(mean - s) for s in range(N + 1)]
        until = [(gap / (constant * mean * K)) ** 2 * N for gap in off]
        if K == 2:
            until = [max(both) for both in zip(until, reversed(until), strict=True)]
        weights = [math.comb(N, s) * (K - 1) ** (N - s) for s in range(N + 1)]
        for level in set(until):
            missed = sum(weight for weight, last in zip(weights, until, strict=True) if last >= level)
            share = fmpq(missed, K**N * (2 if K == 2 else 1))  # of K, by the union over the classes
            if not (arb(level) <= arb(K).log() or arb(share) <= (-arb(level)).exp()):
                where = f"K = {K}, N = {N}, ln(K/delta) = {level}"
                return Certificate("interval", False, "exact chances", where, false=arb(share) > (-arb(level)).exp())
    return Certificate("interval", True, f"exact chances, {sum(ends.values()) - len(ends)} pairs of K and N")


# %% hide
def printed_bound(constant):
    """Few steps exactly, many by Hoeffding: a miss is c x/nu - 1/2 too many or c x/nu - 1 too few.

    x = sqrt ln(K/delta) >= sqrt ln K, nu = 1/sqrt N. The larger x, K and N, the more room. From 31 classes on no count
    is a miss before N = 6.
    """
    x, nu, c = sp.symbols("x nu c", positive=True)
    excess, least = 2 * c**2 - 1, sp.Rational(832, 1000)
    room = 1 - sp.exp(-excess * x**2) * (sp.exp(2 * c * nu * x) + sp.exp(4 * c * nu * x))

    def enough(K, N):
        put = {x: sp.sqrt(sp.log(K)), nu: 1 / sp.sqrt(sp.Integer(N)), c: constant}
        return all_of(room=at(room.xreplace(put), {}), and_more_with_x=at((excess * x - 2 * c * nu).xreplace(put), {}))

    def first_enough(K):
        return 1 + bisect_left(range(1, 64), True, key=lambda N: bool(enough(K, N)))

    ends = {2: 32} | {K: first_enough(K) for K in range(3, 31)}
    return all_of(
        few_steps=few_steps(fmpq(constant.p, constant.q), ends),
        many_steps=all(enough(K, end) for K, end in ends.items() if K > 2),
        root_of_ln_2=at(sp.log(2) - least**2, {}),
        two_classes=decide(2 * (constant * x - nu) ** 2 >= x**2, x >= least, ends[2] * nu**2 <= 1),
        many_classes=enough(31, 6),
        before_that=at(31**2 * sp.log(31) * constant**2 - 5 * sp.Rational(9, 2) ** 2, {}),
    )


def narrower(third):
    """Chernoff at t = a + third L + 1 too many or a + third L + 1/2 too few, a = sqrt(2 L mu), L = ln(2K/delta)."""
    a, L, mean = sp.symbols("a L mu", positive=True)
    t = a + third * L + 1
    known = sp.Eq(a**2, 2 * L * mean)
    return all_of(
        above=decide(t**2 >= 2 * L * (mean + t / 3), known),
        below=decide((t - half) ** 2 >= 2 * L * mean, known),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "$s\\,(h^*(s)/h(s) - 1) \\le \\frac12$",
        half_a_step,
        half,
        sp.Rational(45, 100),
        "0.45 for $\\frac12$; 0.48 is reached",
        "every real $M \\ge 2$, $0 < \\eta_Y \\le 1$, $s \\ge 1$",
        "Lemma 7's bound on the lead",
    ),
    (
        "and no less will do: it tends to $\\frac12$ as $s \\to \\infty$",
        no_less_than,
        half,
        sp.Rational(51, 100),
        "0.51 for $\\frac12$",
        "every real $M \\ge 2$ and $\\eta_Y > 0$",
        "SymPy's limits; Stolz and Cesàro's theorem",
    ),
    (
        "All $|\\theta_i| \\le \\frac{K}{\\sqrt N}\\sqrt{\\ln(K/\\delta)}$, constant 1, with probability $1-\\delta$",
        printed_bound,
        sp.S.One,
        sp.Rational(8, 10),
        "constant 0.8",
        "every $K \\ge 2$, $N \\ge 1$, $\\delta \\in (0,1)$, $M \\ge 2$, $0 < \\eta_Y \\le 1$",
        "half a step, above; Lemma 10 (59); (61)",
    ),
    (
        "All $|\\theta_i| \\le \\sqrt{2KL/N} + (\\frac23 L + \\frac32)K/N$, $L = \\ln\\frac{2K}\\delta$",
        narrower,
        2 * sixth * 2,
        2 * sixth,
        "$\\frac13 L$ for $\\frac23 L$",
        "every $K \\ge 2$, $N$, $\\delta \\in (0,1)$, $M \\ge 2$, $0 < \\eta_Y \\le 1$",
        "half a step, above; Chernoff's bounds of Lemma 10; (61)",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
