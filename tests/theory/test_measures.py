"""Attention, entropy, relative gain and growth factor against their definitions, by hand."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.law import predict
from scansnap_core.theory import formulas, measures
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.quantities import theory_of
from scansnap_core.theory.solving import solve
from tests.engine.references import overlapping_classes, scattered_classes
from tests.refusing import refuses


def logits(classes: SequenceClasses, scale: float = 1.0) -> xr.DataArray:
    compact = classes.compact
    shape = (2, len(compact.queries), len(compact.tokens))
    values = scale * np.random.default_rng(0).normal(size=shape)
    return xr.DataArray(
        values, dims=("recorded", "query", "token"), coords={"query": compact.queries, "token": compact.tokens}
    )


ANYWHERE = np.zeros((2, 9))
ANYWHERE[[[0], [1]], [[3, 5, 8], [3, 4, 6]]] = [0.2, 0.6, 0.2], [0.5, 0.5, 0.0]
TWINS = [SequenceClasses([[p, 1 - p, 0, 0], [0.5, 0, 0.5, 0]], query_of=[3, 3]) for p in (0.5, 0.2)]
SYSTEMS = [overlapping_classes(), scattered_classes(), SequenceClasses(ANYWHERE, [7, 1])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("classes", SYSTEMS)
def test_attention_is_the_formula_c_to_the_last_bit(classes: SequenceClasses, dtype: str) -> None:
    Z, probs = logits(classes, scale=30.0).astype(dtype), classes.compact.probs
    rows = np.where(probs > 0, Z.sel(query=classes.query_of).values, -np.inf)
    c = measures.attention(Z, classes)
    assert c.dims == ("recorded", "class", "token")
    assert (c.values == function_of(formulas.c, (formulas.P, formulas.z_m))(probs, rows)).all()


def test_class_logits_are_those_of_lns_input() -> None:
    classes = overlapping_classes()
    path = solve(TrueFlow(classes, 1.0, 0.5), [0, 20])
    found, row = measures.class_logits(path, classes), path.isel(recorded=1)
    assert found.dims == ("recorded", "class", "output")
    for n in range(classes.num_classes):
        attended = classes.compact.probs[n] * np.exp(row.Z.values[classes.compact.query_row[n]])
        expected = attended @ row.Y.values / np.linalg.norm(attended)
        assert found.isel({"recorded": 1, "class": n}).values == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_attention_is_finite_where_another_class_of_the_query_wins() -> None:
    classes = overlapping_classes()
    Z = logits(classes)
    Z.loc[{"query": 6, "token": 2}] = 1e4  # class 0's own token, under the query that class 2 shares
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = measures.attention(Z, classes)
    assert c.isel({"class": 0}).sel(token=2).values == pytest.approx([1.0, 1.0], rel=1e-9, abs=0)
    assert c.isel({"class": 2}).sum("token").values == pytest.approx([1.0, 1.0], rel=1e-9, abs=0)
    assert (c.isel({"class": 2}).sel(token=2) == 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("classes", [*SYSTEMS, SequenceClasses([[0.0, 1.0]], [0])])
def test_entropy_by_hand(classes: SequenceClasses) -> None:
    c = measures.attention(logits(classes), classes)
    H = measures.entropy(c, classes)
    assert H.dims == ("recorded", "class")
    for n in range(classes.num_classes):
        p = c.isel({"recorded": 0, "class": n}).sel(token=classes.distinct_tokens(n)).values
        p = p / p.sum() if p.size else np.array([np.nan])
        assert H.values[0, n] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-13, nan_ok=True)


@pytest.mark.parametrize("classes", SYSTEMS)
def test_axes_are_known_by_name(classes: SequenceClasses) -> None:
    Z = logits(classes)
    turned = Z.transpose("token", "recorded", "query")
    c = measures.attention(Z, classes)
    xr.testing.assert_equal(measures.attention(turned, classes), c)
    xr.testing.assert_equal(measures.entropy(c.transpose("token", "class", "recorded"), classes),
                            measures.entropy(c, classes))  # fmt: skip
    xr.testing.assert_equal(measures.recall(turned, classes, [0.1, 0.2]), measures.recall(Z, classes, [0.1, 0.2]))
    for name in ("query", "token"):
        sorted_otherwise = Z.isel({name: slice(None, None, -1)})
        xr.testing.assert_equal(measures.attention(sorted_otherwise, classes), c)
        other = Z.assign_coords({name: Z[name].values + 1})
        with refuses("Z over … tokens", "a run and classes name the same queries and tokens"):
            measures.attention(other, classes)
    xr.testing.assert_equal(
        measures.entropy(c.roll({"class": 1}, roll_coords=True), classes), measures.entropy(c, classes)
    )
    with refuses("c over the classes [1]", "attention and classes name the same classes, here [0, …]"):
        measures.entropy(c.isel({"class": [1]}), classes)
    with refuses("c over the classes [0, 0…]", "attention and classes name the same classes, here [0, …]"):
        measures.entropy(c.isel({"class": [0] * classes.num_classes}), classes)


@pytest.mark.parametrize("dynamics", ["training", "flow"])
def test_the_only_query_may_be_squeezed_out(dynamics: str) -> None:
    rows = {"ship": {"and": 0.4, "wave": 0.6}, "plane": {"and": 0.4, "cloud": 0.6}}
    classes = SequenceClasses.from_dicts(rows, query_of="the", vocab_size=100)
    if dynamics == "training":
        run = train(classes, lr_y=1, lr_z=1, steps=4, batch_size=8, record=2)
    else:
        run = solve(TrueFlow(classes, lr_y=1, lr_z=1), [0, 1, 10])
    c = measures.attention(run.Z, classes)
    for one in (run.Z.squeeze(), run.Z.sel(query="the")):
        assert (measures.attention(one, classes).values == c.values.reshape((*one.shape[:-1], 2, 3))).all()
    found, whole = theory_of(classes, run.squeeze()), theory_of(classes, run)
    np.testing.assert_array_equal(found.xi, whole.xi.squeeze())
    assert measures.recall(run.Z.squeeze(), classes, 0.1).dims == ("recorded", "threshold")
    for measure in (lambda Z: measures.attention(Z, classes), lambda Z: measures.recall(Z, classes, 0.1)):
        with refuses(
            "Z without the dimension token",
            "classes of 3 tokens need all of them",
            "keep the dimension, as run.Z has it, and select from the result",
        ):
            measure(run.Z.isel(token=0))
    with refuses("Z without the dimension query", "classes of 2 queries need all of them"):
        measures.attention(logits(syn_small()).isel(query=0), syn_small())
    one = SequenceClasses([[1.0, 0.0]], [1])  # the only class and token may be squeezed out too
    path = solve(IdealisedFlow(one, 1, 1), [0, 1])
    xr.testing.assert_identical(theory_of(one, path.squeeze()).B, theory_of(one, path).B)


def test_entropy_of_the_tokens_that_are_given() -> None:
    classes = SequenceClasses([[0.4, 0.1, 0.2, 0.3, 0.0], [0.6, 0.0, 0.0, 0.0, 0.4]], [0, 0])
    c = measures.attention(0 * logits(classes), classes)
    for left_out, kept in ((1, [0.2, 0.3]), (4, [0.1, 0.2, 0.3])):  # between others, and the last
        p = np.array(kept) / np.sum(kept)
        H = measures.entropy(c.drop_sel(token=left_out), classes)
        assert H.isel(recorded=0).sel({"class": 0}).item() == pytest.approx(-(p * np.log(p)).sum(), abs=1e-14)


@pytest.mark.parametrize("classes", SYSTEMS)
def test_recall_by_hand(classes: SequenceClasses) -> None:
    Z = logits(classes)
    thresholds = [0.05, 0.1, 0.2, 0.5]
    R = measures.recall(Z, classes, thresholds)
    assert R.dims == ("recorded", "threshold")
    for recorded in range(2):
        shares = []
        for n in range(classes.num_classes):
            full = np.zeros(classes.vocab_size)
            full[classes.compact.tokens] = Z.isel(recorded=recorded).sel(query=classes.query_of[n]).values
            softmax = np.exp(full) / np.exp(full).sum()
            distinct = classes.distinct_tokens(n)
            if len(distinct):
                shares.append([(softmax[distinct] > threshold).mean() for threshold in thresholds])
        assert R.isel(recorded=recorded).values == pytest.approx(np.mean(shares, axis=0), rel=1e-9, abs=0)
    assert len(np.unique(R)) > 2


def test_recall_falls_from_one_to_none_at_one_over_M() -> None:
    classes = syn_medium(1)
    # the three tokens outside all supports hold a part of the attention
    assert len(classes.compact.tokens) == 30
    R = measures.recall(0 * logits(classes), classes, [0.0, 0.99 / 33, 1.01 / 33, 1 / 31, 1.0])
    assert R.isel(recorded=0).values.tolist() == [1, 1, 0, 0, 0]
    assert R.threshold.values.tolist() == [0.0, 0.99 / 33, 1.01 / 33, 1 / 31, 1.0]
    # above, not at
    four = SequenceClasses([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]], [0, 1])
    assert measures.recall(0 * logits(four), four, 1 / 4).max() == 0
    # nothing to recall, and a diverged run
    none = SequenceClasses([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], [0, 1])
    assert np.isnan(measures.recall(logits(none), none, 0.1)).all()
    Z = logits(syn_small())
    Z[0] = np.nan
    assert np.isnan(measures.recall(Z, syn_small(), 0.1).values).tolist() == [[True], [False]]


def test_relative_gain_is_theorem_3s() -> None:
    classes = overlapping_classes()
    Z = logits(classes)
    c = measures.attention(Z, classes).isel({"class": 1})
    r = measures.relative_gain(c, 3, 4)
    z = Z.sel(query=7)
    f = [classes.probs[1, token] * np.exp(z.sel(token=token).values) for token in (3, 4)]  # up to the norm
    assert r.dims == ("recorded",)
    assert r.values == pytest.approx(f[0] ** 2 / f[1] ** 2 - 1, rel=1e-12, abs=0)


def test_leading_axes_stay_whatever_their_number() -> None:
    classes = overlapping_classes()
    Z = xr.concat([logits(classes, scale) for scale in (0.5, 1.0, 2.0)], dim="seed").expand_dims(rate=2, axis=1).copy()
    Z[2, 1, 0] = np.nan
    c = measures.attention(Z, classes)
    H, R = measures.entropy(c, classes), measures.recall(Z, classes, [0.05, 0.2])
    r = measures.relative_gain(c.isel({"class": 1}), 3, 4)
    assert (H.dims, R.dims, r.dims) == tuple(
        ("seed", "rate", "recorded", *last) for last in (["class"], ["threshold"], [])
    )
    for seed, rate, recorded in np.ndindex(3, 2, 2):
        one = {"seed": seed, "rate": rate, "recorded": recorded}
        alone = Z.isel(one)
        np.testing.assert_array_equal(H.isel(one), measures.entropy(measures.attention(alone, classes), classes))
        np.testing.assert_array_equal(R.isel(one), measures.recall(alone, classes, [0.05, 0.2]))
        assert np.isnan(R.isel(one)).all() == ((seed, rate, recorded) == (2, 1, 0))


def test_only_the_labels_of_what_is_left_are_left() -> None:
    classes = overlapping_classes()
    Z = logits(classes).assign_coords(recorded=("recorded", [0, 5], {"units": "steps"}))
    c = measures.attention(Z, classes)
    H, R, r = measures.entropy(c, classes), measures.recall(Z, classes, 0.1), measures.relative_gain(c, 3, 4)
    assert (c["class"].values.tolist(), c["query"].values.tolist()) == ([0, 1, 2], [6, 7, 6])
    for found, labels in (
        (c, {"class", "query", "token"}),
        (H, {"class", "query"}),
        (r, {"class", "query"}),
        (R, {"threshold"}),
    ):
        assert set(found.coords) == labels | {"recorded"}
        assert found.recorded.attrs == {"units": "steps"}


def test_other_classes_on_the_same_tokens_are_refused() -> None:
    one, other = TWINS
    run = train(one, lr_y=1, lr_z=1, steps=2)
    path = solve(TrueFlow(one, 1, 1), [0, 1])
    for Z in (run.Z, path.Z, predict(one, 1, 1, [1]).Z, run.Z.isel(recorded=-1, rate=0)):
        c = measures.attention(Z, one)
        assert measures.entropy(c, one).attrs == {"units": "nats"}
        for refused in (
            lambda Z=Z: measures.attention(Z, other),
            lambda Z=Z: measures.recall(Z, other, 0.1),
            lambda c=c: measures.entropy(c, other),
        ):
            with refuses(
                "Z of other classes than SequenceClasses(K=2, M=4, queries=1)",
                "a measure takes a run with the classes that it was made with",
            ):
                refused()
    assert measures.attention(run.Z.drop_attrs(), other).sizes["class"] == 2


def test_attention_of_a_variant_that_reads_the_query_tokens_too() -> None:
    one, other = TWINS
    run = train(one, lr_y=1, lr_z=1, steps=2, model="residual")
    for Z in (run.Z, solve(TrueFlow(one, 1, 1, model="residual"), [0, 1]).Z):
        assert Z.token.values.tolist() == [0, 1, 2, 3]
        own = Z.sel(token=[0, 1, 2]).drop_attrs()
        xr.testing.assert_equal(measures.attention(Z, one), measures.attention(own, one))
        xr.testing.assert_equal(measures.recall(Z, one, 0.1), measures.recall(own, one, 0.1))
        with refuses(
            "Z of other classes than SequenceClasses(K=2, M=4, queries=1)",
            "a measure takes a run with the classes that it was made with",
        ):
            measures.attention(Z, other)
        # they could be any classes' on four tokens
        with refuses("Z over 1 queries and 4 tokens", "a run and classes name the same queries and tokens"):
            measures.attention(Z.drop_attrs(), one)
    classes = overlapping_classes()
    for name, told in itertools.product((None, "Z"), "!~"):  # before and after all checksums in the alphabet
        with refuses(
            f"{name or 'values'} of other classes than {classes!r}",
            "a measure takes a run with the classes that it was made with",
        ):
            measures.attention(logits(classes).rename(name).assign_attrs(classes=told), classes)


def test_values_without_labels_or_numbers_are_refused() -> None:
    classes = overlapping_classes()
    Z = logits(classes)
    c = measures.attention(Z, classes)
    labelled = "a labelled array (xarray.DataArray) of numbers"
    thresholds = "thresholds are a number that isn't negative, or a list of them"
    refused: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
        *(
            (measures.entropy, (values, classes), "c = …", f"{labelled} over class, token")
            for values in (c.values, c.astype(str), c.isel({"class": 0}), c.isel(token=0))
        ),
        *((measures.attention, (values, classes), "Z = …", labelled) for values in (c.values, c.astype(str))),
        (
            measures.attention,
            (Z, syn_small()),
            "Z over 2 queries and 6 tokens",
            "a run and classes name the same queries and tokens",
        ),
        (measures.recall, (Z, classes, -1), "thresholds = -1", thresholds),
        (measures.recall, (Z, classes, [[0.1, 0.2]]), "thresholds of shape (1, 2)", thresholds),
    ]
    for measure, arguments, value, rule in refused:
        with refuses(value, rule):
            measure(*arguments)


def test_a_gain_is_of_the_attention_of_two_tokens_that_are_there() -> None:
    classes = overlapping_classes()
    c = measures.attention(logits(classes), classes)
    assert measures.relative_gain(c.where(c.token != 1, 0.0), 2, 1).values[0, 0] == math.inf
    for token in (True, 1.0, 9, "wave", [1], None):
        for name, chosen in (("token", (token, 1)), ("other", (1, token))):
            with refuses(f"{name} = {token!r}", "a token that c holds"):
                measures.relative_gain(c, *chosen)
    assert measures.relative_gain(c, c.token.values[1], 1).sel({"class": 0}).values == pytest.approx(0, abs=0)
    Z = predict(syn_small(), 1, 1, [10]).Z
    some = np.abs(Z.drop_attrs())
    for given in (Z, Z.isel(query=0), logits(syn_small(), 0.1).isel(query=0), some, abs(Z).isel(query=0)):
        with refuses("c of logits", "relative gain is of attention", "pass attention(run.Z, classes)"):
            measures.relative_gain(given, 1, 2)


def test_padding_is_left_out_and_what_isnt_padding_refused() -> None:
    classes = overlapping_classes()
    Z = logits(classes)
    padded = Z.reindex(token=[*Z.token.values, 7])
    xr.testing.assert_equal(measures.on_axes_of(padded, classes), Z)
    with refuses("Z over 2 queries and 7 tokens", "a run and classes name the same queries and tokens"):
        measures.on_axes_of(padded.fillna(0.0), classes)
    with refuses("Y over 7 tokens", "a run and classes name the same tokens"):
        measures.on_axes_of(padded.fillna(0.0).isel(query=0).rename("Y"), classes, ("token",))
    several = xr.concat([Z, Z, Z], dim="data").assign_coords(data=["weak", "strong", "other"])
    with refuses(
        "None of 3 data sets", "quantities are taken of one, with its classes", "choose one, e.g. run.sel(data='weak')"
    ):
        measures.on_axes_of(several, classes)
