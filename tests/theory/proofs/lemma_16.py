import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import cleared, decide

proved = Chapter("lemma_16").witness("proved")
# %% idea
x_16, edge = formulas.x, formulas.lambda_1
least = sp.Symbol("mu", nonnegative=True)  # the least |lambda_k|
minus_own = x_16**2 / (1 + x_16)  # what lambda_k adds to -E'_ii, times u_ik^2
line = 1 - x_16  # its mean over k, with the weights u_ik^2, is 1 - E_ii = 1


def not_positive(strict):
    """(79): lambda/(1+lambda) is lambda less a square over 1 + lambda; the mean of lambda is E_ii = 0."""
    room = formulas.x - formulas.lambda_prime
    return decide(cleared(room) > 0 if strict else cleared(room) >= 0, x_16 > -1)


def at_least(bound):
    room = cleared(minus_own - bound * line)
    return decide(room >= 0, x_16 > -1, least < 1, x_16**2 >= least**2)


def at_most(bound):
    room = cleared(bound * line - minus_own)
    return decide(room >= 0, edge < 1, -edge <= x_16, x_16 <= edge)


def of_regression(column):
    """I + E with class i first is [[1, r^T], [r, A]]; f_i is explained by the others with A b = r, and R^2 = b^T r.

    The first column of the inverse is s (1, -b), s = 1/(1 - R^2): I + E times it must be the first unit vector.
    """
    others = formulas.K - 1
    A, r = sp.MatrixSymbol("A", others, others), sp.MatrixSymbol("r", others, 1)
    b, explained, scale = A.inverse() * r, sp.Symbol("R2"), column(sp.Symbol("R2"))
    return all_of(
        first_entry=sp.simplify(scale * (1 - explained) - 1) == 0,  # 1 s + r^T (-s b), r^T b = R^2
        the_others=(r - (A * b).doit()).doit() == sp.ZeroMatrix(others, 1),
        minus_E_prime_ii=sp.simplify(scale - 1 - explained / (1 - explained)) == 0,
    )


proved.prove(
    "$E'_{ii} \\le 0$, and $< 0$ unless every $\\lambda_k$ with $u_{ik} \\ne 0$ is 0",
    not_positive,
    False,
    control=True,
    control_is="$< 0$ for $\\lambda_k = 0$ too",
    region="every $K$, every symmetric $E$ with a zero diagonal and eigenvalues above $-1$",
    assumptions="Lemma 14; rows of $U$ of length 1",
)
proved.prove(
    "$-E'_{ii} \\ge \\min_k\\lambda_k^2/(1-\\min_k\\lambda_k^2)$",
    at_least,
    least**2 / (1 - least**2),
    control=least**2 / (1 - least),
    control_is="(93)'s factor, $1/(1-\\min_k|\\lambda_k|)$",
    region="every $K$, every such $E$",
    assumptions="Lemma 14; rows of $U$ of length 1",
)
proved.prove(
    "$-E'_{ii} \\le \\lambda_1^2/(1-\\lambda_1^2)$",
    at_most,
    edge**2 / (1 - edge**2),
    control=edge**2,
    control_is="$\\lambda_1^2$",
    region="every $K$, every such $E$ with $|\\lambda_1| < 1$",
    assumptions="Lemma 14; rows of $U$ of length 1",
)
proved.prove(
    "$-E'_{ii} = R_i^2/(1-R_i^2)$, $R_i^2$ the part of $f_i$ that the other classes explain",
    of_regression,
    lambda part: 1 / (1 - part),
    control=lambda part: 1 / (1 - part**2),
    control_is="$R_i^4$ for $R_i^2$",
    region="every $K \\ge 2$, every $F$ with independent columns of length 1",
    assumptions="the normal equations of least squares; an inverse is unique",
)
