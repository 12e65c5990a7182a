"""A measured value is compared with its bound, and written in the same way on every machine.

A number computed on another processor, or with another BLAS, differs in its last digits. So an
effect is written in three significant digits, and a number at rounding level is written only as the
relation that it meets. SymPy is never imported here, because only a chapter that imported SymPy can
pass a SymPy value.
"""

import math
import operator
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.digits import digits

ROUNDING_LEVEL = 1e-6

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "≠": operator.ne,
    "≤": operator.le,
    "≥": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_NEGATED = {"=": "≠", "≠": "=", "≤": ">", "≥": "<", "<": "≥", ">": "≤"}


class NoEvidence(ValueError):
    """A value that can neither support nor refute: NaN, or a SymPy relation that stays
    undecided.
    """


def scalar(value: Any, name: str) -> Any:
    """Convert a number, an array of one element or a SymPy value to what can be compared.

    Messages use the name. Raises `BadInput` unless the value is one real number, and `NoEvidence`
    if it is NaN.
    """
    if _is_symbolic(value):
        if value.has(_sympy().nan):
            raise NoEvidence(f"{name} is NaN, which is never evidence")
        return value
    if hasattr(value, "item"):
        try:
            value = value.item()
        except (ValueError, RuntimeError):
            shape = tuple(value.shape)
            remedy = "reduce it, e.g. to its maximum"
            raise BadInput(
                f"{name} of shape {shape}", "a check compares one number", remedy
            ) from None
    if not isinstance(value, bool | int | float | Fraction):
        rule = "a check compares one real number or a SymPy value"
        raise BadInput(
            f"{name} of type {type(value).__name__}",
            rule,
            "pass a float, an int or a SymPy expression",
        )
    if math.isnan(value):
        raise NoEvidence(f"{name} is NaN, which is never evidence")
    return value


def holds(value: Any, relation: str, bound: Any) -> bool:
    """Tell whether ``value relation bound``, both as `scalar` gives them.

    SymPy values are equal if they are structurally equal, and different only if SymPy can prove it;
    what it can't decide raises `NoEvidence`.
    """
    if not (_is_symbolic(value) or _is_symbolic(bound)):
        return bool(RELATIONS[relation](value, bound))
    sympy = _sympy()
    value = sympy.sympify(value)
    bound = sympy.sympify(bound)
    if relation in ("=", "≠"):
        same = _same(value, bound)
        if same is not None:
            return same == (relation == "=")
    else:
        try:
            answer = RELATIONS[relation](value, bound)
        except TypeError:
            answer = None
        if answer in (sympy.true, sympy.false):
            return bool(answer)
    asked = f"{sympy.sstr(value)} {relation} {sympy.sstr(bound)}"
    raise NoEvidence(
        f"SymPy can't decide {asked}; simplify it, or add the assumptions of its symbols"
    )


def _same(value: Any, bound: Any) -> bool | None:
    """Tell whether two values are equal in structure (True), provably different (False), or neither
    (None).
    """
    if value == bound:
        return True
    # An unsimplified zero is not structurally zero; that alone must not count as a difference.
    if hasattr(value, "equals") and value.equals(bound) is False:
        return False
    # SymPy tries the point 0, and may give up where a formula divides by zero there.
    return False if _differ_at_a_point(value, bound) else None


def _differ_at_a_point(value: Any, bound: Any) -> bool:
    """Tell whether two formulas surely have different values at one point, which is always the same
    and meets the assumptions of their symbols.
    """
    sympy = _sympy()
    if not (isinstance(value, sympy.Expr) and isinstance(bound, sympy.Expr)):
        return False
    difference = value - bound
    point = {}
    for index, symbol in enumerate(sorted(difference.free_symbols, key=str)):
        prime = sympy.prime(index + 4)
        fitting = [
            number
            for number in (prime / sympy.Integer(5), prime, -prime / sympy.Integer(5), -prime)
            if _meets_assumptions(sympy.sympify(number), symbol)
        ]
        if not fitting:
            return False
        point[symbol] = fitting[0]
    there = difference.subs(point)
    # A number is comparable only if some of its digits are sure; an unsimplified zero has none.
    return bool(there.is_comparable and there != 0)


def _meets_assumptions(number: Any, symbol: Any) -> bool:
    """Tell whether a number is all that is assumed of a symbol, such as positive or an integer."""
    assumed = symbol.assumptions0.items()
    return all(getattr(number, f"is_{name}", None) is truth for name, truth in assumed)


def written(value: Any, relation: str, bound: Any, met: bool | None = None) -> str:
    """Write a value that was compared with a bound, so that it reads the same on each machine.

    - A number that is more than rounding is written by its digits.
    - A float at rounding level has digits that differ between machines. It is written as smaller
      in size than that level if the bound is larger in size, and by a relation otherwise.
    - A float whose digits would read like the bound's, and anything that isn't a number, is written
      by a relation: the one that was asked, or its negation where it fails.

    Pass ``met``, whether the relation holds, where it is known: SymPy may need seconds to find out.
    """
    number = _number(value)
    limit = _number(bound)
    is_tiny = isinstance(number, float) and abs(number) < ROUNDING_LEVEL
    if is_tiny and limit is not None and abs(float(limit)) > ROUNDING_LEVEL:
        return f"< {digits(ROUNDING_LEVEL)}"
    # Digits that read like the bound's would hide on which side of it the value lies.
    if (
        number is None
        or is_tiny
        or (isinstance(number, float) and digits(number) == written_bound(bound))
    ):
        met = holds(value, relation, bound) if met is None else met
        return requirement(relation if met else _NEGATED[relation], bound)
    return digits(number)


def is_infinite(value: Any) -> bool:
    """Tell whether a value, as `scalar` gives it, is infinite, or has an infinity in it."""
    if _is_symbolic(value):
        sympy = _sympy()
        return bool(value.has(sympy.oo, -sympy.oo, sympy.zoo))
    return isinstance(value, float) and math.isinf(value)


def written_bound(bound: Any) -> str:
    """Write a bound: three significant digits however small it is, because a bound is chosen and
    not measured.
    """
    number = _number(bound)
    if number is not None:
        return digits(number)
    if hasattr(bound, "shape"):
        size = "×".join(str(n) for n in bound.shape)
        return f"0 ({size})" if all(entry == 0 for entry in bound) else f"the {size} matrix"
    return str(_sympy().sstr(bound))


def requirement(relation: str, bound: Any) -> str:
    """Write what a value must meet, such as ``≤ 10⁻⁹``."""
    return f"{relation} {written_bound(bound)}"


def _number(value: Any) -> float | Fraction | None:
    """Return the real number that a value is, exact where SymPy knows it to be rational; None where
    it is no number.
    """
    if not _is_symbolic(value):
        return value
    if getattr(value, "is_Rational", False):
        fraction = Fraction(int(value.p), int(value.q))
        return int(fraction) if fraction.denominator == 1 else fraction
    if getattr(value, "is_number", False) and value.is_extended_real:
        return float(value)
    return None


def _sympy() -> Any:
    """Return SymPy, which a chapter imported before it passed a value of SymPy's."""
    return sys.modules["sympy"]


def _is_symbolic(value: Any) -> bool:
    """Tell whether a value is SymPy's, without importing SymPy."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic | sympy.MatrixBase)
