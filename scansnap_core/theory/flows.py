"""Right-hand sides for ``scipy.integrate.solve_ivp``, and the solutions that are known in closed form.

Clocks: time is continuous and counts steps of batch size 1. ``TrueFlow`` and ``ModifiedFlow`` weigh class n by
P(n) = 1/K, the expected change in such a step. ``IdealisedFlow`` is Eqn 10 as printed, which sums over classes without
that weight.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import model
from scansnap_core.theory import formulas, spectrum
from scansnap_core.theory.functions import function_of

Floats = NDArray[np.float64]

_h = function_of(formulas.h, (formulas.t, formulas.M, formulas.eta_Y))
_h_rate = function_of(formulas.h_rate, (formulas.h_, formulas.M, formulas.eta_Y))
_gamma = function_of(formulas.gamma, (formulas.h_, formulas.M))


def h(t: ArrayLike, vocab_size: ArrayLike, lr_y: ArrayLike) -> Floats:
    """h(t) of Eqn 45 through Lambert's W, to full relative precision; arrays broadcast.

    Parameters
    ----------
    t
        Time in steps of batch size 1 that show the class; with K classes seen in turn pass t/K.
    vocab_size, lr_y
        M >= 2 and eta_Y.
    """
    M = np.asarray(vocab_size, dtype=np.float64)
    u = M * _h(t, M, lr_y)
    # W is exact to an absolute 1e-15 in M h; one Newton step on Eqn 45 makes that relative where M h is small.
    residual = np.expm1(u) + (M - 1) * u - M * np.asarray(lr_y) * np.asarray(t)
    return np.asarray((u - residual / (np.exp(u) + M - 1)) / M)


def h_star(steps: int, vocab_size: float, lr_y: float) -> Floats:
    """h*(0), ..., h*(steps) by the recursion of Eqn 33, shape (steps + 1,)."""
    values = np.zeros(steps + 1)
    for s in range(steps):
        values[s + 1] = values[s] + _h_rate(values[s], vocab_size, lr_y)
    return values


def h_rhs(t: float, h: Floats, vocab_size: float, lr_y: float) -> Floats:
    """dh/dt of Eqn 44, for ``solve_ivp(h_rhs, ..., args=(vocab_size, lr_y))``."""
    return np.asarray(_h_rate(h, vocab_size, lr_y))


def omega(vocab_size: ArrayLike) -> tuple[Floats, Floats]:
    """omega_0 and omega_1 of Lemma 8, from both branches of Lambert's W.

    Parameters
    ----------
    vocab_size
        M >= 1 + e, so 4 tokens or more.

    Raises
    ------
    BadInput
        A smaller M: exp(M h) stays above (M - 1) M h, and there are no such omegas.
    """
    M = np.asarray(vocab_size, dtype=np.float64)
    if not np.all(1 + math.e < M):  # 1 + e as a float is less than 1 + e
        raise BadInput(
            value=f"vocab_size = {M}",
            rule="exp(M h) meets (M - 1) M h from M = 1 + e on (Lemma 8)",
            remedy="use 4 tokens or more",
        )
    u_lower, u_upper = (-lambertw(-1 / (M - 1), branch).real for branch in (0, -1))
    # 2 + ln(u_lower/M)/ln M with u_lower = exp(u_lower)/(M - 1), written so that nothing cancels
    return np.asarray((u_lower - np.log1p(-1 / M)) / np.log(M)), np.asarray(u_upper / np.log(M) - 1)


class TrueFlow:
    """The gradient flow of the expected objective at T = infinity: Eqn 7 for Y and Eqn 4 for Z, nothing dropped.

    The state packs Y (L, K + 1), Z (Q, L) and B (K,), where B_n = eta_Z times the integral of P(n) xi_n is the
    exponent of Eqn 12 with xi_n taken from the gradient g itself. The last column of Y stands for the M - K outputs
    that are no class; Y(0) = 0 keeps them equal.
    """

    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float) -> None:
        compact, K = classes.compact, classes.num_classes
        outputs = classes.outputs
        self._lr_y, self._lr_z, self._query_row = lr_y, lr_z, compact.query_row
        self._probs = torch.tensor(compact.probs)
        self._queries = torch.eye(len(compact.queries), dtype=torch.float64)[compact.query_row]
        self._targets, self._multiplicity = torch.tensor(outputs.targets), torch.tensor(outputs.multiplicity)
        self._weight = torch.full((K,), 1 / K, dtype=torch.float64)
        L, Q = len(compact.tokens), len(compact.queries)
        self._shapes = ((L, len(outputs)), (Q, L), (K,))
        self._cuts = np.cumsum([L * len(outputs), Q * L])

    def initial(self, Z: Floats | None = None) -> Floats:
        """The state at t = 0: Y(0) = 0, B(0) = 0, and Z(0) = 0 or the given one of shape (Q, L)."""
        state = np.zeros(sum(int(np.prod(shape)) for shape in self._shapes))
        if Z is not None:
            state[self._cuts[0] : self._cuts[1]] = np.ravel(Z)
        return state

    def unpack(self, state: Floats) -> tuple[Floats, Floats, Floats]:
        """Y (..., L, K + 1), Z (..., Q, L) and B (..., K) of states with the packed axis last."""
        parts = np.split(np.asarray(state), self._cuts, axis=-1)
        Y, Z, B = (p.reshape(p.shape[:-1] + shape) for p, shape in zip(parts, self._shapes, strict=True))
        return Y, Z, B

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        Y, Z, _ = self.unpack(state)
        gradients = model.gradients(
            self._probs,
            self._queries,
            self._targets,
            self._weight,
            torch.from_numpy(Y),
            torch.from_numpy(Z),
            self._multiplicity,
        )
        parts = (
            self._lr_y * gradients.Y.numpy(),
            self._lr_z * gradients.Z.numpy(),
            self._lr_z * self._weight.numpy() * self.xi(Y, Z),
        )
        return np.concatenate([part.ravel() for part in parts])

    def xi(self, Y: Floats, Z: Floats) -> Floats:
        """xi_n = sum_{n'≠n} gamma beta_nn' f_n^T f_n' (Theorem 1a), beta read off g by projection on F; shape (K,)."""
        F = spectrum.F(self._probs.numpy(), Z[self._query_row])
        g = self.g(Y, Z)
        return np.asarray(np.diagonal(spectrum.projection(F, g)) - (F * g).sum(axis=1))

    def g(self, Y: Floats, Z: Floats) -> Floats:
        """g = Y (x_{T+1} - alpha_n) for every class n, as rows: shape (K, L) (Theorem 1)."""
        return (self._errors(Y, Z) @ torch.from_numpy(Y).mT).numpy()

    def _errors(self, Y: Floats, Z: Floats) -> torch.Tensor:
        """x_{T+1} - alpha_n for every class n, as rows: shape (K, K + 1)."""
        f = model.normalise(model.attend(self._probs, self._queries @ torch.from_numpy(Z)))
        return self._targets - model.decode(f, torch.from_numpy(Y), self._multiplicity).exp()


class ModifiedFlow(TrueFlow):
    """Update (26) for Y and Eqn 4 for Z: the decoder of the proofs, without their assumption that attention rests.

    (26) moves Y along f_n - F E' e_n, where (7) has f_n, with E' that of the present F. State and clock as in
    :class:`TrueFlow`; B takes xi from the gradient g of this flow's own Y.
    """

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        Y, Z, _ = self.unpack(state)
        F = spectrum.F(self._probs.numpy(), Z[self._query_row])
        error = self._weight[:, None] * self._errors(Y, Z) / self._multiplicity
        removed = F.T @ spectrum.E_prime(spectrum.E(F)) @ error.numpy()
        change = super().rhs(t, state)
        change[: self._cuts[0]] -= self._lr_y * removed.ravel()
        return change


class IdealisedFlow:
    """Eqn 10 as the proofs use it: z' = eta_Z gamma(t) Phi(z), beta_nn' = E'_n'n, gamma(t) at h(t/K).

    It is quasi-static: a function of the present z, as if Y had been built from the present f_n alone. Y does so where
    attention rests; elsewhere it adds up past f_n, under update (26) (:class:`ModifiedFlow`) as under the gradient.
    Theorem 1's small terms (sigma, delta, theta) are zero here, and E' follows the current z. The state packs Z (Q, L)
    and B (K,), with B_n' = eta_Z xi_n (Theorem 3). The clock is Eqn 10's as printed: no weight P(n).
    """

    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float) -> None:
        compact = classes.compact
        self._probs, self._query_row = compact.probs, compact.query_row
        self._num_classes, self._vocab_size = classes.num_classes, classes.vocab_size
        self._lr_y, self._lr_z = lr_y, lr_z
        self._shape = (len(compact.queries), len(compact.tokens))

    def initial(self, Z: Floats | None = None) -> Floats:
        """The state at t = 0: B(0) = 0 and Z(0) = 0 or the given one of shape (Q, L)."""
        start = np.zeros(self._shape) if Z is None else np.asarray(Z, dtype=np.float64)
        return np.concatenate([start.ravel(), np.zeros(self._num_classes)])

    def unpack(self, state: Floats) -> tuple[Floats, Floats]:
        """Z (..., Q, L) and B (..., K) of states with the packed axis last."""
        Z, B = np.split(np.asarray(state), [self._shape[0] * self._shape[1]], axis=-1)
        return Z.reshape(Z.shape[:-1] + self._shape), B

    def gamma(self, t: ArrayLike) -> Floats:
        """gamma(t) at h(t/K) (Eqn 85)."""
        value = h(np.asarray(t, dtype=np.float64) / self._num_classes, self._vocab_size, self._lr_y)
        return np.asarray(_gamma(value, self._vocab_size))

    def phi(self, Z: Floats) -> tuple[Floats, Floats]:
        """Phi(z), shape (Q, L), and sum_{n'≠n} beta_nn' f_n^T f_n', shape (K,): directions without the speed."""
        F = spectrum.F(self._probs, Z[self._query_row])
        E = spectrum.E(F)
        beta = spectrum.E_prime(E).T
        np.fill_diagonal(beta, 0.0)
        pull = (beta * E).sum(axis=1)
        per_class = F * (pull[:, None] * F - beta @ F)
        phi = np.zeros(self._shape)
        np.add.at(phi, self._query_row, per_class)
        return phi, pull

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        phi, pull = self.phi(self.unpack(state)[0])
        speed = self._lr_z * self.gamma(t)
        return np.concatenate([(speed * phi).ravel(), speed * pull])
