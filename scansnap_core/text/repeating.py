"""Repeating the beginning of a recorded training, to see that it is what the code does."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.text.corpus import Corpus
from scansnap_core.text.recording import train_text
from scansnap_core.text.settings import Settings

COMPARED = ("loss", "entropy")


class NotRepeated(AssertionError):
    """A training went another way than the recorded one."""


def check_repeated(recorded: xr.Dataset, corpus: Corpus, settings: Settings, tolerance: float) -> None:
    """Train the first steps of a recorded training again, in memory, and compare loss and entropy at its snapshots.

    How far two machines may differ depends on the rate, because rounding grows while the training runs: slowly at a
    rate of 1 (0.000003 nats in 50 steps), and with Adam at 0.001 (0.00005 in 25); but at 5 by up to 1.4 nats in 25
    steps, with another processor's instructions. Such a run can't be repeated elsewhere.

    Parameters
    ----------
    recorded
        ``loss`` (step) and ``entropy`` (step, layer), in nats, of one training.
    corpus, settings
        What it was trained with; ``settings.steps`` says how many steps are repeated.
    tolerance
        The largest difference that still counts as the same, in nats.

    Raises
    ------
    NotRepeated
        They differ by more.
    BadInput
        The record lacks one of the snapshots, or the text is too short.
    """
    lacking = sorted(set(settings.snapshots) - set(recorded.step.values.tolist()))
    if lacking:
        raise BadInput(
            f"recorded steps {recorded.step.values.tolist()}",
            f"they lack {lacking}, where a training of these settings is seen",
            "pass settings with the record's `every`, and `steps` that it holds",
        )
    live = train_text(corpus, settings)[0].swap_dims(snapshot="step")
    there = recorded.sel(step=live.step, layer=live.layer)
    for name in COMPARED:
        difference = float(np.abs((live[name] - there[name]).values).max())
        if not difference <= tolerance:
            raise NotRepeated(
                f"{name} differs from the record by {difference:.2g} nats within {settings.steps} steps, "
                f"where {tolerance:g} is allowed"
            )
