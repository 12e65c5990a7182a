import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import decide

proved = Chapter("lemma_18").witness("proved")
# %% idea
token, other, held = sp.symbols("l k x", integer=True)  # rows, columns; the token that a position holds
weight = sp.Function("h")


def one_position(found):
    """A position adds h_x e_x to the left of (134) and h_x e_x e_x^T to that of (135), and e_x to (T-1) q.

    Both sides add up over positions, and an entry is 0 on both unless the position holds its token.
    """
    at_l, at_k = sp.KroneckerDelta(token, held), sp.KroneckerDelta(other, held)
    of_134 = at_l * (found(held) - weight(token))
    of_135 = at_l * at_k * found(held) - sp.KroneckerDelta(token, other) * at_l * weight(token)
    same, apart = {held: token}, {at_l: 0}
    return all_of(
        eqn_134=all(sp.simplify(of_134.subs(case)) == 0 for case in (same, apart)),
        eqn_135=all(sp.simplify(of_135.subs(case)) == 0 for case in (same, apart, {held: token, other: token})),
    )


def coverage(claim):
    """front * e^(-2(T-1)w^2) <= delta at the width w^2 = factor^2 ln(c/delta)/(2(T-1)), for every delta < 1.

    The left side is front c^-p delta^p with p = factor^2.
    """
    front, c, factor = claim
    positions, level = sp.symbols("n delta", positive=True)
    width = factor * sp.sqrt(sp.log(c / level) / (2 * positions))
    return all_of(
        exponent=sp.simplify(2 * positions * width**2 - factor**2 * sp.log(c / level)) == 0,
        power=bool(factor >= 1),
        front=bool(front <= c ** (factor**2)),
    )


def of_a_step(factor):
    """q_l - P(l) is the difference of two neighbouring values of the cumulative sums' difference."""
    first, second, sup = sp.symbols("G1 G2 sup", real=True)
    within = -sup <= first, first <= sup, -sup <= second, second <= sup
    return all_of(
        at_most_twice_the_sup=decide(sp.And(first - second <= 2 * sup, second - first <= 2 * sup), *within),
        sup=coverage((2, 2, factor / 2)),
    )


# %% hide
L = sp.Symbol("L", positive=True)
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(134), (135): $q_l$ is the share of positions that hold $l$",
        one_position,
        weight,
        lambda x: weight(x + 1),
        "$h$ of the next token",
        "every $M$, $T$, $h$ and sequence",
        "none",
    ),
    (
        "(136) for one token",
        coverage,
        (2, 2, sp.S.One),
        (2, 1, sp.S.One),
        "$\\ln(1/\\delta)$ in place of $\\ln(2/\\delta)$",
        "every $T \\ge 2$, $P(l)$ and $\\delta \\in (0,1)$",
        "Hoeffding's bound, proved in Lemma 10",
    ),
    (
        "(136) with $\\ln(2L/\\delta)$ for all $L$ tokens at once",
        coverage,
        (2 * L, 2 * L, sp.S.One),
        (2 * L, L, sp.S.One),
        "$\\ln(L/\\delta)$",
        "every $L$, $T \\ge 2$, $P$ and $\\delta \\in (0,1)$",
        "Hoeffding's bound, proved in Lemma 10; the union bound",
    ),
    (
        "(136) with twice the half-width for all tokens at once",
        of_a_step,
        sp.Integer(2),
        sp.Rational(169, 100),
        "1.69 times the half-width",
        "every number of tokens, $T \\ge 2$, $P$ and $\\delta \\in (0,1)$",
        "Dvoretzky, Kiefer and Wolfowitz's inequality with Massart's constant",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
