"""The law of one memory a class: what the true gradient flow does, on K(K + 1) numbers and one remembered f a class.

The flow adds up what it saw, Y = sum_k ∫ f_k (e_k - alpha_k)^T dtau, and so remembers every past f_k. The law keeps of
each class one mean of them, weighed by evidence: with a_k = ∫ (1 - alpha_kk) dtau,

    H_k = ∫ f_k da_k,  fbar_k = H_k/a_k,  Y = sum_k fbar_k y_k^T,  y_k = ∫ (e_k - alpha_k) dtau.

The K columns of Y that name a class hold H_k exactly on their own class; all else is approximated. Then alpha_n comes
of the logits sum_k <f_n, fbar_k> y_k, and attention moves along g_n = sum_k <y_k, e_n - alpha_n> fbar_k by Eqn 4.

Clock: tau = eta_Y t/K with t in steps of batch size 1; how often a class was seen, times eta_Y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import check_flow_rate, shown
from scansnap_core.theory.integrating import integrated
from scansnap_core.theory.law.types import Types

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
"""Values on common and on distinct tokens, (T, C) and (T, D)."""

MOST_STIFF = 3_000
"""Numbers in a state up to which an implicit step's matrix is small."""
RTOL, ATOL = 1e-7, 1e-16
START = 1e-4
"""The tau at which integration begins, or that share of the first one asked for: before it, errors are 1 - 1/M."""


class State(NamedTuple):
    """The law's state at one tau; T types, C common tokens, D distinct ones, R kinds of queries, as :class:`Types`.

    ``a`` (T,) is the evidence; ``b`` (T, T) what class k of type i took off the logit of another class of type j,
    -y_kj; ``common`` (T, C) and ``distinct`` (T, D) are H; ``z_common`` (R, C) and ``z_distinct`` (T, D) are Z.
    """

    a: Floats
    b: Floats
    common: Floats
    distinct: Floats
    z_common: Floats
    z_distinct: Floats


class Errors(NamedTuple):
    """The errors e_n - alpha_n by type.

    ``own`` (T,) is 1 - alpha_nn; ``other`` (T, T) and ``rest`` (T,) are alpha of one other class, of one that is none.
    """

    own: Floats
    other: Floats
    rest: Floats


class Law:
    """The law as a system of differential equations in ln tau.

    Parameters
    ----------
    types
        The class system.
    ratio
        eta_Z/eta_Y, 0 or more.
    """

    def __init__(self, types: Types, ratio: float) -> None:
        if not isinstance(types, Types):
            raise BadInput(
                f"types = {shown(types)}", "the law is one of a class system's types", "pass types_of(classes)"
            )
        check_flow_rate("ratio", ratio)
        self.types, self.ratio = types, ratio
        T, C, D, R = *types.common.shape, types.distinct.shape[1], len(types.asking)
        self._shapes = ((T,), (T, T), (T, C), (T, D), (R, C), (T, D))
        self._cuts = np.cumsum([np.prod(shape, dtype=int) for shape in self._shapes])
        self._log_others = np.full((T, T), -np.inf)
        np.log(types.others, out=self._log_others, where=types.others > 0)
        self._log_rest = np.log(types.rest) if types.rest else -np.inf

    def unpack(self, state: Floats) -> State:
        """The state's parts."""
        parts = np.split(state, self._cuts[:-1])
        return State(*(part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)))

    def attention(self, state: State) -> Pair:
        """f of a class of each type, on its common and its distinct tokens; shapes (T, C) and (T, D)."""
        types = self.types
        C = types.common.shape[1]
        z = np.hstack([state.z_common[types.query], state.z_distinct])
        probs = np.hstack([types.common, types.distinct])
        top = np.where(probs > 0, z, -np.inf).max(axis=1, keepdims=True)
        weights = probs * np.exp(np.where(probs > 0, z - top, -np.inf))
        f = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        return f[:, :C], f[:, C:]

    def start(self, tau: float) -> Floats:
        """The state at a tau so small that errors are still 1 - 1/M."""
        types, M = self.types, self.types.vocab_size
        state = self.unpack(np.zeros(self._cuts[-1]))
        a = tau * (1 - 1 / M)
        f = self.attention(state)
        b = np.where(types.others > 0, tau / M, 0.0)
        parts = (np.full_like(state.a, a), b, a * f[0], a * f[1], state.z_common, state.z_distinct)
        return np.concatenate([part.ravel() for part in parts])

    def errors(self, state: State, f: Pair) -> tuple[Errors, Floats, Floats]:
        """The errors, and the evidence-weighted fbar on common and distinct tokens."""
        types, a, b = self.types, state.a, state.b
        common, distinct = state.common / a[:, None], state.distinct / a[:, None]
        G = f[0] @ common.T
        own = np.einsum("ij,ij->i", f[0], common) + np.einsum("ij,ij->i", f[1], distinct)
        c = self._rest_of(state)
        seen = types.others * G
        u = own * a - np.einsum("ij,ji->i", seen, b)
        # of the classes that neither is class n nor the output's own, hence three terms
        through = G @ (types.size[:, None] * b) - np.diag(G)[:, None] * b - G * np.diag(b)
        v = G * a - own[:, None] * b - through
        w = -own * c - seen @ c
        logits = np.concatenate([u[:, None], v + self._log_others, (w + self._log_rest)[:, None]], axis=1)
        total = logsumexp(logits, axis=1)
        other, rest = np.exp(v - total[:, None]), np.exp(w - total)
        return Errors((types.others * other).sum(axis=1) + types.rest * rest, other, rest), common, distinct

    def coefficients(self, state: State, errors: Errors) -> tuple[Floats, Floats]:
        """<y_k, e_n - alpha_n>: for k = n, shape (T,), and for other classes k by type, shape (T, T)."""
        types, a, b = self.types, state.a, state.b
        c, other = self._rest_of(state), errors.other
        rest = types.rest * errors.rest[:, None] * c
        through = (other * types.size) @ b.T - np.diag(other)[:, None] * b.T - other * np.diag(b)
        own = a * errors.own + (types.others * b * other).sum(axis=1) + types.rest * c * errors.rest
        return own, through + rest - other * a - errors.own[:, None] * b.T

    def moves(self, state: State, f: Pair, own: Floats, g: Pair) -> tuple[Pair, Pair]:
        """What H gathers, f, and what g does to z, f∘(g - f f·g) of Eqn 4; on common and distinct tokens."""
        along = (f[0] * g[0]).sum(axis=1, keepdims=True) + (f[1] * g[1]).sum(axis=1, keepdims=True)
        return f, (f[0] * (g[0] - f[0] * along), f[1] * (g[1] - f[1] * along))

    def rhs(self, log_tau: float, packed: Floats) -> Floats:
        """d(state)/d(ln tau)."""
        types, state = self.types, self.unpack(packed)
        f = self.attention(state)
        errors, common, distinct = self.errors(state, f)
        own, C = self.coefficients(state, errors)
        g = own[:, None] * common + (types.others * C) @ common, own[:, None] * distinct
        learned, push = self.moves(state, f, errors.own, g)
        change = (
            errors.own,
            np.where(types.others > 0, errors.other, 0.0),
            errors.own[:, None] * learned[0],
            errors.own[:, None] * learned[1],
            self.ratio * types.asking @ push[0],
            self.ratio * push[1],
        )
        return np.exp(log_tau) * np.concatenate([part.ravel() for part in change])

    def path(self, taus: Floats) -> list[State]:
        """The states at ascending taus > 0."""
        begin, method = first_tau(taus), "LSODA" if self._cuts[-1] <= MOST_STIFF else "RK45"
        states = integrated(
            self.rhs,
            np.log(begin),
            np.log(taus),
            self.start(begin),
            failed=self.failed,
            method=method,
            rtol=RTOL,
            atol=ATOL,
        )
        return [self.unpack(state) for state in states]

    def failed(self, log_tau: float) -> str:
        """Up to where it could be integrated."""
        return f"the law with lr_z/lr_y = {self.ratio:g} could be integrated up to lr_y t/K = {np.exp(log_tau):.3g}"

    def _rest_of(self, state: State) -> Floats:
        """c (T,), what each output that is no class lost: y_k sums to 0."""
        types = self.types
        return (state.a - (types.others * state.b).sum(axis=1)) / types.rest if types.rest else np.zeros_like(state.a)


def first_tau(taus: Floats) -> float:
    """The tau at which integration begins."""
    return START * min(float(taus[0]), 1.0)
