"""Say what attention will do on given classes, in sentences.

The sentences and their conditions are :mod:`scansnap_core.law.sentences`' data, and their
numbers come from :mod:`scansnap_core.law.answer_numbers`. ``scansnap predict`` prints them,
and the book's calculator shows the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from scansnap_core.base.digits import digits
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.law.answer_numbers import numbers_and_tokens, value_of
from scansnap_core.law.sentences import ADAM, SENTENCES

MOST_NAMED = 3
"""Up to this many equally frequent words are named; of more, their number is given."""
GROUPS = {
    "common": "most frequent common words",
    "first": "most frequent distinct words",
    "last": "least frequent distinct words",
    "level": "distinct words",
}
"""What a group of equally frequent words is called. ``level`` stands for distinct words if none is
more frequent than another.
"""
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def answer(
    classes: SequenceClasses, lr_y: float, lr_z: float, steps: float, **settings: Any
) -> dict[str, list[str]]:
    """Say what attention will do on these classes: sentences by topic. It takes what
    :func:`~scansnap_core.law.answer_numbers.numbers` takes.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(10, 1000, 0.1, distinct_weights=[1, 0.5])
    >>> print(answer(classes, 0.5, 0.05, 1000)["The moment t₀"][0][:58])
    Attention scans up to t₀′ = 138 and snaps from t₀ = 365 on
    """
    found, tokens = numbers_and_tokens(classes, lr_y, lr_z, steps, **settings)
    labels = classes.coords["token"]
    words = {}
    for name, group in tokens.items():
        words[name] = named([f"“{word}”" for word in labels[group]], name, found)
    return written(found, words)


def named(words: Sequence[str], name: str, found: Mapping[str, float]) -> str:
    """Call a group of equally frequent words by their names, or by their number if there are many.

    Examples
    --------
    >>> print(named(["x", "y", "z"], "first", {"several": 1}))
    x, y and z
    >>> print(named(["v", "x", "y", "z"], "first", {"several": 1}))
    the four most frequent distinct words
    """
    if len(words) <= MOST_NAMED:
        return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    return counted(len(words), name, found)


def counted(count: int, name: str, found: Mapping[str, float]) -> str:
    """Call a group of equally frequent words by their number."""
    group = name if name == "common" or found["several"] else "level"
    return f"the {COUNTS[count] if count < len(COUNTS) else count} {GROUPS[group]}"


def written(found: Mapping[str, float], words: Mapping[str, str]) -> dict[str, list[str]]:
    """Write the sentences of these numbers, by topic.

    ``words`` are the names of ``common``, ``first`` and ``last``.

    In a sentence ``{common:falls|fall}`` is the one or the other verb, for one word or for several.
    """

    def fill(match: re.Match[str]) -> str:
        """Write what a :data:`PLACE` stands for: a verb, words, or a number's digits."""
        name, percent, one, many = match.groups()
        if one is not None:
            return one if found[f"num_{name}"] == 1 else many
        if name in words:
            return words[name]
        return digits(100 * found[name], 2) + " %" if percent else digits(found[name])

    by_topic: dict[str, list[str]] = {}
    for topic, groups in (ADAM if "rising" in found else SENTENCES).items():
        for group in groups:
            # The first text whose condition is true, if there is one.
            text = next((text for when, text in group.items() if value_of(when, found)), "")
            if text:
                sentences = re.sub(PLACE, fill, text)
                by_topic.setdefault(topic, []).append(sentences[0].upper() + sentences[1:])
    return by_topic


PLACE = r"\{(\w+)(?:(%)|:([^|}]*)\|([^}]*))?\}"
"""A place in a sentence that is filled: ``{name}``, ``{name%}`` or ``{name:one|many}``."""
