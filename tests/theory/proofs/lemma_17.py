import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import cleared, decide

proved = Chapter("lemma_17").witness("proved")
# %% idea
x_17, edge = formulas.x, formulas.lambda_1
inside_17 = edge < 1, -edge <= x_17, x_17 <= edge
shift = x_17 - formulas.lambda_prime  # an eigenvalue of E - E'


def printed(bound):
    """Every eigenvalue of E - E' lies between 0 and the bound, so every entry does."""
    return decide(sp.And(cleared(shift) >= 0, cleared(bound - shift) >= 0), *inside_17)


def diagonal(bound):
    """The chord: shift is at most bound (1 - lambda), whose mean with the weights u_ik^2 is the bound, as E_ii = 0."""
    return decide(cleared(bound * (1 - x_17) - shift) >= 0, *inside_17)


def entries(bound):
    """E - E' is positive semidefinite, so no entry is larger than the largest of its diagonal."""
    a, b, c = sp.symbols("a b c", real=True)
    return all_of(
        semidefinite=decide(cleared(shift) >= 0, *inside_17),
        no_entry_is_larger=decide(sp.And(b <= edge, -b <= edge), a >= 0, c >= 0, a * c >= b**2, a <= edge, c <= edge),
        diagonal=diagonal(bound),
    )


def off_the_diagonal(part):
    """Twice an entry is its form at (e_n + e_n')/sqrt 2 less the one at (e_n - e_n')/sqrt 2, where E is e and -e.

    Upwards the first is a mean of shift, below its chord, and the second at least shift(-e). Downwards E^2 >= 0 entry
    by entry, so that only E^3/(I + E) counts: half the spread of its eigenvalues.
    """
    e, bound, cube = sp.Symbol("e", nonnegative=True), edge**2 / (1 - edge**2), x_17**3 / (1 + x_17)
    above, below = edge**3 / (1 + edge), edge**3 / (1 - edge)
    return all_of(
        chord=diagonal(bound),
        shift_is_convex=sp.simplify(sp.diff(shift, x_17, 2) - 2 / (1 + x_17) ** 3) == 0,
        upwards=decide(cleared(2 * part * bound - bound * (1 - e) + shift.subs(x_17, -e)) >= 0, edge < 1, e < 1),
        what_is_left_downwards=sp.simplify(cube + shift - x_17**2) == 0,
        eigenvalues=decide(sp.And(cleared(above - cube) >= 0, cleared(cube + below) >= 0), *inside_17),
        half_the_spread=sp.simplify((above + below) / 2 - edge * bound) == 0,
    )


proved.prove(
    "$|E'_{n'n} - E_{nn'}| \\le \\lambda_1^2/(1-|\\lambda_1|)$",
    printed,
    edge**2 / (1 - edge),
    control=edge**2,
    control_is="$\\lambda_1^2$",
    region="every $K$, every symmetric $E$ with $|\\lambda_1| < 1$",
    assumptions="Lemma 14; entries lie within the eigenvalues (Lemma 13)",
)
proved.prove(
    "and $\\le \\lambda_1^2/(1-\\lambda_1^2)$",
    entries,
    edge**2 / (1 - edge**2),
    control=edge**2,
    control_is="$\\lambda_1^2$",
    region="every $K$, every such $E$ with a zero diagonal",
    assumptions="Lemma 14; rows of $U$ of length 1",
)
proved.prove(
    "Off the diagonal $-|\\lambda_1|\\,C \\le E_{nn'} - E'_{n'n} \\le \\frac12 C$, $C = \\lambda_1^2/(1-\\lambda_1^2)$",
    off_the_diagonal,
    sp.Rational(1, 2),
    control=sp.Rational(49, 100),
    control_is="0.49 for $\\frac12$",
    region="every $K$, every such $E \\ge 0$",
    assumptions="Lemma 14; a mean of a convex function is between its value at the mean and its chord",
)
