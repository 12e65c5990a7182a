"""Models that have a name, without PyTorch: what they are called, and how many heads that says."""

from __future__ import annotations

import re
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import shown

PLAIN = "plain"
"""The paper's model, with Lemma 1's gradients in closed form."""
UNNUMBERED, NUMBERED = ("residual", "layernorm"), ("heads", "summed heads")
MODELS = (PLAIN, *UNNUMBERED, *(f"{kind} H" for kind in NUMBERED))
"""Models with a name; H is a number of heads. :mod:`scansnap_core.engine.architectures` says what they are."""
MOST_HEADS = 1024


def checked_model_name(model: Any) -> str | None:
    """The name of a known model as it's written in results; None for what is no such name.

    Raises
    ------
    BadInput
        Heads without a number, or too few or too many of them.

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
    if not number or not 1 <= int(number[:9]) <= MOST_HEADS:
        raise BadInput(
            value=f"model = {shown(model)}",
            rule=f"there are 1 to {MOST_HEADS} heads, and the name says how many",
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
    name = checked_model_name(model)
    return int(name.rpartition(" ")[2]) if name and name not in (PLAIN, *UNNUMBERED) else 0
