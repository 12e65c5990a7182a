"""Systems of few tokens, and exact full-batch descent on short sequences of them: the mean over all
token counts that a sample can have.
"""

import math

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from scansnap_core import SequenceClasses, with_overlap

SEED = 601
COUNT = 16
RATIOS = (0.01, 1.0)
"""eta_Z/eta_Y."""
PACE = 0.25
"""eta_Y/K."""
MARKS = (4, 12, 40, 120)
"""The updates at which Z is kept."""


def small(rng: np.random.Generator, number: int) -> SequenceClasses:
    """Two to five classes of three or four tokens: in turn overlaps below a half, above, unequal,
    and a near pair.
    """
    kind = number % 4
    K = int(rng.integers(2, 6))
    M = int(10 ** rng.uniform(2, 5))
    if kind < 2:
        low, high = ((0.03, 0.5), (0.5, 0.95))[kind]
        rho = (
            math.exp(rng.uniform(math.log(low), math.log(high)))
            if kind == 0
            else float(rng.uniform(low, high))
        )
        return with_overlap(K, M, rho, distinct_weights=rng.uniform(0.2, 1, 2))
    K = max(K, 3)
    P = np.zeros((K, 2 + 2 * K))
    for n in range(K):
        P[n, n % 2] = rng.uniform(0.1, 1)
        P[n, 2 + 2 * n : 4 + 2 * n] = rng.uniform(0.2, 1, 2)
    if kind == 3:  # the second class holds what the first does, and little of its own
        P[1] = 0
        P[1, [0, 2, 3]] = P[0, [0, 2, 3]] * rng.uniform(0.7, 1.3, 3)
        P[1, 4] = 0.3 * rng.uniform(0.5, 1) * P[0].max()
    probs = sparse.lil_array((K, M + 20))
    probs[:, : P.shape[1]] = P / P.sum(axis=1, keepdims=True)
    return SequenceClasses(sparse.csr_array(probs), query_of=[M + 19] * K)


def counts(total: int, tokens: int) -> np.ndarray:
    """List all counts of ``tokens`` tokens that sum to the total."""
    if tokens == 1:
        return np.full((1, 1), total)
    parts = [(first, counts(total - first, tokens - 1)) for first in range(total + 1)]
    return np.concatenate(
        [np.hstack([np.full((len(rest), 1), first), rest]) for first, rest in parts]
    )


def descent(classes: SequenceClasses, lr_y: float, lr_z: float, T: int) -> np.ndarray:
    """Compute Z at :data:`MARKS` of full-batch descent on the mean over all samples of length T."""
    compact = classes.compact
    outputs = classes.outputs
    K = classes.num_classes
    held = [np.flatnonzero(row) for row in compact.probs]
    samples = []
    for row, at in zip(compact.probs, held, strict=True):
        q = counts(T - 1, len(at)).astype(float)
        samples.append(
            (q / (T - 1), np.exp(gammaln(T) - gammaln(q + 1).sum(axis=1) + q @ np.log(row[at])))
        )
    Y = np.zeros((compact.probs.shape[1], len(outputs)))
    Z = np.zeros((len(compact.queries), compact.probs.shape[1]))
    found = []
    for step in range(1, MARKS[-1] + 1):
        dY = np.zeros_like(Y)
        dZ = np.zeros_like(Z)
        for n, (at, (q, weight)) in enumerate(zip(held, samples, strict=True)):
            row = compact.query_row[n]
            x = q * np.exp(Z[row, at] - Z[row, at].max())
            f = x / np.linalg.norm(x, axis=1, keepdims=True)
            logits = f @ Y[at] + np.log(outputs.multiplicity)
            alpha = np.exp(logits - logits.max(axis=1, keepdims=True))
            error = outputs.targets[n] - alpha / alpha.sum(axis=1, keepdims=True)
            g = error @ Y[at].T
            dY[at] += (f * weight[:, None]).T @ error / outputs.multiplicity
            dZ[row, at] += weight @ (f * (g - f * (f * g).sum(axis=1, keepdims=True)))
        Y = Y + lr_y / K * dY
        Z = Z + lr_z / K * dZ
        if step in MARKS:
            found.append(Z)
    return np.stack(found)
