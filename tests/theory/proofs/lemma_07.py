import functools

import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import at, cleared, decide, positive, positive_from_zero, positive_on_ray
from scansnap_core.theory.formulas import M, eta_Y, h_, h_rate, t

proved = Chapter("lemma_07").witness("proved")
u = sp.Symbol("u", nonnegative=True)
# %% idea
D, alpha, L = sp.symbols("D alpha L", positive=True)  # a step of M h, alpha_nn, ln M
time_at = formulas.time_of_h.subs(h_, u / M)
rate_for = D * (M - 1 + sp.exp(u)) / M  # eta_Y at which a step from u has the size D
longest = 1 - D / 2  # alpha <= 1 - D/2 if eta_Y <= 1 and M >= 2, as D = eta_Y (1 - alpha) M/(M - 1)
leads = sp.Rational(117, 100)  # the lead is at most this times its limit for small rates


def in_terms_of_the_lead(beyond):
    """One step adds e^u (e^D - 1 - D e^(D beyond))/(M eta_Y) to the lead; beyond = 1 for alpha taken after the step."""
    rate = D * (M - 1 + sp.exp(u + beyond * D)) / M
    change = (time_at.subs(u, u + D) - time_at - 1).subs(eta_Y, rate)
    added = sp.exp(D) - 1 - D * sp.exp(beyond * D)
    return all_of(
        identity=sp.simplify(change * M * rate - sp.exp(u) * added) == 0, positive=positive_on_ray(added, D, 0)
    )


# %% hide
def one_step(c):
    """Case (i) of the proof leaves at most one step, case (ii) shrinks the gap; the first step is the longest."""
    return all_of(
        rate_falls_with_h=sp.simplify(sp.diff(h_rate, h_) / h_rate**2 * eta_Y + M * sp.exp(M * h_)) == 0,
        first_step=bool(sp.simplify(h_rate.subs(h_, 0) * M / eta_Y) <= c),
    )


def no_less_than_one(share):
    """After the first step M h is at most ln(M eta_Y + 1), by (45), so the gap is at least this part of eta_Y/M."""
    part = 1 - sp.log(M * eta_Y + 1) / eta_Y
    return all_of(
        h_is_at_most_the_logarithm=positive_on_ray(sp.exp(u) - 1 + u, u, 0),
        in_the_limit_of_large_rates=bool(sp.limit(part, eta_Y, sp.oo) >= share),
    )


def lead_of_a_step(a):
    """alpha (e^D - 1 - D)/D <= (a/2) ln(1 + alpha (e^D - 1)), which is what a step adds to half the logarithm.

    The quotient of the two sides rises with alpha, as y/ln(1 + y) does, so the largest alpha decides.
    """
    room = a * D * sp.log(1 + longest * (sp.exp(D) - 1)) - 2 * longest * (sp.exp(D) - 1 - D)
    return positive_from_zero(room, D, 1, order=2)


# %% hide
def lead_at_the_edge(c):
    """A lead of c at ln(M)/eta_Y would need M h* = M h at ln(M) + eta_Y c; but there the bound on the lead is below c.

    The bound rises by at most 5/8 as c rises by 1. A smaller rate has a smaller one, or less than half the logarithm.
    It is enough up to ln(M)/4; a larger rate leaves room for one step, two or three, and the lead is their sum. Beyond
    L = 9 d = L - M h is above 0.4.
    """
    share, last, fewest = sp.Rational(146, 1000), 9, 4
    g, y, d = share - sp.Rational(3, 16), sp.exp(-L), sp.Rational(4, 10)
    top = sp.exp(-d) / (1 + sp.exp(-d))  # alpha at d

    def room(rate, with_G):
        end = (M * formulas.h).subs({eta_Y: 1, t: sp.log(M) + rate * c}).subs(M, sp.exp(L))
        after = sp.exp(end) / (sp.exp(L) - 1 + sp.exp(end))
        extra = with_G * rate * (after - y) * (g + (after + y) / 8) / (1 - y)
        return c - sp.log((sp.exp(L) - 1 + sp.exp(end)) / sp.exp(L)) / 2 - extra

    one_step = positive_from_zero(c * D * sp.exp(D) - (sp.exp(D) - 1 - D), D, 1, order=1)
    if not one_step:
        return all_of(one_step=one_step)
    return all_of(
        one_step=one_step,
        **{f"{s}_steps": few_steps(c, s, fewest) for s in range(2, fewest)},
        a_step_s_lead=half_logarithm(share),
        **{f"small_rates_{G}": positive(room(L / fewest, G), {L: (sp.log(2), fewest)}) for G in (0, 1)},
        **{f"all_rates_{G}": positive(room(1, G), {L: (fewest, last)}) for G in (0, 1)},
        d_above=at(sp.exp(-d) - d * (1 - y) - y * (1 + L) - c, {L: last}),
        tail=at(c - sp.log(1 + sp.exp(-d)) / 2 - top * (g + top / 8) - sp.Rational(1, 10**4), {}),
        reached_within_1_percent=at((sp.E - 2) / sp.E - c * sp.Rational(99, 100), {}),
    )


def lead_at_large_rates(c):
    """Up to ln(M)/eta_Y a step from u < s eta_Y adds x (e^D - 1 - D)/eta_Y, x = e^u/M, D = eta_Y/(1 - 1/M + x).

    The last step has x <= e^(-eta_Y), the one before e^(-2 eta_Y). All before add a geometric series, with D <= eta_Y.
    """
    rate, f, k = sp.symbols("eta f k", positive=True)
    e, box = sp.exp(-rate), {rate: (1, 6)}
    alone = (1 - (1 + rate) * e) / rate

    def room(x_last, x_before, y, rest):
        sizes = {x: rate / (1 - y + x) for x in (x_last, x_before)}
        return c - rest - sum(x / rate * (sp.exp(sizes[x]) - 1 - sizes[x]) for x in (x_last, x_before))

    y = f * e**2
    return all_of(
        one_step=positive(c - alone, box),
        two_steps=positive(room(y / e, y, y, 0), box | {f: (0, 1)}),
        more=positive(room(f * e, k * e**2, e**3, e**2 * alone / (1 - e)), box | {f: (0, 1), k: (0, 1)}),
        beyond_a_rate_of_6=at(c - 1 / (6 * (1 - sp.exp(-6))), {}),
        reached_within_1_percent=at(alone.subs(rate, sp.log(6)) - c * sp.Rational(99, 100), {}),
    )


def few_steps(c, steps, fewest):
    """c times M eta_Y less the lead after the steps, for rates from ln(M)/fewest to min(1, ln(M)/steps)."""
    f, m, parts = sp.Symbol("f", positive=True), sp.exp(L) - 1, []
    for ends, largest in (((sp.log(2), steps), L / steps), ((steps, fewest), 1)):
        rate, height = L / fewest + (largest - L / fewest) * f, sp.S.Zero
        for _ in range(steps):
            height = height + rate * (m + 1) / (m + sp.exp(height))
        room = (c + steps) * rate - (sp.exp(height) - 1 + m * height) / (m + 1)
        parts.append(positive(room, {L: ends, f: (0, 1)}))
    return all_of(up_to=parts[0], beyond=parts[1])


def between_the_steps(slope):
    """b = e^(Mh*(s)): where h meets the line, at b g, g >= 1, it's slower; where h < h*(s), at b/g, it's faster."""
    m, b, g = sp.symbols("m b g", positive=True)
    return all_of(
        never_above_the_line=decide(cleared(slope / (m + b) - 1 / (m + b * g)) >= 0, g >= 1),
        else_the_gap_shrinks=decide(cleared(1 / (m + b / g) - slope / (m + b)) > 0, g > 1),
    )


def gap_vanishes(power):
    """The lead is at most psi M h*, psi = (e^eta - 1 - eta)/eta^2, so the gap is at most that times the rate at h."""
    e, m = sp.symbols("e m", positive=True)
    psi = (sp.exp(eta_Y) - 1 - eta_Y) / eta_Y**2
    gap = psi * (u + eta_Y) * eta_Y * (M / (M - 1 + sp.exp(u))) ** power  # M h* <= M h + eta_Y
    return all_of(
        psi_rises=positive_on_ray((D - 2) * sp.exp(D) + D + 2, D, 0),  # with D, at most eta_Y
        odds_at_most_1=decide(cleared(1 - e / (m + e)) >= 0),
        limit=bool(sp.limit(gap, u, sp.oo) == 0),
    )


def unbounded(c):
    """Each step adds at least c alpha D, and alpha >= 1/M: the lead is at least c h*, and (45) reaches every h."""
    return all_of(
        a_step_adds=positive_on_ray(sp.exp(D) - 1 - D - c * D**2, D, 0),
    )


def decays(factor):
    """1/(1 + (M-1) e^-u)^2 where e^u >= M - 1: in the second stage."""
    x = sp.Symbol("x", positive=True)  # (M - 1) e^-u
    decay = sp.diff(h_rate, h_).subs(h_, u / M) + eta_Y * M * sp.exp(-u) / (1 + (M - 1) * sp.exp(-u)) ** 2
    return all_of(identity=sp.simplify(decay) == 0, bound=bool((1 / (1 + x) ** 2).subs(x, 1) >= factor))


# %% hide
@functools.cache
def half_logarithm(share):
    """A step adds at most (D/(1 - alpha)) (G(alpha') - G(alpha)) to the lead less half the logarithm.

    G(a) = g a + a^2/8 with g = share - 3/16, alpha' after the step. D/(1 - alpha) is eta_Y M/(M - 1), so that all steps
    together add at most eta_Y (g + (1 + 1/M)/8). Everything is over alpha D^2. e^D = 1 + D + D^2 q with q a Taylor
    polynomial and kappa D^3; ln(1 + y) >= 3 y (2 + y)/(6 + 6 y + y^2).
    """
    f, kappa, y = sp.symbols("f kappa y", nonnegative=True)
    a, q, g = longest * f, sp.Rational(1, 2) + D / 6 + D**2 / 24 + kappa * D**3, share - sp.Rational(3, 16)
    grown = 1 + D * q  # (e^D - 1)/D, so that y = alpha D grown
    after = a * (1 + D * grown) / (1 + a * D * grown)
    pade = 3 * y * (2 + y) / (6 + 6 * y + y**2)
    added = q / D - pade * grown / (2 * y * D)
    short = sp.Rational(1, 6) + D / 24 + kappa * D**2 - q / 2 + grown**2 * alpha * (3 + y) / (2 * (6 + 6 * y + y**2))
    allowed = grown / (1 + a * D * grown) * (g + (after + a) / 8)
    box = {D: (0, 1), f: (0, 1), kappa: (sp.Rational(1, 120), sp.Rational(1, 100))}
    return all_of(
        logarithm=sp.simplify(sp.diff(sp.log(1 + y) - pade, y) - y**4 / ((1 + y) * (6 + 6 * y + y**2) ** 2)) == 0,
        without_the_quotient_by_D=sp.simplify((added - short).subs(alpha, y / (D * grown))) == 0,
        kappa_below_a_hundredth=at(sp.Rational(1, 100) - (sp.E - 2 - sp.Rational(17, 24)), {}),
        a_step=positive(allowed - short.subs({y: a * D * grown, alpha: a}), box, budget=2000),
        G_is_largest_at_1=bool(g + sp.Rational(1, 8) >= 0),
        all_steps=sp.simplify(g + (1 + 1 / M) / 8 - share + (M - 2) / (16 * M)) == 0,
    )


def gap_at_most(c):
    """At a gap of c eta_Y/M the lead, alpha (1 - e^-(eta_Y c))/eta_Y + (1 - alpha) c over phi, passes its bound.

    phi = (1 - alpha)/(1 - y), y = 1/M, alpha = y + (1 - y) f. The rate 1 is the worst: the left side falls with it, and
    the bound, with G as above, rises with it or is below half the logarithm.
    """
    y, f = sp.symbols("y f", nonnegative=True)
    share = sp.Rational(146, 1000)
    a, phi, g = y + (1 - y) * f, 1 - f, share - sp.Rational(3, 16)
    passed = a * (1 - sp.exp(-c)) + (1 - a) * c
    box, end = {y: (0, sp.Rational(1, 2)), f: (0, sp.Rational(999, 1000))}, sp.Rational(1, 1000)
    second_step = 1 + 2 / (1 + sp.E) - (M * formulas.h).subs({eta_Y: 1, t: 2, M: 2})
    return all_of(
        lead=half_logarithm(share),
        half_the_logarithm=positive(passed + phi * sp.log(phi) / 2, box),
        with_G=positive(passed + phi * sp.log(phi) / 2 - phi * f * (g + (a + y) / 8), box, budget=2000),
        phi_below_a_thousandth=at(1 - sp.exp(-c) + end * sp.log(end) / 2 - end, {}),
        reached_within_1_percent=at(second_step - c * sp.Rational(99, 100), {}),
    )


def remark_2(share):
    """By (45) the logarithm is below ln(1 + eta_Y s) if eta_Y c <= (1 - 1/M) M h*; M = 2 is worst; M h* >= eta_Y."""
    room = u / 2 - sp.log((1 + sp.exp(u)) / 2) / 2
    argument = (M - 1 + sp.exp(u)) / M
    return all_of(
        lead=half_logarithm(share),
        by_45=sp.simplify(argument - 1 - eta_Y * time_at + (M - 1) * u / M) == 0,
        falls_with_M=sp.simplify(sp.diff(argument, M) + (sp.exp(u) - 1) / M**2) == 0,
        up_to_1=positive_from_zero(room - share * u, u, 1, order=1),
        at_1=at(room - share, {u: 1}),
        rises=sp.simplify(sp.diff(room, u) - 1 / (2 * (1 + sp.exp(u)))) == 0,
    )


# %% hide
small_rates = sp.Rational(2335, 10000)
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(a), lower half: every step adds to the lead, so $h^* \\ge h$",
        in_terms_of_the_lead,
        0,
        1,
        "$h^*(s)$ in the exponent in place of $h^*(s-1)$",
        "every real $M > 1$, $\\eta_Y > 0$ and $s$",
        "none",
    ),
    (
        "(a), sharper: $h^* - h \\le \\eta_Y/M$",
        one_step,
        1,
        sp.Rational(99, 100),
        "0.99 for 1",
        "every real $M > 1$, $\\eta_Y > 0$ and $s$",
        "the two cases of the proof, above",
    ),
    (
        "That constant is the best one: $\\sup_s (h^*-h)M/\\eta_Y \\to 1$ as $\\eta_Y \\to \\infty$",
        no_less_than_one,
        1,
        sp.Rational(101, 100),
        "1.01 for 1",
        "every real $M > 1$",
        "SymPy's limit",
    ),
    (
        "The lead is at most 1.17 times $\\frac12\\ln[((M-1)+e^{Mh^*})/M]$",
        lead_of_a_step,
        leads,
        sp.Rational(99, 100),
        "0.99, below the limit for small rates",
        "every real $M \\ge 2$, $0 < \\eta_Y \\le 1$, every $s$",
        "$y/\\ln(1+y)$ rises",
    ),
    (
        "The lead exceeds that half of the logarithm by at most $\\frac16\\eta_Y$",
        half_logarithm,
        sp.Rational(1, 6),
        sp.Rational(1, 10),
        "0.1 for $\\frac16$; 0.134 is reached",
        "every real $M \\ge 2$, $0 < \\eta_Y \\le 1$, every $s$",
        "none",
    ),
    (
        "Remark 2, repaired: $h^*(s) \\le h(s + c)$ for $c = \\frac12\\ln(1+\\eta_Y s) + \\frac16\\eta_Y$",
        remark_2,
        sp.Rational(1, 6),
        sp.Rational(1, 10),
        "0.1 for $\\frac16$; 0.134 is reached",
        "every real $M \\ge 2$, $0 < \\eta_Y \\le 1$, every $s$",
        "none",
    ),
    (
        "$h^* - h \\le 0.2335\\,\\eta_Y/M$, the constant within 1 % of the best one: $M = 2$, $\\eta_Y = 1$, $s = 2$",
        gap_at_most,
        small_rates,
        sp.Rational(228, 1000),
        "0.228 for 0.2335",
        "every real $M \\ge 2$, $0 < \\eta_Y \\le 1$, every $s$",
        "none",
    ),
    (
        "$h(s + 0.2668) \\ge h^*(s)$ for $s \\le \\ln(M)/\\eta_Y$, within 1 % of the best: $M = e$, $s = \\eta_Y = 1$",
        lead_at_the_edge,
        sp.Rational(2668, 10000),
        sp.Rational(264, 1000),
        "0.264 for 0.2668",
        "every real $M \\ge 2$, $0 < \\eta_Y \\le 1$",
        "none",
    ),
    (
        "$h(s + 0.2985) \\ge h^*(s)$ for $s \\le \\ln(M)/\\eta_Y$, any rate, within 1 % of the best: $M = 6$, $s = 1$",
        lead_at_large_rates,
        sp.Rational(2985, 10000),
        sp.Rational(295, 1000),
        "0.295 for 0.2985",
        "every real $M \\ge 2$, $\\eta_Y \\ge 1$; below 1 it is the line above",
        "the lead's identity, above",
    ),
    (
        "(46), (47) and the case split: $h^\\circ \\ge h$, and (i) $h(s) \\ge h^*(s-1)$ or (ii) the gap shrinks",
        between_the_steps,
        1,
        0,
        "the step function $h^*(\\lfloor t\\rfloor)$ for the straight lines",
        "every real $M > 1$, $\\eta_Y > 0$ and $t$",
        "(44) and (33)",
    ),
    (
        "(b): $h^* - h \\to 0$ at every rate",
        gap_vanishes,
        1,
        0,
        "a rate that doesn't fall",
        "every real $M > 1$ and $\\eta_Y > 0$",
        "the lead's identity, above; $h$ is concave and has no bound; SymPy's limit",
    ),
    (
        "The lead grows without bound as $s \\to \\infty$: no $c$ of Remark 2 serves for all $s$",
        unbounded,
        sp.Rational(1, 2),
        sp.Rational(6, 10),
        "0.6 for $\\frac12$",
        "every real $M > 1$ and $\\eta_Y > 0$",
        "$h^* \\ge h$",
    ),
    (
        "From $2(1+\\omega_1)\\ln(M)/\\eta_Y$ on the decay is the remark's up to a factor 4",
        decays,
        sp.Rational(1, 4),
        sp.Rational(3, 10),
        "0.3 for $\\frac14$",
        "every real $M \\ge 4$ and $\\eta_Y > 0$",
        "Lemma 9: $e^{Mh} \\ge M-1$ there",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
