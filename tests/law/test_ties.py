"""Equally frequent words: what is said of one is said of each, and no order in the file decides which one is meant."""

from __future__ import annotations

import re

import pytest

from scansnap_core import SequenceClasses
from scansnap_core.law.answer import answer

Rows = dict[str, dict[str, float]]

TIES: dict[str, tuple[Rows, dict[str, str]]] = {
    "all of two": (
        {"a": {"and": 40, "x": 30, "y": 30}, "b": {"and": 40, "p": 30, "q": 30}},
        {"Who leads": "“x” and “y” share the lead: no distinct word of the class is more frequent"},
    ),
    "all of three": (
        {"a": {"x": 20, "y": 20, "and": 40, "z": 20}, "b": {"and": 40, "p": 20, "q": 20, "r": 20}},
        {"Who leads": "“x”, “y” and “z” share the lead: no distinct word of the class is more frequent"},
    ),
    "all of five": (
        {"a": {"and": 40, "v": 9, "w": 9, "x": 9, "y": 9, "z": 9}, "b": {"and": 40, "p": 20, "q": 20}},
        {"Who leads": "The five distinct words share the lead"},
    ),
    "the only one": (
        {"a": {"and": 40, "x": 30}, "b": {"and": 40, "p": 30}},
        {"Who leads": "“x” is the only distinct word of its class: nobody competes with it."},
    ),
    "at the top": (
        {"a": {"and": 40, "z": 10, "x": 20, "y": 20}, "b": {"and": 40, "p": 60}},
        {"Who leads": "Before training “x” and “y” each have 2 times the attention of “z”."},
    ),
    "at the bottom": (
        {"a": {"and": 40, "y": 10, "x": 20, "z": 10}, "b": {"and": 40, "p": 60}},
        {"Who leads": "Before training “x” has 2 times the attention of each of “y” and “z”."},
    ),
    "at both ends": (
        {"a": {"and": 40, "w": 10, "x": 20, "v": 10, "y": 20, "z": 10, "u": 10}, "b": {"and": 40, "p": 60}},
        {"Who leads": "“x” and “y” each have 2 times the attention of each of the four least frequent distinct words."},
    ),
    "common words that are alike": (
        {"a": {"of": 30, "x": 40, "and": 30}, "b": {"and": 20, "of": 20, "p": 60}},
        {"The common word": "At the start “of” and “and” each have 30 % of the attention."},
    ),
    "common words that another class tells apart": (
        {"a": {"of": 30, "x": 25, "and": 30, "y": 15}, "b": {"and": 40, "of": 10, "p": 50}},
        {"The common word": "What is said of the common word here is said of “and”, whose logit is lowest at t₀"},
    ),
    "common words that two classes tell apart": (
        {
            "a": {"of": 30, "x": 40, "and": 30},
            "b": {"and": 10, "of": 20, "p": 60, "q": 10},
            "c": {"and": 20, "of": 10, "r": 70},
        },
        {"The common word": "said of “of”, whose logit is lowest"},
    ),
}
"""By what ties: the counts of the words of each class, and what is said of them."""


def classes_of(rows: Rows) -> SequenceClasses:
    """Each class's shares, with one query and 50 tokens."""
    probs = {name: {word: count / sum(row.values()) for word, count in row.items()} for name, row in rows.items()}
    return SequenceClasses.from_dicts(probs, query_of="the", vocab_size=50)


def told(rows: Rows, seq_len: float) -> str:
    """The answer, for SGD and for Adam."""
    answers = (
        answer(classes_of(rows), 1.0, 0.1, 100.0, seq_len=seq_len, optimizer=optimizer) for optimizer in ("sgd", "adam")
    )
    return "\n".join(" ".join(sentences) for answered in answers for sentences in answered.values())


def in_order(text: str) -> str:
    """The text, in which words that stand in a list stand in alphabetical order."""

    def ordered(match: re.Match[str]) -> str:
        words = sorted(re.findall("“[^”]+”", match[0]))
        return ", ".join(words[:-1]) + " and " + words[-1]

    return re.sub(r"“\w+”(, “\w+”)* and “\w+”", ordered, text)


@pytest.mark.parametrize("tie", TIES)
def test_ties_are_said_to_be_ties(tie: str) -> None:
    rows, expected = TIES[tie]
    found = answer(classes_of(rows), 1.0, 0.1, 100.0)
    for topic, sentence in expected.items():
        assert sentence in " ".join(found[topic])
    own = rows["a"].keys() - {word for name, row in rows.items() if name != "a" for word in row}
    assert ("nobody competes" in str(found)) == (len(own) == 1)
    assert not re.search(r"[{}|]", str(list(found.values())))


@pytest.mark.parametrize("tie", TIES)
def test_words_exchanged_are_exchanged_in_the_answer_and_nothing_else_is(tie: str) -> None:
    rows, _ = TIES[tie]
    before = told(rows, 64)
    other_places = {name: dict(reversed(row.items())) for name, row in rows.items()}
    assert in_order(told(other_places, 64)) == in_order(before)
    one, other = list(rows["a"])[:2]
    new = {one: other, other: one}
    other_names = {name: {new.get(word, word): count for word, count in row.items()} for name, row in rows.items()}
    assert told(other_names, 64) == re.sub("“(\\w+)”", lambda match: f"“{new.get(match[1], match[1])}”", before)
