"""For any input of the right or the wrong kind the data room gives a result that keeps its invariants, or BadInput."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scansnap_core.base import files
from scansnap_core.data.audit import Audit, audit
from scansnap_core.data.datasets import syn_large, syn_medium, with_overlap
from scansnap_core.data.probabilities import Outputs
from scansnap_core.data.sequences import SequenceClasses
from tests.data.properties import FEW, WRONG, class_systems, result_or_refusal

sizes = WRONG | st.integers(-2, 40) | st.sampled_from([10**9, 2**62, 2**63, 2**64, -(10**9)])
numbers = WRONG | st.floats() | st.integers()
names = st.text(max_size=3) | st.sampled_from(
    ["no", "1e-1", "0x1", "010", "~", "12:30", "(others)", "#3", "a b", "é", "<<"]
)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def kept(classes: SequenceClasses) -> None:
    """Check the properties that all sequence classes have."""
    K, M, L = classes.num_classes, classes.vocab_size, len(classes.tokens)
    probs, compact = classes.sparse_probs, classes.compact
    assert 1 <= K <= M
    assert probs.shape == compact.probs.shape == (K, L)
    assert (probs.data > 0).all()
    assert probs.sum(axis=1) == pytest.approx(np.ones(K), rel=0, abs=1e-12)
    assert len(set(classes.next_of.tolist())) == K
    assert ((classes.query_of >= 0) & (classes.query_of < M)).all()
    assert (compact.queries[compact.query_row] == classes.query_of).all()
    assert classes.outputs.multiplicity.sum() == pytest.approx(M, rel=1e-12, abs=0)
    assert classes.frequencies.sum() == pytest.approx(1, rel=0, abs=1e-12)
    assert (classes.frequencies > 0).all()
    assert np.isfinite(classes.E).all()
    assert (np.diff(np.abs(classes.eigenvalues)) <= 0).all()
    held = np.concatenate([classes.support(n) for n in range(K)])
    assert set(held.tolist()) == set(classes.tokens.tolist())
    for n in range(K):
        own = classes.distinct_tokens(n)
        assert set(own.tolist()) | set(classes.common_tokens.tolist()) >= set(classes.support(n).tolist())
    assert [len(classes.coords[dim]) for dim in ("class", "token", "query")] == [K, L, len(compact.queries)]
    assert all(len(set(labels.tolist())) == len(labels) for labels in classes.coords.values())
    for array in (classes.query_of, classes.next_of, classes.tokens, compact.queries, probs.data, classes.E):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    assert len(repr(classes)) < 400


def kept_or_refused(call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    made = result_or_refusal(call, *arguments, **named)
    if made is not None:
        kept(made)


@FEW
@given(class_systems(), st.sampled_from([".yaml", ".yml", ".json"]))
def test_files_give_equal_classes(tmp_path: Path, classes: SequenceClasses, suffix: str) -> None:
    path = tmp_path / f"classes{suffix}"
    classes.save(path)
    loaded = SequenceClasses.load(path)
    assert loaded == classes
    assert hash(loaded) == hash(classes)
    assert (loaded.probs == classes.probs).all()
    assert loaded.token_names == classes.token_names
    kept(loaded)


lists = st.lists(st.lists(st.floats() | st.integers(), max_size=3), max_size=3)


@FEW
@given(WRONG | lists, WRONG, WRONG | st.none(), WRONG, WRONG)
def test_arrays(probs: Any, query_of: Any, next_of: Any, tokens: Any, classes: Any) -> None:
    kept_or_refused(SequenceClasses, probs, query_of, next_of, token_names=tokens, class_names=classes)


tokens_or_not = st.lists(st.integers(-1, 4) | WRONG, max_size=3)


@FEW
@given(WRONG | tokens_or_not, WRONG | tokens_or_not, WRONG | names)
def test_what_goes_with_good_probabilities(query_of: Any, next_of: Any, tokens: Any) -> None:
    good = [[0.5, 0.5, 0, 0], [0.25, 0, 0.75, 0]]
    for given_tokens in ((), tokens, [tokens, "b", "c", "d"]):
        kept_or_refused(SequenceClasses, good, query_of, next_of, token_names=given_tokens)


rows = st.dictionaries(names | st.integers(), WRONG | st.sampled_from([0.5, 1.0, 1, 0.25]), max_size=3)


@FEW
@given(
    WRONG | st.dictionaries(names, rows | WRONG, max_size=3),
    WRONG | names | st.dictionaries(names, names, max_size=3),
    WRONG | st.dictionaries(names, names, max_size=2),
    sizes | st.none(),
)
def test_dicts(classes: Any, query_of: Any, next_of: Any, vocab_size: Any) -> None:
    make = SequenceClasses.from_dicts
    kept_or_refused(make, classes, query_of=query_of, next_of=next_of, vocab_size=vocab_size)
    kept_or_refused(make, {"a": {"x": 1}, "b": {"y": 1.0}}, query_of=query_of, next_of=next_of)
    kept_or_refused(make, classes, query_of="the")
    kept_or_refused(make, {"a": {"x": 1}}, query_of="the", vocab_size=vocab_size)


@FEW
@given(sizes, sizes, numbers, WRONG | st.lists(st.floats(), max_size=4))
def test_data_sets(num_classes: Any, vocab_size: Any, rho: Any, weights: Any) -> None:
    kept_or_refused(syn_medium, num_classes)
    kept_or_refused(syn_large, num_classes, vocab_size)
    kept_or_refused(syn_large, 3, vocab_size)
    kept_or_refused(with_overlap, num_classes, vocab_size, rho, distinct_weights=weights)
    kept_or_refused(with_overlap, 3, 60, rho, distinct_weights=weights)
    kept_or_refused(with_overlap, 3, 60, rho)
    kept_or_refused(with_overlap, num_classes, 600, 0.1, distinct_weights=[1, 2])


@FEW
@given(class_systems(), WRONG | st.lists(st.floats() | WRONG, max_size=3))
def test_frequencies(classes: SequenceClasses, frequencies: Any) -> None:
    kept_or_refused(classes.with_frequencies, frequencies)
    assert classes.with_frequencies(classes.given_frequencies) == classes


@FEW
@given(class_systems(), WRONG, numbers, numbers)
def test_audits(classes: SequenceClasses, wrong: Any, seq_len: Any, rate: Any) -> None:
    assert result_or_refusal(audit, wrong) is None
    for found in (
        result_or_refusal(audit, classes, seq_len=seq_len, lr_y=rate, lr_z=1.0),
        result_or_refusal(audit, classes, lr_y=1.0, lr_z=rate),
        audit(classes),
    ):
        if found is not None:
            assert isinstance(found, Audit)
            assert len(str(found).splitlines()) == len(found) + 1
            assert found.holds == all(condition.holds for condition in found)


@FEW
@given(class_systems(), WRONG, sizes, numbers)
def test_samples(classes: SequenceClasses, rng: Any, batch_size: Any, seq_len: Any) -> None:
    good = np.random.default_rng(0)
    assert result_or_refusal(classes.sample, 2, 8, rng) is None
    for size, length in ((batch_size, 8), (3, seq_len if not isinstance(seq_len, int) else min(seq_len, 10**6))):
        found = result_or_refusal(classes.sample, size, length, good)
        if found is not None:
            assert found[1].sum(axis=1) == pytest.approx(np.ones(size), rel=0, abs=1e-12)


@FEW
@given(WRONG | st.lists(st.integers(-1, 9), max_size=3), sizes)
def test_outputs(next_of: Any, vocab_size: Any) -> None:
    for make in (Outputs.lumped, Outputs.separate):
        outputs = result_or_refusal(make, next_of, vocab_size)
        if outputs is not None:
            assert outputs.multiplicity.sum() == pytest.approx(vocab_size, rel=1e-12, abs=0)
            assert (outputs.labels[outputs.columns] == next_of).all()


@FEW
@given(json_like, json_like, json_like, json_like)
def test_class_files(tmp_path: Path, whole: Any, query: Any, probs: Any, size: Any) -> None:
    contents = [
        whole,
        {"vocab_size": size, "classes": [{"query": query, "probs": probs}]},
        {"vocab_size": 3, "classes": [{"query": 1, "probs": probs, "next": size}]},
        {"tokens": size, "classes": [{"query": query, "name": whole, "probs": {"a": 1.0}}, probs]},
        {"classes": [{"query": "the", "next": whole, "probs": probs}]},
    ]
    for content in contents:
        for path, text in ((tmp_path / "a.json", json.dumps(content)), (tmp_path / "a.yaml", yaml.safe_dump(content))):
            path.write_text(text, encoding="utf8", errors="surrogateescape" if text.isprintable() else "replace")
            kept_or_refused(SequenceClasses.load, path)


@FEW
@given(st.text() | st.text(alphabet="{}[]:,-&*!|>'\"# \n\tab01.e~<?"))
def test_texts_that_are_no_files(tmp_path: Path, text: str) -> None:
    for name in ("a.yaml", "a.json"):
        (tmp_path / name).write_text(text, encoding="utf8", errors="replace")
        result_or_refusal(SequenceClasses.load, tmp_path / name)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@FEW
@given(st.dictionaries(names.filter(lambda name: name.isprintable()), plain, max_size=3))
def test_what_is_written_is_read(tmp_path: Path, content: dict[str, Any]) -> None:
    for name in ("a.yaml", "a.json"):
        files.write(tmp_path / name, content)
        assert files.read(tmp_path / name, example="") == content


@FEW
@given(WRONG)
def test_paths(tmp_path: Path, path: Any) -> None:
    assert result_or_refusal(SequenceClasses.load, path) is None
    if not isinstance(path, Path):
        assert result_or_refusal(with_overlap(2, 60, 0.1).save, path) is None
