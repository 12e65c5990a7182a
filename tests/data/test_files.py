"""YAML and JSON: what scalars mean, keys that differ, errors that name file and place, and class systems in files."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core.base import files
from scansnap_core.base.rules import shown
from scansnap_core.data import class_files
from scansnap_core.data.sequences import SequenceClasses
from tests.data.properties import refusal_of
from tests.data.test_refusals import BY_NAME
from tests.engine.references import overlapping_classes
from tests.refusing import refuses

VALID = "the file is valid YAML or JSON"


def read(tmp_path: Path, text: str, name: str = "a.yaml") -> Any:
    (tmp_path / name).write_text(text, encoding="utf8")
    return files.read(tmp_path / name, example="see there")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-1", 0.1), ("1E3", 1000.0), ("-2.5e+3", -2500.0), (".5", 0.5), ("2.", 2.0), (".inf", float("inf")),
        ("-.inf", -float("inf")), ("010", 10), ("0o10", 8), ("0x10", 16), ("no", "no"), ("on", "on"), ("true", True),
        ("~", None), ("12:30", "12:30"), ("1_000", "1_000"), ("2001-01-01", "2001-01-01"), ("'1e-1'", "1e-1"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text: str, value: Any, tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "value", "rule"),
    [
        ("a.yaml", "a: 1\nb: {c: 1,\n c: 2}", "key 'c' twice in line 3", "the keys of a mapping differ"),
        ("a.yaml", "{1: a, 0x1: b}", "key 1 twice in line 1", "the keys of a mapping differ"),
        ("a.json", '{"a": 1, "b": {"c": 1, "c": 1}}', "key 'c' twice", "the keys of a mapping differ"),
        ("a.yaml", "{[a]: 1}", "…found unhashable key…", VALID),
        ("a.yaml", "!!float ''", "could not convert string to float…", VALID),
        ("a.yaml", "[" * 3000, "maximum recursion depth…", VALID),
        ("a.json", "[" * 100_000, "maximum recursion depth…", VALID),
        ("a.yaml", "a: [1", "…", VALID),
    ],
)
def test_bad_files(name: str, text: str, value: str, rule: str, tmp_path: Path) -> None:
    with refuses(f"file {tmp_path / name}: {value}", rule):
        read(tmp_path, text, name)


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
    loaded, expected = SequenceClasses.load(path), overlapping_classes()
    assert (loaded.probs == expected.probs).all()
    assert (loaded.query_of == expected.query_of).all()
    assert (loaded.next_of == expected.next_of).all()


def test_the_next_token_defaults_to_the_position(tmp_path: Path) -> None:
    path = tmp_path / "classes.yaml"
    path.write_text("vocab_size: 3\nclasses:\n  - {query: 2, probs: {0: 1}}\n  - {query: 2, probs: {1: 1.0}}\n")
    assert SequenceClasses.load(str(path)).next_of.tolist() == [0, 1]


def test_classes_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BY_NAME)
    classes = SequenceClasses.load(tmp_path / "a.yaml")
    assert classes.token_names == ("wave", "no", "and", "the", "a", "ship", "plane")
    assert classes.class_names == ("ship", "sky")
    assert classes.probs[:, :3].tolist() == [[0.7, 0, 0.3], [0, 0.6, 0.4]]
    assert classes.query_of.tolist() == [3, 4]
    assert classes.next_of.tolist() == [5, 6]


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00a")
    readable, kind = "the file must exist and be readable", f"its name ends in {', '.join(files.KINDS)}"
    load, save = SequenceClasses.load, overlapping_classes().save
    for use, value, rule in (
        (load, "nowhere.yaml: No such file or directory", readable),
        (load, "folder.json: Is a directory", readable),
        (load, "classes.txt", kind),
        (load, "bytes.yaml: it isn't UTF-8 text", readable),
        (save, "none/a.yaml: No such file or directory", "the file can be written"),
        (save, "a.txt", kind),
    ):
        with refuses(f"file {tmp_path / value}", rule):
            use(tmp_path / value.partition(":")[0])


def test_a_file_cannot_blow_a_message_up(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (tmp_path / "a.yaml").write_text("\n".join(lines))  # 9^12 parts, if they are written out
    assert len(refusal_of(SequenceClasses.load, tmp_path / "a.yaml")) < 1000
    assert shown(files.read(tmp_path / "a.yaml", example="none")["a11"]).endswith("…")


@pytest.mark.parametrize("number", ["0x" + 6000 * "f", "9" * 5000])
def test_an_integer_has_an_end(tmp_path: Path, number: str) -> None:
    assert read(tmp_path, f"vocab_size: {number}") == {"vocab_size": number}  # text, which no size is


def test_the_examples_in_the_docstring_are_class_files(tmp_path: Path) -> None:
    blocks = re.findall(r"::\n\n((?:    .*\n)+)", class_files.__doc__ or "")
    by_number, by_name = (textwrap.dedent(block) for block in blocks)
    (tmp_path / "numbered.yaml").write_text(by_number)
    (tmp_path / "named.yaml").write_text(by_name)
    assert SequenceClasses.load(tmp_path / "numbered.yaml").next_of.tolist() == [0, 7]
    named = SequenceClasses.load(tmp_path / "named.yaml")
    assert (named.token_names[:2], named.class_names) == (("and", "wave"), ("ship", "sky"))
