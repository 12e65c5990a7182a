"""Errors: the distance of two results, and the order at which an error vanishes."""

import numpy as np
from numpy.typing import ArrayLike


def relative_distance(found: ArrayLike, expected: ArrayLike) -> float:
    """Return the largest difference of two arrays of one shape, in units of the largest entry of
    the expected one.

    Examples
    --------
    >>> relative_distance([1.0, 2.5], [1.0, 2.0])
    0.25
    """
    found = np.asarray(found, dtype=float)
    expected = np.asarray(expected, dtype=float)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def order_of(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Fit the order at which errors vanish with sizes: the slope of ln error against ln size, by
    least squares.

    Sizes are a step's length, a rate, or ``1 / T``; they and the errors are positive.

    Examples
    --------
    >>> round(order_of([0.1, 0.01], [3e-2, 3e-4]), 6)
    2.0
    """
    return float(
        np.polyfit(
            np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(errors, dtype=float)), 1
        )[0]
    )
