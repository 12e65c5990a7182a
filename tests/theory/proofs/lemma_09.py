import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import at, decide, enclose, positive, positive_on_ray
from scansnap_core.theory.formulas import J_upper, M, eta_Y, gamma, h_

proved = Chapter("lemma_09").witness("proved")
u, m = sp.symbols("u m", positive=True)  # m = M - 1
# %% idea
s, L, share = sp.symbols("s L q", positive=True)
tau_u = formulas.time_of_h.subs({h_: u / M, eta_Y: 1}).subs(M, m + 1)  # eta_Y t/K at which M h = u
gamma_of_u = gamma.subs(h_, u / M).subs(M, m + 1)
squared = (m / (m + 1)) ** 2  # (1 - 1/M)^2
grown = (m + 1) * tau_u  # M eta_Y t/K
end_u = (M * formulas.h).subs({eta_Y: 1, formulas.t: sp.log(M)}).subs(M, sp.exp(L))  # M h at the first stage's end
hundredth = sp.Rational(1, 100)
far = 12  # where a tail lemma takes over from the boxes


def in_s(expression):
    """With e^u = 1 + u + s: s >= 0 is all that is used of it."""
    return sp.expand(expression).subs(sp.exp(u), 1 + u + s)


def u_1(vocabulary):
    return enclose(M * J_upper, {M: vocabulary})


# %% hide
def constant_one(power):
    """u <= tau, and gamma <= (1 - 1/M)^power tau."""
    known = m >= 1, s >= 0
    room = sp.together(tau_u * (m / (m + 1)) ** power - gamma_of_u)
    top, bottom = sp.fraction(room)
    return all_of(
        h=decide(in_s((m + 1) * (tau_u - u)) >= 0, *known),
        denominator=decide(in_s(bottom) > 0, *known),
        gamma=decide(in_s(top) >= 0, *known),
    )


def first_stage_for(vocabulary):
    """ln(M - 1) is reached after ln M: the difference rises with M, and Lemma 8 has the other half of the minimum."""
    room = m - 1 + m * sp.log(m) - (m + 1) * sp.log(m + 1)
    below_1 = at(1 - sp.log(1 + 1 / m), {m: 1})
    return all_of(
        it_is_52=sp.simplify(room - (m + 1) * (tau_u.subs(u, sp.log(m)) - sp.log(m + 1))) == 0,
        slope_is_1_minus_ln_of_1_plus_1_over_m=sp.simplify(sp.diff(room, m) - 1 - sp.log(m) + sp.log(m + 1)) == 0,
        which_is_positive=below_1,
        at_the_first=at(room, {m: vocabulary - 1}),
        ln_of_M_minus_1_is_in_J_1=at(sp.log(m) - 1, {m: vocabulary - 1}),
    )


def second_stage_by(excess):
    """From t_b on e^u >= (M - 1) u, and u >= u_1 >= 1; the printed edge 2 u_1 is later, by excess/M at most."""
    at_edge = tau_u.subs(m, sp.exp(u) / u)
    room = (at_edge * (m + 1 + excess) - 2 * u * (m + 1)).subs(m, sp.exp(u) / u)
    return all_of(
        printed_is_later=sp.simplify((2 * u - at_edge) * (u + sp.exp(u)) - u * (1 + 2 * u)) == 0,
        by_so_much=positive_on_ray(sp.expand(sp.simplify(room * (u + sp.exp(u)))), u, sp.Rational(1512, 1000)),
        where_M_is_below_4=at(4 - 1 - sp.exp(u) / u, {u: sp.Rational(1512, 1000)}),
    )


# %% hide
def first_stage_floor_h(c):
    """M h >= c tau at tau = ln M, and so before, as h is concave; beyond L = far the rest is at most 1 < (1 - c) L."""
    room = L - tau_u.subs({u: c * L, m: sp.exp(L) - 1})
    return all_of(
        boxes=positive(room, {L: (sp.log(2), far)}),
        tail=bool((1 - c) * far > 1),
    )


def first_stage_floor_gamma(c):
    """gamma/tau falls with u, so its end decides; beyond L = far d = L - u lies in (0.56, 0.58)."""
    ratio = (gamma_of_u / squared / L).subs({m: sp.exp(L) - 1}).subs(u, end_u)
    d, small = sp.symbols("d epsilon", positive=True)
    crossing = sp.exp(-d) - d * (1 - small) - small * (1 + L)
    return all_of(
        boxes=positive(ratio - c, {L: (sp.log(2), far)}),
        d_above=at(crossing.subs(d, 56 * hundredth), {L: far, small: sp.exp(-far)}),
        d_below=at(-crossing.subs(d, 58 * hundredth), {L: far, small: 0}),
        tail=at((1 - 58 * hundredth / L) - c * (1 + sp.exp(-56 * hundredth)), {L: far}),
    )


# %% hide
def second_stage_ceiling(c):
    """u <= ln(M tau) and gamma tau <= c u (1 - 1/M)^2, in x = (M - 1) u <= e^u, with u, M - 1 >= 1."""
    x, e = sp.symbols("x e", positive=True)
    known = x >= 1, e >= x, u >= 1, m >= 1, sp.Eq(x, m * u)
    return all_of(
        e_to_the_u_at_most_M_tau=decide(e - 1 + x >= e, *known),
        gamma=decide(e - 1 + x <= c * (m + e), *known),
    )


def second_stage_floor_h(c):
    """M tau <= 2 e^u - 1, and u over its logarithm rises; c (u + ln 2) < u from u = 3 on."""
    return all_of(
        boxes=positive(u - c * sp.log(2 * sp.exp(u) - 1), {u: (u_1(5), 3)}),
        tail=at((1 - c) * u - c * sp.log(2), {u: 3}),
    )


def second_stage_floor_gamma(c):
    """With r = (M - 1) u e^-u in [4 u e^-u, 1]: boxes to u = far, then polynomials, with e^-u below 1/1000."""
    r, x = sp.symbols("r x", positive=True)
    least = 4 * u * sp.exp(-u)
    at_r = u * (1 - sp.exp(-u) + r) - c * (u + sp.log(1 + r - sp.exp(-u))) * (1 + r / u)
    beyond = u * (1 - x + r) - c * (u + r) * (1 + r / u)
    return all_of(
        it_is_gamma_tau=sp.simplify(
            (gamma_of_u * tau_u / squared - u * (1 - sp.exp(-u) + r) / (1 + r / u)).subs(r, m * u * sp.exp(-u))
        )
        == 0,
        boxes=positive(at_r.subs(r, least + (1 - least) * share), {u: (u_1(5), far), share: (0, 1)}),
        e_to_the_minus_u_is_small=at(sp.Rational(1, 1000) - u * sp.exp(-u), {u: far}),
        tail=decide(sp.expand(u * beyond) > 0, u >= far, r <= 1, x * u <= sp.Rational(1, 1000)),
    )


# %% hide
def one_peak(at_peak):
    """gamma's slope has the sign of M - 1 - (u - 1) e^u, which falls; at its zero gamma is (1 - 1/M)(u - 1)."""
    sign = m + sp.exp(u) - u * sp.exp(u)
    return all_of(
        sign_of_the_slope=sp.simplify(sp.diff(gamma_of_u, u) * (m + sp.exp(u)) ** 2 * (m + 1) - m**2 * sign) == 0,
        it_falls=sp.simplify(sp.diff(sign, u) + u * sp.exp(u)) == 0,
        to_zero_there=sp.simplify(sign.subs(m, at_peak)) == 0,
        value_there=sp.simplify((gamma_of_u * (m + 1) / m).subs(m, at_peak) - (u - 1)) == 0,
    )


def peak_in_first_stage(vocabulary):
    """tau at the peak, where M - 1 = (u - 1) e^u, is at most ln M; beyond u = 3 ln(u - 1) - 1/(u - 1) is left."""
    at_peak = (u - 1) * sp.exp(u)
    start = enclose(1 + sp.LambertW((M - 1) / sp.E), {M: vocabulary})
    return all_of(
        boxes=positive(sp.log(1 + at_peak) - tau_u.subs(m, at_peak), {u: (start, 3)}),
        tail=at(sp.log(u - 1) - 1 / (u - 1), {u: 3}),
    )


def one_constant_for(logarithm):
    """At t_b, where e^u = (M - 1) u, gamma tau over the logarithm has no bound as M grows."""
    at_edge = (gamma_of_u * tau_u).subs(m, sp.exp(u) / u)
    limit = sp.limit(sp.simplify(at_edge) / logarithm.subs(m, sp.exp(u) / u), u, sp.oo)
    return all_of(the_limit_is_infinite=limit == sp.oo)


# %% hide
def short_logarithm(c):
    """gamma tau <= (1 - 1/M)^2 u (1 + x/e^u), x = (M - 1) u, and u <= ln(M tau) <= (1 + 1/p) ln tau.

    x e^-u falls with u, so tau = M, where e^u = M^2 + 1 - x, is the worst; ln(M^2 + 1) <= 2 ln M + 1/10^4.
    """
    x, e = sp.symbols("x e", positive=True)
    known, most = (x >= 1, e >= 1, m >= 1), 2 * L + sp.Rational(1, 10**4)
    at_M = 1 + most / (sp.exp(L) - most)
    shares = gamma_of_u * tau_u / squared - u * (sp.exp(u) - 1 + m * u) / (m + sp.exp(u))
    return all_of(
        gamma_tau=sp.simplify(shares) == 0,
        without_M=decide((e - 1 + x) * e <= (m + e) * (e + x), *known),
        e_to_the_u_at_most_M_tau=decide(e - 1 + x >= e, *known),
        to_1000=positive(c - (1 - sp.exp(-L)) ** 2 * at_M, {L: (sp.log(100), sp.log(1000))}),
        beyond_where_ln_M_over_M_falls=at(c - at_M, {L: sp.log(1000)}),
    )


def recursion_s_first_stage_from(vocabulary):
    """A lead of 1/3 steps (Lemma 7) is inside the room that (52) leaves if M >= 8, or eta_Y <= 0.9.

    Else two steps at most fit below ln M < ln 8, and one of them is at most 1.
    """
    low = sp.Rational(9, 10)
    room, rate = tau_u.subs(u, sp.log(m)) - sp.log(m + 1), low + share * (sp.log(M) / 2 - low)
    two_steps = rate + rate * M / (M - 1 + sp.exp(rate))
    return all_of(
        two_steps=positive(sp.log(M - 1) - two_steps, {M: (vocabulary, 8), share: (0, 1)}),
        no_third=at(3 * low - sp.log(8), {}),
        from_8=at(room - sp.Rational(1, 3), {m: 7}),
        small_rates=at(room - low / 3, {m: vocabulary - 1}),
        room_times_M_rises_faster=at(1 - sp.log(1 + 1 / m) - sp.Rational(1, 3), {m: vocabulary - 1}),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "$h \\le \\eta_Y t/(MK)$ and $\\gamma \\le (1-1/M)^2\\,\\eta_Y t/K$, constant 1",
        constant_one,
        2,
        3,
        "$(1-1/M)^3$ in place of $(1-1/M)^2$",
        "all real $M \\ge 2$, all $K$, $\\eta_Y$ and $t \\ge 0$",
        "$e^u \\ge 1 + u$",
    ),
    (
        "First stage: $e^{Mh} \\le \\min(M-1, (M-1)Mh)$, from Lemma 8's lower zero up to $K\\ln M/\\eta_Y$",
        first_stage_for,
        5,
        4,
        "from $M = 4$ on",
        "all real $M \\ge 5$, all $K$ and $\\eta_Y$",
        "Lemma 8",
    ),
    (
        "Second stage: $e^{Mh} \\ge \\max(M-1, (M-1)Mh)$ from $t_b$ on, and the printed edge is later by $2/M$ at most",
        second_stage_by,
        2,
        1,
        "$1/M$ for $2/M$",
        "all real $M \\ge 4$, all $K$, $\\eta_Y$ and $t$ from there on",
        "Lemma 8",
    ),
    (
        "First stage: $h \\ge 0.82\\,\\eta_Y t/(MK)$, the constant within 1 % of the best one",
        first_stage_floor_h,
        82 * hundredth,
        sp.Rational(823, 1000),
        "0.823 for 0.82",
        "all real $M \\ge 2$, all $K$, $\\eta_Y$ and $t \\le K\\ln M/\\eta_Y$",
        "$h$ is concave (44)",
    ),
    (
        "First stage: $\\gamma \\ge 0.525\\,(1-1/M)^2\\,\\eta_Y t/K$, the constant within 1 % of the best one",
        first_stage_floor_gamma,
        sp.Rational(525, 1000),
        53 * hundredth,
        "0.53 for 0.525",
        "all real $M \\ge 2$, all $K$, $\\eta_Y$ and $t \\le K\\ln M/\\eta_Y$",
        "$h$ is concave (44)",
    ),
    (
        "Second stage: $h \\le \\frac1M\\ln(M\\eta_Y t/K)$, $\\gamma \\le 2(1-1/M)^2 K\\ln(M\\eta_Y t/K)/(\\eta_Y t)$",
        second_stage_ceiling,
        2,
        sp.Rational(19, 10),
        "1.9 for 2",
        "all real $M \\ge 4$, all $K$, $\\eta_Y$ and $t \\ge t_b$",
        "Lemma 8",
    ),
    (
        "Second stage: $h \\ge \\frac{0.772}{M}\\ln(M\\eta_Y t/K)$, the constant within 1 % of the best one",
        second_stage_floor_h,
        sp.Rational(772, 1000),
        sp.Rational(775, 1000),
        "0.775 for 0.772",
        "all real $M \\ge 5$, all $K$, $\\eta_Y$ and $t \\ge t_b$",
        "Lemma 8",
    ),
    (
        "Second stage: $\\gamma \\ge 0.99(1-1/M)^2 K\\ln(M\\eta_Y t/K)/(\\eta_Y t)$, within 1 % of the best constant",
        second_stage_floor_gamma,
        99 * hundredth,
        sp.Rational(997, 1000),
        "0.997 for 0.99",
        "all real $M \\ge 5$, all $K$, $\\eta_Y$ and $t \\ge t_b$",
        "Lemma 8, $\\ln(1+x) \\le x$",
    ),
    (
        "$\\gamma$ has one peak, $(1-1/M)W((M-1)/e)$",
        one_peak,
        (u - 1) * sp.exp(u),
        u * sp.exp(u),
        "$u e^u = M - 1$ at the peak",
        "all real $M > 1$",
        "",
    ),
    (
        "$\\gamma$ peaks in the first stage",
        peak_in_first_stage,
        19,
        18,
        "from $M = 18$ on",
        "all real $M \\ge 19$",
        "",
    ),
    (
        "From $\\tau = \\eta_Y t/K \\ge M^p$ on the short one will do: $\\gamma\\tau \\le 1.1(1+\\frac1p)\\ln\\tau$",
        short_logarithm,
        sp.Rational(11, 10),
        sp.Rational(104, 100),
        "1.04 for 1.1",
        "all real $M \\ge 100$, $p \\ge 1$, all $K$ and $\\eta_Y$",
        "$u e^{-u}$ falls from 1 on",
    ),
    (
        "First stage for the recursion: $e^{Mh^*(s)} \\le M-1$ for $s \\le \\ln(M)/\\eta_Y$",
        recursion_s_first_stage_from,
        7,
        6,
        "from $M = 6$ on",
        "all real $M \\ge 7$, $0 < \\eta_Y \\le 1$",
        "Lemma 7",
    ),
    (
        "No constant serves for $\\ln(\\eta_Y t/K)$: at $t_b$ $\\gamma\\eta_Y t/K$ over it tends to $\\infty$ with $M$",
        one_constant_for,
        sp.log(tau_u),
        sp.log(grown),
        "$\\ln(M\\eta_Y t/K)$",
        "$M \\to \\infty$, all $K$ and $\\eta_Y$",
        "SymPy's limit",
    ),
):
    proved.prove(
        what,
        procedure,
        claim,
        control=control,
        control_is=control_is,
        region=region,
        assumptions=assumptions or "none",
    )
