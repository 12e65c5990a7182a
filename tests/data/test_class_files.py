"""Class systems in YAML and JSON: what they say, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from scansnap_core import BadInput
from scansnap_core.data.class_files import load_classes
from tests.engine.references import overlapping_classes

CONTENT = {
    "vocab_size": 9,
    "classes": [
        {"query": 6, "probs": {0: 0.2, 1: 0.5, 2: 0.3}, "next": 8},
        {"query": 7, "probs": [0.6, 0, 0, 0.1, 0.3, 0, 0, 0, 0], "next": 2},
        {"query": 6, "probs": {0: 0.3, 1: 0.3, 5: 0.4}, "next": 5},
    ],
}


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_a_file_says_what_the_arrays_say(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"classes{suffix}"
    path.write_text(json.dumps(CONTENT) if suffix == ".json" else yaml.safe_dump(CONTENT), encoding="utf8")
    loaded, expected = load_classes(path), overlapping_classes()
    assert (loaded.probs == expected.probs).all()
    assert (loaded.query_of == expected.query_of).all()
    assert (loaded.next_of == expected.next_of).all()


def test_the_next_token_defaults_to_the_position(tmp_path: Path) -> None:
    path = tmp_path / "classes.yaml"
    path.write_text("vocab_size: 3\nclasses:\n  - {query: 2, probs: {0: 1}}\n  - {query: 2, probs: {1: 1.0}}\n")
    assert load_classes(str(path)).next_of.tolist() == [0, 1]


ONE = "vocab_size: 3\nclasses: [{query: 2, probs: %s}]\n"
CLASS = "{query: 0, probs: {0: 1}}"
BAD = [
    ("[1, 2", "is valid YAML or JSON"),
    ("{a: b: c}", "is valid YAML or JSON"),
    ("", "its content: None: a mapping of keys to values; see the example"),
    ("[1]", "its content: [1]: a mapping of keys to values"),
    ("vocab_size: 3", "its content: no key 'classes': classes is required"),
    (f"classes: [{CLASS}]", "no key 'vocab_size': vocab_size is required"),
    ("{classes: [], color: red}", "its content: key 'color': the known keys are classes, tokens, vocab_size"),
    (f"{{vocab_size: 0, classes: [{CLASS}]}}", "vocab_size = 0: an integer in 1..2^62; pass e.g."),
    (f"{{vocab_size: true, classes: [{CLASS}]}}", "vocab_size = True: an integer in 1..2^62"),
    (f"{{vocab_size: 2.0, classes: [{CLASS}]}}", "vocab_size = 2.0: an integer in 1..2^62"),
    ("{vocab_size: 3, classes: []}", "classes = []: classes is a list with at least one entry"),
    ("{vocab_size: 3, classes: {}}", "classes = {}: classes is a list"),
    (f"{{vocab_size: 1, classes: [{CLASS}, {CLASS}]}}", "K = 2 classes over M = 1 tokens: next tokens are"),
    ("{vocab_size: 3, classes: [7]}", "class 0: 7: a mapping of keys to values"),
    ("{vocab_size: 3, classes: [{probs: {0: 1}}]}", "class 0: no key 'query': query is required"),
    ("{vocab_size: 3, classes: [{query: 0}]}", "class 0: no key 'probs': probs is required"),
    ("{vocab_size: 3, classes: [{query: 0, prob: {0: 1}}]}", "class 0: key 'prob': the known keys are frequency,"),
    ("{vocab_size: 3, classes: [{query: [1], probs: {0: 1}}]}", "class 0: query = [1]: a token is an integer; write"),
    ("{vocab_size: 3, classes: [{query: 1, probs: {0: 1}, next: 1.5}]}", "class 0: next = 1.5: a token is an integer"),
    ("{vocab_size: 3, classes: [{query: 3, probs: {0: 1}}]}", "query_of holds 3: tokens are numbered 0..2 (M = 3)"),
    ("{vocab_size: 3, classes: [{query: 2, probs: {0: 1}, next: -1}]}", "next_of holds -1: tokens are numbered 0..2"),
    (ONE % "1.0", "class 0: probs = 1.0: probs maps tokens to probabilities, or lists all M = 3 of them"),
    (ONE % "[1.0]", "class 0: probs = [1.0]: probs maps tokens to probabilities, or lists all M = 3 of them"),
    (ONE % "{3: 1.0}", "class 0: token 3: tokens are numbered 0..2 (M = 3); count tokens from 0, or raise vocab_size"),
    (ONE % "{-1: 1.0}", "class 0: token -1: tokens are numbered 0..2"),
    (ONE % "{a: 1.0}", "class 0: token = 'a': a token is an integer"),
    (ONE % "{0: much}", "class 0: probability of 0 = 'much': a probability is a number in [0, 1]; write"),
    (ONE % "{0: true}", "class 0: probability of 0 = True: a probability"),
    (ONE % "{0: 0.5, 1: 0.4}", "class 0 sums to 0.9: the probabilities of a class sum to 1"),
    (ONE % "{0: 1.5, 1: -0.5}", "class 0 has the probability -0.5: probabilities are finite and not negative"),
    (ONE % "{0: .nan}", "class 0 has the probability nan: probabilities are finite"),
    (ONE % "{}", "class 0 holds no token: every class gives some token a positive probability"),
    (ONE % "{0: 0.0}", "class 0 holds no token"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message[:50] for _, message in BAD])
def test_malformed_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf8")
    with pytest.raises(BadInput) as caught:
        load_classes(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", '{"vocab_size": 3, "classes": [}', "\x00"])
def test_malformed_json(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf8")
    with pytest.raises(BadInput, match="the file is valid YAML or JSON; see the example"):
        load_classes(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"nowhere\.yaml: No such file or directory: the file must exist and be readable; check the path"
    ):
        load_classes(tmp_path / "nowhere.yaml")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(BadInput, match="Is a directory"):
        load_classes(tmp_path / "folder.json")
    with pytest.raises(BadInput, match=r"classes\.txt: its name ends in \.yaml, \.yml, \.json; rename or"):
        load_classes(tmp_path / "classes.txt")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(BadInput, match=r"bytes\.yaml: it isn't UTF-8 text"):
        load_classes(tmp_path / "bytes.yaml")
