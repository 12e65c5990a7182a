import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import at, cleared, decide, positive, positive_on_ray
from scansnap_core.theory.formulas import M, eta_Y, h_, h_rate

proved = Chapter("lemma_11").witness("proved")
# %% idea
odds, alpha_letter = sp.symbols("v alpha", real=True)  # ln(alpha/(1 - alpha)), so that u = v + ln(M - 1)
alpha_v = 1 / (1 + sp.exp(-odds))
without_m = alpha_v**2 + alpha_v * (1 - alpha_v) * odds  # S is at most this and alpha (1 - alpha) ln(M - 1)
split, far_v = sp.Rational(9, 5), 40


def spread(c):
    """h is concave with h(0) = 0: below N its chord from 0, above N its slope, at most h(N)/N."""
    H, N, D, below, above, slope = sp.symbols("H N D below above slope", positive=True)
    bend = sp.diff(h_rate, h_) * h_rate
    known = D <= N, below * N >= H * (N - D), above <= H + slope * D, slope * N <= H
    return all_of(
        concave=sp.simplify(bend + M * eta_Y**2 * sp.exp(M * h_) / (M - 1 + sp.exp(M * h_)) ** 3) == 0,
        both_sides=decide(sp.And((H - below) * N <= c * H * D, (above - H) * N <= c * H * D), *known),
    )


# %% hide
def elasticity_below(c):
    """Up to the split the rest is below 1, and c >= 1/4; beyond it alpha (1 - alpha) <= 1/8, so M = 2 is the worst."""
    e, m, u = sp.symbols("e m u", positive=True)
    share, S = e / (m + e), (e - 1 + m * u) * e / (m + e) ** 2
    return all_of(
        at_most=sp.simplify((share**2 + share * (1 - share) * u - S) * (m + e) ** 2 - e) == 0,
        a_quarter=decide(alpha_letter * (1 - alpha_letter) <= c, alpha_letter >= 0, alpha_letter <= 1),
        up_to_the_split=positive(1 - without_m, {odds: (0, split)}),
        an_eighth=at(sp.Rational(1, 8) - alpha_v * (1 - alpha_v), {odds: split}),
        rises_with_m=decide(c * m >= (m + 1) / 8, m >= 1),
        beyond=positive(1 + c * sp.log(2) - without_m, {odds: (split, far_v)}),
        far=at(c * sp.log(2) - odds * sp.exp(-odds), {odds: far_v}),
        reached_within_1_percent=at(S.subs({e: m, u: sp.log(m)}) - (1 + c * sp.log(m + 1)) * 99 / 100, {m: 10**200}),
    )


def second_regime(share):
    """From `share` of 2 u_1 on e^u >= k (M-1) u, k = 2 share - 1, so that g's elasticity is at most 1 + 1/k there.

    Where e^u = k (M-1) u on the rising side, u <= u_1, and (45) is there by then. From share N to N then (1/share)^S
    at most, which is convex in the deviation. From 2 u_1 itself on the elasticity is at most 2.
    """
    e, m, u, k = sp.symbols("e m u k", positive=True)
    S, kept = (e - 1 + m * u) * e / (m + e) ** 2, 2 * share - 1
    return all_of(
        time_at_the_crossing=sp.simplify((e - 1 + m * u - (1 + kept) * m * u).subs(e, kept * m * u)) == -1,
        elasticity=decide(cleared(1 + 1 / k - S) >= 0, e >= k * m * u, m >= 1),
        before=at(1 + 3 * (1 - share) - sp.exp(-(1 + 1 / kept) * sp.log(share)), {}),
        elasticity_at_most_2=decide(cleared(2 - S) >= 0, e >= m * u, m >= 1),
        after=decide(1 - alpha_letter**3 <= 3 * (1 / alpha_letter - 1), alpha_letter > 0, alpha_letter <= 1),
    )


# %% hide
def later_side(quarter):
    """ln g falls at the rate eta_Y M/(M-1) alpha (1 - alpha), and 1 - e^(-x) <= x for the whole fall x."""
    e, x = sp.symbols("e x", positive=True)
    rate = sp.diff(sp.log(M - 1 + sp.exp(M * h_)), h_) * h_rate
    share = e / (M - 1 + e)
    return all_of(
        rate=sp.simplify((rate - eta_Y * M / (M - 1) * share * (1 - share)).subs(e, sp.exp(M * h_))) == 0,
        a_quarter=decide(alpha_letter * (1 - alpha_letter) <= quarter, alpha_letter >= 0, alpha_letter <= 1),
        a_fall=positive_on_ray(x * sp.exp(x) - sp.exp(x) + 1, x, 0),
    )


def a_third(first):
    return decide(cleared(sp.Rational(1, 3) - M / (M - 1) / 4) >= 0, first <= M)


# %% hide

proved.prove(
    "(61), constant 1: $|h(N_n) - h(\\bar N)| \\le h(\\bar N)\\,\\Delta/\\bar N$",
    spread,
    1,
    control=sp.Rational(9, 10),
    control_is="0.9 for 1",
    region="every $M > 1$, $\\eta_Y > 0$, $\\bar N$ and $\\Delta \\le \\bar N$",
    assumptions="a concave function lies above its chords and below its tangents",
)
proved.prove(
    "The elasticity of g is at most $1 + \\frac14\\ln M$",
    elasticity_below,
    sp.Rational(1, 4),
    control=sp.Rational(24, 100),
    control_is="0.24 for $\\frac14$",
    region="every real $M \\ge 2$, every $h > 0$",
    assumptions="$v\\,e^{-v}$ falls from 1 on",
)
proved.prove(
    "Second regime: $\\sigma' \\le 3\\Delta/\\bar N$ for $\\Delta \\le \\bar N/10$; 2 as it tends to 0",
    second_regime,
    sp.Rational(9, 10),
    control=sp.Rational(8, 10),
    control_is="$\\Delta \\le \\bar N/5$",
    region="every real $M \\ge 1 + e$, $\\eta_Y > 0$, $\\eta_Y\\bar N \\ge 2(1+\\omega_1)\\ln M$",
    assumptions="Lemma 8; $e^u/u$ rises from $u = 1$ on",
)
proved.prove(
    "(64), (65) for $N_n \\ge \\bar N$: $g$ falls by at most $\\frac{M}{M-1}\\frac{\\eta_Y\\Delta}{4}$ of itself",
    later_side,
    sp.Rational(1, 4),
    control=sp.Rational(24, 100),
    control_is="0.24 for $\\frac14$",
    region="every real $M > 1$, $\\eta_Y > 0$, $\\bar N$ and $\\Delta$",
    assumptions="(44)",
)
proved.prove(
    "and that is at most (65)'s $\\frac13\\eta_Y\\Delta$",
    a_third,
    4,
    control=3,
    control_is="from $M = 3$ on",
    region="every real $M \\ge 4$",
)
