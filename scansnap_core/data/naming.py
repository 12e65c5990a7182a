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
from scansnap_core.data.checks import checked_size
from scansnap_core.rules import is_real, shown

OTHERS_NAME = "(others)"
"""What :data:`~scansnap_core.data.axes.OTHERS` is called among named tokens."""

RESERVED = re.compile(r"#\d+|\(others\)")


def checked_names(what: str, names: Any) -> tuple[str, ...]:
    """Names that differ, each a text that isn't empty, or BadInput."""
    if isinstance(names, str | Mapping) or not isinstance(names, Iterable):
        raise BadInput(value=f"{what} = {shown(names)}", rule="a list of names", remedy='pass e.g. ["sea", "sky"]')
    listed, seen = tuple(names), set()
    for name in listed:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or RESERVED.fullmatch(name):
            raise BadInput(
                value=f"{what} holds {shown(name)}",
                rule=f"a name is printable text, neither blank nor {OTHERS_NAME} nor # with a number",
                remedy="write 0.7 with a point, not 0,7, and a name that is a number in quotes"
                if is_real(name)
                else "write e.g. 'sea', in quotes where YAML would read a number",
            )
        if name in seen:
            raise BadInput(value=f"{what} holds {name!r} twice", rule="names differ", remedy="remove or rename one")
        seen.add(name)
    return tuple(str(name) for name in listed)


def check_naming(
    token_names: Sequence[str], class_names: Sequence[str], *, num_classes: int, vocab_size: int, last_token: int
) -> None:
    """Raise BadInput unless all classes have names or none have, and so all tokens that they use."""
    if (class_names and len(class_names) != num_classes) or len(token_names) > vocab_size:
        raise BadInput(
            value=f"{len(class_names)} names of classes and {len(token_names)} of tokens",
            rule=f"each of K = {num_classes} classes has a name or none has, and at most M = {vocab_size} tokens have",
            remedy="pass one name a class, and names of the tokens from 0 on",
        )
    if 0 < len(token_names) <= last_token:
        raise BadInput(
            value=f"{len(token_names)} names of tokens, and classes that use the token {last_token}",
            rule="if tokens have names, then all that classes hold, ask with or predict",
            remedy="name more tokens, or number the unnamed ones last",
        )


def labels(tokens: NDArray[np.int64], names: Sequence[str]) -> NDArray[Any]:
    """What tokens are called: their names, ``#7`` for the token 7 if it has none; without any names their numbers."""
    if not names:
        return np.asarray(tokens)
    called = {OTHERS: OTHERS_NAME}
    found = [called.get(t) or (names[t] if t < len(names) else f"#{t}") for t in np.ravel(tokens).tolist()]
    return np.array(found).reshape(np.shape(tokens))


def union(axes: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The labels of several class systems on one axis, ascending; numbers become text among names."""
    return np.unique(np.concatenate([*axes]))


def named_classes(
    rows: Mapping[str, Any],
    *,
    query_of: Any,
    next_of: Any = None,
    tokens: Iterable[str] = (),
    vocab_size: int | None = None,
) -> dict[str, Any]:
    """The arguments of :class:`~scansnap_core.data.sequences.SequenceClasses` for classes that speak of tokens by name.

    Parameters
    ----------
    rows
        By class, the probability of each token.
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
            value=f"classes = {shown(rows)}",
            rule="classes map names to the probabilities of tokens by name, and there is at least one",
            remedy='pass e.g. {"sea": {"and": 0.4, "wave": 0.6}}',
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
        data.append([_probability(f"class {name!r}", token, value) for token, value in row.items()])
    spoken = [[number.setdefault(token, len(number)) for token in each] for each in (queries, nexts)]
    M = len(number) if vocab_size is None else checked_size("vocab_size", vocab_size)
    if len(number) > M:
        raise BadInput(
            value=f"{len(number)} names of tokens over M = {M} tokens",
            rule="every name is a token of the vocabulary",
            remedy=f"raise vocab_size to {len(number)} or more, or leave it out",
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
    """By class, each token's share of the class's counts; or BadInput."""
    shares = {}
    for name, row in counts.items():
        row = _mapping(f"class {shown(name)}", row)
        for token, count in row.items():
            if not is_real(count) or not 0 <= count < np.inf:  # NaN isn't
                raise BadInput(
                    value=f"class {shown(name)}: token {shown(token)} has the count {shown(count)}",
                    rule="counts are finite and not negative",
                    remedy="correct the entry",
                )
        total = float(sum(row.values()))
        if not total > 0:
            raise BadInput(
                value=f"class {shown(name)} without a count",
                rule="every class was seen with some token",
                remedy="remove the class or count its tokens",
            )
        shares[name] = {token: float(count) / total for token, count in row.items()}
    return shares


def frequencies_by_class(frequencies: Any, classes: tuple[str, ...]) -> list[Any] | None:
    """P(n) in the order of the classes, from a mapping by name; None where there's none."""
    if frequencies is None:
        return None
    return _in_order("frequencies", frequencies, classes, "every class has a frequency, or none has")


def _mapping(what: str, value: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(value=f"{what} = {shown(value)}", rule="a mapping by name", remedy='pass e.g. {"and": 1.0}')
    return dict(value)


def _by_class(what: str, by_class: Any, classes: tuple[str, ...]) -> list[str]:
    """One name a class, in the order of the classes."""
    tokens = _in_order(what, by_class, classes, "one token a class")
    for name, token in zip(classes, tokens, strict=True):
        checked_names(f"{what} of {name!r}", [token])
    return tokens


def _in_order(what: str, by_class: Any, classes: tuple[str, ...], rule: str) -> list[Any]:
    """The values of a mapping by class name, in the order of the classes."""
    values = _mapping(what, by_class)
    known = set(classes)
    for name in values:
        if name not in known:
            raise BadInput(
                value=f"{what} of {shown(name)}",
                rule=f"the classes are {', '.join(classes)}"[:120],
                remedy="correct the name",
            )
    for name in classes:
        if name not in values:
            raise BadInput(value=f"no {what} of {name!r}", rule=rule, remedy="give it, or one value for all classes")
    return [values[name] for name in classes]


def _probability(where: str, token: str, value: Any) -> float:
    if not is_real(value) or abs(value) > 2:  # an integer may be too large for a float
        raise BadInput(
            value=f"{where}: token {token!r} has the probability {shown(value)}",
            rule="a probability is a number in [0, 1]",
            remedy="write a decimal with a point, such as 0.25",
        )
    return float(value)
