"""What a training on text is asked to do, checked before any work starts."""

from __future__ import annotations

from dataclasses import dataclass

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import check_rate

OPTIMIZERS = ("sgd", "momentum", "adam")


@dataclass(frozen=True)
class Settings:
    """How a Transformer is trained on text.

    Of the defaults the paper prints, for Figure 7's upper row, one layer, SGD and the rate. The others are those of
    PyTorch's tutorial on language modelling, which has the same rate, with one head.

    Parameters
    ----------
    layers
        1 or more.
    lr
        The rate of all parameters, the same at every step; gradients are those of the mean cross entropy.
    steps
        Updates to make: time is counted in updates of ``batch_size`` sequences.
    every
        How many updates lie between two snapshots. There is one at the start and one at the end too.
    seed
        Of initial values and dropout. The text is read in order, so batches don't depend on it.
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

    Raises
    ------
    BadInput
        A value breaks its rule.
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
        check_rate("lr", self.lr)
        check_rate("clip", self.clip)
        for name, least in (
            ("layers", 1),
            ("steps", 1),
            ("every", 1),
            ("seed", 0),
            ("embedding", 2),
            ("hidden", 1),
            ("context", 2),
            ("batch_size", 1),
        ):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise BadInput(f"{name} = {value}", f"it is a whole number of at least {least}", f"pass e.g. {least}")
        if self.seed >= 2**64:
            raise BadInput(f"seed = {self.seed}", "it is a whole number below 2^64", "pass e.g. 0")
        if self.embedding % 2:
            raise BadInput(
                f"embedding = {self.embedding}", "positions come as pairs of sine and cosine", "pass an even width"
            )
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout = {self.dropout}", "a probability in [0, 1)", "pass e.g. 0.2")
        if self.optimizer not in OPTIMIZERS:
            raise BadInput(
                f"optimizer = {self.optimizer!r}", f"it is one of {', '.join(OPTIMIZERS)}", "choose one of them"
            )

    @property
    def snapshots(self) -> list[int]:
        """The steps after which a snapshot is taken, from 0 to ``steps``."""
        return [*range(0, self.steps, self.every), self.steps]
