"""Certificates that a claim holds over all of its conditions: balls, polynomials, overlaps of any
number of classes.

Each function returns a :class:`~scansnap_core.ledger.Certificate`: the claim is proved, false (a
counterexample is in hand) or undecided, and then it says where the proof stopped. The rigour is
that of the libraries: Arb's balls hold the true value whatever the precision, z3 decides polynomial
inequalities over the reals, SymPy's rational arithmetic is exact.
"""

from scansnap_core.base.extras import needs

with needs("proofs"):
    from scansnap_core.theory.certify.balls import at, enclose
    from scansnap_core.theory.certify.boxes import positive, positive_from_zero
    from scansnap_core.theory.certify.decision import decide
    from scansnap_core.theory.certify.overlaps import as_pair, vanishes
    from scansnap_core.theory.certify.polynomials import nonnegative_between, positive_on_ray

__all__ = [
    "as_pair",
    "at",
    "decide",
    "enclose",
    "nonnegative_between",
    "positive",
    "positive_from_zero",
    "positive_on_ray",
    "vanishes",
]
