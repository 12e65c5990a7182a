"""Make a SymPy formula a function of NumPy arrays that stays finite where exp overflows.

Four rewritings keep it finite and exact; each is an identity, so the formula stays the one that was
derived:

* e^x/(a + e^x) = sigmoid(x - ln a), and 1/(a + e^x) = sigmoid(ln a - x)/a;
* W(b e^y) = omega(y + ln b), with Wright's omega: omega + ln omega = y;
* sum_k w_k e^(z_k) = e^top sum_k w_k e^(z_k - top), with top the largest z_k;
* ln(1 + x) = log1p(x).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import Rule, checked_list, shown, takes

_sigmoid, _omega, _log1p, _total = map(sp.Function, ("sigmoid", "omega", "log1p", "total"))
_top = sp.Function("top", real=True)  # so that sqrt(e^(2 top)) is e^top
_NUMPY: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sqrt")},
    "sigmoid": special.expit,
    "omega": special.wrightomega,
    "top": lambda x: np.maximum.reduce(x, axis=-1, keepdims=True),
    "total": lambda x: np.add.reduce(x, axis=-1, keepdims=True),
}


def function_of(
    expression: sp.Expr, arguments: Sequence[sp.Symbol | sp.IndexedBase]
) -> Callable[..., Any]:
    """Make a function of arrays of a formula, one of :mod:`scansnap_core.theory.formulas` or built
    from them.

    Parameters
    ----------
    expression
        The formula. Lambert's W is taken of exponentials only.
    arguments
        Its symbols in the order in which the function takes them. An indexed symbol takes an array
        whose last axis is the index: a free index stays an axis, a summed index is summed over the
        whole of it.

    Returns
    -------
    callable
        It takes one number or array for each argument, and gives float64 of the shape to which they
        broadcast. Signs and units aren't checked: outside a formula's range the result is what the
        formula says there, or NaN.

    Examples
    --------
    >>> from scansnap_core.theory.formulas import M, alpha_target, h_
    >>> function_of(alpha_target, (h_, M))([0, 0.005, 0.05], 1000).round(3)
    array([0.001, 0.129, 1.   ])
    """
    arrays, stable = stable_form(expression, arguments)
    function = sp.lambdify(arrays, stable, modules=[_NUMPY])
    names = [array.name for array in arrays]

    def of_values(*values: Any) -> Any:
        """Evaluate the formula at numbers or arrays, in the order of the arguments."""
        try:
            return function(*map(_array, values))
        except Exception as error:  # looked into here alone: a solver calls this a million times
            _check_values(names, values, error)
            raise

    return of_values


def _check_values(names: Sequence[str], values: Sequence[Any], error: Exception) -> None:
    """Raise :class:`BadInput` where the values are at fault, given the error that they led to:
    their number, one that is no array of numbers, or shapes that don't broadcast.

    Else it returns, and the error is somebody else's.
    """
    if len(values) != len(names):
        rule = f"this function takes {len(names)}: {', '.join(names)}"
        raise BadInput(
            f"{len(values)} values", rule, "pass one number or array for each, in this order"
        ) from None
    shapes = []
    for name, value in zip(names, values, strict=True):
        try:
            shapes.append(_array(value).shape)
        except (TypeError, ValueError, OverflowError):
            raise BadInput(
                f"{name} = {shown(value)}", "a number or an array of numbers", "pass e.g. 1.0"
            ) from None
    if isinstance(error, ValueError):  # NumPy's way to refuse shapes
        shapes_by_name = ", ".join(
            f"{name} {shape}" for name, shape in zip(names, shapes, strict=True)
        )
        remedy = "pass numbers, or shapes that fit"
        raise BadInput(
            f"values of shapes {shapes_by_name}", "they broadcast to one", remedy
        ) from None


@takes(
    expression=Rule(
        lambda value: isinstance(value, sp.Expr), "a formula is SymPy's", "pass e.g. gamma"
    )
)
def stable_form(
    expression: sp.Expr, arguments: Sequence[sp.Symbol | sp.IndexedBase]
) -> tuple[list[sp.Symbol], sp.Expr]:
    """Rewrite a formula as above, for any printer of code, as :func:`function_of` takes it.

    Returns
    -------
    symbols, stable
        The arguments as plain symbols, and the formula in them. Beside exp, log and sqrt it may
        call ``sigmoid``, ``omega`` and ``log1p``, and ``top`` and ``total`` over the last axis.

    Examples
    --------
    >>> from scansnap_core.theory import formulas
    >>> stable_form(formulas.alpha_target, (formulas.h_, formulas.M))[1]
    sigmoid(M*h - log(M - 1))
    """
    given = checked_list("arguments", arguments)
    if wrong := [a for a in given if not isinstance(a, sp.Symbol | sp.IndexedBase)]:
        raise BadInput(
            f"the argument {shown(wrong[0])}", "arguments are symbols", "pass e.g. (h_, M)"
        )
    arrays = [
        sp.Symbol(a.name, **a.assumptions0) if isinstance(a, sp.IndexedBase) else a for a in given
    ]
    named = {array.name: array for array in arrays}
    # An indexed symbol becomes the whole array, and its index the last axis.
    whole = expression.replace(sp.Sum, _stable_sum).replace(
        sp.Indexed, lambda base, _: named.get(base.name, sp.Symbol(base.name))
    )
    if twice := [a for i, a in enumerate(arrays) if a in arrays[:i]]:
        raise BadInput(
            f"the argument {twice[0]} twice", "each symbol is one argument", "name it once"
        )
    if names := ", ".join(sorted(map(str, whole.free_symbols - set(arrays)))):
        raise BadInput(
            f"no argument for {names}", "every symbol of a formula is an argument", f"add {names}"
        )
    merged = sp.powsimp(whole, deep=True, combine="exp")
    return arrays, _stable_quotients(merged.replace(sp.LambertW, _stable_lambert)).replace(
        sp.log, _stable_log
    )


def of_matrices(formula: sp.MatrixExpr, values: Mapping[sp.MatrixSymbol, sp.Matrix]) -> sp.Matrix:
    """Evaluate a formula of matrices, such as E' = I - (I + E)^-1, as one matrix.

    ``values`` has a matrix for each of its matrix symbols; they settle the sizes.

    Examples
    --------
    >>> from scansnap_core.theory.formulas import E, E_prime
    >>> of_matrices(E_prime, {E: sp.Matrix([[0, sp.Rational(1, 2)], [sp.Rational(1, 2), 0]])})
    Matrix([
    [-1/3,  2/3],
    [ 2/3, -1/3]])
    """
    if missing := ", ".join(
        sorted(letter.name for letter in formula.atoms(sp.MatrixSymbol) - set(values))
    ):
        raise BadInput(f"no matrix for {missing}", "every letter gets a matrix", f"add {missing}")
    sizes: dict[sp.Basic, int] = {}
    for letter, matrix in values.items():
        for symbol, size in zip(letter.shape, matrix.shape, strict=True):
            if sizes.setdefault(symbol, size) != size:
                value = f"{letter.name} of shape {matrix.shape}"
                rule = f"{symbol} is {sizes[symbol]} elsewhere"
                raise BadInput(value, rule, "pass matrices that fit")
    sized = formula.subs(sizes)
    explicit = {letter.subs(sizes): sp.ImmutableMatrix(matrix) for letter, matrix in values.items()}
    return sp.Matrix(sized.xreplace(explicit).doit().as_explicit())


def _split(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Write b e^x as (x, b)."""
    exponent = sp.Add(
        *(factor.exp for factor in sp.Mul.make_args(term) if isinstance(factor, sp.exp))
    )
    return exponent, term / sp.exp(exponent)


def _stable_sum(summand: sp.Expr, limits: sp.Tuple) -> sp.Expr:
    """Write sum_k w_k e^(z_k) as e^top sum_k w_k e^(z_k - top), which can't overflow."""
    exponent, weight = _split(summand)
    top = _top(exponent)
    return sp.exp(top) * _total(weight * sp.exp(exponent - top))


def _stable_lambert(argument: sp.Expr, branch: sp.Expr = sp.S.Zero) -> sp.Expr:
    """Write W(b e^y) as omega(y + ln b)."""
    exponent, scale = _split(argument)
    if exponent == 0 or branch != 0:
        rule = "W is evaluated on its main branch, of an exponential with a positive factor"
        raise BadInput(f"LambertW({argument}, {branch})", rule, "use scipy.special.lambertw")
    return _omega(exponent + sp.log(scale))


def _stable_log(argument: sp.Expr) -> sp.Expr:
    """Write ln(1 + x) as log1p(x), which keeps the digits of a small x."""
    return (
        _log1p(argument - 1) if argument.is_Add and sp.S.One in argument.args else sp.log(argument)
    )


def _stable_quotients(expression: sp.Expr) -> sp.Expr:
    """Write every e^(jx)/(a + b e^x)^k with 0 <= j <= k through sigmoids, outermost product
    first.

    With j = k it is (sigmoid(x - ln(a/b))/b)^k, and with j = 0 (sigmoid(ln(a/b) - x)/a)^k; none of
    these overflows.
    """
    factors = sp.Mul.make_args(expression)
    for factor in factors:
        base, power = factor.as_base_exp()
        exponentials = [term for term in sp.Add.make_args(base) if _split(term)[0] != 0]
        if not (base.is_Add and power.is_Integer and power < 0 and len(exponentials) == 1):
            continue
        # The factor is 1/(a + b e^x)^k, and e^(jx) is among the other factors.
        (x, b) = _split(exponentials[0])
        a = base - exponentials[0]
        exponent, others = _split(expression / factor)
        j = sp.cancel(exponent / x)
        k = -power
        if j.is_Integer and 0 <= j <= k:
            quotient = (_sigmoid(x - sp.log(a / b)) / b) ** j * (
                _sigmoid(sp.log(a / b) - x) / a
            ) ** (k - j)
            return _stable_quotients(others) * quotient
    if not expression.args:
        return expression
    return expression.func(*map(_stable_quotients, expression.args))


def _array(value: Any) -> Any:
    return np.asarray(value, dtype=np.float64)[()]  # a scalar, which NumPy handles the faster
