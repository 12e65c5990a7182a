import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import decide

proved = Chapter("lemma_13").witness("proved")
# %% idea
value, l_1, u_i, u_j, E_ij = sp.symbols("lambda_k lambda_1 u_i u_j E_ij", real=True)


def largest_entry(half):
    """A term of E_ij = sum lambda_k u_ik u_jk is at most half (u_ik^2 + u_jk^2) |lambda_1|, and these add up to 1."""
    inside = l_1 >= 0, value <= l_1, -l_1 <= value
    most = half * (u_i**2 + u_j**2) * l_1
    return decide(sp.And(value * u_i * u_j <= most, -value * u_i * u_j <= most), *inside)


def both_ends(diagonal):
    """v = (e_i + e_j)/sqrt 2 and (e_i - e_j)/sqrt 2 have v^T E v = E_ij and -E_ij, within the eigenvalues."""
    E = sp.Matrix([[diagonal, E_ij], [E_ij, diagonal]])
    forms = [(sp.Matrix([[1, sign]]) * E * sp.Matrix([1, sign]))[0] / 2 for sign in (1, -1)]
    return all_of(plus=sp.expand(forms[0] - E_ij) == 0, minus=sp.expand(forms[1] + E_ij) == 0)


def row_sums(times):
    """At the largest |v_i| of an eigenvector, lambda v_i = sum E_ij v_j with E_ii = 0 and K - 1 terms at most."""
    E_max, top, entry, v_j, sum_j, eigenvalue = sp.symbols("E_max v_i E_ij v_j S lambda", real=True)
    within = E_max >= 0, top > 0
    return all_of(
        a_term=decide(
            sp.And(entry * v_j <= E_max * top, -E_max * top <= entry * v_j),
            *within,
            entry <= E_max,
            -E_max <= entry,
            v_j <= top,
            -top <= v_j,
        ),
        their_sum=decide(
            sp.And(eigenvalue <= times(formulas.K) * E_max, -times(formulas.K) * E_max <= eigenvalue),
            *within,
            sp.Eq(eigenvalue * top, sum_j),
            sum_j <= (formulas.K - 1) * E_max * top,
            -(formulas.K - 1) * E_max * top <= sum_j,
            formulas.K >= 2,
        ),
    )


proved.prove(
    "$\\max|E_{ij}| \\le |\\lambda_1|$",
    largest_entry,
    sp.Rational(1, 2),
    control=sp.Rational(49, 100),
    control_is="$0.98\\,|\\lambda_1|$",
    region="every $K$, every symmetric $E$",
    assumptions="$E = U^\\top D U$, rows of $U$ of length 1",
)
proved.prove(
    "$\\max_{i \\ne j}|E_{ij}| \\le \\min(-\\lambda_{\\min}, \\lambda_{\\max})$",
    both_ends,
    0,
    control=l_1,
    control_is="a diagonal that isn't 0",
    region="every $K$, every symmetric $E$ with a zero diagonal",
    assumptions="$\\lambda_{\\min} \\le v^\\top E v \\le \\lambda_{\\max}$ for $|v| = 1$",
)
proved.prove(
    "$|\\lambda_1| \\le (K-1)\\max|E_{ij}|$",
    row_sums,
    lambda size: size - 1,
    control=lambda size: size / 2,
    control_is="$K/2$, which is right for two classes",
    region="every $K \\ge 2$, every symmetric $E$ with a zero diagonal",
    assumptions="an eigenvalue has an eigenvector",
)
