import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import cleared, decide
from scansnap_core.theory.formulas import Ep_own, Ep_rest, q_0, q_0_, q_1, q_1_

proved = Chapter("corollary_2").witness("proved")
# %% idea
a_n, a_k, part, w, S = sp.symbols("a_n a_k p w S", positive=True)  # f_nl = p_l a_n; S = sum over k != n of w_k E'_nk
others = sp.Symbol("others", nonnegative=True)  # sum over k != n of a_k^2/(1 - a_k^2)
total = a_n**2 / (1 - a_n**2) + others
minus_diagonal = 1 - (1 / (1 - a_n**2) - (a_n / (1 - a_n**2)) ** 2 / (1 + total))
off_diagonal = a_n / (1 - a_n**2) * a_k / (1 - a_k**2) / (1 + total)
pull = formulas.pull.subs({formulas.sigma: 0, formulas.theta: w - 1, Ep_own: minus_diagonal, Ep_rest: S})
# %% hide


def behaves_as_one(exponent):
    """For one pair of classes, hence for all: tokens in fixed proportions behave as one, whatever beta is."""
    force = formulas.z_force.subs({formulas.f_l: part * a_n, formulas.f_other: part * a_k}).subs(
        formulas.overlap, a_n * a_k
    )
    return all_of(a_pair=sp.expand(force + part**exponent * (1 - a_n**2) * a_n * a_k) == 0)


def positive_xi(shared):
    """I + E = diag(1 - a^2) + a a^T, by Sherman and Morrison; N = a a^T diag(1 - a^2)^-1 has N^2 = s N."""
    N, s = sp.symbols("N s")
    product = sp.expand((1 + N) * (1 - N / (1 + s))).subs(N**2, s * N)
    inside = a_n < 1, a_k < 1, others >= 0
    return all_of(
        inverse=sp.simplify(product - 1) == 0,
        minus_the_diagonal=decide(cleared(-minus_diagonal) > 0, *inside, shared),
        off_the_diagonal=decide(cleared(off_diagonal) > 0, *inside),
        both_parts=sp.simplify(pull - (q_1_ * w * -minus_diagonal - q_0_ * S)) == 0,
        signs_of_q=decide(sp.And(cleared(q_1) > 0, cleared(q_0) < 0), formulas.M >= 2),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "Common tokens in fixed proportions behave as one: $\\dot z_l \\propto -p_l^2\\sum_n(1-a_n^2)\\,\\xi_n$",
        behaves_as_one,
        2,
        1,
        "$p_l$ in place of its square",
        "every $K$, any number of common tokens, any distinct ones, every $\\beta$",
        "$f_{nl} = p_l a_n$, $\\sum p_l^2 = 1$, one query",
    ),
    (
        "and every $\\xi_n > 0$ then, so that all of them fall",
        positive_xi,
        others > 0,
        others >= 0,
        "a class that shares nothing",
        "every $K \\ge 2$, $M \\ge 2$, $a_n \\in (0, 1)$, $\\theta_n > -1$, whatever the eigenvalues of $E$",
        "Sherman-Morrison, Theorem 1's repaired (88)",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
