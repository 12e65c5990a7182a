"""The paper's model in (Y, Z), trained on the contexts of one query word as they stand in the text.

The steps are plain SGD on Lemma 1's gradients (:mod:`scansnap_core.engine.model`). One query means one row z of Z. Next
words that are no class are one output with a multiplicity, as in :mod:`scansnap_core.engine.training`, and a batch
moves only the words that it holds, so a step costs what its words cost and is exact all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from scipy import sparse
from torch import Tensor

from scansnap_core.bad_input import BadInput
from scansnap_core.data.probabilities import Outputs
from scansnap_core.engine import model
from scansnap_core.rules import RATE, takes
from scansnap_core.text.samples import Floats, Ints, Samples


@takes(lr_y=RATE, lr_z=RATE)
def train_on(
    samples: Samples,
    *,
    vocab_size: int,
    lr_y: float,
    lr_z: float,
    record: Sequence[int],
    batch_size: int | None = 128,
    seeds: Sequence[int] = (0,),
    base_rates: bool = False,
    held_out: Samples | None = None,
    dtype: torch.dtype = torch.float32,
) -> xr.Dataset:
    """Train (Y, z) from zero by SGD on real contexts.

    Parameters
    ----------
    samples
        The contexts and their next words.
    vocab_size
        M, the number of outputs; at least the number of next words.
    lr_y, lr_z
        eta_Y and eta_Z.
    record
        After how many updates z is kept, ascending; the last one ends the run. **Clock**: one step is one update with
        the mean gradient of a batch, so a step of any batch size is one unit of the paper's t.
    batch_size
        B samples a step, drawn with replacement by their weights; None for the mean over all samples.
    seeds
        One run each.
    base_rates
        Give the decoder a fixed bias ln P(n), so that training starts from alpha = P(n) in place of 1/M. Outputs that
        are no class then have probability 0 for every M.
    held_out
        Other samples of the same words and next words, to see what is learnt beyond the samples themselves.

    Returns
    -------
    xarray.Dataset
        ``z`` (seed, recorded, word): the query's row of Z. ``loss`` (seed, step): -J of the batch before update
        ``step``, in nats. With ``held_out`` also ``held_out_loss`` (seed, recorded), the mean over those samples.

    Raises
    ------
    BadInput
        A rate that is not positive and finite, M < K, or moments that don't ascend.
    """
    K = len(samples.next_words)
    if vocab_size < K:
        raise BadInput(f"vocab_size = {vocab_size}", f"there are {K} next words", "pass the corpus' vocab_size")
    if len(record) == 0 or np.any(np.diff([0, *record]) <= 0):
        raise BadInput(f"record = {list(record)}", "moments are positive and ascend", "pass e.g. [100, 1000]")
    start = _Start(samples, None if base_rates else vocab_size, dtype)
    runs = [_run(samples, start, lr_y, lr_z, list(record), batch_size, seed, held_out) for seed in seeds]
    z, loss, held_out_loss = (np.stack(part) for part in zip(*runs, strict=True))
    clock = {"units": f"updates of batch size {batch_size or len(samples.target)}"}
    result = xr.Dataset(
        {
            "z": (("seed", "recorded", "word"), z, {"units": "logits"}),
            "loss": (("seed", "step"), loss, {"units": "nats"}),
        },
        coords={
            "seed": list(seeds),
            "recorded": ("recorded", list(record), clock),
            "step": ("step", np.arange(record[-1]), clock),
            "word": samples.words,
        },
        attrs={
            "lr_y": lr_y,
            "lr_z": lr_z,
            "batch_size": str(batch_size or "all"),
            "vocab_size": vocab_size,
            "base_rates": int(base_rates),
        },
    )
    if held_out is not None:
        result["held_out_loss"] = (("seed", "recorded"), held_out_loss, {"units": "nats"})
    return result


class _Start:
    """The outputs at the start: their multiplicity in alpha, and how far a unit gradient moves their Y."""

    def __init__(self, samples: Samples, vocab_size: int | None, dtype: torch.dtype) -> None:
        K, self.dtype = len(samples.next_words), dtype
        if vocab_size is None:
            # exp(bias) enters alpha as a multiplicity does, but the gradient is not shared among that many outputs
            self.multiplicity = torch.as_tensor(samples.next_probs, dtype=dtype)
            self.scale = self.multiplicity
        else:
            multiplicity = Outputs.lumped(np.arange(K), vocab_size).multiplicity
            self.multiplicity = torch.tensor(multiplicity, dtype=dtype)
            self.scale = torch.ones_like(self.multiplicity)

    def targets(self, samples: Samples) -> Tensor:
        """Encode x_{T+1} of all samples as one-hot rows."""
        outputs = len(self.multiplicity)
        return torch.eye(len(samples.next_words), outputs, dtype=self.dtype)[torch.from_numpy(samples.target)]


def _run(
    samples: Samples,
    start: _Start,
    lr_y: float,
    lr_z: float,
    record: list[int],
    batch_size: int | None,
    seed: int,
    held_out: Samples | None,
) -> tuple[Floats, Floats, Floats]:
    N, L = samples.q.shape
    Y, z = torch.zeros((L, len(start.multiplicity)), dtype=start.dtype), torch.zeros(L, dtype=start.dtype)
    targets, rng = start.targets(samples), np.random.default_rng(seed)
    kept, loss, held_out_loss = np.empty((len(record), L)), np.empty(record[-1]), np.full(len(record), np.nan)

    def gradients(part: Samples, rows: Ints, share: Floats, target: Tensor) -> tuple[Tensor, model.Gradients]:
        """Return the words that these samples hold, and the gradients on them."""
        q, is_held = part.q[rows], np.zeros(L, dtype=np.bool_)
        is_held[q.indices] = True
        held, place = np.flatnonzero(is_held), is_held.cumsum() - 1
        q = sparse.csr_array((q.data, place[q.indices], q.indptr), shape=(len(rows), len(held)))
        here, one = torch.from_numpy(held), torch.ones((len(rows), 1), dtype=start.dtype)
        dense, weight = (torch.as_tensor(array, dtype=start.dtype) for array in (q.toarray(), share))
        return here, model.gradients(dense, one, target, weight, Y[here], z[here].unsqueeze(0), start.multiplicity)

    for step in range(record[-1]):
        if batch_size is None:
            drawn, share = np.arange(N), samples.weight
        else:
            drawn, share = rng.choice(N, batch_size, p=samples.weight), np.full(batch_size, 1 / batch_size)
        here, change = gradients(samples, drawn, share, targets[drawn])
        loss[step] = float(change.loss)
        Y[here] += lr_y * start.scale * change.Y
        z[here] += lr_z * change.Z[0]
        if step + 1 in record:
            at = record.index(step + 1)
            kept[at] = z.numpy()
            if held_out is not None:
                everything = np.arange(len(held_out.target))
                held_out_loss[at] = gradients(held_out, everything, held_out.weight, start.targets(held_out))[1].loss
    return kept, loss, held_out_loss
