"""Measures of a training: attention, its entropy and recall on distinct tokens, relative gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import Rule, check, checked_numbers, is_whole, shown
from scansnap_core.data.sequences import ATTRIBUTE, CLASSES, SequenceClasses, checksum

PLURALS = {"query": "queries", "token": "tokens"}


def attention(Z: xr.DataArray, classes: SequenceClasses) -> xr.DataArray:
    """Compute attention c_n at T = infinity (Eqn 5) from recorded attention logits.

    Parameters
    ----------
    Z
        As :func:`scansnap_core.engine.training.train` returns it, dimensions (..., query, token);
        of a variant of the model too, with the dimension ``head`` where it has heads.
    classes
        Those of the run; of others, which its attribute ``classes`` tells, Z is refused.

    Returns
    -------
    xarray.DataArray
        Dimensions (..., class, token), both labelled as in ``classes.coords``; sums to 1 over
        ``token``.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> path = ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=1), [0, 100])
    >>> ss.attention(path.Z, classes).sel({"class": 0}).values.round(3)
    array([[0.328, 0.224, 0.448, 0.   , 0.   ],
           [0.32 , 0.226, 0.453, 0.   , 0.   ]])
    """
    Z = on_axes_of(Z, classes)
    rows = Z.isel(query=xr.DataArray(classes.compact.query_row, dims="class")).transpose(
        ..., "class", "token"
    )
    probs = classes.compact.probs
    # Tokens that a class doesn't hold get no attention, however large a z their other classes gave
    # them.
    present = np.where(classes.compact.held, rows.values.astype(np.float64), -np.inf)
    # This is formulas.c as function_of compiles it, without SymPy.
    weights = probs * np.exp(present - present.max(axis=-1, keepdims=True))
    values = weights / weights.sum(axis=-1, keepdims=True)
    c = rows.copy(data=values).assign_coords({"class": classes.coords["class"]})
    return c.assign_attrs({**Z.attrs, "units": "attention"})


def class_logits(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Compute the logits Y^T f_n of each class's long sequence along a run: (..., class, output).

    The run holds ``Y`` and ``Z``, as `train` and `solve` return them, and its classes are given
    with it. ``run.multiplicity`` says how many of the M outputs share a column.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3)
    >>> path = ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=1), [0, 10])
    >>> class_logits(path, classes).sel({"class": 0}).values.round(2)
    array([[ 0.  ,  0.  ,  0.  ],
           [ 4.87,  1.44, -0.01]])
    """
    c = attention(run.Z, classes)
    f = c / np.sqrt((c**2).sum("token"))
    return xr.dot(f, run.Y, dim="token").transpose(..., "class", "output")


def entropy(c: xr.DataArray, classes: SequenceClasses) -> xr.DataArray:
    """Compute H_n = -sum c ln c over class n's distinct tokens, with c renormalised over them (Fig.
    6), in nats: (..., class).

    NaN for a class without distinct tokens.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> path = ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=1), [0, 100])
    >>> ss.entropy(ss.attention(path.Z, classes), classes).values.round(3)
    array([[0.637, 0.637],
           [0.636, 0.636]])
    """
    CLASSES("classes", classes)
    check_labelled("c", c, "class", "token")
    _check_own(c, classes)
    c = _by_class(c, classes).transpose(..., "class", "token")
    held = xr.DataArray(
        classes.compact.held, dims=("class", "token"), coords={"token": classes.coords["token"]}
    )
    distinct = (held & (held.sum("class") == 1)).reindex(token=c.token, fill_value=False)
    own = c.where(distinct, 0.0)
    # The entropy is NaN for a class without distinct tokens, a diverged run, or attention that has
    # vanished.
    with np.errstate(invalid="ignore"):
        found = xr.apply_ufunc(special.entr, own / own.sum("token")).sum("token", skipna=False)
    return found.drop_attrs(deep=False).assign_attrs(units="nats")


def recall(Z: xr.DataArray, classes: SequenceClasses, thresholds: ArrayLike) -> xr.DataArray:
    """Compute the share of distinct tokens whose attention is above a threshold (Fig. 11, 12):
    (..., threshold).

    Attention is the softmax of a query token's row of Z over all M tokens, about 1/M before
    training. For each class it's compared on the class's distinct tokens; the mean is over classes
    that have some. NaN for a diverged run.

    Parameters
    ----------
    Z
        As :func:`scansnap_core.engine.training.train` returns it, dimensions (..., query, token).
        The tokens that no class holds aren't in it. They never move, and their logits count as 0
        here. That is exact for Z(0) = 0; where they began uniformly in ±1/sqrt(M) it moves the
        softmax by less than exp(1/sqrt(M)) - 1, relatively.
    thresholds
        Shape (thresholds,), or one number; not negative, since all attention is above a negative
        one.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> path = ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=1), [0, 100])
    >>> ss.recall(path.Z, classes, [0.001]).values
    array([[0.],
           [1.]])
    """
    Z = on_axes_of(Z, classes)
    rule = "thresholds are a number that isn't negative, or a list of them"
    remedy = "pass e.g. [0.01, 0.02]"
    thresholds = np.atleast_1d(
        checked_numbers("thresholds", thresholds, least=0, rule=rule, remedy=remedy)
    )
    if thresholds.ndim > 1:
        raise BadInput(f"thresholds of shape {thresholds.shape}", rule, remedy)
    logits = Z.transpose(..., "query", "token")
    frozen = np.zeros((*logits.shape[:-1], classes.vocab_size - len(classes.compact.tokens)))
    softmax = special.softmax(np.concatenate([logits.values, frozen], axis=-1), axis=-1)
    shares = []
    for n, row in enumerate(classes.compact.query_row):
        own = np.isin(classes.compact.tokens, classes.distinct_tokens(n))
        if own.any():
            attention = softmax[..., row, : own.size][..., own]
            above = (attention[..., None] > thresholds).mean(axis=-2)
            shares.append(np.where(np.isnan(attention).any(axis=-1, keepdims=True), np.nan, above))
    values = (
        np.mean(shares, axis=0)
        if shares
        else np.full((*logits.shape[:-2], thresholds.size), np.nan)
    )
    # Only the dimensions and labels that are left are used. They are the same at every query and
    # every token.
    template = logits.isel(query=0, token=0, drop=True).expand_dims(threshold=thresholds, axis=-1)
    return (
        template.copy(data=values)
        .drop_attrs(deep=False)
        .assign_attrs(units="share of distinct tokens")
    )


def relative_gain(c: xr.DataArray, token: int, other: int) -> xr.DataArray:
    """Compute r_{l/l'|n} = (c_l/c_l')^2 - 1 (Theorem 3) of two tokens, over the other dimensions of
    c.

    Infinite where the other token has no attention, NaN where neither has any.

    Parameters
    ----------
    c
        As :func:`attention` returns it, with the dimension ``token``.
    token, other
        l and l', as ``c.token`` labels them.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> path = ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=1), [0, 100])
    >>> c = ss.attention(path.Z, classes).sel({"class": 0})
    >>> ss.relative_gain(c, token=2, other=1).values.round(2)
    array([3.  , 3.01])
    """
    from scansnap_core.theory import formulas  # brings SymPy, which a sweep doesn't need
    from scansnap_core.theory.functions import function_of

    check_labelled("c", c, "token")
    if "query" in c.dims or c.attrs.get("units") == "logits" or (c < 0).any():
        raise BadInput(
            "c of logits", "relative gain is of attention", "pass attention(run.Z, classes)"
        )
    held = set(c.token.values.tolist())
    one_of_them = Rule(
        lambda each: (isinstance(each, str) or is_whole(each)) and each in held,
        "a token that c holds",
        "use c.token's",
    )
    check({"token": token, "other": other}, token=one_of_them, other=one_of_them)
    r = function_of(formulas.r, (formulas.c_l, formulas.c_other))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Only the dimensions and labels that are left are used. They are the same at every token.
        return c.isel(token=0, drop=True).copy(data=r(c.sel(token=token), c.sel(token=other)))


def check_labelled(name: str, values: Any, *dims: str) -> None:
    """Raise :class:`BadInput` unless values are a labelled array of numbers that has these
    dimensions.
    """
    labelled = isinstance(values, xr.DataArray) and values.dtype.kind in "fiu"
    if not labelled or not set(dims) <= {str(dim) for dim in values.dims}:
        rule = "a labelled array (xarray.DataArray) of numbers" + (
            f" over {', '.join(dims)}" if dims else ""
        )
        raise BadInput(
            f"{name} = {shown(values)}", rule, "pass what train or solve recorded, e.g. run.Z"
        )


def _by_class(c: xr.DataArray, classes: SequenceClasses) -> xr.DataArray:
    """Put values, whose dimension ``class`` has labels, in the order of the classes; raise BadInput
    unless they have one for each class.
    """
    names = classes.coords["class"]
    labels = c["class"].values
    if c.sizes["class"] != len(names) or not np.array_equal(np.sort(labels), np.sort(names)):
        rule = f"attention and classes name the same classes, here {shown(names.tolist())}"
        remedy = "pass all of them, and select from the result"
        raise BadInput(f"c over the classes {shown(labels.tolist())}", rule, remedy)
    return c if np.array_equal(labels, names) else c.sel({"class": names})


def _check_own(values: xr.DataArray, classes: SequenceClasses) -> None:
    """Raise :class:`BadInput` if values belong to other classes.

    A run's arrays have its classes' checksum among their attributes, since two systems may hold
    the same tokens at other frequencies. An array without this attribute passes.
    """
    if values.attrs.get(ATTRIBUTE, own := checksum(classes)) != own:
        rule = "a measure takes a run with the classes that it was made with"
        remedy = "pass those; for others on purpose, drop what Z tells of them with Z.drop_attrs()"
        raise BadInput(
            f"{values.name or 'values'} of other classes than {shown(classes)}", rule, remedy
        )


def on_axes_of(
    values: xr.DataArray, classes: SequenceClasses, dims: tuple[str, ...] = ("query", "token")
) -> xr.DataArray:
    """Put recorded values on the queries and tokens of their classes.

    Where data sets of several sizes were trained together, one of them (``run.sel(data=...)``) is
    padded with the others' queries and tokens; these, NaN throughout, are left out. So are the rows
    that a variant's decoder reads besides, of query tokens that no class holds, where the values
    tell that they are of these classes. Labels may stand in any order. The dimension of the only
    query may have been squeezed out.
    """
    CLASSES("classes", classes)
    check_labelled("Z", values)
    if "data" in values.dims:
        remedy = f"choose one, e.g. run.sel(data={str(values['data'].values[0])!r})"
        value = f"{values.name} of {values.sizes['data']} data sets"
        rule = "quantities are taken of one, with its classes"
        raise BadInput(value, rule, remedy)
    labels = {dim: np.asarray(classes.coords[dim]) for dim in dims}
    for dim in dims:
        if dim not in values.dims:
            values = _with_the_one(values, dim, labels[dim])
    indexes = {dim: values.indexes.get(dim) for dim in dims}
    if all(
        each is not None and each.is_unique and np.isin(labels[dim], each).all()
        for dim, each in indexes.items()
    ):
        own = values.sel(labels)  # whatever the order is: a sweep's names are sorted
        if ATTRIBUTE in values.attrs or int(own.count()) == int(values.count()):
            _check_own(values, classes)
            return own
    shape = " and ".join(f"{values.sizes[dim]} {PLURALS[dim]}" for dim in dims)
    rule = f"a run and classes name the same {' and '.join(PLURALS[dim] for dim in dims)}"
    remedy = "pass the classes that the run was trained on (one data set at a time)"
    raise BadInput(f"{values.name or 'Z'} over {shape}", rule, remedy)


def _with_the_one(values: xr.DataArray, dim: str, labels: NDArray[Any]) -> xr.DataArray:
    """Restore the dimension ``dim``, ``query`` or ``token``, that was squeezed out of values.

    It can be done if the classes have a single label there, and the values still have theirs as a
    scalar coordinate; else it raises BadInput.
    """
    name = values.name or "Z"
    if dim not in values.coords or len(labels) > 1:
        rule = f"classes of {len(labels)} {PLURALS[dim]} need all of them"
        remedy = f"keep the dimension, as run.{name} has it, and select from the result"
        raise BadInput(f"{name} without the dimension {dim}", rule, remedy)
    return values.expand_dims(dim)
