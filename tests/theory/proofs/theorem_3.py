import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import cleared, decide
from scansnap_core.theory.formulas import chi, z, z_0

proved = Chapter("theorem_3").witness("proved")
# %% idea
p_l, p_other, length, gain_0, grown_by, B = sp.symbols("p_l p_other length r_0 chi B", positive=True)
z_l, z_other = sp.symbols("z_l z_other", real=True)
# %% hide


def relative_gain(power):
    """Along z' = f^2 xi the power e^(-2z)/p_l^2 falls by the same 2/length^2 for all tokens, so (11) is exact."""
    square = (p_l * sp.exp(z_l)) ** 2 / length**2  # f_l^2
    falls = sp.diff(sp.exp(-power * z_l) / p_l**power, z_l) * square
    other = 1 + (p_other / p_l) ** 2 * (sp.exp(-2 * z_l) - 1)  # e^(-2z') by that, from z(0) = 0
    gain = (p_l / p_other) ** 2 * sp.exp(2 * z_l) * other - 1
    factor = chi.subs({z: z_l, z_0: 0})
    return all_of(
        same_for_every_token=not sp.simplify(falls).free_symbols & {p_l, z_l},
        r_is_r_0_chi=sp.simplify(gain - ((p_l / p_other) ** 2 - 1) * factor) == 0,
    )


def losers_stop(bound):
    """The other token's growth, (1 + r) chi/(1 + r chi), stays below 1 + 1/r; the product law has them all."""
    loser = (1 + gain_0) * grown_by / (1 + gain_0 * grown_by)
    room = cleared(1 + bound / gain_0 - loser)
    return all_of(
        below=decide(room > 0, grown_by >= 1),
        its_inverse=sp.simplify(1 / (1 + 1 / gain_0) - gain_0 / (1 + gain_0)) == 0,
    )


def sides(exponent):
    """d ln chi/dB = 2 f^2, and f rises from f(0) to at most 1."""
    f, f_0 = sp.symbols("f f_0", positive=True)
    rate = sp.diff(sp.log(chi.subs(z, z_l)), z_l) * f**2
    return decide(sp.And(rate >= 2 * f_0**2, rate <= exponent), f >= f_0, f <= 1)


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(11), $r = r(0)\\chi_l$",
        relative_gain,
        2,
        1,
        "$e^{-z}/P$ in place of its square",
        "every pair of distinct tokens, every $K$, $M$, $t$ and $\\xi_n(t)$",
        "(98)",
    ),
    (
        "The losers stop, $\\chi_{l'} \\le 1 + 1/r(0)$, and with the product law follows the sum bound",
        losers_stop,
        1,
        sp.Rational(9, 10),
        "$1 + 0.9/r(0)$",
        "any number of distinct tokens with $r(0) > 0$, every $K$, $M$ and $t$",
        "(11), (98), $f_{CT}$ falls",
    ),
    (
        "(12), both sides",
        sides,
        2,
        1,
        "$e^{B_n}$ above",
        "every $K$, $M$ and $t$ with $f_{nl_0} \\ge f_{nl_0}(0)$ on all of $[0, t]$",
        "(98)",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
