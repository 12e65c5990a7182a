"""The paper's model in (Y, Z) on the contexts of one query word as they stand in the text: its
training, its forecast.

The steps are plain SGD on Lemma 1's gradients (:mod:`scansnap_core.engine.model`). One query means
one row z of Z. Next words that are no class are one output with a multiplicity, as in
:mod:`scansnap_core.engine.training`, and a batch moves only the words that it holds. So the cost of
a step grows with its words alone, and the step is still exact.

The forecast for each word before any training is the first force on attention, in closed form. Let
the decoder give every next word its start alpha_0, at Y = Z = 0. The true gradient flow (Eqn 3)
then begins with Y(t) = eta_Y t Y_1 and dz/dt = eta_Y eta_Z t phi, so z(t) = eta_Y eta_Z t^2 phi/2.
With f_i = LN(q_i), F_n the mean of f_i over class n's samples, and g_n = sum_n' P(n') F_n' (e_n -
alpha_0)^T (e_n' - alpha_0), phi is the mean over samples of f_i∘(g_n - f_i f_i^T g_n), n the
sample's class. Nothing is left out: it is exact for the contexts as they are.

At T = infinity (``samples.at_infinity()``) a class is one sample. Then its own part of g_n, P(n)
f_n, has no effect, because P^⊥_f f = 0; with alpha_0 = 1/M the rest is Eqn 97 with beta_nn' =
P(n')/M. In a short context f_i isn't F_n: the class's own part does act, and it isn't divided by M.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from scipy import sparse
from torch import Tensor

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import RATE, takes
from scansnap_core.data.probabilities import Floats, Outputs
from scansnap_core.engine import model
from scansnap_core.engine.surroundings import undisturbed
from scansnap_core.text.samples import Samples


@takes(lr_y=RATE, lr_z=RATE)
@undisturbed()
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
        After how many updates z is kept, ascending; the last one ends the run. **Clock**: one step
        is one update with the mean gradient of a batch, so a step of any batch size is one unit of
        the paper's t.
    batch_size
        B samples a step, drawn with replacement by their weights; None for the mean over all
        samples.
    seeds
        One run each.
    base_rates
        Give the decoder a fixed bias ln P(n), so that training starts from alpha = P(n) in place of
        1/M. Outputs that are no class then have probability 0 for every M.
    held_out
        Other samples of the same words and next words, to see what is learnt beyond the samples
        themselves.

    Returns
    -------
    xarray.Dataset
        ``z`` (seed, recorded, word): the query's row of Z. ``loss`` (seed, step): -J of the batch
        before update ``step``, in nats. With ``held_out`` also ``held_out_loss`` (seed, recorded),
        the mean over those samples.
    """
    K = len(samples.next_words)
    if vocab_size < K:
        raise BadInput(
            f"vocab_size = {vocab_size}", f"there are {K} next words", "pass the corpus' vocab_size"
        )
    if len(record) == 0 or np.any(np.diff([0, *record]) <= 0):
        raise BadInput(
            f"record = {list(record)}", "moments are positive and ascend", "pass e.g. [100, 1000]"
        )
    N, L = samples.q.shape
    z = np.empty((len(seeds), len(record), L))
    loss = np.empty((len(seeds), record[-1]))
    held_out_loss = np.empty(z.shape[:2])
    for n, seed in enumerate(seeds):
        run = _Run(samples, None if base_rates else vocab_size, dtype)
        rng = np.random.default_rng(seed)
        for step in range(record[-1]):
            part = samples
            if batch_size is not None:
                part = samples.only(rng.choice(N, batch_size, p=samples.weight), even=True)
            words, change = run.gradients(part)
            loss[n, step] = float(change.loss)
            run.Y[words] += lr_y * run.scale * change.Y
            run.z[words] += lr_z * change.Z[0]
            if step + 1 in record:
                at = n, list(record).index(step + 1)
                z[at] = run.z.numpy()
                if held_out is not None:
                    held_out_loss[at] = run.gradients(held_out)[1].loss
    clock = {"units": f"updates of batch size {batch_size or N}"}
    arrays = {
        "z": (("seed", "recorded", "word"), z, {"units": "logits"}),
        "loss": (("seed", "step"), loss, {"units": "nats"}),
    }
    if held_out is not None:
        arrays["held_out_loss"] = (("seed", "recorded"), held_out_loss, {"units": "nats"})
    coords = {
        "seed": list(seeds),
        "recorded": ("recorded", list(record), clock),
        "step": ("step", np.arange(record[-1]), clock),
        "word": samples.words,
    }
    attrs = {
        "lr_y": lr_y,
        "lr_z": lr_z,
        "batch_size": str(batch_size or "all"),
        "vocab_size": vocab_size,
    }
    return xr.Dataset(arrays, coords, attrs | {"base_rates": int(base_rates)})


class _Run:
    """Y and z on the words of the samples, and the outputs: their multiplicity in alpha, and the
    scale of Y's steps.

    Without a ``vocab_size`` the decoder has the fixed bias ln P(n), and no outputs but next words.
    """

    def __init__(self, samples: Samples, vocab_size: int | None, dtype: torch.dtype) -> None:
        """Begin at Y = 0, shape (L, O), and z = 0, shape (L,), on the words of the samples."""
        K = len(samples.next_words)
        L = len(samples.words)
        if vocab_size is None:
            # exp(bias) enters alpha as a multiplicity does. But the gradient is divided by a
            # multiplicity, which isn't meant here, so steps are multiplied by it again.
            self.multiplicity = self.scale = _tensor(samples.next_probs, dtype)
        else:
            self.multiplicity = _tensor(
                Outputs.lumped(np.arange(K), vocab_size).multiplicity, dtype
            )
            self.scale = torch.ones_like(self.multiplicity)
        self.Y = self.scale.new_zeros(L, len(self.scale))
        self.z = self.scale.new_zeros(L)
        self._next = _tensor(np.eye(K, len(self.scale)), dtype)

    def gradients(self, part: Samples) -> tuple[Tensor, model.Gradients]:
        """Return the words that some samples hold, as places among all words, and Lemma 1's
        gradients on them; no other word moves.
        """
        held = np.unique(part.q.indices)
        words = torch.from_numpy(held)
        dtype = self.z.dtype
        q = _tensor(part.q[:, held].toarray(), dtype)
        weight = _tensor(part.weight, dtype)
        query = weight.new_ones(len(part.target), 1)
        target = self._next[torch.from_numpy(part.target)]
        return words, model.gradients(
            q, query, target, weight, self.Y[words], self.z[None, words], self.multiplicity
        )


def _tensor(array: Floats, dtype: torch.dtype) -> Tensor:
    """Copy an array to a tensor of this type on the CPU."""
    return torch.tensor(array, dtype=dtype, device="cpu")


def first_force(samples: Samples, vocab_size: float) -> Floats:
    """Compute phi from alpha_0 = 1/M, where the paper starts; shape (L,). **Clock**: t counts steps
    of any batch size.

    ``vocab_size`` is M, the number of outputs, and may be infinite.
    """
    K = len(samples.next_words)
    return _force(samples, np.eye(K) - 1 / vocab_size)


def first_force_from_base_rates(samples: Samples) -> Floats:
    """Compute phi from alpha_0 = P(n): a decoder with the fixed bias ln P(n) has only the contexts
    to learn from.

    Arguments, clock and shape as in :func:`first_force`; a next word that is no class has no
    chance.
    """
    P = samples.next_probs
    return _force(samples, np.eye(len(P)) - P[:, None] - P + P @ P)


def _force(samples: Samples, overlaps: Floats) -> Floats:
    """Compute phi, shape (L,), for the errors' overlaps (e_n - alpha_0)^T (e_n' - alpha_0), (K, K).

    phi is the mean over the samples i, by their weights, of f_i∘(g_n - f_i f_i^T g_n), where n is
    the sample's class, K in all, and g_n the gradient at what the decoder reads of it. Only f is
    sparse: each step visits the words that a sample holds, but g is a full (K, L).
    """
    q = samples.q
    f = sparse.csr_array(q / np.sqrt(q.multiply(q).sum(axis=1))[:, None]).tocoo()
    F = samples.class_means @ f
    g = overlaps @ (samples.next_probs[:, None] * F.toarray())
    sample, word = f.coords
    pull = g[samples.target[sample], word]
    along = np.bincount(sample, f.data * pull)
    each = samples.weight[sample] * f.data * (pull - f.data * along[sample])
    return np.asarray(np.bincount(word, each, minlength=q.shape[1]), dtype=np.float64)
