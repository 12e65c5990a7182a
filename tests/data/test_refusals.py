"""Anything but a class system is refused in one line that names the value, the rule and the remedy."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from scansnap_core.base.rules import RATE, SEQ_LEN
from scansnap_core.data.audit import audit
from scansnap_core.data.class_files import ENTRIES
from scansnap_core.data.datasets import syn_large, syn_medium, syn_small, with_overlap
from scansnap_core.data.inputs import CLASSES_BY_NAME, NAME, SHARE, SIZE, TABLE
from scansnap_core.data.probabilities import Outputs
from scansnap_core.data.sequences import SequenceClasses
from tests.engine.references import overlapping_classes
from tests.refusing import refuses

TWO = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
ROWS = "each class has a row of M finite numbers, none negative: shape (K, M)"
ONE_EACH = "one value for each of the classes sea, sky"
SUM_TO_1 = "the probabilities of a class sum to 1 (within 1e-06)"
DIFFER = "the values of an axis differ"
NUMBERED = "tokens are integers in 0..2 (M = 3)"
DISTINCT = "a list of one token for each class, all different, because a class is named by its next token"

ARRAYS: list[tuple[Any, Any, Any, str, str]] = [
    ([[1.5, -0.5]], [0], None, "probs = -0.5", ROWS),
    ([[0.5, math.nan]], [0], None, "probs = nan", ROWS),
    (sparse.csr_array([[1.0, 0], [math.inf, 0]]), [0, 0], None, "probs = inf", ROWS),
    (sparse.csr_array([[1j, 0]]), [0], None, "probs = array([0.+1.j])", ROWS),
    (sparse.coo_array([0.5, 0.5]), [0], None, "probs of shape (2,)", ROWS),
    ([0.5, 0.5], [0], None, "probs of shape (2,)", ROWS),
    (np.ones((0, 3)), [], None, "probs of shape (0, 3)", ROWS),
    ([[True, False]], [0], None, "probs = [[True, False]]", ROWS),
    (
        np.ma.masked_equal([[0.5, 0.5]], 0.5),
        [0],
        None,
        "probs with a masked place at (0, 0)",
        "what is masked is no number",
    ),
    ([["a", "b"]], [0], None, "probs = [['a', 'b']]", ROWS),
    ([[0.5, 0.4]], [0], None, "class 0 sums to 0.9", SUM_TO_1),
    ([[1, 0], [0.5, 0.500002]], [0, 0], None, "class 1 sums to 1.000002", SUM_TO_1),
    ([[1.0, 0], [0, 0]], [0, 0], None, "class 1 sums to 0", SUM_TO_1),
    ([[1.0], [1.0]], [0, 0], None, "K = 2 classes over M = 1 tokens", "next tokens are tokens, so K <= M"),
    (TWO, [0, 3], None, "query_of holds 3", NUMBERED),
    (TWO, [-2, 5], None, "query_of holds -2", NUMBERED),
    (TWO, [0.0, 1.0], None, "query_of = [0.0, 1.0]", NUMBERED),
    (TWO, [[0], [0, 1]], None, "query_of = [[0], [0, 1]]", NUMBERED),
    (TWO, [0], None, "query_of of shape (1,)", "one token for each of K = 2 classes"),
    (TWO, [[0], [0]], None, "query_of of shape (2, 1)", "one token for each of K = 2 classes"),
    (TWO, [0, 0], [1, 3], "next_of holds 3", NUMBERED),
    (TWO, [0, 0], [1, 1], "next_of = [1, 1]", DISTINCT),
]

TOPICS = {"sea": {"and": 0.3, "wave": 0.7}, "sky": {"and": 0.4, "cloud": 0.35, "wing": 0.25}}
TABLES: list[tuple[Any, dict[str, Any], str, str]] = [
    ({}, {}, "classes = {}", CLASSES_BY_NAME.says),
    ({"sea": {"and": 0.5}}, {}, "class 'sea' sums to 0.5", SUM_TO_1),
    ({"sea": {}}, {}, "class 'sea' sums to 0", SUM_TO_1),
    ({"sea": {"and": "1"}}, {}, "class 'sea': value of 'and' = '1'", SHARE.says),
    ({"sea": {"and": -1.0, "wave": 2.0}}, {}, "class 'sea': value of 'and' = -1.0", SHARE.says),
    ({"sea": {3: 1.0}}, {}, "a token of class 'sea' = 3", NAME.says),
    ({0: {"and": 1.0}}, {}, "a name of classes = 0", NAME.says),
    ({"(others)": {"and": 1.0}}, {}, "a name of classes = '(others)'", NAME.says),
    ({"sea": [1.0]}, {}, "class 'sea' = [1.0]", TABLE.says),
    (TOPICS, {"query_of": {"sea": "the"}}, "query_of of 'sky'", ONE_EACH),
    (
        TOPICS,
        {"query_of": {"sea": "the", "sky": "a", "land": "a"}},
        "query_of of 'land'",
        ONE_EACH,
    ),
    (TOPICS, {"query_of": 4}, "query_of = 4", TABLE.says),
    (TOPICS, {"query_of": {"sea": "the", "sky": 4}}, "query_of = 4", NAME.says),
    (TOPICS, {"next_of": {"sea": "boat", "sky": "boat"}}, "next_of = [5, 5]", DISTINCT),
    (TOPICS, {"next_of": "boat"}, "next_of = 'boat'", TABLE.says),
    (TOPICS, {"vocab_size": 6}, "7 names of tokens over M = 6 tokens", "every name is a token of the vocabulary"),
    (TOPICS, {"vocab_size": 7.0}, "vocab_size = 7.0", SIZE.says),
    (TOPICS, {"frequencies": {"sea": 1.0}}, "frequencies of 'sky'", ONE_EACH),
    (TOPICS, {"frequencies": [0.5, 0.5]}, "frequencies = [0.5, 0.5]", TABLE.says),
    (
        TOPICS,
        {"frequencies": {"sea": 3, "sky": 1}},
        "2 frequencies that sum to 4",
        "P(n) is one probability for each of K = 2 classes, and they sum to 1",
    ),
]

WRONG = "a list of positive finite numbers"
SUM = "P(n) is one probability for each of K = 3 classes, and they sum to 1"


def three(frequencies: Any) -> SequenceClasses:
    return overlapping_classes().with_frequencies(frequencies)


def named(**names: Any) -> SequenceClasses:
    return SequenceClasses(TWO, [0, 0], **names)


def counted(counts: Any, **more: Any) -> SequenceClasses:
    return SequenceClasses.from_counts(counts, query_of=[0, 0], **more)


CALLS: list[tuple[Any, str, str]] = [
    *((partial(SequenceClasses, *arrays), value, rule) for *arrays, value, rule in ARRAYS),
    *(
        (partial(SequenceClasses.from_dicts, rows, **{"query_of": "the"} | more), value, rule)
        for rows, more, value, rule in TABLES
    ),
    (lambda: three([0.5, 0.5, 0.0]), "frequencies = 0", WRONG),
    (lambda: three([0.5, math.nan, 0.5]), "frequencies = nan", WRONG),
    (lambda: three(1.0), "frequencies of shape ()", WRONG),
    (lambda: three([0.5, 0.5]), "2 frequencies that sum to 1", SUM),
    (lambda: three([1e308] * 3), "3 frequencies that sum to inf", SUM),
    (lambda: three([0.2, 0.5, 0.30001]), "3 frequencies that sum to 1.00001", SUM),
    (lambda: named(token_names=["a", "a"]), "token_names holds 'a' twice", DIFFER),
    (lambda: named(token_names=["a", ""]), "a name of token_names = ''", NAME.says),
    (lambda: named(token_names=["a", "b\n"]), "a name of token_names = 'b\\n'", NAME.says),
    (lambda: named(class_names=["a", "#3"]), "a name of class_names = '#3'", NAME.says),
    (lambda: named(token_names="abc"), "token_names = 'abc'", "a list of names"),
    (
        lambda: named(token_names=["a", "b"]),
        "2 names of tokens",
        "the first of M = 3 tokens have names, on to the last that a class uses, 2",
    ),
    (
        lambda: named(token_names=["a", "b", "c", "d"]),
        "4 names of tokens",
        "the first of M = 3 tokens have names, on to the last that a class uses, 2",
    ),
    (lambda: named(class_names=["a"]), "1 names of classes", "each of K = 2 classes has a name, or none has"),
    (lambda: counted([[1, -1], [1, 1]]), "counts = -1", ROWS),
    (lambda: counted([[1, 1], [0, 0]]), "class 1 without a count", "every class was seen with some token"),
    (lambda: counted({"sea": {"and": 1}}), "counts = {'sea': {'and': 1}}", ROWS),
    (lambda: counted("many"), "counts = 'many'", ROWS),
    (lambda: named().labels(["wave"]), "tokens = ['wave']", "tokens are integers in -1..2 (M = 3)"),
    (lambda: named().labels([9999]), "tokens holds 9999", "tokens are integers in -1..2 (M = 3)"),
    (lambda: named().labels([-2]), "tokens holds -2", "tokens are integers in -1..2 (M = 3)"),
    (lambda: Outputs.lumped([0, 4], 4), "next_of holds 4", "tokens are integers in 0..3 (M = 4)"),
    (lambda: Outputs.separate([0, 4], 4), "next_of holds 4", "tokens are integers in 0..3 (M = 4)"),
    (lambda: Outputs.lumped(2, 4), "next_of = 2", DISTINCT),
    (lambda: Outputs.lumped([], 4), "next_of = []", DISTINCT),
    (lambda: Outputs.separate([1], 4.5), "vocab_size = 4.5", SIZE.says),
    (lambda: syn_medium(0), "num_queries = 0", "Syn-Medium has at least one query token"),
    (lambda: syn_large(3, 44), "K = 3, M = 44", "M >= 45 for the common, distinct, query and next tokens"),
    (lambda: syn_large(0, 100), "num_classes = 0", SIZE.says),
    (lambda: with_overlap(3, 60, 1.0), "rho = 1.0", "probabilities are not negative, so an overlap lies in [0, 1)"),
    (
        lambda: with_overlap(3, 60, math.nan),
        "rho = nan",
        "probabilities are not negative, so an overlap lies in [0, 1)",
    ),
    (lambda: with_overlap(1, 60, 0.1), "num_classes = 1", "an integer, at least 2"),
    (
        lambda: with_overlap(3, 4, 0.1, distinct_weights=[1]),
        "K = 3, M = 4",
        "M >= 5 for the common, distinct, query and next tokens",
    ),
    (lambda: with_overlap(3, 60, 0.1, distinct_weights=[]), "distinct_weights of shape (0,)", WRONG),
    (lambda: with_overlap(3, 60, 0.1, distinct_weights=[1, 0]), "distinct_weights = 0", WRONG),
    (lambda: audit(syn_small(), seq_len=1), "seq_len = 1", SEQ_LEN.says),
    (lambda: audit(syn_small(), lr_y=1.0, lr_z=0.0), "lr_z = 0.0", RATE.says),
]


@pytest.mark.parametrize(("call", "value", "rule"), CALLS)
def test_calls(call: Any, value: str, rule: str) -> None:
    with refuses(value, rule):
        call()


@pytest.mark.parametrize("wrong", [3, -1, True, "moon", 0.0])
def test_a_class_that_is_not_there(wrong: Any) -> None:
    with refuses(f"n = {wrong!r}", "classes are numbered 0..2"):
        overlapping_classes().support(wrong)


# -- files: each message names the file --------------------------------------------------------------------------------

ONE = "vocab_size: 3\nclasses: [{query: 2, probs: %s}]\n"
CLASS = "{query: 0, probs: {0: 1}}"
BY_NAME = """
tokens: [wave, no]
classes:
  - {name: ship, query: the, probs: {and: 3e-1, wave: 0.7}}
  - {name: sky, query: a, probs: {and: 0.4, no: 0.6}, next: plane}
"""
FILES = [
    ("", "its content: no key 'classes'", "it is required"),
    ("vocab_size: 3", "its content: no key 'classes'", "it is required"),
    (f"classes: [{CLASS}]", "its content: no key 'vocab_size'", "it is required"),
    ("{classes: [], color: red}", "its content: key 'color'", "there is no such key"),
    (f"{{vocab_size: 0, classes: [{CLASS}]}}", "vocab_size = 0", SIZE.says),
    ("{vocab_size: 3, classes: []}", "classes = []", ENTRIES.says),
    ("{vocab_size: 3, classes: [7]}", "class 0 = 7", "it is a mapping of keys to values"),
    ("{vocab_size: 3, classes: [{query: 0}]}", "class 0: no key 'probs'", "it is required"),
    ("{vocab_size: 3, classes: [{query: 0, prob: {0: 1}}]}", "class 0: key 'prob'", "there is no such key"),
    ("{vocab_size: 3, classes: [{query: [1], probs: {0: 1}}]}", "class 0: query = [1]", NUMBERED),
    ("{vocab_size: 3, classes: [{query: 1, probs: {0: 1}, next: 1.5}]}", "class 0: next = 1.5", NUMBERED),
    (ONE % "[1.0]", "class 0: probs = [1.0]", "probs maps tokens to probabilities, or lists all M = 3 of them"),
    (ONE % "{3: 1.0}", "a token of class 0 = 3", NUMBERED),
    (ONE % "{'02': 1.0}", "a token of class 0 = '02'", NUMBERED),  # which would be given twice, with '2'
    (ONE % "{a: 1.0}", "a token of class 0 = 'a'", NUMBERED),
    (ONE % "{0: much}", "class 0: value of 0 = 'much'", SHARE.says),
    (ONE % "{0: 0.5, 1: 0.4}", "class 0 sums to 0.9", SUM_TO_1),
    (BY_NAME.replace("no: 0.6}", "7: 0.6}"), "a token of class 'sky' = 7", NAME.says),
    (BY_NAME.replace("query: a", "query: 4"), "query_of = 4", NAME.says),
    (BY_NAME.replace("name: sky, ", ""), "class 1: no name", "all classes have a name"),
    (BY_NAME.replace("name: sky, ", "").replace("name: ship, ", ""), "class 0: no next", "all classes have a next"),
    ("classes: [{query: the, probs: {and: 1}}]", "class 0: no next", "all classes have a next"),
    (BY_NAME.replace("name: sky", "name: ship"), "name holds 'ship' twice", DIFFER),
    (BY_NAME.replace("[wave, no]", "[wave, wave]"), "tokens holds 'wave' twice", DIFFER),
    (
        BY_NAME.replace("tokens:", "vocab_size: 3\ntokens:"),
        "7 names of tokens over M = 3 tokens",
        "every name is a token of the vocabulary",
    ),
    (BY_NAME.replace("no: 0.6}", "and: 0.6}"), "key 'and' twice in line 5", "the keys of a mapping differ"),
    (
        BY_NAME.replace("name: sky", "name: sky, frequency: 0.5"),
        "class 0: no frequency",
        "all classes have a frequency, or none",
    ),
    (ONE.replace("{query", "{frequency: '1', query") % "{0: 1}", "frequencies = ['1']", WRONG),
]


@pytest.mark.parametrize(("text", "value", "rule"), FILES)
def test_files(text: str, value: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf8")
    with refuses(f"file {path}: {value}", rule):
        SequenceClasses.load(path)


def test_what_no_memory_holds_is_refused_before_it_is_made() -> None:
    wide = SequenceClasses(sparse.csr_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=(2, 60_000_000)), [0, 0])
    with refuses("P(l|n) of 1.2e+08 numbers", "an array in memory holds 1e+08 of them at most"):
        _ = wide.probs
    with refuses("a batch of 1.2e+08 numbers", "an array in memory holds 1e+08 of them at most"):
        overlapping_classes().sample(20_000_000, 8, np.random.default_rng(0))
