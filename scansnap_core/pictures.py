"""Pictures of a run or a solved flow in the house style: attention, entropy and logits over time,
and heat maps.

Each takes what :func:`scansnap_core.engine.training.train` or
:func:`scansnap_core.theory.solving.solve` returned, with its classes, and returns a figure for
:func:`scansnap_core.plots.show`. Seeds are averaged; of several rates or heads choose one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from scansnap_core import plots
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.base.rules import Rule
from scansnap_core.data.sequences import CLASSES, SequenceClasses
from scansnap_core.theory import measures

with needs("plots"):
    import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUN = Rule(
    lambda run: isinstance(run, xr.Dataset) and "Z" in run,
    "a run is a data set with Z",
    "pass train's or solve's",
)
NAMED_TOKENS = 6
"""A class with more tokens shows the families of common and distinct ones, in one colour each."""


def attention_over_time(run: xr.Dataset, classes: SequenceClasses, n: int | str = 0) -> Figure:
    """Draw attention c_n of class n on each of its tokens (Eqn 5), on a logarithmic clock.

    Parameters
    ----------
    run
        A data set with Z at more than one moment, of one rate and one head.
    classes, n
        The run's classes, and which of them, by number or by name.

    Returns
    -------
    matplotlib.figure.Figure
        Common tokens are dashed; up to six tokens are named, more are shown as two families.
    """
    n = _checked(run, classes, n)
    c = _averaged(measures.attention(run.Z, classes)).isel({"class": n})
    return _by_token(
        c, classes, n, ylabel=_of_class(rf"attention $c_{{l|{n}}}$", "attention $c_l$", classes, n)
    )


def logits_over_time(run: xr.Dataset, classes: SequenceClasses, n: int | str = 0) -> Figure:
    """Draw the logits z_ml of class n's query m = psi(n) on its tokens; arguments as
    :func:`attention_over_time`.
    """
    n = _checked(run, classes, n)
    Z = _averaged(measures.on_axes_of(run.Z, classes)).isel(query=classes.compact.query_row[n])
    return _by_token(
        Z, classes, n, ylabel=_of_class(f"$z_{{ml}}$ of class {n}'s query", "$z_{ml}$", classes, n)
    )


def entropy_over_time(run: xr.Dataset, classes: SequenceClasses) -> Figure:
    """Draw the entropy of attention on distinct tokens, in nats: a line for each class that has
    distinct tokens.
    """
    _checked(run, classes)
    H = _averaged(measures.entropy(measures.attention(run.Z, classes), classes))
    fig, ax = _on_a_log_clock(H)
    for n in range(classes.num_classes):
        if len(classes.distinct_tokens(n)):
            ax.plot(
                *_later(H.isel({"class": n})),
                label=f"class {plots.plain(str(classes.coords['class'][n]))}",
            )
    ax.set(ylabel="entropy on distinct tokens, nats")
    ax.legend(ncols=2 if classes.num_classes > NAMED_TOKENS else 1)
    return fig


def attention_map(run: xr.Dataset, classes: SequenceClasses) -> Figure:
    """Draw attention c_n at the last recorded moment: a row for each class, a column for each token
    held.
    """
    _checked(run, classes)
    c = _averaged(measures.attention(run.Z, classes)).isel(recorded=-1)
    axes = ("class", c["class"].values), ("token", c.token.values)
    return plots.heat_map(c.transpose("class", "token").values, *axes, "attention")


def logit_map(run: xr.Dataset, classes: SequenceClasses) -> Figure:
    """Draw Z at the last recorded moment: a row for each query token; red rises, blue falls."""
    _checked(run, classes)
    Z = _averaged(measures.on_axes_of(run.Z, classes)).isel(recorded=-1)
    axes = ("query token", Z["query"].values), ("token", Z.token.values)
    return plots.heat_map(Z.transpose("query", "token").values, *axes, "$z_{ml}$", signed=True)


def _checked(run: xr.Dataset, classes: SequenceClasses, n: int | str = 0) -> int:
    """Return the number of class n, after a check of the run and the classes."""
    CLASSES("classes", classes)
    RUN("run", run)
    return classes.number_of(n)


def _averaged(values: xr.DataArray) -> xr.DataArray:
    """Average over seeds, and drop the single rate and head; raise BadInput for several of either,
    or without a recorded moment.
    """
    if "recorded" not in values.dims:
        raise BadInput(
            "a run at one moment", "a picture wants the dimension recorded", "keep it, e.g. [[-1]]"
        )
    if not values.sizes["recorded"]:
        raise BadInput(
            "a run without a recorded step",
            "a picture shows at least one",
            "select fewer of them away",
        )
    for dim in ("rate", "head"):
        if (size := values.sizes.get(dim, 1)) > 1:
            raise BadInput(
                f"{size} {dim}s", "a picture shows one", f"choose it, e.g. run.isel({dim}=0)"
            )
        values = values.squeeze(dim, drop=True) if dim in values.dims else values
    return values.mean("seed") if "seed" in values.dims else values


def _on_a_log_clock(values: xr.DataArray) -> tuple[Figure, Axes]:
    """Make a figure whose time is logarithmic and named by the values' own clock; raise BadInput if
    nothing was recorded after the start.
    """
    if not (values.recorded > 0).any():
        raise BadInput(
            "nothing recorded after the start", "time is logarithmic", "record later steps too"
        )
    with plt.style.context(plots.STYLE):
        fig, ax = plt.subplots()
    ax.set(xscale="log", xlabel=values.recorded.attrs.get("units", "time"))
    return fig, ax


def _later(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Return times after the start, which a logarithmic clock can't show, and the values there."""
    later = values.isel(recorded=np.flatnonzero(values.recorded > 0))
    return later.recorded.values, later.values


def _by_token(values: xr.DataArray, classes: SequenceClasses, n: int, ylabel: str) -> Figure:
    """Draw values (recorded, token) over time, a line for each token of class n: dashed for common
    ones.

    Few tokens are named. Many are two families, each of one colour, in which later tokens are
    drawn stronger.
    """
    fig, ax = _on_a_log_clock(values)
    support = classes.support(n)
    families = {
        "common": np.intersect1d(support, classes.common_tokens),
        "distinct": classes.distinct_tokens(n),
    }
    named = len(support) <= NAMED_TOKENS
    for (family, tokens), colour in zip(families.items(), ("C1", "C0"), strict=True):
        places = np.searchsorted(classes.compact.tokens, tokens)
        for i, (place, token) in enumerate(zip(places, classes.labels(tokens), strict=True)):
            label = (
                f"token {plots.plain(str(token))}, {family}"
                if named
                else family
                if i + 1 == len(tokens)
                else None
            )
            (line,) = ax.plot(
                *_later(values.isel(token=place)), "--" if family == "common" else "-", label=label
            )
            if not named:
                line.set(color=colour, alpha=0.3 + 0.7 * (i + 1) / len(tokens))
    ax.set(ylabel=ylabel)
    ax.legend()
    return fig


def _of_class(numbered: str, named: str, classes: SequenceClasses, n: int) -> str:
    """Label a class by its number, or by its name and, where tokens have names, its query
    token's.
    """
    if not classes.class_names:
        return numbered
    query = f", query {classes.labels(classes.query_of)[n]}" if classes.token_names else ""
    return f"{named} of class {plots.plain(classes.class_names[n])}{plots.plain(query)}"
