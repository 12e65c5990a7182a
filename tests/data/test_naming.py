"""Names of tokens and classes: their numbers, what is refused, and that they reach every coordinate."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from scansnap_core.base.rules import shown
from scansnap_core.data.datasets import syn_small
from scansnap_core.data.inputs import NAME, OTHERS_NAME
from scansnap_core.data.sequences import SequenceClasses, checksum
from scansnap_core.engine.training import train
from scansnap_core.sweeps.blocks import blocks, layout_of, placed
from scansnap_core.sweeps.grids import Grid
from scansnap_core.theory import dynamics, measures
from tests.data.test_refusals import TOPICS
from tests.refusing import refuses


def topics(**changes: Any) -> SequenceClasses:
    return SequenceClasses.from_dicts(
        TOPICS, **{"query_of": "the", "next_of": {"sea": "ship"}, "vocab_size": 50, **changes}
    )


def numbered() -> SequenceClasses:
    probs = np.zeros((2, 50))
    probs[0, :2], probs[1, [0, 2, 3]] = [0.3, 0.7], [0.4, 0.35, 0.25]
    return SequenceClasses(probs, [4, 4], [5, 6])


def test_names_are_numbered_as_they_are_mentioned() -> None:
    classes = topics()
    assert classes.token_names == ("and", "wave", "cloud", "wing", "the", "ship", "sky")
    assert classes.class_names == ("sea", "sky")
    assert (classes.probs == numbered().probs).all()
    assert classes.query_of.tolist() == [4, 4]
    assert classes.next_of.tolist() == [5, 6]
    assert topics(vocab_size=None).vocab_size == 7
    assert topics(query_of={"sky": "a", "sea": "the"}).query_of.tolist() == [4, 5]
    assert topics(next_of=None).token_names[-2:] == ("sea", "sky")


def test_labels() -> None:
    classes = topics()
    assert classes.labels([[1, -1], [0, 49]]).tolist() == [["wave", OTHERS_NAME], ["and", "#49"]]
    assert {dim: labels.tolist() for dim, labels in classes.coords.items()} == {
        "class": ["sea", "sky"],
        "token": ["and", "wave", "cloud", "wing"],
        "query": ["the"],
    }
    assert numbered().labels(np.array([1, 17, -1])).tolist() == [1, 17, -1]
    assert [labels.tolist() for labels in numbered().coords.values()] == [[0, 1], [0, 1, 2, 3], [4]]
    named = SequenceClasses(numbered().probs, [4, 4], [5, 6], token_names=["a", "b", "c", "d", "e", "f", "g"])
    assert named.class_names == ("f", "g")


def test_equal_if_numbers_and_names_are() -> None:
    classes = topics()
    assert classes == topics()
    assert hash(classes) == hash(topics())
    others = [
        numbered(), topics(vocab_size=51), topics(next_of={"sea": "boat"}), topics(query_of="a"),
        SequenceClasses(classes.probs, [4, 4], [5, 6], class_names=["sea", "sky"]),
        SequenceClasses(classes.probs, [4, 4], [6, 5], token_names=classes.token_names, class_names=["sea", "sky"]),
        SequenceClasses(classes.probs[::-1], [4, 4], [5, 6], token_names=classes.token_names),
    ]  # fmt: skip
    assert len({classes, *others}) == 8
    assert classes not in others
    assert classes != "classes"
    assert len({checksum(each) for each in (classes, *others)}) == 8
    four = SequenceClasses(np.eye(4), [0] * 4, class_names=list("abcd"))
    assert repr(four) == "SequenceClasses(K=4, M=4, queries=1, classes=[a, b, c, d])"
    assert repr(classes) == "SequenceClasses(K=2, M=50, queries=1, classes=[sea, sky])"
    many = SequenceClasses(np.eye(6), [0] * 6, class_names=list("abcdef"))
    assert repr(many) == "SequenceClasses(K=6, M=6, queries=1, classes=[a, b, c, d, …])"


def test_names_reach_the_coordinates_of_results() -> None:
    settings: dict[str, Any] = {"lr_y": 1.0, "lr_z": 0.5, "steps": 3, "batch_size": 4, "seq_len": 8, "device": "cpu"}
    run, plain = train(topics(), **settings), train(numbered(), **settings)
    assert run.token.values.tolist() == ["and", "wave", "cloud", "wing"]
    assert run["query"].values.tolist() == ["the"]
    assert run.output.values.tolist() == ["ship", "sky", OTHERS_NAME]
    assert (run.Y.values == plain.Y.values).all()
    full = train(topics(), **settings, initial="random")
    assert full.output.values[[4, 6, 7]].tolist() == ["the", "sky", "#7"]
    c = measures.attention(run.Z, topics())
    assert c["class"].values.tolist() == ["sea", "sky"]
    assert (c.values == measures.attention(plain.Z, numbered()).values).all()
    entropy = measures.entropy(c, topics())
    assert entropy["class"].values.tolist() == ["sea", "sky"]
    np.testing.assert_array_equal(entropy, measures.entropy(measures.attention(plain.Z, numbered()), numbered()))
    with refuses("Z over 1 queries and 4 tokens", "a run and classes name the same queries and tokens"):
        measures.attention(plain.Z, topics())
    paths = dynamics.compare(
        topics(), lr_y=1.0, lr_z=0.1, marks=[0, 2], seeds=[0, 1], batch_size=2, seq_lens=[math.inf]
    )
    assert paths["class"].values.tolist() == ["sea", "sky"]
    assert paths.Z.sel(query="the", token="wave").sizes == {"dynamics": 4, "t": 2}


def test_a_sweep_holds_named_and_numbered_systems() -> None:
    data = {"topics": topics(), "small": syn_small()}
    grid = Grid(data=data, rates=((1.0, 0.5),), steps=2, seeds=(0,), batch_sizes=(4,), seq_lens=(8,))
    layout = layout_of(grid)
    labels = layout.labels
    assert set(labels.token.values) == {"and", "wave", "cloud", "wing", *map(str, range(30))}
    for block in blocks(grid, "cpu"):
        values = block.compute()
        shown = placed(values, layout)
        for name, dims in (("entropy", ("class",)), ("Z", ("query", "token"))):
            own = [
                [labels[dim].values.tolist().index(str(label)) for label in block.classes.coords[dim]] for dim in dims
            ]
            np.testing.assert_array_equal(shown[name][0, 0, 0, 0, 0, 0][np.ix_(*own)], values[name][0])
    alone = layout_of(Grid(data={"small": syn_small()}, rates=((1.0, 0.5),), steps=2, seeds=(0,))).labels
    assert alone["class"].values.tolist() == [0, 1]
    assert alone.token.values.tolist() == list(range(30))


def test_a_picture() -> None:
    named, unnamed = topics().plot(), numbered().plot()
    labels = [
        [text.get_text() for text in axis.get_ticklabels()] for axis in (named.axes[0].xaxis, named.axes[0].yaxis)
    ]
    assert labels == [["and", "wave", "cloud", "wing"], ["sea", "sky"]]
    drawn = named.axes[0].images[0].get_array()
    assert drawn is not None
    assert np.ma.filled(drawn, 0).tolist() == topics().compact.probs.tolist()
    assert [text.get_text() for text in unnamed.axes[0].yaxis.get_ticklabels()] == ["0", "1"]


def test_a_class_is_known_by_number_and_by_name() -> None:
    classes = topics()
    assert classes.number_of("sky") == classes.number_of(int(classes.next_of.argmax())) == 1
    assert classes.distinct_tokens("sky").tolist() == classes.distinct_tokens(1).tolist() == [2, 3]


def test_counts_give_the_shares_of_their_classes() -> None:
    rows = 1000 * numbered().probs
    for given in (rows, rows.round().astype(int), sparse.csr_array(rows)):
        found = SequenceClasses.from_counts(given, query_of=[4, 4], next_of=[5, 6], frequencies=[0.2, 0.8])
        np.testing.assert_allclose(found.probs, numbered().probs, rtol=1e-15)
        assert found.frequencies.tolist() == [0.2, 0.8]
    assert SequenceClasses.from_counts(rows, query_of=[4, 4], class_names=["sea", "sky"]).class_names == ("sea", "sky")
    assert rows.max() == 700  # as it was given


JOINED = "می\u200cخواهم"
"""A Persian word: a joiner that can't be seen keeps two of its letters apart."""


@pytest.mark.parametrize("name", [JOINED, "soft\u00adhyphen", "a\u00a0b", "👩\u200d🔬", "$x$", "<b>", "\U0001fae9"])
def test_any_text_is_a_name(name: str, tmp_path: Path) -> None:
    classes = SequenceClasses.from_dicts({"sea": {name: 0.5, "wave": 0.5}}, query_of="q", vocab_size=10)
    for file in ("a.yaml", "a.json"):
        classes.save(tmp_path / file)
        assert SequenceClasses.load(tmp_path / file).token_names == classes.token_names
    assert classes.token_names[0] == name


@pytest.mark.parametrize(
    "name", ["a\nb", "a\tb", "\x07", "\x9b31m", "\ud800", "\u2028", "\u202eabc", "\u2066a", "", " ", "\u200b"]
)
def test_what_would_disturb_a_display_or_not_be_seen_is_no_name(name: str) -> None:
    with refuses("a token of class 'sea' = '…'", NAME.says):
        SequenceClasses.from_dicts({"sea": {name: 0.5, "wave": 0.5}}, query_of="q", vocab_size=10)


@pytest.mark.parametrize("names", [np.array("abc"), np.array(3), 3, None])
def test_names_without_an_axis_are_no_list(names: Any) -> None:
    with refuses(f"token_names = {shown(names)}", "a list of names"):
        SequenceClasses([[0.5, 0.5]], query_of=[0], next_of=[1], token_names=names)


def test_nothing_under_a_mask_counts() -> None:
    counts = np.ma.masked_equal([[1, 96, 3], [2, 2, 2]], 96)
    with refuses("counts with a masked place at (0, 1)", "what is masked is no number"):
        SequenceClasses.from_counts(counts, query_of=[0, 0], next_of=[1, 2])
    assert SequenceClasses.from_counts(counts.filled(0), query_of=[0, 0], next_of=[1, 2]).probs[0].tolist() == [
        0.25,
        0,
        0.75,
    ]
    given: dict[str, Any] = {
        "probs": [[0.5, 0.5, 0], [0, 0.5, 0.5]],
        "query_of": [0, 0],
        "next_of": [1, 2],
        "frequencies": [0.5, 0.5],
    }
    for name, values in given.items():
        masked = np.ma.array(values, mask=np.zeros(np.shape(values)))
        assert SequenceClasses(**{**given, name: masked}).num_classes == 2
        masked[-1] = np.ma.masked
        with refuses(f"{name} with a masked place at …", "what is masked is no number"):
            SequenceClasses(**{**given, name: masked})
    with refuses("lr_y with a masked place at (1,)", "what is masked is no number"):
        train(syn_small(), lr_y=np.ma.masked_equal([1.0, 2.0], 2), lr_z=1, steps=2)  # type: ignore[arg-type]
