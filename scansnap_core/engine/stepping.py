"""All runs of one training on their device, and the step that moves them: nothing but its batch is brought there."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import variants
from scansnap_core.engine.architectures import variant_of
from scansnap_core.engine.model import Gradients
from scansnap_core.engine.results import tokens_of
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import draws_of, initial_values, optimizer_of


class Runs:
    """The runs of one class system, seeds by rates, at their present step.

    Parameters
    ----------
    classes
        The data.
    settings
        Checked arguments of :func:`scansnap_core.engine.training.train`.

    Attributes
    ----------
    Y, Z : Tensor
        (S, R, L, O) and (S, R, Q, L), S seeds and R rates; :meth:`step` changes them in place.
    tokens, outputs
        What rows and columns of Y stand for.
    source, optimizer
        Where batches come from, and what moves Y and Z.
    """

    def __init__(self, classes: SequenceClasses, settings: Settings) -> None:
        self._device, self._dtype = torch.device(settings.device), getattr(torch, settings.dtype)
        compact, self._model = classes.compact, variant_of(settings.model) or settings.model
        self.tokens, self.source = tokens_of(classes, settings.model), draws_of(classes, settings)
        held = np.searchsorted(self.tokens, compact.tokens)
        self._held = torch.tensor(held, device=self._device) if len(held) < len(self.tokens) else None
        Y, Z, self.outputs = initial_values(classes, settings, self.source, self.tokens)
        per_run = (len(settings.seeds), len(settings.rates), -1, -1)
        self.Y, self.Z = (self._tensor(values).expand(per_run).clone() for values in (Y, Z))
        # copies, because the outputs' and classes' own arrays are read-only, which torch doesn't know
        self._targets = self._tensor(self.outputs.targets)
        self._multiplicity = self._tensor(self.outputs.multiplicity.copy())
        self._queries = self._tensor(compact.query_row[:, None] == np.arange(len(compact.queries)))
        self._weight = self._tensor(1 / settings.batch_size if settings.batch_size else classes.frequencies.copy())
        named = self.tokens, compact.queries, self.outputs.labels
        self._labels = [torch.tensor(each, device=self._device) for each in named]
        self.optimizer = optimizer_of(classes, settings, self.Y, self.Z, self.tokens, self.outputs)

    def _tensor(self, array: Any) -> Tensor:
        return torch.as_tensor(np.asarray(array), dtype=self._dtype, device=self._device)

    def step(self) -> Tensor:
        """Make one update of all runs; the losses (S, R) before it, on the device."""
        drawn, frequencies = self.source.batch()
        classes = torch.as_tensor(drawn, device=self._device)
        q = torch.as_tensor(frequencies, dtype=self._dtype, device=self._device)
        # kept to the next step: freed at once, its memory would go back and be fetched anew
        self._batch = self._batch_of(classes, q)
        found = self._gradients(self._batch)
        self.optimizer.step(found.Y, found.Z)
        return found.loss

    def _batch_of(self, classes: Tensor, q: Tensor) -> variants.Batch:
        index = classes.unsqueeze(1)
        if self._held is not None:
            q = q.new_zeros(*q.shape[:-1], len(self.tokens)).index_copy_(-1, self._held, q)
        samples = q.unsqueeze(1), self._queries[index], self._targets[index]
        return variants.Batch(*samples, self._weight.expand(index.shape), self._multiplicity, *self._labels)

    def _gradients(self, batch: variants.Batch) -> Gradients:
        if isinstance(self._model, str):
            return variants.plain(batch, self.Y, self.Z)
        return variants.ascent(self._model, batch, self.Y, self.Z)
