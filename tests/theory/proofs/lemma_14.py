import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import vanishes
from scansnap_core.theory.certify.overlaps import E_prime_word, E_word

proved = Chapter("lemma_14").witness("proved")
# %% idea
last = sp.Symbol("N", positive=True, integer=True)


def inverse_by(lambda_prime):
    """Eigenvalue by eigenvalue, and the series: its partial sum times 1 + lambda lacks (-lambda)^(N+1) of 1."""
    x = formulas.x
    partial = (1 - (-x) ** (last + 1)) / (1 + x)  # sum of (-lambda)^n up to N
    return all_of(
        eigenvalues=sp.simplify((1 + x) * (1 - lambda_prime) - 1) == 0,
        one_term_more=sp.simplify(partial.subs(last, last + 1) - partial - (-x) ** (last + 1)) == 0,
        first_term=sp.simplify(partial.subs(last, 0) - 1) == 0,
        left_out=sp.simplify((1 + x) * partial - 1 + (-x) ** (last + 1)) == 0,
        both_sides=vanishes((1 - E_prime_word) * (1 + E_word) - (1 + E_word) * (1 - E_prime_word)),
    )


proved.prove(
    "$(I+E)^{-1} = I - E'$, $\\lambda' = \\lambda/(1+\\lambda)$; $N$ terms lack $(-\\lambda)^{N+1}/(1+\\lambda)$",
    inverse_by,
    formulas.lambda_prime,
    control=-formulas.lambda_prime,
    control_is="App. D.1's sign of $E'$",
    region="every $K$ and $N$, every symmetric $E$ without the eigenvalue $-1$",
    assumptions="$E = U^\\top D U$",
)
