"""What is read off a training: attention, its entropy on distinct tokens, relative gain and growth factor."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from scansnap_core import formulas
from scansnap_core.bad_input import BadInput
from scansnap_core.numeric import numeric
from scansnap_core.sequences import SequenceClasses

_c = numeric(formulas.c, (formulas.P, formulas.z_m))
_r = numeric(formulas.r, (formulas.c_l, formulas.c_other))
_chi = numeric(formulas.chi, (formulas.z, formulas.z_0))


def attention(Z: xr.DataArray, classes: SequenceClasses) -> xr.DataArray:
    """c_n at T = infinity (Eqn 5) from recorded attention logits.

    Parameters
    ----------
    Z
        As :func:`scansnap_core.training.train` returns it, dimensions (..., query, token).

    Returns
    -------
    xarray.DataArray
        Dimensions (..., class, token); sums to 1 over ``token``.
    """
    _check_axes(Z, classes)
    rows = Z.isel(query=xr.DataArray(classes.compact.query_row, dims="class")).transpose(..., "class", "token")
    probs = classes.compact.probs
    # tokens that a class doesn't hold get no attention, however large a z their other classes gave them
    present = np.where(probs > 0, rows.values, -np.inf)
    return rows.copy(data=_c(probs, present)).assign_attrs(units="attention")


def entropy(c: xr.DataArray, classes: SequenceClasses) -> xr.DataArray:
    """H_n = -sum c ln c over class n's distinct tokens, c renormalised over them (Fig. 6), in nats: (..., class).

    NaN for a class without distinct tokens.
    """

    def one(n: int) -> NDArray[np.float64]:
        own = c.isel({"class": n}).sel(token=classes.distinct_tokens(n)).transpose(..., "token")
        return np.asarray(stats.entropy(own.values, axis=-1)) if own.size else np.full(own.shape[:-1], np.nan)

    values = np.stack([one(n) for n in range(classes.num_classes)], axis=-1)
    template = c.isel(token=0, drop=True).transpose(..., "class")
    return template.copy(data=values).assign_attrs(units="nats")


def relative_gain(c: xr.DataArray, token: int, other: int) -> xr.DataArray:
    """r_{l/l'|n} = (c_l/c_l')^2 - 1 (Theorem 3) of two tokens, over the other dimensions of c."""
    return c.isel(token=0, drop=True).copy(data=_r(c.sel(token=token), c.sel(token=other)))


def growth_factor(z: NDArray[np.float64], z_0: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """chi_l = exp(2 (z_ml(t) - z_ml(0))) (Eqn 11)."""
    return np.asarray(_chi(z, z_0))


def _check_axes(Z: xr.DataArray, classes: SequenceClasses) -> None:
    compact = classes.compact
    if not (np.array_equal(Z.token, compact.tokens) and np.array_equal(Z["query"], compact.queries)):
        raise BadInput(
            value=f"Z over {Z.sizes.get('query', 0)} queries and {Z.sizes.get('token', 0)} tokens",
            rule="attention logits and classes name the same queries and tokens",
            remedy="pass the classes that the run was trained on (one data set at a time)",
        )
