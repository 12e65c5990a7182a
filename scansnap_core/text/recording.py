"""Run a training on text into a store that survives a kill, or into memory."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
import torch
import xarray as xr

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.engine.arguments import checked_device
from scansnap_core.progress import progress_bar
from scansnap_core.rules import as_path, check_flag
from scansnap_core.storage.provenance import program, provenance
from scansnap_core.storage.store import Layout, Variable, writing
from scansnap_core.text.corpus import Corpus
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import SHOWN, Training, digest

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
"""What a snapshot holds; :meth:`~scansnap_core.text.training.Training.snapshots` says what it means."""
UNREADABLE = (EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError, AttributeError, UnpicklingError)
"""What a file that isn't a state of the training is met with by PyTorch, which reads numbers and runs no code."""
STATE = Variable(("snapshot",), "U64", {"long_name": "SHA-256 of the training's state"})


def record(
    corpus: Corpus,
    settings: Settings,
    out: str | Path,
    *,
    device: str = "auto",
    command: str = "",
    progress: bool = False,
) -> None:
    """Train into a store; one that was begun goes on after its last snapshot, as if it had never stopped.

    Beside the arrays the store keeps the state of its last snapshot, ``state-N.pt``: at the end the trained model.

    Parameters
    ----------
    corpus, settings
        The text and the training.
    out
        The store, new or begun with the same corpus, settings and device.
    device
        "auto" (a GPU where there is one), "cpu" or "cuda".
    command
        What is recorded as having been run.
    progress
        Show a progress bar, where there is a terminal or a notebook to show it in.

    Raises
    ------
    BadInput
        The store isn't one of this training (see :func:`scansnap_core.storage.store.writing`), its state was damaged,
        the disk is full, or the text is too short.
    """
    out = as_path("out", out)
    check_flag("progress", progress)
    place = torch.device(checked_device(device))
    training = Training(corpus, settings, place)
    configuration = {
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
        "vocab_size": corpus.vocab_size,
        **{f"sha256_{split}": checksum for split, checksum in corpus.sha256.items()},
        **dataclasses.asdict(settings),
        **program(Training.__module__),
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
                files.save(_state_file(out, number), state)
                store.write(number, _block(values) | {"state": np.array([digest(state)])})
                for state_file in out.glob("*state-*"):  # also those that a kill left
                    if state_file != _state_file(out, number):
                        state_file.unlink()
                bar.update(settings.snapshots[number] - bar.n)
                bar.set_postfix(loss=f"{values['loss']:.3f}", entropy=f"{values['entropy'][0]:.3f}")


def train_text(corpus: Corpus, settings: Settings) -> tuple[xr.Dataset, Training]:
    """Train in memory, on the CPU.

    Parameters
    ----------
    corpus, settings
        The text and the training.

    Returns
    -------
    snapshots, training
        What a store would hold, without the states; and the training at its end, with its ``model``.

    Raises
    ------
    BadInput
        The text is too short.
    """
    training = Training(corpus, settings, torch.device("cpu"))
    taken = [_block(values) for _, values in training.snapshots()]
    arrays = {
        name: (variable.dims, np.concatenate([values[name] for values in taken]), variable.attrs)
        for name, variable in VARIABLES.items()
    }
    return _labels(settings).assign(arrays), training


def _labels(settings: Settings) -> xr.Dataset:
    places = np.arange(settings.context)
    return xr.Dataset(
        coords={
            "snapshot": np.arange(len(settings.snapshots)),
            "step": ("snapshot", settings.snapshots, {"units": f"updates of {settings.batch_size} sequences"}),
            "layer": np.arange(1, settings.layers + 1),
            "sequence": np.arange(SHOWN),
            "query": places,
            "key": places,
        }
    )


def _block(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array[None] for name, array in values.items()}


def _state_file(out: Path, number: int) -> Path:
    return out / f"state-{number}.pt"


def _resume(training: Training, out: Path, number: int) -> None:
    file = _state_file(out, number)
    state = file.read_bytes() if file.is_file() else b""
    if digest(state) != xr.open_zarr(out, consolidated=True, chunks=None)["state"].values[number]:
        raise BadInput(
            f"store {out}: {file.name} " + ("fails its checksum" if state else "is missing"),
            "training goes on from the state it was left in",
            "restore a copy of it, or name another store",
        )
    try:
        training.resume(state)
    except UNREADABLE as error:
        problem = " ".join(str(error).split())[:120]
        raise BadInput(
            f"store {out}: {file.name} is no state of this training ({type(error).__name__}: {problem})",
            "training goes on from the state it was left in",
            "restore a copy of it, or name another store",
        ) from None
