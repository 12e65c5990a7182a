"""The settings of a training on text, checked before any work starts."""

from __future__ import annotations

from dataclasses import dataclass

from scansnap_core.base.rules import FLAG, RATE, Rule, check, is_whole, number, one_of, whole

OPTIMIZERS = ("sgd", "momentum", "adam")
EVEN = Rule(
    lambda width: is_whole(width) and width >= 2 and width % 2 == 0,
    "an even integer, because positions come as pairs of sine and cosine",
    "pass e.g. 200",
)
RULES: dict[str, Rule] = {
    "lr": RATE,
    "clip": RATE,
    "layers": whole(example=1),
    "steps": whole(),
    "every": whole(),
    "seed": whole(0, 2**64 - 1, says="a whole number below 2^64", example=0),
    "embedding": EVEN,
    "hidden": whole(),
    "context": whole(2),
    "batch_size": whole(),
    "dropout": number(least=0, below=1, says="a probability in [0, 1)", remedy="pass e.g. 0.2"),
    "positions": FLAG,
    "optimizer": one_of(OPTIMIZERS),
}


@dataclass(frozen=True)
class Settings:
    """The settings with which a Transformer is trained on text.

    The paper prints three of the defaults, for Figure 7's upper row: one layer, SGD and the rate.
    The others are those of PyTorch's tutorial on language modelling, which has the same rate, with
    one head.

    Parameters
    ----------
    layers
        1 or more.
    lr
        The rate of all parameters, the same at every step; gradients are those of the mean cross
        entropy.
    steps
        Updates to make: time is counted in updates of ``batch_size`` sequences.
    every
        How many updates lie between two snapshots. There is one at the start and one at the end
        too.
    seed
        The seed of initial values and dropout. The text is read in order, so batches don't depend
        on it.
    dropout
        The probability, in [0, 1).
    positions
        Whether sinusoidal positions are added to the embedding.
    optimizer
        "sgd", "momentum" (0.9) or "adam".
    embedding, hidden, context, batch_size
        The widths of embedding and feed-forward layers, T, and how many sequences a step takes.
    clip
        The longest gradient; a longer one is shortened to it.
    """

    layers: int = 1
    lr: float = 5.0
    steps: int = 1500
    every: int = 25
    seed: int = 0
    dropout: float = 0.2
    positions: bool = True
    optimizer: str = "sgd"
    embedding: int = 200
    hidden: int = 200
    context: int = 35
    batch_size: int = 20
    clip: float = 0.5

    def __post_init__(self) -> None:
        check(vars(self), **RULES)

    @property
    def snapshots(self) -> list[int]:
        """Return the steps after which a snapshot is taken, from 0 to ``steps``."""
        return [*range(0, self.steps, self.every), self.steps]
