import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import cleared, decide

proved = Chapter("equations_of_correlations").witness("proved")
# %% idea
lam, top = formulas.x, formulas.lambda_1


def chain_of_80(bound):
    """Term by term: lambda^2/(1 + lambda) is at most the bound, and |u_nk u_n'k| half the sum of squares at most."""
    a, b = sp.symbols("u_nk u_mk", real=True)
    square = lam - formulas.lambda_prime
    return all_of(
        third_to_fourth=decide(
            sp.And(cleared(square) >= 0, cleared(bound - square) >= 0), top < 1, -top <= lam, lam <= top
        ),
        fourth_to_last=decide(sp.And(a * b <= (a**2 + b**2) / 2, -a * b <= (a**2 + b**2) / 2)),
    )


proved.prove(
    "(80): its third side is at most the fourth, and that at most the last",
    chain_of_80,
    top**2 / (1 - top),
    control=top**2 / (1 + top),
    control_is="$1 + |\\lambda_1|$ in the denominators",
    region="every $K$, every symmetric $E$ with $|\\lambda_1| < 1$",
    assumptions="Lemma 14; rows of $U$ of length 1",
)
