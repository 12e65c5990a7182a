import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import at, enclose, positive, positive_from_zero, positive_on_ray
from scansnap_core.theory.formulas import J_lower, J_upper, M, eta_Y, h_, h_implicit, omega_0, omega_1, t

proved = Chapter("lemma_08").witness("proved")
u = sp.Symbol("u", positive=True)
M_of_u = 1 + sp.exp(u) / u
log_M = sp.log(M_of_u)
omega_0_of_u, omega_1_of_u = (omega.replace(sp.LambertW, lambda *_: -u).subs(M, M_of_u) for omega in (omega_0, omega_1))
# %% idea
first, second = u + sp.log(1 + u * sp.exp(-u)), u - log_M  # omega_0 ln M at u = u_0, omega_1 ln M at u = u_1
y = u / (u + sp.exp(u))  # 1/M
far = 100  # where a tail lemma takes over from the boxes


def is_zero(expression):
    return sp.simplify(sp.expand_log(expression, force=True)) == 0


def lower_edge(vocabulary):
    """A ball around the lower edge of J_1, times M."""
    return enclose(M * J_lower, {M: vocabulary})


def upper_edge(vocabulary):
    return enclose(M * J_upper, {M: vocabulary})


# %% hide
def meets(line):
    arguments = [zero.atoms(sp.LambertW).pop().args[0] for zero in (J_lower, J_upper)]
    return all_of(
        e_to_the_u_over_u_falls_up_to_1_and_rises_beyond=is_zero(sp.diff(sp.exp(u) / u) * u**2 / sp.exp(u) - u + 1),
        edges_by_both_branches=all(is_zero(x.subs(M, M_of_u) + u * sp.exp(-u)) for x in arguments),
        there_it_is_the_line=is_zero((sp.exp(u) - line * u).subs(M, M_of_u)),
        omegas_in_u=is_zero(omega_0_of_u * log_M - first) and is_zero(omega_1_of_u * log_M - second),
    )


falls = is_zero(sp.diff(M_of_u) * u**2 - sp.exp(u) * (u - 1))  # M falls as u rises to 1


def omega_0_floor(c):
    return positive_from_zero(first - 2 * y - c * y**2, u, 1, order=3)


def omega_0_ceiling(c):
    """Over M >= 100, and how near the constant is to the best one."""
    bound = positive_from_zero(2 * y + c * y**2 - first, u, lower_edge(100), order=2)
    return all_of(bound=bound, reached_within_1_percent=at(first - 2 * y - c * y**2 * 99 / 100, {u: lower_edge(100)}))


def omega_0_printed(c):
    """omega_0 M^0.99 ln M <= c from M = 100 on: M omega_0 ln M falls as M grows, and so does M^-0.01."""
    value = first / y * sp.exp(-log_M / 100)
    return all_of(
        M_omega_0_ln_M_rises_with_u=positive_from_zero(sp.diff(first, u) * y - first * sp.diff(y, u), u, 1, order=2),
        M_falls=falls,
        bound_at_100=at(c - value, {u: lower_edge(100)}),
        reached_within_1_percent=at(value - c * sp.Rational(99, 100), {u: lower_edge(100)}),
    )


def omega_0_alone(exponent):
    """omega_0 M^0.99 ln M falls as M grows (above), and passes 1 within 1e-9 of log_2 M = exponent."""
    near = sp.Rational(1, 10**9)
    ends = [lower_edge(2 ** (exponent + side)) for side in (-near, near)]
    value = first / y * sp.exp(-log_M / 100) - 1
    return all_of(above_1_before=at(value, {u: ends[0]}, 500), below_1_after=at(-value, {u: ends[1]}, 500))


def small_from(vocabulary, size):
    """omega_0 < size from a vocabulary on: omega_0 ln M rises with u up to 1, and ln M falls."""
    return all_of(
        omega_0_ln_M_rises_with_u=positive(sp.diff(first), {u: (0, 1)}),
        M_falls=falls,
        at_the_first=at(size * log_M - first, {u: lower_edge(vocabulary)}),
    )


# %% hide
def omega_1_floor(vocabulary):
    """omega_1 ln M >= ln ln M: u/(1 + x) >= u - ln u + x with x = u e^-u, where ln u >= (1 + u) x, so from u = 3 on."""
    return all_of(
        boxes=positive(second - sp.log(log_M), {u: (upper_edge(vocabulary), 3)}),
        tail_u_times_1_plus_u_below_e_to_the_u=positive_on_ray(sp.exp(u) - u * (1 + u), u, 3),
        and_1_below_ln_u=at(sp.log(u) - 1, {u: 3}),
    )


def omega_1_ceiling(c):
    """Beyond u = far: omega_1 ln M <= ln u and ln M >= u (1 - ln(u)/u), where ln(u)/u falls."""
    return all_of(
        boxes=positive(c * sp.log(log_M) - second, {u: (upper_edge(4), far)}),
        tail=at((c - 1) * sp.log(u) + c * sp.log(1 - sp.log(u) / u), {u: far}),
        reached_within_1_percent=at(
            second - c * sp.Rational(99, 100) * sp.log(log_M), {u: upper_edge(sp.Rational(967, 100))}
        ),
    )


def changes_sign(vocabulary):
    """u_1 < ln M up to this M and > from a thousandth later on; from u = 3 on M e^-u = e^-u + 1/u < 1."""
    later = upper_edge(vocabulary + sp.Rational(1, 1000))
    return all_of(
        they_meet_at_u_1=is_zero(M_of_u.subs(u, 1) - 1 - sp.E),
        negative=positive(-second, {u: (1, upper_edge(vocabulary))}),
        positive_later=positive(second, {u: (later, 3)}),
        tail=at(1 - sp.exp(-u) - 1 / u, {u: 3}),
    )


def omega_1_largest(c):
    return all_of(
        boxes=positive(c * log_M - second, {u: (upper_edge(4), far)}),
        tail=at(c * u - (1 + c) * sp.log(u), {u: far}),
        reached_within_1_percent=at(second - c * sp.Rational(99, 100) * log_M, {u: upper_edge(13)}),
    )


# %% hide
def remark_3(vocabulary):
    """2 e^(u_0) - 1 <= M^0.01: the left side falls as M grows, the right one rises."""
    time = (2 * (M - 1) * u - 1) / (M * eta_Y)
    at_edge = eta_Y * time - (2 * sp.exp(u) - 1) / M
    return all_of(
        t_a_is_at_most_1_from_that_rate_on=is_zero(at_edge.subs(M, M_of_u))
        and is_zero(h_implicit.subs(t, time).subs(h_, u / M).subs(M, M_of_u)),
        at_the_first=at(sp.exp(log_M / 100) + 1 - 2 * sp.exp(u), {u: lower_edge(vocabulary)}),
    )


def first_height(c):
    """M h(1) >= c eta_Y if (45) is not yet reached at M h = c eta_Y; M enters with the factor 1 - c > 0."""
    room = -h_implicit.subs({t: 1, h_: c * eta_Y / M})
    return all_of(
        rises_with_M=is_zero(sp.diff(room, M) - eta_Y * (1 - c)) and 0 < c < 1,
        at_100=positive_from_zero(room.subs(M, 100), eta_Y, 1, order=1),
    )


# %% hide
hundredth = sp.Rational(1, 100)
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "$e^{Mh} \\le (M-1)Mh$ in $J_1$, and $>$ outside",
        meets,
        M - 1,
        M,
        "the line $M \\cdot Mh$",
        "all real $M \\ge 1 + e$, all $h > 0$",
        "$W_0 \\ge -1 \\ge W_{-1}$",
    ),
    (
        "$\\omega_0 M\\ln M \\ge 2 + 2.5/M$",
        omega_0_floor,
        250 * hundredth,
        260 * hundredth,
        "2.6 for 2.5",
        "all real $M \\ge 1 + e$",
        "",
    ),
    (
        "$\\omega_0 M\\ln M \\le 2 + 2.55/M$, the constant within 1 % of the best one",
        omega_0_ceiling,
        255 * hundredth,
        254 * hundredth,
        "2.54 for 2.55",
        "all real $M \\ge 100$",
        "",
    ),
    (
        "$\\omega_0 \\le 1.94/(M^{0.99}\\ln M)$, the constant within 1 % of the best one",
        omega_0_printed,
        194 * hundredth,
        193 * hundredth,
        "1.93 for 1.94",
        "all real $M \\ge 100$",
        "",
    ),
    (
        "With the constant 1 that holds from $M = 2^{100}$ on, up to $10^{-9}$ in $\\log_2 M$",
        omega_0_alone,
        100,
        99,
        "from $2^{99}$ on",
        "all real $M \\ge 100$",
        "$\\omega_0 M^{0.99}\\ln M$ falls, above",
    ),
    (
        "$\\omega_0 < 0.01$",
        lambda vocabulary: small_from(vocabulary, hundredth),
        52,
        51,
        "from $M = 51$ on",
        "all real $M \\ge 52$",
        "",
    ),
    (
        "$\\omega_1 < 0$ for $1 + e \\le M \\le 3.857$, and $\\omega_1 > 0$ from $M = 3.858$ on",
        changes_sign,
        sp.Rational(3857, 1000),
        sp.Rational(3858, 1000),
        "$\\omega_1 < 0$ up to $M = 3.858$",
        "all real $M \\ge 1 + e$ but for $3.857 < M < 3.858$",
        "",
    ),
    (
        "$\\omega_1 \\ge \\ln\\ln M/\\ln M$",
        omega_1_floor,
        5,
        4,
        "from $M = 4$ on",
        "all real $M \\ge 5$",
        "$\\ln(1+x) \\le x$",
    ),
    (
        "$\\omega_1 \\le 1.353\\,\\ln\\ln M/\\ln M$, the constant within 1 % of the best one",
        omega_1_ceiling,
        sp.Rational(1353, 1000),
        sp.Rational(1352, 1000),
        "1.352 for 1.353",
        "all real $M \\ge 4$",
        "$\\ln(u)/u$ falls from $e$ on",
    ),
    (
        "$\\omega_1 \\le 0.493$, the constant within 1 % of the best one",
        omega_1_largest,
        sp.Rational(493, 1000),
        sp.Rational(492, 1000),
        "0.492 for 0.493",
        "all real $M \\ge 4$",
        "$\\ln(u)/u$ falls from $e$ on",
    ),
    (
        "$\\omega_1 > 0.1$",
        lambda vocabulary: positive(second - log_M / 10, {u: (upper_edge(vocabulary), upper_edge(10**16))}),
        5,
        4,
        "from $M = 4$ on",
        "all real $5 \\le M \\le 10^{16}$",
        "",
    ),
    (
        "Remark 3: $\\eta_Y \\ge M^{-0.99}$ brings the first step into $J_1$, one class",
        remark_3,
        100,
        50,
        "from $M = 50$ on",
        "all real $M \\ge 100$",
        "the clock runs forward, $u_0$ falls with $M$",
    ),
    (
        "Remark 3: $h(1) \\ge 0.99\\,\\eta_Y/M$",
        first_height,
        99 * hundredth,
        sp.Rational(999, 1000),
        "0.999 for 0.99",
        "all real $M \\ge 100$, $0 < \\eta_Y \\le 1$",
        "the left side of (45) rises with $h$",
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
