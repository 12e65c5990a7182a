"""Class systems as YAML or JSON files, with tokens by number or by name.

::

    vocab_size: 30
    classes:
      - {query: 20, probs: {0: 0.5, 3: 0.25, 4: 0.25}}   # token: P(l|n); the next token is the class's position
      - {query: 20, probs: {0: 0.5, 5: 0.5}, next: 7}    # or given

    vocab_size: 30                                       # optional where tokens have names: the number of names
    tokens: [and, wave]                                  # optional: which names are numbered first
    classes:
      - {name: ship, query: the, probs: {and: 0.4, wave: 0.6}}                # the next token is the class's name
      - {name: sky, query: the, probs: {and: 0.4, cloud: 0.6}, next: plane}   # or given

Where classes aren't equally frequent each has its P(n) too, such as ``frequency: 0.8``; they sum to 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.data.checks import MOST_TOKENS, PROBABILITY, SIZE
from scansnap_core.data.naming import checked_names, labels, named_classes
from scansnap_core.data.sequences import CLASSES, SequenceClasses
from scansnap_core.rules import as_path, is_real, shown, whole

EXAMPLE = "see the example that python -m pydoc scansnap_core.data.class_files shows"
TOKEN = whole(-MOST_TOKENS, MOST_TOKENS, says="a token is an integer", remedy="write e.g. 20")


def load_classes(path: str | Path) -> SequenceClasses:
    """Read a class system from a ``.yaml``, ``.yml`` or ``.json`` file.

    Keys: ``vocab_size`` (M) and ``classes``, a list with one entry a class: ``query`` (psi(n)), ``probs`` (a mapping
    from token to probability, or a list of M probabilities) and, optionally, ``next`` (the next token; default: the
    position in the list), ``name`` and ``frequency`` (P(n), of all classes or of none). Where a query token is a name,
    all tokens are names; ``tokens`` may list them in the order of their numbers, ``vocab_size`` may be left out, and a
    class's next token is its name unless given.

    Raises
    ------
    BadInput
        The file can't be read or parsed, holds an unknown, missing or repeated key, or describes impossible classes.
        It names the file and the class.
    """
    path = as_path("path", path)
    content = files.read(path, example=EXAMPLE)
    with files.inside(path):
        keys = files.mapping(content, "its content", {"classes"}, {"vocab_size", "tokens"}, example=EXAMPLE)
        listed = keys["classes"]
        if not isinstance(listed, list) or not listed:
            raise BadInput(f"classes = {shown(listed)}", "classes is a list with at least one entry", EXAMPLE)
        entries = [
            files.mapping(entry, f"class {n}", {"query", "probs"}, {"next", "name", "frequency"}, example=EXAMPLE)
            for n, entry in enumerate(listed)
        ]
        by_name = "tokens" in keys or isinstance(entries[0]["query"], str)
        return _named(keys, entries) if by_name else _numbered(keys, entries)


def save_classes(classes: SequenceClasses, path: str | Path) -> None:
    """Write a class system to a ``.yaml``, ``.yml`` or ``.json`` file; reading it gives equal classes.

    Raises
    ------
    BadInput
        The file can't be written, or its name has another ending.
    """
    CLASSES("classes", classes)
    path, rows, entries = as_path("path", path), classes.given_probs, []
    for n in range(classes.num_classes):
        at = slice(rows.indptr[n], rows.indptr[n + 1])
        tokens = labels(rows.indices[at], classes.token_names).tolist()
        query, following = labels(np.array([classes.query_of[n], classes.next_of[n]]), classes.token_names).tolist()
        name = {"name": classes.class_names[n]} if classes.class_names else {}
        probs = dict(zip(tokens, rows.data[at].tolist(), strict=True))
        seen = {} if classes.is_uniform else {"frequency": float(classes.given_frequencies[n])}
        entries.append({**name, **seen, "query": query, "next": following, "probs": probs})
    named = {"tokens": list(classes.token_names)} if classes.token_names else {}
    files.write(path, {"vocab_size": classes.vocab_size, **named, "classes": entries})


def _numbered(keys: dict[str, Any], entries: list[dict[str, Any]]) -> SequenceClasses:
    files.mapping(keys, "its content", {"vocab_size", "classes"}, example=EXAMPLE)
    SIZE("vocab_size", vocab_size := keys["vocab_size"])
    places: list[tuple[int, int]] = []
    data: list[float] = []
    query_of, next_of = [], []
    for n, entry in enumerate(entries):
        where = f"class {n}"
        row = _row(entry["probs"], where, vocab_size)
        places += [(n, token) for token in row]
        data += row.values()
        TOKEN(f"{where}: query", entry["query"])
        TOKEN(f"{where}: next", entry.get("next", n))
        query_of.append(entry["query"])
        next_of.append(entry.get("next", n))
    rows_and_columns = np.array(places, dtype=np.int64).reshape(-1, 2).T
    return SequenceClasses(
        sparse.csr_array((data, tuple(rows_and_columns)), shape=(len(entries), vocab_size), dtype=np.float64),
        query_of,
        next_of,
        class_names=_names(entries),
        frequencies=_frequencies(entries),
    )


def _named(keys: dict[str, Any], entries: list[dict[str, Any]]) -> SequenceClasses:
    for n, entry in enumerate(entries):
        if "name" not in entry and "next" not in entry:
            raise BadInput(f"class {n}: neither name nor next", "a class has a next token", EXAMPLE)
        for key in ("query", "next"):
            if key in entry:
                checked_names(f"class {n}: {key}", [entry[key]])
    if "vocab_size" in keys:
        SIZE("vocab_size", keys["vocab_size"])
    names = _names(entries) or checked_names("next", [entry["next"] for entry in entries])
    rows = dict(zip(names, entries, strict=True))
    return SequenceClasses(
        **named_classes(
            {name: entry["probs"] for name, entry in rows.items()},
            query_of={name: entry["query"] for name, entry in rows.items()},
            next_of={name: entry.get("next", name) for name, entry in rows.items()},
            tokens=keys.get("tokens", ()),
            vocab_size=keys.get("vocab_size"),
        ),
        frequencies=_frequencies(entries),
    )


def _names(entries: list[dict[str, Any]]) -> tuple[str, ...]:
    names = [entry["name"] for entry in entries if "name" in entry]
    if names and len(names) < len(entries):
        missing = next(n for n, entry in enumerate(entries) if "name" not in entry)
        raise BadInput(f"class {missing}: no name", "all classes have names, or none", "name it")
    return checked_names("name", names)


def _frequencies(entries: list[dict[str, Any]]) -> list[float] | None:
    if not any("frequency" in entry for entry in entries):
        return None
    for n, entry in enumerate(entries):
        if not is_real(entry.get("frequency")):
            raise BadInput(
                f"class {n}: frequency = {shown(entry.get('frequency'))}",
                "P(n) is a number, and all classes have theirs, or none",
                "write e.g. frequency: 0.5",
            )
    return [float(entry["frequency"]) for entry in entries]


def _row(value: Any, where: str, vocab_size: int) -> dict[int, float]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if pairs is None or (isinstance(value, list) and len(value) != vocab_size):
        raise BadInput(
            f"{where}: probs = {shown(value)}",
            f"probs maps tokens to probabilities, or lists all M = {vocab_size} of them",
            EXAMPLE,
        )
    row: dict[int, float] = {}
    for key, probability in pairs:
        token = int(key) if isinstance(key, str) and key.isdecimal() else key  # the keys of JSON are text
        TOKEN(f"{where}: token", token)
        if not 0 <= token < vocab_size:
            raise BadInput(
                f"{where}: token {shown(token)}",
                f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size})",
                "count tokens from 0, or raise vocab_size",
            )
        if token in row:
            raise BadInput(f"{where}: token {token} twice", "tokens differ", "add the two up")
        PROBABILITY(f"{where}: probability of {token}", probability)
        row[token] = probability
    return row
