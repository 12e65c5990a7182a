"""Write numbers in significant digits that are the same on every machine, with a power of ten."""

import math
from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction

_LARGEST_EXACT = 10**6
_INFINITE = {math.inf: "∞", -math.inf: "−∞"}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Snapping to nine digits first keeps 0.8125 and 0.8125000000000001 on the same side of the tie at
# the third digit.
_NINE_DIGITS = Context(prec=9, rounding=ROUND_HALF_EVEN)


def digits(value: float | Fraction, significant: int = 3) -> str:
    """Write a number; integers and fractions below a million exactly.

    Examples
    --------
    >>> digits(0.00001084), digits(-2 / 3, 2), digits(1234567.0), digits(True)
    ('1.08 × 10⁻⁵', '−0.67', '1.23 × 10⁶', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) < _LARGEST_EXACT:
        return with_minus(str(value))
    if isinstance(value, Fraction):
        if max(abs(value.numerator), value.denominator) < _LARGEST_EXACT:
            return with_minus(str(value))
        value = float(value)
    if value in _INFINITE:
        return _INFINITE[value]
    rounded = Context(prec=significant, rounding=ROUND_HALF_EVEN).plus(
        _NINE_DIGITS.create_decimal(value)
    )
    exponent = rounded.adjusted() if not -4 <= rounded.adjusted() < 5 else 0
    text = f"{rounded.scaleb(-exponent):f}"
    return with_power(text, exponent)


def with_power(mantissa: str, exponent: int) -> str:
    """Write a decimal mantissa without trailing zeros, times a power of ten.

    Examples
    --------
    >>> with_power("1.2500", 0), with_power("7.50", -5), with_power("-1.0", 200)
    ('1.25', '7.5 × 10⁻⁵', '−10²⁰⁰')
    """
    mantissa = with_minus(mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa)
    if not exponent:
        return mantissa
    power = f"10{str(exponent).translate(_RAISED)}"
    return {"1": power, "−1": f"−{power}"}.get(mantissa, f"{mantissa} × {power}")


def in_prose(text: str) -> str:
    """Write a number as prose has it: with a minus, and a space before %.

    Examples
    --------
    >>> in_prose("-12% to 3%")
    '−12 % to 3 %'
    """
    return with_minus(text).replace("%", " %").replace("  %", " %")


def with_minus(text: str) -> str:
    """Write the hyphen of a negative number as a minus."""
    return text.replace("-", "−")
