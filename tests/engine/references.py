"""What the tests hold the core to: the paper's definitions, written out literally and slowly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import MODELS

Floats = NDArray[np.float64]

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(
                not torch.cuda.is_available(), reason="no CUDA GPU. To get it: run on a machine with an NVIDIA GPU"
            ),
        ],
    ),
]


def model_names(number: int) -> list[str]:
    """Every name of a model, with a number in place of its H or W: a new name is tested without being listed again."""
    return [re.sub(" [HW]$", f" {number}", name) for name in MODELS]


def overlapping_classes() -> SequenceClasses:
    """Three classes, two query tokens, unequal probabilities, next tokens out of order, two tokens unused."""
    probs = np.zeros((3, 9))
    probs[0, [0, 1, 2]] = 0.2, 0.5, 0.3
    probs[1, [0, 3, 4]] = 0.6, 0.1, 0.3
    probs[2, [0, 1, 5]] = 0.3, 0.3, 0.4
    return SequenceClasses(probs, query_of=[6, 7, 6], next_of=[8, 2, 5])


def frequent_classes() -> SequenceClasses:
    """The same, and one of them in half of all samples."""
    return overlapping_classes().with_frequencies([0.2, 0.5, 0.3])


def scattered_classes() -> SequenceClasses:
    """Four classes over tokens that are no prefix of the vocabulary; three query tokens, out of order."""
    probs = np.zeros((4, 14))
    probs[0, [2, 5, 11]] = 0.2, 0.5, 0.3
    probs[1, [5, 9]] = 0.6, 0.4
    probs[2, [2, 11, 13]] = 0.3, 0.3, 0.4
    probs[3, [7]] = 1.0
    return SequenceClasses(probs, query_of=[12, 3, 12, 8], next_of=[4, 13, 0, 9])


def eqn_3(tokens: Sequence[int], query: int, target: int, Y: Any, Z: Any) -> tuple[float, Floats, Floats]:
    """-J and Lemma 1's ascent directions for one sequence of T - 1 one-hot rows: Eqn 1-3 as they stand."""
    M = len(Y)
    X = np.zeros((len(tokens), M))
    for position, token in enumerate(tokens):
        X[position, token] = 1.0
    scores = np.array([X[i] @ Z.T @ np.eye(M)[query] for i in range(len(tokens))])
    b = np.exp(scores - scores.max())
    b = b / b.sum()
    u = X.T @ b
    norm = np.sqrt(sum(entry**2 for entry in u))
    f = u / norm
    logits = Y.T @ f
    log_alpha = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    error = np.eye(M)[target] - np.exp(log_alpha)
    across = np.eye(M) - np.outer(u, u) / norm**2
    dY = np.outer(f, error)
    dZ = np.outer(np.eye(M)[query], error @ Y.T @ (across / norm) @ X.T @ np.diag(b) @ X)
    return -float(log_alpha[target]), dY, dZ


def expected_loss(classes: SequenceClasses, Y: torch.Tensor, Z: torch.Tensor) -> torch.Tensor:
    """-E[J] at T = infinity on the full M x M program, class by class, for autograd."""
    total = torch.zeros((), dtype=Y.dtype)
    for n in range(classes.num_classes):
        support = torch.from_numpy(classes.support(n))
        weights = torch.from_numpy(classes.probs[n])[support] * torch.exp(Z[classes.query_of[n], support])
        f = torch.zeros(len(Y), dtype=Y.dtype)
        f[support] = weights / torch.sqrt((weights**2).sum())
        logits = Y.T @ f
        total = total - classes.frequencies[n] * (logits[classes.next_of[n]] - torch.log(torch.exp(logits).sum()))
    return total
