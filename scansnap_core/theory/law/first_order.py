"""The first order in 1/(T - 1) of means over samples, each weighed by the error that the decoder makes on it.

A sample whose f lies off the mean is predicted worse. Where the class is known, its error goes as exp(-v·f) with v a
fixed vector: v = a fbar, the evidence on what was learned. So means weighed by errors are means over a tilted law of
samples. With y = (X^T b)/|c| - f, of covariance C/(T - 1) under the untilted law, C = diag(f²/P) - f f^T,

    -v·f(y) = -v·f - v·y_⊥ + (v·f)(|y_⊥|²/2 - (f·y) |y_⊥|²) + ...,    y_⊥ = P⊥_f y,

and a multinomial is exp(-(T - 1) KL). At a fixed kappa = v·f/(T - 1), as T grows, the tilted law is a Gaussian with

    S = (C^-1 - kappa P⊥_f)^-1

in the place of C, and the mean m that the cubic terms of both give. Errors inflate the scatter that they come of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class FirstOrder:
    """The coefficients of 1/(T - 1), at any z; leading axes batch over classes.

    Parameters
    ----------
    probs, f
        P(.|n), and f of Eqn 5 normalised, both of shape (..., L).
    kappa
        The tilt v·f/(T - 1), of shape (..., 1), below 1 over the largest f_l²/P_l; 0 for plain means.
    beside
        v less f f·v, of shape (..., L).
    """

    def __init__(self, probs: Floats, f: Floats, kappa: Floats | float = 0.0, beside: Floats | float = 0.0) -> None:
        self._f = f
        held = probs > 0
        w = f**2 / np.where(held, probs, np.inf)
        self._alone = w / (1 - kappa * w)
        self._kappa = kappa / (1 + kappa * _dot(f**2, self._alone))
        self._sum = np.where(held, probs, 0.0) / np.where(held, f, 1.0)  # frequencies sum to 1
        self._fixed = self._free(self._sum)
        self._fixed_by = _dot(self._sum, self._fixed)
        diagonal = self._alone - self._kappa * (self._alone * f) ** 2 - self._fixed**2 / self._fixed_by
        self._Sf = self._S(f)
        self._along = _dot(f, self._Sf)
        self.variance = diagonal - 2 * f * self._Sf + f**2 * self._along
        """Of f_l."""
        across = self.variance.sum(axis=-1, keepdims=True)
        cubic = np.where(held, (self._sum * diagonal / np.where(held, f, 1.0) - 1) / np.where(held, 2 * f, 1.0), 0.0)
        cubic = cubic - kappa * (f * across + 2 * (self._Sf - f * self._along))
        m = self._S(cubic - beside)
        self._bias = m - f * _dot(f, m) - self._Sf + f * (self._along - across / 2)

    def mean_f(self) -> Floats:
        """Of E f - f."""
        return np.asarray(self._bias)

    def own(self) -> Floats:
        """Of s, the pull of E f itself."""
        return np.asarray(self.pull(self._f) + self._f * self._bias - self._f**2 * _dot(self._f, self._bias))

    def pull(self, g: Floats) -> Floats:
        """Of E[f∘(g - f f·g)], for one g of shape (..., L) a class."""
        f, b = self._f, self._bias
        along = _dot(f, g)
        beside = g - f * along
        scattered = self._S(beside)
        turned = scattered - f * _dot(f, scattered)
        return np.asarray(b * g - f**2 * _dot(b, g) - (2 * f * b + self.variance) * along - 2 * f * turned)

    def _free(self, x: Floats) -> Floats:
        """(diag(1/w) - kappa P⊥_f)^-1 x: S before frequencies sum to 1."""
        return self._alone * (x - self._kappa * self._f * _dot(self._f, self._alone * x))

    def _S(self, x: Floats) -> Floats:
        return self._free(x) - self._fixed * (_dot(self._fixed, x) / self._fixed_by)


def _dot(one: Floats, other: Floats) -> Floats:
    return np.asarray((one * other).sum(axis=-1, keepdims=True))
