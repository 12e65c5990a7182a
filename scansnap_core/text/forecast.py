"""The theory's forecast for each word before any training: the first force on attention, in closed form.

Let the decoder give every next word its start alpha_0, at Y = Z = 0. The true gradient flow (Eqn 3) then begins with
Y(t) = eta_Y t Y_1 and dz/dt = eta_Y eta_Z t phi, so z(t) = eta_Y eta_Z t^2 phi/2. With f_i = LN(q_i), F_n the mean of
f_i over class n's samples, and g_n = sum_n' P(n') F_n' (e_n - alpha_0)^T (e_n' - alpha_0), phi is the mean over samples
of f_i∘(g_n - f_i f_i^T g_n), n the sample's class. Nothing is left out: it is exact for the contexts as they are.

At T = infinity (``samples.at_infinity()``) a class is one sample. Then its own part of g_n, P(n) f_n, has no effect,
because P^⊥_f f = 0; with alpha_0 = 1/M the rest is Eqn 97 with beta_nn' = P(n')/M. In a short context f_i isn't F_n:
the class's own part does act, and it isn't divided by M.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from scansnap_core.text.samples import Floats, Samples


def first_force(samples: Samples, vocab_size: float) -> Floats:
    """Compute phi from alpha_0 = 1/M, where the paper starts; shape (L,). **Clock**: t counts steps of any batch size.

    Parameters
    ----------
    samples
        The contexts and their next words.
    vocab_size
        M, the number of outputs; infinity is allowed.
    """
    K = len(samples.next_words)
    return _force(samples, np.eye(K) - 1 / vocab_size)


def first_force_from_base_rates(samples: Samples) -> Floats:
    """Compute phi from alpha_0 = P(n): a decoder with the fixed bias ln P(n) has only the contexts to learn from.

    Arguments, clock and shape as in :func:`first_force`; a next word that is no class has no chance.
    """
    P = samples.next_probs
    return _force(samples, np.eye(len(P)) - P[:, None] - P + P @ P)


def _force(samples: Samples, overlaps: Floats) -> Floats:
    """Compute phi for the errors' overlaps (e_n - alpha_0)^T (e_n' - alpha_0), shape (K, K)."""
    q = samples.q
    f = sparse.csr_array(q / np.sqrt(q.multiply(q).sum(axis=1))[:, None]).tocoo()
    F = samples.class_means @ f
    g = overlaps @ (samples.next_probs[:, None] * F.toarray())
    sample, word = f.coords
    pull = g[samples.target[sample], word]
    along = np.bincount(sample, f.data * pull)
    each = samples.weight[sample] * f.data * (pull - f.data * along[sample])
    return np.asarray(np.bincount(word, each, minlength=q.shape[1]), dtype=np.float64)
