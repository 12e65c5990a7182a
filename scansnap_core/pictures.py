"""Pictures of a run or a solved flow in the house style: attention, entropy and logits over time, and heat maps.

Each takes what :func:`scansnap_core.engine.training.train` or :func:`scansnap_core.theory.solving.solve` returned, with
its classes, and returns a figure for :func:`scansnap_core.plots.show`. Seeds are averaged; of several rates or heads
choose one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from scansnap_core import plots
from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, check_classes
from scansnap_core.extras import needs
from scansnap_core.theory import measures

with needs("plots"):
    import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED_TOKENS = 6
"""A class with more tokens shows the families of common and distinct ones, in one colour each."""
NAMED_TICKS = 40
"""A map with more named tokens or classes names some of them."""


def attention_over_time(run: xr.Dataset, classes: SequenceClasses, n: int | str = 0) -> Figure:
    """Attention c_n of class n on each of its tokens (Eqn 5), on a logarithmic clock.

    Parameters
    ----------
    run
        A data set with Z at more than one moment.
    classes, n
        The run's classes, and which of them, by number or by name.

    Returns
    -------
    matplotlib.figure.Figure
        Common tokens are dashed; up to six tokens are named, more are shown as two families.

    Raises
    ------
    BadInput
        Several rates, heads or data sets, a class that isn't there, or nothing recorded after the start.
    """
    n = _checked(run, classes, n)
    c = _averaged(measures.attention(run.Z, classes)).isel({"class": n})
    return _by_token(c, classes, n, ylabel=_of_class(rf"attention $c_{{l|{n}}}$", "attention $c_l$", classes, n))


def logits_over_time(run: xr.Dataset, classes: SequenceClasses, n: int | str = 0) -> Figure:
    """The logits z_ml of class n's query m = psi(n) on the class's tokens; arguments as :func:`attention_over_time`."""
    n = _checked(run, classes, n)
    Z = _averaged(measures.on_axes_of(run.Z, classes)).isel(query=classes.compact.query_row[n])
    return _by_token(Z, classes, n, ylabel=_of_class(f"$z_{{ml}}$ of class {n}'s query", "$z_{ml}$", classes, n))


def entropy_over_time(run: xr.Dataset, classes: SequenceClasses) -> Figure:
    """The entropy of attention on each class's distinct tokens, in nats, a line for each class that has some."""
    _checked(run, classes)
    H = _averaged(measures.entropy(measures.attention(run.Z, classes), classes))
    fig, ax = _on_a_log_clock(H)
    for n in range(classes.num_classes):
        if len(classes.distinct_tokens(n)):
            ax.plot(*_later(H.isel({"class": n})), label=f"class {_plain(str(classes.coords['class'][n]))}")
    ax.set(ylabel="entropy on distinct tokens, nats")
    ax.legend(ncols=2 if classes.num_classes > NAMED_TOKENS else 1)
    return fig


def attention_map(run: xr.Dataset, classes: SequenceClasses) -> Figure:
    """Attention c_n at the last recorded moment: a row for each class, a column for each token held."""
    _checked(run, classes)
    c = _averaged(measures.attention(run.Z, classes)).isel(recorded=-1)
    return _map(c.transpose("class", "token"), "class", "attention")


def logit_map(run: xr.Dataset, classes: SequenceClasses) -> Figure:
    """Z at the last recorded moment: a row for each query token; red rises, blue falls."""
    _checked(run, classes)
    Z = _averaged(measures.on_axes_of(run.Z, classes)).isel(recorded=-1)
    return _map(Z.transpose("query", "token"), "query token", "$z_{ml}$", signed=True)


def _checked(run: xr.Dataset, classes: SequenceClasses, n: int | str = 0) -> int:
    """The number of class n, after a look at the rest."""
    check_classes(classes)
    if not isinstance(run, xr.Dataset) or "Z" not in run:
        raise BadInput(f"a run of type {type(run).__name__}", "a run is a data set with Z", "pass train's or solve's")
    return classes.number_of(n)


def _averaged(values: xr.DataArray) -> xr.DataArray:
    """The mean over seeds of one rate and head."""
    if "recorded" not in values.dims:
        raise BadInput("a run at one moment", "a picture wants the dimension recorded", "keep it, e.g. [[-1]]")
    if not values.sizes["recorded"]:
        raise BadInput("a run without a recorded step", "a picture shows at least one", "select fewer of them away")
    chosen = [dim for dim in ("rate", "head") if dim in values.dims]
    for dim in chosen:
        if values.sizes[dim] > 1:
            raise BadInput(f"{values.sizes[dim]} {dim}s", "a picture shows one", f"choose it, e.g. run.isel({dim}=0)")
    one = values.squeeze(chosen, drop=True)
    return one.mean("seed") if "seed" in one.dims else one


def _on_a_log_clock(values: xr.DataArray) -> tuple[Figure, Axes]:
    if not (values.recorded > 0).any():
        raise BadInput("nothing recorded after the start", "time is logarithmic", "record later steps too")
    with plt.style.context(plots.STYLE):
        fig, ax = plt.subplots()
    ax.set(xscale="log", xlabel=values.recorded.attrs.get("units", "time"))
    return fig, ax


def _later(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Times after the start, which has no place on a logarithmic clock, and the values there."""
    later = values.isel(recorded=np.flatnonzero(values.recorded > 0))
    return later.recorded.values, later.values


def _by_token(values: xr.DataArray, classes: SequenceClasses, n: int, ylabel: str) -> Figure:
    fig, ax = _on_a_log_clock(values)
    support = classes.support(n)
    families = {"common": np.intersect1d(support, classes.common_tokens), "distinct": classes.distinct_tokens(n)}
    named = len(support) <= NAMED_TOKENS
    for (family, tokens), colour in zip(families.items(), ("C1", "C0"), strict=True):
        places = np.searchsorted(classes.compact.tokens, tokens)
        for i, (place, token) in enumerate(zip(places, classes.labels(tokens), strict=True)):
            label = f"token {_plain(str(token))}, {family}" if named else family if i + 1 == len(tokens) else None
            (line,) = ax.plot(*_later(values.isel(token=place)), "--" if family == "common" else "-", label=label)
            if not named:
                line.set(color=colour, alpha=0.3 + 0.7 * (i + 1) / len(tokens))
    ax.set(ylabel=ylabel)
    ax.legend()
    return fig


def _of_class(numbered: str, named: str, classes: SequenceClasses, n: int) -> str:
    """A label of the class by number, or with its name, and its query token's where tokens have names too."""
    if not classes.class_names:
        return numbered
    query = f", query {classes.labels(classes.query_of)[n]}" if classes.token_names else ""
    return f"{named} of class {_plain(classes.class_names[n])}{_plain(query)}"


def _plain(text: str) -> str:
    """Text that Matplotlib doesn't take for TeX."""
    return text.replace("$", r"\$")


def _map(values: xr.DataArray, ylabel: str, meaning: str, signed: bool = False) -> Figure:
    with plt.style.context(plots.STYLE):
        fig, ax = plt.subplots()
    top = float(np.abs(values).max())
    limits = {"cmap": "RdBu_r", "vmin": -top, "vmax": top} if signed else {"vmin": 0.0}
    picture = ax.imshow(values, aspect="auto", **limits)
    for axis, dim in zip((ax.yaxis, ax.xaxis), values.dims, strict=True):
        labels = values[dim].values
        most = NAMED_TICKS if labels.dtype.kind == "U" else 8  # of numbers one knows those between
        at = np.unique(np.linspace(0, labels.size - 1, min(labels.size, most)).round().astype(int))
        axis.set_ticks(at, [_plain(str(label)) for label in labels[at]])
    if values.token.dtype.kind == "U":
        ax.tick_params(axis="x", rotation=90)
    ax.set(xlabel="token", ylabel=ylabel)
    ax.grid(False)
    fig.colorbar(picture, label=meaning)
    return fig
