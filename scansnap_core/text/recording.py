"""Run a training on text into a store that survives a kill, or into memory, or again beside its
record.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.progress import progress_bar
from scansnap_core.base.rules import FLAG, PATH, takes
from scansnap_core.engine.settings import checked_device
from scansnap_core.storage.provenance import program, provenance
from scansnap_core.storage.store import Layout, Variable, writing
from scansnap_core.text.corpus import Corpus
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import SHOWN, Training

BY_LAYER = ("snapshot", "layer")
VARIABLES = {
    "train_loss": Variable(("snapshot",), "f4", {"units": "nats a word"}),
    "loss": Variable(("snapshot",), "f4", {"units": "nats a word"}),
    "entropy": Variable(BY_LAYER, "f4", {"units": "nats"}),
    "speed": Variable(BY_LAYER, "f4", {"units": "share a step"}),
    "drift": Variable(BY_LAYER, "f4", {"units": "share a step"}),
    "prediction_speed": Variable(("snapshot",), "f4", {"units": "share a step"}),
    "prediction_drift": Variable(("snapshot",), "f4", {"units": "share a step"}),
    "maps": Variable((*BY_LAYER, "sequence", "query", "key"), "f4", {"units": "probability"}),
}
"""The arrays of a snapshot; :meth:`~scansnap_core.text.training.Training.snapshots` says what they
mean.
"""
STATE = Variable(("snapshot",), "U64", {"long_name": "SHA-256 of the training's state"})


class NotRepeated(AssertionError):
    """A training went another way than the recorded one."""


@takes(out=PATH, progress=FLAG)
def record(
    corpus: Corpus,
    settings: Settings,
    out: str | Path,
    *,
    device: str = "auto",
    command: str = "",
    progress: bool = False,
) -> None:
    """Train into a store; one that was begun goes on after its last snapshot, as if it had never
    stopped.

    Beside the arrays the store keeps the state of its last snapshot, ``state-N.pt``: at the end the
    trained model.

    Parameters
    ----------
    corpus, settings
        The text and the training.
    out
        The store, new or begun with the same corpus, settings and device.
    device
        "auto" (a GPU where there is one), "cpu" or "cuda".
    command
        The command that is recorded beside the results.
    progress
        Show a progress bar in a terminal or a notebook; elsewhere print a line a minute to standard
        error.

    Raises
    ------
    BadInput
        The store isn't one of this training (see :func:`scansnap_core.storage.store.writing`), its
        state was damaged, the disk is full, or the text is too short.
    """
    out = Path(out)
    place = torch.device(checked_device(device))
    training = Training(corpus, settings, place)
    configuration = {
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
        "vocab_size": corpus.vocab_size,
        **{f"sha256_{split}": checksum for split, checksum in corpus.sha256.items()},
        # JSON's types
        **{name: np.asarray(value).item() for name, value in dataclasses.asdict(settings).items()},
        **program(),
        "device": place.type,
    }
    layout = Layout(_labels(settings), VARIABLES | {"state": STATE}, {"snapshot": 1})
    with writing(out, layout, configuration, provenance(command)) as store:
        if store.finished:
            _resume(training, out, max(store.finished))
        done = settings.snapshots[max(store.finished)] if store.finished else 0
        with progress_bar(None, progress, total=settings.steps, initial=done, unit="step") as bar:
            for number, values in training.snapshots():
                state = training.state()
                file = _state_file(out, number)
                files.save(file, state)
                store.write(
                    number,
                    _block(values) | {"state": np.array([hashlib.sha256(state).hexdigest()])},
                )
                for old in set(out.glob("*state-*")) - {file}:  # also those that a kill left
                    old.unlink()
                bar.update(settings.snapshots[number] - int(bar.n))
                bar.set_postfix(loss=f"{values['loss']:.3f}", entropy=f"{values['entropy'][0]:.3f}")


def train_text(corpus: Corpus, settings: Settings) -> tuple[xr.Dataset, Training]:
    """Train in memory, on the CPU; return the snapshots as a store would hold them, and the
    training at its end.
    """
    training = Training(corpus, settings, torch.device("cpu"))
    taken = [_block(values) for _, values in training.snapshots()]
    arrays = {
        name: (variable.dims, np.concatenate([values[name] for values in taken]), variable.attrs)
        for name, variable in VARIABLES.items()
    }
    return _labels(settings).assign(arrays), training


def check_repeated(
    recorded: xr.Dataset, corpus: Corpus, settings: Settings, tolerance: float
) -> None:
    """Train the first steps of a recorded training again, in memory, and compare loss and entropy
    at its snapshots.

    Where they differ by more than ``tolerance``, in nats, it raises :class:`NotRepeated`. How far
    two machines may differ depends on the rate, because rounding errors grow while the training
    runs. They grow slowly at a rate of 1 (3 × 10⁻⁶ nats in 50 steps), and with Adam at 0.001 (5 ×
    10⁻⁵ nats in 25 steps). At a rate of 5, with another processor's instructions, they reach up to
    1.4 nats in 25 steps. Such a run can't be repeated elsewhere.

    Parameters
    ----------
    recorded
        ``loss`` (step) and ``entropy`` (step, layer), in nats, of one training.
    corpus, settings
        The record's own; ``settings.steps`` says how many steps are repeated.
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
    for name in ("loss", "entropy"):
        difference = float(np.abs((live[name] - there[name]).values).max())
        if not difference <= tolerance:
            raise NotRepeated(
                f"{name} differs from the record by {difference:.2g} nats within "
                f"{settings.steps} steps, where {tolerance:g} is allowed"
            )


def _labels(settings: Settings) -> xr.Dataset:
    """Return the coordinates of a training's snapshots, without arrays.

    Layers count from 1, sequences are the first ones watched, and query and key are places in them.
    """
    places = np.arange(settings.context)
    return xr.Dataset(
        coords={
            "snapshot": np.arange(len(settings.snapshots)),
            "step": (
                "snapshot",
                settings.snapshots,
                {"units": f"updates of {settings.batch_size} sequences"},
            ),
            "layer": np.arange(1, settings.layers + 1),
            "sequence": np.arange(SHOWN),
            "query": places,
            "key": places,
        }
    )


def _block(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Give a snapshot's arrays the axis ``snapshot``, of length 1."""
    return {name: array[None] for name, array in values.items()}


def _state_file(out: Path, number: int) -> Path:
    """Return where a store keeps the training's state at a snapshot."""
    return out / f"state-{number}.pt"


def _resume(training: Training, out: Path, number: int) -> None:
    """Let a training go on from the state that a store keeps of a snapshot; raise BadInput if that
    is missing, or isn't what was written.
    """
    file = _state_file(out, number)
    state = file.read_bytes() if file.is_file() else b""
    if (
        hashlib.sha256(state).hexdigest()
        != xr.open_zarr(out, consolidated=True, chunks=None)["state"].values[number]
    ):
        problem = "fails its checksum" if state else "is missing"
        rule = "training goes on from the state it was left in"
        remedy = "restore a copy of it, or name another store"
        raise BadInput(f"store {out}: {file.name} {problem}", rule, remedy)
    training.resume(state)
