"""Models that have a name, without PyTorch: what they are called, and how many heads or windows that says."""

from __future__ import annotations

import re
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import shown

PLAIN = "plain"
"""The paper's model, with Lemma 1's gradients in closed form."""
UNNUMBERED = ("residual", "layernorm")
HEADS, WINDOWS = ("heads", "summed heads"), ("positions",)
NUMBERED = (*HEADS, *WINDOWS)
MODELS = (PLAIN, *UNNUMBERED, *(f"{kind} H" for kind in HEADS), *(f"{kind} W" for kind in WINDOWS))
"""Models with a name; H is a number of heads, W of windows. :mod:`scansnap_core.engine.architectures` says what they
are.
"""
MOST = 1024


def checked_model_name(model: Any) -> str | None:
    """The name of a known model as it's written in results; None for what is no such name.

    Raises
    ------
    BadInput
        Heads or windows without a number, or too few or too many of them.

    Examples
    --------
    >>> from scansnap_core.engine.model_names import checked_model_name
    >>> checked_model_name("heads  04"), checked_model_name("my_module:mine")
    ('heads 4', None)
    """
    if not isinstance(model, str):
        return None
    words = " ".join(model.split())
    kind, number = re.fullmatch(r"(.*?)\s*([0-9]*)", words).groups()  # type: ignore[union-attr]
    if kind not in NUMBERED:
        return words if words in (PLAIN, *UNNUMBERED) else None
    if not number or not 1 <= int(number[:9]) <= MOST:
        raise BadInput(
            value=f"model = {shown(model)}",
            rule=f"there are 1 to {MOST} {'heads' if kind in HEADS else 'windows'}, and the name says how many",
            remedy=f"write e.g. '{kind} 4'",
        )
    return f"{kind} {int(number)}"


def heads_of(model: Any) -> int:
    """How many heads a model with a name has, each with its own rows of Z; 0 for one without that axis.

    Examples
    --------
    >>> from scansnap_core.engine.model_names import heads_of
    >>> heads_of("summed heads 2"), heads_of("residual")
    (2, 0)
    """
    if not isinstance(model, str):
        return int(getattr(model, "heads", 0))
    return _number(model, HEADS)


def windows_of(model: Any) -> int:
    """How many windows of positions a model with a name tells apart; 0 for one that has none.

    Examples
    --------
    >>> from scansnap_core.engine.model_names import windows_of
    >>> windows_of("positions 2"), windows_of("heads 2")
    (2, 0)
    """
    return _number(model, WINDOWS)


def check_windows(model: Any, vocab_size: int) -> None:
    """A model with windows is for vocabularies of as many equal blocks.

    Raises
    ------
    BadInput
        M is no multiple of W.
    """
    windows = windows_of(model)
    if windows and vocab_size % windows:
        raise BadInput(
            value=f"model = {shown(model)} with M = {vocab_size}",
            rule="its vocabulary is one block of tokens for each window, of equal size",
            remedy=f"use an M that is a multiple of {windows}; token l in window w is w M/W + l",
        )


def _number(model: Any, kinds: tuple[str, ...]) -> int:
    name = checked_model_name(model)
    kind, _, number = name.rpartition(" ") if name else ("", "", "")
    return int(number) if kind in kinds else 0
