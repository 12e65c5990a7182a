import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import as_pair, decide
from scansnap_core.theory.certify.overlaps import ONES

proved = Chapter("assumptions").witness("proved")
# %% idea
rho_any, root_M = sp.symbols("rho r", positive=True)  # r = sqrt M


def room_for_equal_overlaps(bound):
    """E = rho (J - I) has (E + rho I)(E - (K-1) rho I) = 0.

    At rho = 6/r the conditions hold, and wherever they hold r is above the bound.
    """
    unit, size = sp.Identity(formulas.K), formulas.K
    E = rho_any * (ONES - unit)
    met = 6 * (size - 1) * size < root_M, 10 * size**2 <= root_M**2  # |lambda_1| < 1/K at rho = 6/r, and M >> K^2
    return all_of(
        eigenvalues=as_pair((E + rho_any * unit) * (E - (size - 1) * rho_any * unit)) == (0, 0),
        enough=decide(sp.And(*met), size >= 2, bound(size) < root_M),
        needed=decide(bound(size) < root_M, size >= 2, rho_any * root_M >= 6, size * (size - 1) * rho_any < 1),
    )


proved.prove(
    "Equal overlaps can satisfy Assumption 2's conditions on $E$ and $M$ exactly where $M > 36K^2(K-1)^2$",
    room_for_equal_overlaps,
    lambda size: 6 * size * (size - 1),
    control=lambda size: 6 * size,
    control_is="$36K^2$, the bound for any overlaps",
    region="every $K \\ge 2$; $M \\gg K^2$ read as $M \\ge 10K^2$",
)
