import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import at, enclose
from scansnap_core.theory.formulas import J_upper, M

proved = Chapter("one_path").witness("proved")
# %% idea
level, K_any = sp.Symbol("u", positive=True), formulas.K
sign_of_c = (M - 1) * level + 2 * (sp.exp(level) - 1) - level * sp.exp(level)  # the sign of 2 epsilon - 1
shared, fourths, B_now = sp.symbols("rho_t f4 B", positive=True)  # the overlap at B, and the sum of f_l^4


def insight_c(vocabulary):
    """At t_b, where (M - 1) u = e^u, the sign is that of e^u (3 - u) - 2, and it falls with u from there on."""
    at_edge = sign_of_c.subs(M, 1 + sp.exp(level) / level)
    slope = sp.diff(sign_of_c, level).subs(M, 1 + sp.exp(level) / level)
    edge = {level: enclose(M * J_upper, {M: vocabulary})}
    return all_of(
        sign=sp.simplify(at_edge - sp.exp(level) * (3 - level) + 2) == 0,
        at_the_first=at(-at_edge, edge),
        falls_with_M=at(-sp.diff(sp.exp(level) * (3 - level), level), edge),
        falls_with_u=at(-slope, edge),
        and_more_so_later=sp.simplify(sp.diff(sign_of_c, level, 2) + level * sp.exp(level)) == 0,
    )


def in_the_end(exponent):
    """1/rho^2 grows like 4 (K+1)(K-1) Gamma where the sum of f_l^4 tends to 1, and z falls by K for each B."""
    fall = 2 * (K_any * (1 - shared) ** 2 + fourths)  # -d ln(rho)/dB along (10)
    speed = formulas.xi_equal.subs(formulas.rho, shared)  # dB/dGamma
    growth_of_inverse_square = sp.limit((2 * fall * speed / shared**2).subs(fourths, 1), shared, 0)
    per_B = sp.limit(fall.subs(fourths, 1), shared, 0)
    z_per_log = K_any * sp.Rational(1, 2) / per_B  # ln rho falls by half a ln Gamma
    return all_of(
        inverse_square=sp.simplify(growth_of_inverse_square - 4 * (K_any + 1) * (K_any - 1)) == 0,
        logit=sp.simplify(z_per_log - exponent) == 0,
    )


# %% hide
def one_clock(power):
    """By (10) z' = (eta_Z/K) gamma G(z), and so z = zeta(Gamma) with zeta' = G(zeta): neither rate is in it."""
    time_, zeta = sp.Symbol("t"), sp.Function("zeta")
    Gamma_t = sp.Function("Gamma")(time_)
    along = sp.diff(zeta(Gamma_t), time_).doit()
    clock_of_h = formulas.Gamma.subs(formulas.eta_Z, formulas.eta_Z / K_any) * K_any**power
    speed = sp.diff(clock_of_h, formulas.h_) * formulas.h_rate / K_any  # h = h(t/K)
    slope = sp.Subs(sp.diff(zeta(level), level), level, Gamma_t)
    return all_of(
        chain_rule=sp.simplify(along - slope * sp.diff(Gamma_t, time_)) == 0,
        speed=sp.simplify(speed - formulas.eta_Z / K_any * formulas.gamma) == 0,
    )


# %% hide
proved.prove(
    "(10) with the decoder of the moment is one path, $z(t) = \\zeta(\\Gamma(t))$, whatever the rates",
    one_clock,
    0,
    control=-1,
    control_is="without the factor $K$ in $\\Gamma$",
    region="every $K$, $M$, $\\eta_Y$, $\\eta_Z$, $t$ and all data of uniform classes",
    assumptions="(10) with the weight $1/K$ (Lemma 4); the flow from a start is unique",
)
proved.prove(
    "Insight (c) holds from $t_b$ on: there $\\epsilon < \\frac12$",
    insight_c,
    8,
    control=5,
    control_is="from $M = 5$ on",
    region="every real $M \\ge 8$, every $K$, $\\eta_Y$ and $t \\ge t_b$",
    assumptions="Lemma 8",
)
proved.prove(
    "In the end $z_{CT} \\sim -\\frac{K}{4(K+1)}\\ln\\Gamma$ and $B_n \\sim \\frac{1}{4(K+1)}\\ln\\Gamma$",
    in_the_end,
    K_any / (4 * (K_any + 1)),
    control=sp.Rational(1, 4),
    control_is="$\\frac14\\ln\\Gamma$, without the winner's part",
    region="every $K \\ge 2$, equal overlaps, any distinct tokens with one leader, alike in all classes",
    assumptions="Theorems 3 and 4: $B_n \\to \\infty$, the losers stop, so that $\\sum f_l^4 \\to 1$",
)
