"""A measured value is compared with its bound, and written in the same way on every machine.

A number computed on another processor, or with another BLAS, differs in its last digits. So an effect is written in
three significant digits, and a number at rounding level is written only as the relation that it meets. SymPy is never
imported here: a value can be one of its only where a chapter imported it.
"""

import math
import operator
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.digits import digits

ROUNDING_LEVEL = 1e-6

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_SIGN = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "<": "<", ">": ">"}
RELATION_OF = {sign: relation for relation, sign in _SIGN.items()}
"""A mapping from the sign that people write to the relation."""
_NEGATED = {"==": "!=", "!=": "==", "<=": ">", ">=": "<", "<": ">=", ">": "<="}


class NoEvidence(ValueError):
    """A value that can neither support nor refute: NaN, or a SymPy relation that stays undecided."""


def scalar(value: Any, name: str) -> Any:
    """Bring a number, an array of one element or a SymPy value to what can be compared.

    Parameters
    ----------
    value : number, array of one element, SymPy expression or SymPy matrix
    name : str
        The value's name in messages.

    Returns
    -------
    bool, int, float, fractions.Fraction or SymPy value

    Raises
    ------
    BadInput
        If the value is no single real number.
    NoEvidence
        If it is NaN.
    """
    if _is_symbolic(value):
        if value.has(_sympy().nan):
            raise NoEvidence(f"{name} is NaN, which is never evidence")
        return value
    if hasattr(value, "item"):
        try:
            value = value.item()
        except (ValueError, RuntimeError):
            raise BadInput(
                f"{name} of shape {tuple(value.shape)}", "a check compares one number", "reduce it, e.g. to its maximum"
            ) from None
    if not isinstance(value, bool | int | float | Fraction):
        raise BadInput(
            f"{name} of type {type(value).__name__}",
            "a check compares one real number or a SymPy value",
            "pass a float, an int or a SymPy expression",
        )
    if math.isnan(value):
        raise NoEvidence(f"{name} is NaN, which is never evidence")
    return value


def holds(value: Any, relation: str, bound: Any) -> bool:
    """Tell whether ``value relation bound``, both as `scalar` gives them.

    SymPy values are equal if they are structurally equal, and different only if SymPy can prove it.

    Raises
    ------
    NoEvidence
        If SymPy can't decide.
    """
    if _is_symbolic(value) or _is_symbolic(bound):
        return _holds_symbolically(value, relation, bound)
    return bool(RELATIONS[relation](value, bound))


def _holds_symbolically(value: Any, relation: str, bound: Any) -> bool:
    sympy = _sympy()
    value, bound = sympy.sympify(value), sympy.sympify(bound)
    if relation in ("==", "!="):
        same = _same(value, bound)
        if same is not None:
            # mutant: Here the relation is == or !=, and != comes before == in the alphabet.
            return same == (relation == "==")
    else:
        try:
            answer = RELATIONS[relation](value, bound)
        except TypeError:
            answer = None
        if answer in (sympy.true, sympy.false):
            return bool(answer)
    asked = f"{sympy.sstr(value)} {relation} {sympy.sstr(bound)}"
    raise NoEvidence(f"SymPy can't decide {asked}; simplify it, or add the assumptions of its symbols")


def _same(value: Any, bound: Any) -> bool | None:
    """Tell whether two values are equal in structure (True), provably different (False), or neither (None)."""
    if value == bound:
        return True
    # An unsimplified zero is not structurally zero; that alone must not count as a difference.
    return False if hasattr(value, "equals") and value.equals(bound) is False else None


def written(value: Any, relation: str, bound: Any, met: bool | None = None) -> str:
    """Write a compared value: an effect by its digits, anything else by the relation that it meets.

    Parameters
    ----------
    value, bound : as `scalar` gives them
    relation : str
        The relation that was asked; where it fails, its negation is written.
    met : bool, optional
        Whether it holds, where that is known: SymPy may need seconds to find it out.
    """
    number = _number(value) if _is_symbolic(value) else value
    if number is None:
        return _relation_met(value, relation, bound, met)
    text = digits(number)
    # Digits that read like the bound's would hide on which side of it the value lies.
    unclear = abs(number) < ROUNDING_LEVEL or text == written_bound(bound)
    return _relation_met(value, relation, bound, met) if isinstance(number, float) and unclear else text


def is_infinite(value: Any) -> bool:
    """Tell whether a value, as `scalar` gives it, is plus or minus infinity."""
    number = _number(value) if _is_symbolic(value) else value
    return number is not None and math.isinf(number)


def written_bound(bound: Any) -> str:
    """Write a bound: three significant digits however small it is, because a bound is chosen and not measured."""
    if not _is_symbolic(bound):
        return digits(bound)
    number = _number(bound)
    if number is not None:
        return digits(number)
    if hasattr(bound, "shape"):
        size = "×".join(str(n) for n in bound.shape)
        if all(entry == 0 for entry in bound):
            return f"0 ({size})"
        return f"the {size} matrix"
    return str(_sympy().sstr(bound))


def requirement(relation: str, bound: Any) -> str:
    """Write what a value must meet, such as ``≤ 10⁻⁹``."""
    return f"{_SIGN[relation]} {written_bound(bound)}"


def _relation_met(value: Any, relation: str, bound: Any, met: bool | None) -> str:
    met = holds(value, relation, bound) if met is None else met
    return requirement(relation if met else _NEGATED[relation], bound)


def _number(value: Any) -> float | Fraction | None:
    """Return the real number that a SymPy value is, exact where it is rational."""
    if getattr(value, "is_Rational", False):
        fraction = Fraction(int(value.p), int(value.q))
        # mutant: A denominator is 1 at least.
        return int(fraction) if fraction.denominator == 1 else fraction
    if getattr(value, "is_number", False) and value.is_extended_real:
        return float(value)
    return None


def _sympy() -> Any:
    return sys.modules["sympy"]


def _is_symbolic(value: Any) -> bool:
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic | sympy.MatrixBase)
