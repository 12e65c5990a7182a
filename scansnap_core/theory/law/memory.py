"""Our law has one memory per class: the true gradient flow on K(K + 1) numbers and one remembered f
per class.

The flow adds up what it saw, Y = sum_k ∫ f_k (e_k - alpha_k)^T dtau, and so remembers every past
f_k. The law keeps of each class one mean of them, weighed by evidence: with a_k = ∫ (1 - alpha_kk)
dtau,

    H_k = ∫ f_k da_k,  fbar_k = H_k/a_k,  Y = sum_k fbar_k y_k^T,  y_k = ∫ (e_k - alpha_k) dtau.

The columns of Y that name a class hold H_k exactly on their own class; all else is approximated.
Then alpha_n comes of the logits sum_k <f_n, fbar_k> y_k, and attention moves along g_n = sum_k
<y_k, e_n - alpha_n> fbar_k by Eqn 4.

Classes that are alike count once: :mod:`scansnap_core.theory.law.types`.

Clock: tau = eta_Y t/K, t in steps of batch size 1. Class n is seen K P(n) times as often; its dtau
counts so often.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scansnap_core.data.sequences import Floats
from scansnap_core.rules import FLOW_RATE, takes
from scansnap_core.theory.law.types import TYPES, Types
from scansnap_core.theory.solving import IntegrationFailed, integrated

Pair = tuple[Floats, Floats]
"""A pair has values on common and on distinct tokens, (T, C) and (T, D)."""

MOST_STIFF = 500
"""Up to so many numbers in a state, of some ten unlike classes, an implicit step takes some ten
milliseconds.
"""
RTOL = 1e-7
ATOL = 1e-16
START = 1e-4
"""Integration begins at this tau, or at this share of the first one asked for; before it, errors
are 1 - 1/M.
"""


class State(NamedTuple):
    """The law's state at one tau; T types, C common tokens, D distinct ones, R kinds of queries, as
    :class:`Types`.

    ``a`` (T,) is the evidence; ``b`` (T, T) what class k of type i took off the logit of another
    class of type j, -y_kj; ``common`` (T, C) and ``distinct`` (T, D) are H; ``z_common`` (R, C) and
    ``z_distinct`` (T, D) are Z.
    """

    a: Floats
    b: Floats
    common: Floats
    distinct: Floats
    z_common: Floats
    z_distinct: Floats


class Errors(NamedTuple):
    """The errors by type: 1 - alpha_nn (T,), alpha of one other class (T, T), and of one output
    that is none (T,).
    """

    own: Floats
    other: Floats
    rest: Floats


class Rows(NamedTuple):
    """Rows of Y.

    ``classes`` (C, T) and ``rest`` (C,) are those of common tokens, at the outputs of classes by
    type and at one that is none. Of a class's distinct tokens, ``alone`` (T,) is the inner product
    of f and fbar, and ``distinct`` (T, D) is fbar; ``c`` (T,) is what each output that is no class
    lost to the class.
    """

    classes: Floats
    rest: Floats
    alone: Floats
    c: Floats
    distinct: Floats


class Law:
    """The law as a system of differential equations in ln tau.

    Parameters
    ----------
    types
        The class system.
    ratio
        eta_Z/eta_Y, 0 or more.
    """

    @takes(types=TYPES, ratio=FLOW_RATE)
    def __init__(self, types: Types, ratio: float) -> None:
        self.types = types
        self.ratio = ratio
        T, C, D, R = *types.common.shape, types.distinct.shape[1], len(types.asking)
        self._shapes = ((T,), (T, T), (T, C), (T, D), (R, C), (T, D))
        ends = np.cumsum([0, *(math.prod(shape) for shape in self._shapes)]).tolist()
        self._parts = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.num_values = ends[-1]
        with np.errstate(divide="ignore"):
            self._log_probs = np.log(np.hstack([types.common, types.distinct]))
        # Sums leave out a class itself: else one term would cancel another, up to rounding.
        self._single = np.flatnonzero(types.size == 1)

    @property
    def is_split(self) -> bool:
        """True if ``many_classes`` integrates it: the state is large, and attention is small beside
        the decoder.
        """
        # both ways lead to the same states
        many = self.types.common.shape[1] < len(self.types.size)
        return many and self.num_values > MOST_STIFF

    def unpack(self, state: Floats) -> State:
        """The state's parts."""
        return State(
            *(
                state[part].reshape(shape)
                for part, shape in zip(self._parts, self._shapes, strict=True)
            )
        )

    def attention(self, state: State) -> Pair:
        """f of a class of each type, on its common and its distinct tokens; shapes (T, C) and (T,
        D).
        """
        C = self.types.common.shape[1]
        logits = np.hstack([state.z_common[self.types.query], state.z_distinct]) + self._log_probs
        f = np.exp(logits - logits.max(axis=1, keepdims=True))
        f /= np.sqrt(np.einsum("ij,ij->i", f, f))[:, None]
        return f[:, :C], f[:, C:]

    def grip(self, state: State, weight: Floats) -> Pair:
        """eta_Z/eta_Y sum_n f_nl² times a weight (T,) of the classes that push l; shapes (R, C) and
        (T, D).
        """
        common, distinct = (
            self.ratio * weight[:, None] * each**2 for each in self.attention(state)
        )
        return self.types.asking @ common, distinct

    def rest_of(self, state: State) -> Floats:
        """c (T,), what each output that is no class lost: y_k sums to 0."""
        b = state.b
        size = self.types.size.astype(state.b.dtype)
        return (state.a - (b @ size - np.diag(b))) / max(self.types.rest, 1)

    def start(self, tau: float) -> Floats:
        """The state at a tau so small that errors are still 1 - 1/M."""
        types = self.types
        M = self.types.vocab_size
        state = self.unpack(np.zeros(self.num_values))
        seen = tau * self.types.paces[:, None]
        a = seen * (1 - 1 / M)
        f = self.attention(state)
        b = np.broadcast_to(seen / M, types.others.shape)
        return np.concatenate(
            [part.ravel() for part in (a, b, a * f[0], a * f[1], state.z_common, state.z_distinct)]
        )

    def rows(self, state: State, f: Pair) -> Rows:
        """The common tokens' rows of Y, and what a class's distinct tokens have in common with its
        own fbar.
        """
        types = self.types
        a = state.a[:, None]
        b = state.b
        common = state.common / a
        distinct = state.distinct / a
        c = self.rest_of(state)
        # what all classes took off an output, but not the class whose output it is
        lost = (types.size[:, None] * common).T.astype(b.dtype) @ b - (
            common * np.diag(b)[:, None]
        ).T
        alone = np.einsum("ij,ij->i", f[1], distinct)
        return Rows((common * a).T - lost, -(types.size * c) @ common, alone, c, distinct)

    def errors(self, state: State, f: Pair, rows: Rows) -> Errors:
        """The errors, in the precision of b."""
        types = self.types
        alone = rows.alone
        kind = state.b.dtype
        u = np.einsum("ij,ji->i", f[0], rows.classes) + alone * state.a
        w = f[0] @ rows.rest - alone * rows.c
        v = f[0].astype(kind) @ rows.classes.astype(kind)
        v -= alone[:, None].astype(kind) * state.b
        top = np.maximum(np.maximum(u, w), v.max(axis=1))  # any of the larger logits serves
        v -= top[:, None].astype(kind)
        other = np.exp(v, out=v)
        rest = np.exp(w - top)
        other[self._single, self._single] = 0  # there is no other class of this type
        seen = other @ types.size.astype(kind) - np.diag(other) + types.rest * rest
        total = np.exp(u - top) + seen
        other /= total[:, None].astype(kind)
        return Errors(seen / total, other, rest / total)

    def gradient(self, state: State, errors: Errors, rows: Rows) -> tuple[Floats, Pair]:
        """<y_n, e_n - alpha_n>, shape (T,), and g on common and distinct tokens."""
        types = self.types
        other = errors.other
        kind = state.b.dtype
        alike = np.diag(other)
        taken = np.einsum("ij,ij->i", other, types.size.astype(kind) * state.b) - alike * np.diag(
            state.b
        )
        own = state.a * errors.own + taken + types.rest * errors.rest * rows.c
        Y = rows.classes.T
        common = (errors.own + alike)[:, None] * Y - other @ (types.size[:, None] * Y).astype(kind)
        common -= types.rest * errors.rest[:, None] * rows.rest
        return own, (common, own[:, None] * rows.distinct)

    def moves(self, state: State, f: Pair, own: Floats, g: Pair) -> tuple[Pair, Pair]:
        """H gathers f, and g moves z by f∘(g - f f·g) of Eqn 4; both on common and distinct
        tokens.
        """
        along = (f[0] * g[0]).sum(axis=1, keepdims=True) + (f[1] * g[1]).sum(axis=1, keepdims=True)
        return f, (f[0] * (g[0] - f[0] * along), f[1] * (g[1] - f[1] * along))

    def pulls(self, state: State, f: Pair) -> tuple[Errors, Floats, Pair]:
        """The errors under attention f, <y_n, e_n - alpha_n> of shape (T,), and g on common and
        distinct tokens.
        """
        rows = self.rows(state, f)
        errors = self.errors(state, f, rows)
        return errors, *self.gradient(state, errors, rows)

    def follows(self, state: State, f: Pair, own: Floats, g: Pair) -> tuple[Floats, ...]:
        """d/dtau of a, H and z, as :class:`State` has them, under attention f, a class's own errors
        (T,) and g.
        """
        learned, push = self.moves(state, f, own, g)
        paces = self.types.paces[:, None]
        ratio = self.ratio
        a = self.types.paces * own
        z_common = ratio * self.types.asking @ (paces * push[0])
        z_distinct = ratio * (paces * push[1])
        return a, a[:, None] * learned[0], a[:, None] * learned[1], z_common, z_distinct

    def rates(self, state: State) -> State:
        """d(state)/dtau."""
        f = self.attention(state)
        errors, _, g = self.pulls(state, f)
        a, *others = self.follows(state, f, errors.own, g)
        return State(a, self.types.paces[:, None] * errors.other, *others)

    def rate(self, packed: Floats) -> Floats:
        """The same of a state in one row."""
        return np.concatenate([part.ravel() for part in self.rates(self.unpack(packed))])

    def path(self, taus: Floats) -> list[State]:
        """The states at ascending taus > 0, to seven digits."""
        begin = first_tau(taus)
        return self.along(
            lambda x, packed: np.exp(x) * self.rate(packed), begin, taus, self.start(begin)
        )

    def along(
        self,
        rhs: Callable[[float, Floats], Floats],
        begin: float,
        taus: Floats,
        start: Floats,
        *,
        stiff: bool = False,
    ) -> list[State]:
        """The states at ascending taus by d(state)/d(ln tau) from ``start``, which may hold more,
        at ``begin``.
        """
        # it changes the time alone
        method = "LSODA" if stiff or self.num_values <= MOST_STIFF else "RK45"
        options: dict[str, Any] = {
            "failed": self.failed,
            "method": method,
            "rtol": RTOL,
            "atol": ATOL,
        }
        try:
            found = integrated(rhs, np.log(begin), np.log(taus), start, **options)
        except IntegrationFailed as error:
            error.last = None if error.last is None else float(np.exp(error.last))
            error.reached = None if error.reached is None else [*map(self.unpack, error.reached)]
            raise
        return [*map(self.unpack, found)]

    def failed(self, log_tau: float) -> str:
        """The message that says how far the law could be integrated."""
        return (
            f"the law with lr_z/lr_y = {self.ratio:g} could be integrated up to lr_y t/K = "
            f"{np.exp(log_tau):.3g}"
        )


def first_tau(taus: Floats) -> float:
    """The tau at which integration to these begins."""
    return START * min(float(taus[0]), 1.0)
