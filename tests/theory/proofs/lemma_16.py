import sympy as sp

from scansnap_core.ledger import Chapter
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
