"""Class systems as YAML or JSON files, with tokens by number or by name.

Tokens by number; ``probs`` has P(l|n) by token, and without ``next`` the next token is the class's
position in the list::

    vocab_size: 30
    classes:
      - {query: 20, probs: {0: 0.5, 3: 0.25, 4: 0.25}}
      - {query: 20, probs: {0: 0.5, 5: 0.5}, next: 7}

Tokens by name; ``vocab_size`` is by default the number of names, ``tokens`` says which names are
numbered first and may be left out, and without ``next`` the next token is the class's name::

    vocab_size: 30
    tokens: [and, wave]
    classes:
      - {name: ship, query: the, probs: {and: 0.4, wave: 0.6}}
      - {name: sky, query: the, probs: {and: 0.4, cloud: 0.6}, next: plane}

Where classes aren't equally frequent each has its P(n) too, such as ``frequency: 0.8``; they sum to
1.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import Entry
from scansnap_core.base.rules import Rule, whole
from scansnap_core.data.inputs import SIZE, checked_names, entries, named_classes

EXAMPLE = "see the example that python -m pydoc scansnap_core.data.class_files shows"
ENTRIES = Rule(
    lambda value: isinstance(value, list) and bool(value),
    "a list with an entry for each class",
    EXAMPLE,
)


def arguments_of(content: Any) -> dict[str, Any]:
    """Return the arguments of :class:`~scansnap_core.data.sequences.SequenceClasses` that a file's
    content gives.

    Keys: ``vocab_size`` (M) and ``classes``, a list with one entry a class: ``query`` (psi(n)),
    ``probs`` (a mapping from token to probability, or a list of M probabilities) and, optionally,
    ``next`` (the next token; default: the position in the list), ``name`` and ``frequency`` (P(n),
    of all classes or of none). Where a query token is a name, all tokens are names; ``tokens`` may
    list them in the order of their numbers, ``vocab_size`` may be left out, and a class's next
    token is its name unless given.
    """
    keys = Entry(
        "its content",
        content,
        ("vocab_size", "tokens", "classes"),
        required=("classes",),
        example=EXAMPLE,
    ).values
    ENTRIES("classes", keys["classes"])
    rows = [
        Entry(
            f"class {n}",
            row,
            ("query", "probs", "next", "name", "frequency"),
            required=("query", "probs"),
            example=EXAMPLE,
        ).values
        for n, row in enumerate(keys["classes"])
    ]
    by_name = "tokens" in keys or isinstance(rows[0]["query"], str)
    made = _named(keys, rows) if by_name else _numbered(keys, rows)
    return made | {"frequencies": _of_all(rows, "frequency")}


def content_of(classes: Any) -> dict[str, Any]:
    """Return the content of a file of which :func:`arguments_of` makes these classes again."""
    rows = classes.given_probs
    entries = []
    for n in range(classes.num_classes):
        at = slice(rows.indptr[n], rows.indptr[n + 1])
        tokens = classes.labels(rows.indices[at]).tolist()
        query, following = classes.labels([classes.query_of[n], classes.next_of[n]]).tolist()
        name = {"name": classes.class_names[n]} if classes.class_names else {}
        probs = dict(zip(tokens, rows.data[at].tolist(), strict=True))
        seen = {} if classes.is_uniform else {"frequency": float(classes.given_frequencies[n])}
        entries.append({**name, **seen, "query": query, "next": following, "probs": probs})
    named = {"tokens": list(classes.token_names)} if classes.token_names else {}
    return {"vocab_size": classes.vocab_size, **named, "classes": entries}


def _numbered(keys: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments of a file with tokens by number, without frequencies.

    ``keys`` are the file's, and ``rows`` those of its classes.
    """
    Entry("its content", keys, required=("vocab_size",), example=EXAMPLE)
    SIZE("vocab_size", M := keys["vocab_size"])
    says = f"tokens are integers in 0..{M - 1} (M = {M})"
    check_token = whole(0, M - 1, says=says, remedy="count tokens from 0, or raise vocab_size")
    check_table = Rule(
        lambda probs: isinstance(probs, dict) or (isinstance(probs, list) and len(probs) == M),
        f"probs maps tokens to probabilities, or lists all M = {M} of them",
        EXAMPLE,
    )

    def column(what: str, token: Any) -> int:
        """Return a token's number, or raise BadInput that calls it ``what``."""
        # JSON's keys are text, so numbers come as text.
        is_text = isinstance(token, str) and re.fullmatch("0|[1-9][0-9]{0,18}", token)
        check_token(what, token := int(token) if is_text else token)
        return int(token)

    def table(n: int, probs: Any) -> dict[Any, Any]:
        """Return class n's probabilities by token."""
        check_table(f"class {n}: probs", probs)
        return dict(enumerate(probs)) if isinstance(probs, list) else probs

    data, places = entries(
        ((f"class {n}", table(n, row["probs"])) for n, row in enumerate(rows)), column
    )
    return {
        "probs": sparse.csr_array((data, places), shape=(len(rows), M), dtype=np.float64),
        "query_of": [column(f"class {n}: query", row["query"]) for n, row in enumerate(rows)],
        "next_of": [column(f"class {n}: next", row.get("next", n)) for n, row in enumerate(rows)],
        "class_names": _of_all(rows, "name") or (),
    }


def _named(keys: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments of a file with tokens by name, without frequencies.

    ``keys`` are the file's, and ``rows`` those of its classes, which are called by their names, or,
    if none has one, by their next tokens.
    """
    key = "name" if any("name" in row for row in rows) else "next"
    names = checked_names(key, _of_all(rows, key, required=True))
    return named_classes(
        dict(zip(names, (row["probs"] for row in rows), strict=True)),
        query_of=dict(zip(names, (row["query"] for row in rows), strict=True)),
        next_of={name: row["next"] for name, row in zip(names, rows, strict=True) if "next" in row},
        tokens=keys.get("tokens", ()),
        vocab_size=keys.get("vocab_size"),
    )


def _of_all(rows: list[dict[str, Any]], key: str, *, required: bool = False) -> list[Any] | None:
    """Return what all classes have under a key, or None if none has it.

    It raises BadInput if only some have it, or if none has one that is required.
    """
    given = [row[key] for row in rows if key in row]
    if (given or required) and len(given) < len(rows):
        missing = next(n for n, row in enumerate(rows) if key not in row)
        rule = f"all classes have a {key}" + ("" if required else ", or none")
        raise BadInput(f"class {missing}: no {key}", rule, "give it one")
    return given or None
