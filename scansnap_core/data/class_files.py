"""Class systems as YAML or JSON files.

::

    vocab_size: 30
    classes:
      - {query: 20, probs: {0: 0.5, 3: 0.25, 4: 0.25}}   # token: P(l|n); the next token is the class's position
      - {query: 20, probs: {0: 0.5, 5: 0.5}, next: 7}    # or named
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses

EXAMPLE = "see the example at the top of scansnap_core/data/class_files.py"


def load_classes(path: str | Path) -> SequenceClasses:
    """Read a class system from a ``.yaml``, ``.yml`` or ``.json`` file.

    Keys: ``vocab_size`` (M) and ``classes``, a list with one entry a class: ``query`` (psi(n)), ``probs`` (a mapping
    from token to probability, or a list of M probabilities) and, optionally, ``next`` (the next token; default: the
    position in the list).

    Raises
    ------
    BadInput
        The file can't be read or parsed, holds an unknown or missing key, or describes impossible classes.
    """
    content = _mapping(_parse(Path(path)), "the file", required={"vocab_size", "classes"}, optional=set())
    vocab_size, entries = content["vocab_size"], content["classes"]
    if not _is_int(vocab_size) or vocab_size < 1:
        raise BadInput(
            value=f"vocab_size = {vocab_size!r}", rule="M is a positive integer", remedy="write e.g. vocab_size: 30"
        )
    if not isinstance(entries, list) or not entries:
        raise BadInput(
            value=f"classes = {entries!r}"[:80], rule="classes is a list with at least one entry", remedy=EXAMPLE
        )
    if len(entries) > vocab_size:
        raise BadInput(
            value=f"K = {len(entries)} classes over M = {vocab_size} tokens",
            rule="next tokens are tokens, so K <= M",
            remedy="raise vocab_size",
        )
    probs = sparse.dok_array((len(entries), vocab_size))
    query_of, next_of = [], []
    for n, entry in enumerate(entries):
        where = f"class {n}"
        keys = _mapping(entry, where, required={"query", "probs"}, optional={"next"})
        for token, probability in _row(keys["probs"], where, vocab_size).items():
            probs[n, token] = probability
        query_of.append(_integer(keys["query"], f"{where}: query"))
        next_of.append(_integer(keys.get("next", n), f"{where}: next"))
    return SequenceClasses(probs, query_of, next_of)


def _parse(path: Path) -> Any:
    if path.suffix not in {".yaml", ".yml", ".json"}:
        raise BadInput(
            value=f"file {path}", rule="a class system is a .yaml, .yml or .json file", remedy="rename or convert it"
        )
    try:
        text = path.read_text(encoding="utf8")
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise BadInput(
            value=f"file {path}: {reason}", rule="the file must exist and be readable", remedy="check the path"
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise BadInput(value=f"file {path}: {problem}", rule="the file is valid YAML or JSON", remedy=EXAMPLE) from None


def _mapping(value: Any, where: str, required: set[str], optional: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(value=f"{where}: {value!r}"[:80], rule="a mapping of keys to values", remedy=EXAMPLE)
    for key in value:
        if key not in required | optional:
            known = ", ".join(sorted(required | optional))
            raise BadInput(
                value=f"{where}: key {key!r}", rule=f"the known keys are {known}", remedy="remove or correct it"
            )
    for key in sorted(required - set(value)):
        raise BadInput(value=f"{where}: no key {key!r}", rule=f"{key} is required", remedy=EXAMPLE)
    return value


def _row(value: Any, where: str, vocab_size: int) -> dict[int, float]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if pairs is None or (isinstance(value, list) and len(value) != vocab_size):
        raise BadInput(
            value=f"{where}: probs = {value!r}"[:80],
            rule=f"probs maps tokens to probabilities, or lists all M = {vocab_size} of them",
            remedy=EXAMPLE,
        )
    row = {}
    for key, probability in pairs:
        token = int(key) if isinstance(key, str) and key.isdecimal() else _integer(key, f"{where}: token")
        if not 0 <= token < vocab_size:
            raise BadInput(
                value=f"{where}: token {token}",
                rule=f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size})",
                remedy="count tokens from 0, or raise vocab_size",
            )
        if isinstance(probability, bool) or not isinstance(probability, int | float):
            raise BadInput(
                value=f"{where}: token {token} has the probability {probability!r}",
                rule="a probability is a number",
                remedy="write a decimal such as 0.25",
            )
        row[token] = probability
    return row


def _integer(value: Any, where: str) -> int:
    if not _is_int(value):
        raise BadInput(value=f"{where} = {value!r}", rule="a token is an integer", remedy="write e.g. 20")
    return int(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
