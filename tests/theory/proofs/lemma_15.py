import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import cleared, decide

proved = Chapter("lemma_15").witness("proved")
# %% idea
x_15, edge = formulas.x, formulas.lambda_1
inside_15 = edge < 1, -edge <= x_15, x_15 <= edge


def within(bound, center=0):
    """|lambda' - center| <= bound for every eigenvalue, as a decision about polynomials."""
    rooms = [bound + sign * (formulas.lambda_prime - center) for sign in (1, -1)]
    return decide(sp.And(*(cleared(room) >= 0 for room in rooms)), *inside_15)


def off_diagonal(bound):
    """The sum of u_ik u_jk is 0 for i != j, so any center may be taken off lambda': that of its range is the best."""
    ends = [formulas.lambda_prime.subs(x_15, end) for end in (edge, -edge)]
    return within(bound, sp.together((ends[0] + ends[1]) / 2))


def larger_end(of_the_ends):
    """lambda' rises with lambda, so it lies between its values at both ends, which are eigenvalues themselves."""
    first, last, size = sp.symbols("lambda_min lambda_max size", real=True)
    ends = [formulas.lambda_prime.subs(x_15, end) for end in (first, last)]
    known = first > -1, first <= x_15, x_15 <= last, first <= 0, last >= 0
    at_least_both = [cleared(size - end) >= 0 for end in of_the_ends(*ends)]
    return all_of(
        below=decide(cleared(size + formulas.lambda_prime) >= 0, *known, *at_least_both),
        above=decide(cleared(size - formulas.lambda_prime) >= 0, *known, *at_least_both),
    )


proved.prove(
    "$\\max_i|\\lambda'_i| \\le |\\lambda_1|/(1-|\\lambda_1|)$",
    within,
    edge / (1 - edge),
    control=edge / (1 - edge / 2),
    control_is="$|\\lambda_1|/(1-|\\lambda_1|/2)$",
    region="every $K$, every symmetric $E$ with $|\\lambda_1| < 1$",
    assumptions="Lemma 14",
)
proved.prove(
    "Entries of $E'$ off the diagonal are at most $|\\lambda_1|/(1-\\lambda_1^2)$",
    off_diagonal,
    edge / (1 - edge**2),
    control=edge,
    control_is="$|\\lambda_1|$",
    region="every $K$, every symmetric $E$ with $|\\lambda_1| < 1$",
    assumptions="Lemma 14; rows of $U$ of length 1, orthogonal",
)
proved.prove(
    "The exact form: no $|\\lambda'_i|$ exceeds both $-\\lambda'(\\lambda_{\\min})$ and $\\lambda'(\\lambda_{\\max})$",
    larger_end,
    lambda low, high: (-low, high),
    control=lambda low, high: (-low,),
    control_is="the lower end alone",
    region="every $K$, every symmetric $E$ with a zero diagonal and eigenvalues above $-1$",
    assumptions="Lemma 14; $\\lambda_{\\min} \\le 0 \\le \\lambda_{\\max}$, since the eigenvalues add up to 0",
)
