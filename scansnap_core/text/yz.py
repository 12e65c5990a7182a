"""The paper's model in (Y, Z), trained on the contexts of one query word as they stand in the text.

The steps are plain SGD on Lemma 1's gradients (:mod:`scansnap_core.model`). One query means one row z of Z. Next words
that are no class are one output with a multiplicity, as in :mod:`scansnap_core.training`, and a batch moves only the
words that it holds, so a step costs what its words cost and is exact all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from scansnap_core import model
from scansnap_core.bad_input import BadInput
from scansnap_core.checks import check_rate
from scansnap_core.text.samples import Floats, Samples


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
        are no class have no chance then, whatever M is.

    Returns
    -------
    xarray.Dataset
        ``z`` (seed, recorded, word): the query's row of Z. ``loss`` (seed, step): -J of the batch before update
        ``step``, in nats.

    Raises
    ------
    BadInput
        A rate that is not positive and finite, M < K, or moments that don't ascend.
    """
    check_rate("lr_y", lr_y)
    check_rate("lr_z", lr_z)
    K = len(samples.next_words)
    if vocab_size < K:
        raise BadInput(f"vocab_size = {vocab_size}", f"there are {K} next words", "pass the corpus' vocab_size")
    if len(record) == 0 or np.any(np.diff([0, *record]) <= 0):
        raise BadInput(f"record = {list(record)}", "moments are positive and ascend", "pass e.g. [100, 1000]")
    runs = [
        _run(samples, None if base_rates else vocab_size, lr_y, lr_z, list(record), batch_size, seed, dtype)
        for seed in seeds
    ]
    clock = {"units": f"updates of batch size {batch_size or len(samples.target)}"}
    return xr.Dataset(
        {
            "z": (("seed", "recorded", "word"), np.stack([z for z, _ in runs]), {"units": "logits"}),
            "loss": (("seed", "step"), np.stack([loss for _, loss in runs]), {"units": "nats"}),
        },
        coords={
            "seed": list(seeds),
            "recorded": ("recorded", list(record), clock),
            "step": ("step", np.arange(record[-1]), clock),
            "word": samples.words,
        },
        attrs={"lr_y": lr_y, "lr_z": lr_z, "batch_size": str(batch_size or "all"), "vocab_size": vocab_size}
        | {"base_rates": int(base_rates)},
    )


def _run(
    samples: Samples,
    vocab_size: int | None,
    lr_y: float,
    lr_z: float,
    record: list[int],
    batch_size: int | None,
    seed: int,
    dtype: torch.dtype,
) -> tuple[Floats, Floats]:
    K, (N, L) = len(samples.next_words), samples.q.shape
    if vocab_size is None:
        # exp(bias) enters alpha as a multiplicity does, but the gradient is not shared among that many outputs
        multiplicity = torch.as_tensor(samples.next_probs, dtype=dtype)
        rate = lr_y * multiplicity
    else:
        others = vocab_size - K
        multiplicity = torch.tensor([1.0] * K + [others] * (others > 0), dtype=dtype)
        rate = torch.full_like(multiplicity, lr_y)
    Y, z = torch.zeros((L, len(multiplicity)), dtype=dtype), torch.zeros(L, dtype=dtype)
    targets = torch.eye(K, len(multiplicity), dtype=dtype)[torch.from_numpy(samples.target)]
    rng = np.random.default_rng(seed)
    kept, loss = np.empty((len(record), L)), np.empty(record[-1])
    for step in range(record[-1]):
        if batch_size is None:
            drawn, share = np.arange(N), samples.weight
        else:
            drawn, share = rng.choice(N, batch_size, p=samples.weight), np.full(batch_size, 1 / batch_size)
        rows = samples.q[drawn]
        held = np.unique(rows.indices)
        q = torch.as_tensor(rows[:, held].toarray(), dtype=dtype)
        here, query = torch.from_numpy(held), torch.ones((len(drawn), 1), dtype=dtype)
        weight = torch.as_tensor(share, dtype=dtype)
        change = model.gradients(q, query, targets[drawn], weight, Y[here], z[here].unsqueeze(0), multiplicity)
        loss[step] = float(change.loss)
        Y[here] += rate * change.Y
        z[here] += lr_z * change.Z[0]
        if step + 1 in record:
            kept[record.index(step + 1)] = z.numpy()
    return kept, loss
