"""What a grid of runs is trained with where it doesn't say: one source for grids, the command's
help and the book.

The paper's grids and the recorded ones name their own settings. Nothing here imports PyTorch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scansnap_core.engine.names import MOMENTUM, PLAIN


class Default(NamedTuple):
    """The value of a grid's key where the grid doesn't name it, and what the key is."""

    value: Any
    says: str


DEFAULTS: dict[str, Default] = {
    "optimizer": Default(
        "sgd", "plain SGD; or `momentum`, `adam`, or a class such as `torch.optim:AdamW`"
    ),
    "seq_len": Default(128, "T, the query included; `.inf` is the limit of long sequences"),
    "batch_size": Default(128, "samples in an update; or `expectation`, with `seq_len: .inf`"),
    "momentum": Default(
        MOMENTUM, "what the optimizer `momentum` keeps of its velocity; the others have none"
    ),
    "initial": Default("zero", "Y = Z = 0 at the start; or `random`"),
    "rng": Default("fresh", "NumPy's random numbers; or `counter`, or `replay`"),
    "dtype": Default("float32", "single precision; or `float64`, which `scansnap train` takes"),
    "model": Default(PLAIN, "the paper's model; or another"),
    "measures": Default(("entropy", "final_loss", "diverged_at", "Z"), "what is kept of each run"),
    "record": Default(
        None, "measures are taken after the last step; with `record: 10` every 10 steps"
    ),
}
"""The optional keys of a grid, by name."""


def written(value: Any) -> str:
    """Write a default as a grid's file has it.

    Examples
    --------
    >>> [written(DEFAULTS[key].value) for key in ("optimizer", "measures", "record")]
    ['sgd', '[entropy, final_loss, diverged_at, Z]', 'at the end']
    """
    if value is None:
        return "at the end"
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)


def in_a_line() -> str:
    """Write all defaults in one line, for the command's help."""
    named = {key: f"{key} {written(value)}" for key, (value, _) in DEFAULTS.items()}
    named["momentum"] += " (of the optimizer momentum alone)"
    return ", ".join(named.values())


def as_a_table() -> str:
    """Write a table of the defaults in Markdown, for the book."""
    quote = {key: "" if value is None else "`" for key, (value, _) in DEFAULTS.items()}
    rows = [
        f"| `{key}` | {quote[key]}{written(value)}{quote[key]} | {says} |"
        for key, (value, says) in DEFAULTS.items()
    ]
    return "\n".join(["| key | default | what it is |", "| --- | --- | --- |", *rows])
