"""Names of tokens and classes: what a name may be, the numbers behind names, and the labels that coordinates carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.data.axes import OTHERS
from scansnap_core.data.checks import PROBABILITY, SIZE, without_count
from scansnap_core.rules import is_real, number, shown

OTHERS_NAME = "(others)"
"""The name of :data:`~scansnap_core.data.axes.OTHERS` among named tokens."""

RESERVED = re.compile(r"#\d+|\(others\)")
COUNT = number(least=0, says="counts are finite and not negative", remedy="correct the entry")


def checked_names(what: str, names: Any) -> tuple[str, ...]:
    """Return names as text if they differ and none is empty; else raise BadInput."""
    if isinstance(names, str | Mapping) or not isinstance(names, Iterable):
        raise BadInput(f"{what} = {shown(names)}", "a list of names", 'pass e.g. ["sea", "sky"]')
    listed, seen = tuple(names), set()
    for name in listed:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or RESERVED.fullmatch(name):
            raise BadInput(
                f"{what} holds {shown(name)}",
                f"a name is printable text, neither blank nor {OTHERS_NAME} nor # with a number",
                "write 0.7 with a point, not 0,7, and a name that is a number in quotes"
                if is_real(name)
                else "write e.g. 'sea', in quotes where YAML would read a number",
            )
        if name in seen:
            raise BadInput(f"{what} holds {name!r} twice", "names differ", "remove or rename one")
        seen.add(name)
    return tuple(str(name) for name in listed)


def check_naming(
    token_names: Sequence[str], class_names: Sequence[str], *, num_classes: int, vocab_size: int, last_token: int
) -> None:
    """Raise BadInput unless all classes have names or none have, and so all tokens that they use."""
    if (class_names and len(class_names) != num_classes) or len(token_names) > vocab_size:
        raise BadInput(
            f"{len(class_names)} names of classes and {len(token_names)} of tokens",
            f"each of K = {num_classes} classes has a name or none has, and at most M = {vocab_size} tokens have",
            "pass one name a class, and names of the tokens from 0 on",
        )
    if 0 < len(token_names) <= last_token:
        raise BadInput(
            f"{len(token_names)} names of tokens, and classes that use the token {last_token}",
            "if tokens have names, then all that classes hold, ask with or predict",
            "name more tokens, or number the unnamed ones last",
        )


def labels(tokens: NDArray[np.int64], names: Sequence[str]) -> NDArray[Any]:
    """Return the names of tokens, ``#7`` for the token 7 if it has none; without any names their numbers."""
    if not names:
        return np.asarray(tokens)
    called = {OTHERS: OTHERS_NAME}
    found = [called.get(t) or (names[t] if t < len(names) else f"#{t}") for t in np.ravel(tokens).tolist()]
    return np.array(found).reshape(np.shape(tokens))


def union(axes: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Join the labels of several class systems on one axis, ascending; numbers become text among names."""
    return np.unique(np.concatenate([*axes]))


def named_classes(
    rows: Mapping[str, Any],
    *,
    query_of: Any,
    next_of: Any = None,
    tokens: Iterable[str] = (),
    vocab_size: int | None = None,
) -> dict[str, Any]:
    """Number classes by name: the arguments of :class:`~scansnap_core.data.sequences.SequenceClasses`.

    Parameters
    ----------
    rows
        The probability of each token, by class.
    query_of
        The query token of all classes, or of each by name.
    next_of
        The next token by class. A class that it leaves out has its own name as next token.
    tokens
        Names that are numbered first, in this order. All others follow in the order in which they are first mentioned:
        class by class, then query tokens, then next tokens.
    vocab_size
        M, or None for the number of names.
    """
    if not isinstance(rows, Mapping) or not rows:
        raise BadInput(
            f"classes = {shown(rows)}",
            "classes map names to the probabilities of tokens by name, and there is at least one",
            'pass e.g. {"sea": {"and": 0.4, "wave": 0.6}}',
        )
    classes = checked_names("classes", list(rows))
    if isinstance(query_of, str):
        query_of = dict.fromkeys(classes, query_of)
    queries = _by_class("query_of", query_of, classes)
    nexts = _by_class("next_of", {name: name for name in classes} | _mapping("next_of", next_of or {}), classes)
    number: dict[str, int] = {name: i for i, name in enumerate(checked_names("tokens", tokens))}
    columns, data = [], []
    for name in classes:
        row = _mapping(f"class {name!r}", rows[name])
        columns.append([number.setdefault(token, len(number)) for token in checked_names(f"class {name!r}", list(row))])
        for token, value in row.items():
            PROBABILITY(f"class {name!r}: probability of {token!r}", value)
        data.append([float(value) for value in row.values()])
    spoken = [[number.setdefault(token, len(number)) for token in each] for each in (queries, nexts)]
    M = len(number) if vocab_size is None else vocab_size
    SIZE("vocab_size", M)
    if len(number) > M:
        raise BadInput(
            f"{len(number)} names of tokens over M = {M} tokens",
            "every name is a token of the vocabulary",
            f"raise vocab_size to {len(number)} or more, or leave it out",
        )
    lengths = [len(row) for row in columns]
    places = (np.repeat(np.arange(len(classes)), lengths), np.array(list(chain(*columns)), dtype=np.int64))
    return {
        "probs": sparse.csr_array((np.array(list(chain(*data)), dtype=np.float64), places), shape=(len(classes), M)),
        "query_of": spoken[0],
        "next_of": spoken[1],
        "token_names": tuple(number),
        "class_names": classes,
    }


def shares_by_name(counts: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Divide the counts of each class by their sum; or raise BadInput."""
    shares = {}
    for name, row in counts.items():
        row = _mapping(f"class {shown(name)}", row)
        for token, count in row.items():
            COUNT(f"class {shown(name)}: count of {shown(token)}", count)
        total = float(sum(row.values()))
        if not total > 0:
            raise without_count(shown(name))
        shares[name] = {token: float(count) / total for token, count in row.items()}
    return shares


def frequencies_by_class(frequencies: Any, classes: tuple[str, ...]) -> list[Any] | None:
    """Return P(n) in the order of the classes, from a mapping by name; None stays None."""
    if frequencies is None:
        return None
    return _in_order("frequencies", frequencies, classes, "every class has a frequency, or none has")


def _mapping(what: str, value: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{what} = {shown(value)}", "a mapping by name", 'pass e.g. {"and": 1.0}')
    return dict(value)


def _by_class(what: str, by_class: Any, classes: tuple[str, ...]) -> list[str]:
    """Return one name per class, in the order of the classes."""
    tokens = _in_order(what, by_class, classes, "one token a class")
    for name, token in zip(classes, tokens, strict=True):
        checked_names(f"{what} of {name!r}", [token])
    return tokens


def _in_order(what: str, by_class: Any, classes: tuple[str, ...], rule: str) -> list[Any]:
    """Return the values of a mapping by class name, in the order of the classes."""
    values = _mapping(what, by_class)
    known = set(classes)
    for name in values:
        if name not in known:
            raise BadInput(
                f"{what} of {shown(name)}", f"the classes are {', '.join(classes)}"[:120], "correct the name"
            )
    for name in classes:
        if name not in values:
            raise BadInput(f"no {what} of {name!r}", rule, "give it, or one value for all classes")
    return [values[name] for name in classes]
