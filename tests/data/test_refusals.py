"""Anything but a class system is refused in one line that names the value, the rule and the remedy."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from scansnap_core.data.audit import audit
from scansnap_core.data.datasets import syn_large, syn_medium, syn_small, with_overlap
from scansnap_core.data.probabilities import Outputs
from scansnap_core.data.sequences import SequenceClasses
from tests.data.properties import refusal_of
from tests.engine.references import overlapping_classes
from tests.refusing import refuses

TWO = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
ROWS = "each class has a row of M finite numbers, none negative: shape (K, M); pass one row of M numbers for each class"
NAME = "a name is text without control characters, neither blank nor (others) nor # with a number; write e.g. 'sea'"
NUMBERED = "tokens are integers in 0..2 (M = 3)"
DISTINCT = "a list of one token for each class, all different, because a class is named by its next token; merge"

ARRAYS: list[tuple[Any, Any, Any, str]] = [
    ([[1.5, -0.5]], [0], None, f"probs = -0.5: {ROWS}"),
    ([[0.5, math.nan]], [0], None, f"probs = nan: {ROWS}"),
    (sparse.csr_array([[1.0, 0], [math.inf, 0]]), [0, 0], None, f"probs = inf: {ROWS}"),
    (sparse.csr_array([[1j, 0]]), [0], None, f"probs = array([0.+1.j]): {ROWS}"),
    (sparse.coo_array([0.5, 0.5]), [0], None, f"probs of shape (2,): {ROWS}"),
    ([0.5, 0.5], [0], None, f"probs of shape (2,): {ROWS}"),
    (np.ones((0, 3)), [], None, f"probs of shape (0, 3): {ROWS}"),
    ([[True, False]], [0], None, f"probs = [[True, False]]: {ROWS}"),
    (
        np.ma.masked_equal([[0.5, 0.5]], 0.5),
        [0],
        None,
        "probs with a masked place at (0, 0): what is masked is no number",
    ),
    ([["a", "b"]], [0], None, f"probs = [['a', 'b']]: {ROWS}"),
    ([[0.5, 0.4]], [0], None, "class 0 sums to 0.9: the probabilities of a class sum to 1 (within 1e-06); divide"),
    ([[1, 0], [0.5, 0.500002]], [0, 0], None, "class 1 sums to 1.000002: the probabilities"),
    ([[1.0, 0], [0, 0]], [0, 0], None, "class 1 sums to 0: the probabilities of a class sum to 1"),
    ([[1.0], [1.0]], [0, 0], None, "K = 2 classes over M = 1 tokens: next tokens are tokens, so K <= M; enlarge"),
    (TWO, [0, 3], None, f"query_of holds 3: {NUMBERED}; count tokens from 0, or enlarge the vocabulary"),
    (TWO, [-2, 5], None, f"query_of holds -2: {NUMBERED}"),
    (TWO, [0.0, 1.0], None, f"query_of = [0.0, 1.0]: {NUMBERED}; pass a list of them"),
    (TWO, [[0], [0, 1]], None, f"query_of = [[0], [0, 1]]: {NUMBERED}"),
    (TWO, [0], None, "query_of of shape (1,): one token for each of K = 2 classes; pass a list of K"),
    (TWO, [[0], [0]], None, "query_of of shape (2, 1): one token for each of K = 2 classes"),
    (TWO, [0, 0], [1, 3], f"next_of holds 3: {NUMBERED}"),
    (TWO, [0, 0], [1, 1], f"next_of = [1, 1]: {DISTINCT}"),
]

TOPICS = {"sea": {"and": 0.3, "wave": 0.7}, "sky": {"and": 0.4, "cloud": 0.35, "wing": 0.25}}
VALUE = "a finite number, not negative; write a decimal with a point"
TABLES: list[tuple[Any, dict[str, Any], str]] = [
    ({}, {}, "classes = {}: classes map names to the probabilities of tokens by name"),
    ({"sea": {"and": 0.5}}, {}, "class 'sea' sums to 0.5: the probabilities of a class sum to 1"),
    ({"sea": {}}, {}, "class 'sea' sums to 0"),
    ({"sea": {"and": "1"}}, {}, f"class 'sea': value of 'and' = '1': {VALUE}"),
    ({"sea": {"and": -1.0, "wave": 2.0}}, {}, f"class 'sea': value of 'and' = -1.0: {VALUE}"),
    ({"sea": {3: 1.0}}, {}, f"a token of class 'sea' = 3: {NAME}"),
    ({0: {"and": 1.0}}, {}, f"a name of classes = 0: {NAME}"),
    ({"(others)": {"and": 1.0}}, {}, f"a name of classes = '(others)': {NAME}"),
    ({"sea": [1.0]}, {}, "class 'sea' = [1.0]: a mapping by name"),
    (TOPICS, {"query_of": {"sea": "the"}}, "query_of of 'sky': one value for each of the classes sea, sky; add or"),
    (TOPICS, {"query_of": {"sea": "the", "sky": "a", "land": "a"}}, "query_of of 'land': one value for each of"),
    (TOPICS, {"query_of": 4}, "query_of = 4: a mapping by name"),
    (TOPICS, {"query_of": {"sea": "the", "sky": 4}}, f"query_of = 4: {NAME}"),
    (TOPICS, {"next_of": {"sea": "boat", "sky": "boat"}}, f"next_of = [5, 5]: {DISTINCT}"),
    (TOPICS, {"next_of": "boat"}, "next_of = 'boat': a mapping by name"),
    (TOPICS, {"vocab_size": 6}, "7 names of tokens over M = 6 tokens: every name is a token of the vocabulary; raise"),
    (TOPICS, {"vocab_size": 7.0}, "vocab_size = 7.0: an integer in 1..2^62; pass e.g. 30"),
    (TOPICS, {"frequencies": {"sea": 1.0}}, "frequencies of 'sky': one value for each of the classes sea, sky"),
    (TOPICS, {"frequencies": [0.5, 0.5]}, "frequencies = [0.5, 0.5]: a mapping by name"),
    (TOPICS, {"frequencies": {"sea": 3, "sky": 1}}, "2 frequencies that sum to 4: P(n) is one probability for each"),
]

WRONG = "a list of positive finite numbers; pass e.g. [0.8, 0.2], or leave them out"
SUM = "P(n) is one probability for each of K = 3 classes, and they sum to 1"


def three(frequencies: Any) -> SequenceClasses:
    return overlapping_classes().with_frequencies(frequencies)


def named(**names: Any) -> SequenceClasses:
    return SequenceClasses(TWO, [0, 0], **names)


def counted(counts: Any, **more: Any) -> SequenceClasses:
    return SequenceClasses.from_counts(counts, query_of=[0, 0], **more)


CALLS: list[tuple[Any, str]] = [
    *((partial(SequenceClasses, *arrays), message) for *arrays, message in ARRAYS),
    *(
        (partial(SequenceClasses.from_dicts, rows, **{"query_of": "the"} | more), message)
        for rows, more, message in TABLES
    ),
    (lambda: three([0.5, 0.5, 0.0]), f"frequencies = 0: {WRONG}"),
    (lambda: three([0.5, math.nan, 0.5]), f"frequencies = nan: {WRONG}"),
    (lambda: three(1.0), f"frequencies of shape (): {WRONG}"),
    (lambda: three([0.5, 0.5]), f"2 frequencies that sum to 1: {SUM}"),
    (lambda: three([1e308] * 3), f"3 frequencies that sum to inf: {SUM}"),
    (lambda: three([0.2, 0.5, 0.30001]), f"3 frequencies that sum to 1.00001: {SUM}"),
    (lambda: named(token_names=["a", "a"]), "token_names holds 'a' twice"),
    (lambda: named(token_names=["a", ""]), f"a name of token_names = '': {NAME}"),
    (lambda: named(token_names=["a", "b\n"]), f"a name of token_names = 'b\\n': {NAME}"),
    (lambda: named(class_names=["a", "#3"]), f"a name of class_names = '#3': {NAME}"),
    (lambda: named(token_names="abc"), "token_names = 'abc': a list of names"),
    (lambda: named(token_names=["a", "b"]), "2 names of tokens: the first of M = 3 tokens have names, on to the last"),
    (lambda: named(token_names=["a", "b", "c", "d"]), "4 names of tokens: the first of M = 3"),
    (lambda: named(class_names=["a"]), "1 names of classes: each of K = 2 classes has a name, or none has"),
    (lambda: counted([[1, -1], [1, 1]]), f"counts = -1: {ROWS}"),
    (lambda: counted([[1, 1], [0, 0]]), "class 1 without a count: every class was seen with some token; remove"),
    (lambda: counted({"sea": {"and": 1}}), f"counts = {{'sea': {{'and': 1}}}}: {ROWS}"),
    (lambda: counted("many"), f"counts = 'many': {ROWS}"),
    (lambda: named().labels(["wave"]), "tokens = ['wave']: tokens are integers in -1..2 (M = 3)"),
    (lambda: named().labels([9999]), "tokens holds 9999: tokens are integers in -1..2"),
    (lambda: named().labels([-2]), "tokens holds -2: "),
    (lambda: Outputs.lumped([0, 4], 4), "next_of holds 4: tokens are integers in 0..3 (M = 4)"),
    (lambda: Outputs.separate([0, 4], 4), "next_of holds 4: tokens are integers in 0..3 (M = 4)"),
    (lambda: Outputs.lumped(2, 4), f"next_of = 2: {DISTINCT}"),
    (lambda: Outputs.lumped([], 4), f"next_of = []: {DISTINCT}"),
    (lambda: Outputs.separate([1], 4.5), "vocab_size = 4.5: an integer"),
    (lambda: syn_medium(0), "num_queries = 0: Syn-Medium has at least one query token; use 1, 3, 5 or 10"),
    (lambda: syn_large(3, 44), "K = 3, M = 44: M >= 45 for the common, distinct, query and next tokens; enlarge"),
    (lambda: syn_large(0, 100), "num_classes = 0: an integer in 1"),
    (lambda: with_overlap(3, 60, 1.0), "rho = 1.0: probabilities are not negative, so an overlap lies in [0, 1);"),
    (lambda: with_overlap(3, 60, math.nan), "rho = nan: "),
    (lambda: with_overlap(1, 60, 0.1), "num_classes = 1: an integer, at least 2"),
    (lambda: with_overlap(3, 4, 0.1, distinct_weights=[1]), "K = 3, M = 4: M >= 5 "),
    (lambda: with_overlap(3, 60, 0.1, distinct_weights=[]), "distinct_weights of shape (0,): a list of positive"),
    (lambda: with_overlap(3, 60, 0.1, distinct_weights=[1, 0]), "distinct_weights = 0: a list of positive finite"),
    (lambda: audit(syn_small(), seq_len=1), "seq_len = 1: T is"),
    (lambda: audit(syn_small(), lr_y=1.0, lr_z=0.0), "lr_z = 0.0: a"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_calls(call: Any, message: str) -> None:
    assert refusal_of(call).startswith(message)


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
    ("", "its content: no key 'classes': it is required; see the example"),
    ("vocab_size: 3", "its content: no key 'classes': it is required"),
    (f"classes: [{CLASS}]", "its content: no key 'vocab_size': it is required"),
    ("{classes: [], color: red}", "its content: key 'color': there is no such key; use vocab_size, tokens, classes"),
    (f"{{vocab_size: 0, classes: [{CLASS}]}}", "vocab_size = 0: an integer in 1..2^62; pass e.g. 30"),
    ("{vocab_size: 3, classes: []}", "classes = []: a list with an entry for each class; see the example"),
    ("{vocab_size: 3, classes: [7]}", "class 0 = 7: it is a mapping of keys to values; see"),
    ("{vocab_size: 3, classes: [{query: 0}]}", "class 0: no key 'probs': it is required"),
    ("{vocab_size: 3, classes: [{query: 0, prob: {0: 1}}]}", "class 0: key 'prob': there is no such key; use query"),
    ("{vocab_size: 3, classes: [{query: [1], probs: {0: 1}}]}", f"class 0: query = [1]: {NUMBERED}; count tokens"),
    ("{vocab_size: 3, classes: [{query: 1, probs: {0: 1}, next: 1.5}]}", f"class 0: next = 1.5: {NUMBERED}"),
    (ONE % "[1.0]", "class 0: probs = [1.0]: probs maps tokens to probabilities, or lists all M = 3 of them; see"),
    (ONE % "{3: 1.0}", f"a token of class 0 = 3: {NUMBERED}; count tokens from 0, or raise vocab_size"),
    (ONE % "{'02': 1.0}", f"a token of class 0 = '02': {NUMBERED}"),  # which would be given twice, with '2'
    (ONE % "{a: 1.0}", f"a token of class 0 = 'a': {NUMBERED}"),
    (ONE % "{0: much}", f"class 0: value of 0 = 'much': {VALUE}"),
    (ONE % "{0: 0.5, 1: 0.4}", "class 0 sums to 0.9: the probabilities of a class sum to 1"),
    (BY_NAME.replace("no: 0.6}", "7: 0.6}"), f"a token of class 'sky' = 7: {NAME}"),
    (BY_NAME.replace("query: a", "query: 4"), f"query_of = 4: {NAME}"),
    (BY_NAME.replace("name: sky, ", ""), "class 1: no name: all classes have a name; give it one"),
    (BY_NAME.replace("name: sky, ", "").replace("name: ship, ", ""), "class 0: no next: all classes have a next"),
    ("classes: [{query: the, probs: {and: 1}}]", "class 0: no next: all classes have a next; give it one"),
    (BY_NAME.replace("name: sky", "name: ship"), "name holds 'ship' twice"),
    (BY_NAME.replace("[wave, no]", "[wave, wave]"), "tokens holds 'wave' twice"),
    (BY_NAME.replace("tokens:", "vocab_size: 3\ntokens:"), "7 names of tokens over M = 3 tokens"),
    (BY_NAME.replace("no: 0.6}", "and: 0.6}"), "key 'and' twice in line 5"),
    (BY_NAME.replace("name: sky", "name: sky, frequency: 0.5"), "class 0: no frequency: all classes have a frequ"),
    (ONE.replace("{query", "{frequency: '1', query") % "{0: 1}", "frequencies = ['1']: a list of positive finite"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), FILES)
def test_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf8")
    assert refusal_of(SequenceClasses.load, path).startswith(f"file {path}: {message}")


def test_what_no_memory_holds_is_refused_before_it_is_made() -> None:
    wide = SequenceClasses(sparse.csr_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=(2, 60_000_000)), [0, 0])
    with refuses("P(l|n) of 1.2e+08 numbers", "an array in memory holds 1e+08 of them at most"):
        _ = wide.probs
    with refuses("a batch of 1.2e+08 numbers", "an array in memory holds 1e+08 of them at most"):
        overlapping_classes().sample(20_000_000, 8, np.random.default_rng(0))
