"""Our law approximates the true gradient flow by K(K + 1) numbers and one remembered f per class.

The flow adds up what it saw, Y = sum_k ∫ f_k (e_k - alpha_k)^T dtau, and so remembers every past
f_k. The law keeps one mean of them for each class, weighted by evidence. With
a_k = ∫ (1 - alpha_kk) dtau,

    H_k = ∫ f_k da_k,  fbar_k = H_k/a_k,  Y = sum_k fbar_k y_k^T,  y_k = ∫ (e_k - alpha_k) dtau.

The columns of Y that name a class hold H_k exactly on their own class; all else is approximated.
Then alpha_n is the softmax of the logits sum_k <f_n, fbar_k> y_k, and attention moves along
g_n = sum_k <y_k, e_n - alpha_n> fbar_k by Eqn 4.

One class of each type is integrated: :mod:`scansnap_core.law.types`.

Clock: tau = eta_Y t/K, t in steps of batch size 1. Class n is seen K P(n) times as often as the
mean class, so its rates are multiplied by K P(n).
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple, Protocol

import numpy as np

from scansnap_core.base.rules import FLOW_RATE, takes
from scansnap_core.data.sequences import Floats
from scansnap_core.law.log_tau import Motion
from scansnap_core.law.types import TYPES, Types

Pair = tuple[Floats, Floats]
"""Values on common tokens, shape (T, C), and on distinct tokens, shape (T, D)."""

MOST_WHOLE = 100_000
"""A state of more numbers, and more types than common tokens, is integrated in two parts. Some 300
unlike classes of a few words have so many.
"""
RTOL = 1e-9
ATOL = 1e-16


class State(NamedTuple):
    """The law's state at one tau.

    T types, C common tokens, D distinct tokens and R kinds of queries are counted as in
    :class:`Types`.

    Attributes
    ----------
    a
        The evidence a_k of a class of each type, shape (T,).
    b
        b[i, j] = -y_kj >= 0: what class k of type i removed from the logit of another class of
        type j, shape (T, T).
    common, distinct
        H_k on the common and the distinct tokens, shapes (T, C) and (T, D).
    z_common, z_distinct
        Z on the common and the distinct tokens, shapes (R, C) and (T, D).
    """

    a: Floats
    b: Floats
    common: Floats
    distinct: Floats
    z_common: Floats
    z_distinct: Floats


class Moved(Protocol):
    """What any description of training has of attention at one tau: evidence and Z, as in
    :class:`State`.
    """

    @property
    def a(self) -> Floats:
        """The evidence, shape (T,)."""

    @property
    def z_common(self) -> Floats:
        """Z on the common tokens, shape (R, C)."""

    @property
    def z_distinct(self) -> Floats:
        """Z on the distinct tokens, shape (T, D)."""


class Errors(NamedTuple):
    """The decoder's errors of a class n of each type.

    Attributes
    ----------
    own
        1 - alpha_nn, shape (T,).
    other
        alpha_n at the output of one other class of each type, shape (T, T).
    rest
        alpha_n at one output that names no class, shape (T,).
    """

    own: Floats
    other: Floats
    rest: Floats


class Rows(NamedTuple):
    """Rows of Y, as the law approximates them.

    Attributes
    ----------
    classes, rest
        The rows of the common tokens: at the output of a class of each type, shape (C, T), and at
        one output that names no class, shape (C,).
    alone
        <f_n, fbar_n> over the distinct tokens of a class of each type, shape (T,). No other class
        holds these tokens, so their rows enter the logits by this one number.
    c
        What a class of each type removed from each output that names no class, shape (T,).
    distinct
        fbar_n on the distinct tokens, shape (T, D).
    """

    classes: Floats
    rest: Floats
    alone: Floats
    c: Floats
    distinct: Floats


class Law(Motion[State]):
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
        """Lay out the packed state, which is what a solver sees, for eta_Z/eta_Y = ``ratio``.

        There are T types, C common and D distinct tokens, and R groups of types that share a query.
        """
        self.types = types
        self.ratio = ratio
        T, C = types.common.shape
        D = types.distinct.shape[1]
        R = len(types.asking)

        # A packed state is one vector: a, b, H and z of :class:`State`, in its order.
        self._shapes = ((T,), (T, T), (T, C), (T, D), (R, C), (T, D))
        ends = np.cumsum([0, *(math.prod(shape) for shape in self._shapes)]).tolist()
        self._parts = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.num_values = ends[-1]

        with np.errstate(divide="ignore"):
            self._log_probs = np.log(np.hstack([types.common, types.distinct]))
        # A type of one class has no other class. Its entry of "another class of the same type" is
        # left out of sums, and not subtracted: a difference would leave rounding.
        self._single = np.flatnonzero(types.size == 1)

        # A class that shares no token isn't moved at all: its g is along its f, and attention feels
        # only what is orthogonal to f. Computed, this is rounding noise, which a solver would
        # resolve where ``ratio`` is large, in a hundred times as many evaluations. So it is 0.
        self._sharing = types.common.any(axis=1, keepdims=True)

    @property
    def is_split(self) -> bool:
        """True if ``many_classes`` integrates the law.

        The decoder's part of the state has a number for each pair of the T types. Attention's part
        has two for each type and each of its tokens. Where the state is large and the pairs are
        more than the types times the C common tokens, the decoder is integrated apart from
        attention, in longer steps. Both ways lead to the same z, to a hundredth of its largest.
        """
        many = self.types.common.shape[1] < len(self.types.size)
        return many and self.num_values > MOST_WHOLE

    def unpack(self, state: Floats) -> State:
        """Return views of a packed state's parts, each in its shape."""
        parts = zip(self._parts, self._shapes, strict=True)
        return State(*[state[part].reshape(shape) for part, shape in parts])

    def attention(self, state: Moved) -> Pair:
        """Compute f = LN(P∘e^z) of Eqn 5, for a class of each type, on its common and its distinct
        tokens.

        Returns
        -------
        Two arrays of shapes (T, C) and (T, D).
        """
        C = self.types.common.shape[1]
        logits = np.hstack([state.z_common[self.types.query], state.z_distinct]) + self._log_probs

        # This is spectrum.F, written out because the integration asks at every step. The largest
        # logit is subtracted so that no exponential overflows.
        f = np.exp(logits - logits.max(axis=1, keepdims=True))
        f /= np.sqrt(np.einsum("ij,ij->i", f, f))[:, None]
        return f[:, :C], f[:, C:]

    def weighted_lambda(self, state: Moved, weight: Floats) -> Pair:
        """Compute eta_Z/eta_Y sum_n weight_n f_nl² over the classes n that push token l.

        With the weight a²/2 this is the memory number, lambda a²/2: memory holds a token back where
        it is above 1.

        Parameters
        ----------
        state
            The state whose attention gives f.
        weight
            One number per type, shape (T,).

        Returns
        -------
        Two arrays, for common and for distinct tokens, of shapes (R, C) and (T, D).
        """
        f = self.attention(state)
        common = self.ratio * weight[:, None] * f[0] ** 2
        distinct = self.ratio * weight[:, None] * f[1] ** 2
        # A common token is pushed by all classes that ask with the same query.
        return self.types.asking @ common, distinct

    def rest_of(self, state: State) -> Floats:
        """Compute c, what each output that names no class lost to a class of each type, shape (T,).

        y_k sums to 0, so these outputs lost whatever of a_k the other classes' outputs didn't lose.
        """
        b = state.b
        size = self.types.size.astype(b.dtype)
        lost_by_classes = b @ size - np.diag(b)
        return (state.a - lost_by_classes) / max(self.types.rest, 1)

    def start(self, tau: float) -> Floats:
        """Return the packed state at a tau so small that errors are still 1 - 1/M."""
        types = self.types
        M = types.vocab_size
        state = self.unpack(np.zeros(self.num_values))
        f = self.attention(state)

        # Under constant errors, integrals over tau are products with tau.
        seen = tau * types.paces[:, None]
        a = seen * (1 - 1 / M)
        b = np.broadcast_to(seen / M, types.others.shape)
        parts = (a, b, a * f[0], a * f[1], state.z_common, state.z_distinct)
        return np.concatenate([part.ravel() for part in parts])

    def rows(self, state: State, f: Pair) -> Rows:
        """Compute the rows of Y = sum_k fbar_k y_k^T that the logits of attention f need.

        With fbar_k = H_k/a_k, and y_k = a_k at class k's own output, -b_kj at the output of another
        class j, and -c_k at each output that names no class.
        """
        types = self.types
        a = state.a[:, None]
        b = state.b
        common = state.common / a
        distinct = state.distinct / a
        c = self.rest_of(state)

        # The sum over k != j of what class k removed from output j: all classes, less class j.
        by_all = (types.size[:, None] * common).T.astype(b.dtype) @ b
        by_itself = (common * np.diag(b)[:, None]).T
        lost = by_all - by_itself

        alone = np.einsum("ij,ij->i", f[1], distinct)
        at_classes = (common * a).T - lost
        at_rest = -(types.size * c) @ common
        return Rows(at_classes, at_rest, alone, c, distinct)

    def errors(self, state: State, f: Pair, rows: Rows) -> Errors:
        """Compute the errors, the softmax of the logits f_n^T Y, for a class n of each type.

        Arrays (T, T) are in the precision of ``state.b``. Of many classes these take nearly all of
        the time, and :mod:`~scansnap_core.law.many_classes` asks for single precision.
        """
        types = self.types
        alone = rows.alone
        kind = state.b.dtype

        # The logits of a class's own output, of another class's, and of one that names no class.
        own_logit = np.einsum("ij,ji->i", f[0], rows.classes) + alone * state.a
        rest_logit = f[0] @ rows.rest - alone * rows.c
        other_logit = f[0].astype(kind) @ rows.classes.astype(kind)
        other_logit -= alone[:, None].astype(kind) * state.b

        # One of the larger logits is subtracted so that no exponential overflows. The (T, T) array
        # is overwritten in place, because it is the large one.
        top = np.maximum(np.maximum(own_logit, rest_logit), other_logit.max(axis=1))
        other_logit -= top[:, None].astype(kind)
        other = np.exp(other_logit, out=other_logit)
        rest = np.exp(rest_logit - top)
        other[self._single, self._single] = 0  # There is no other class of this type.

        wrong = other @ types.size.astype(kind) - np.diag(other) + types.rest * rest
        total = np.exp(own_logit - top) + wrong
        other /= total[:, None].astype(kind)
        return Errors(wrong / total, other, rest / total)

    def gradient(self, state: State, errors: Errors, rows: Rows) -> tuple[Floats, Pair]:
        """Compute <y_n, e_n - alpha_n> and g_n = Y (e_n - alpha_n) of a class n of each type.

        y_n has the entries a_n, -b_nk and -c_n at the class's own output, at another class's and at
        one that names no class, and e_n - alpha_n the entries ``own``, -``other`` and -``rest`` of
        the errors.

        Returns
        -------
        The inner product, shape (T,), and g on common and distinct tokens, (T, C) and (T, D).
        """
        types = self.types
        other = errors.other
        kind = state.b.dtype  # counts of classes are integers; products with them stay of this kind
        alike = np.diag(other)

        # The sum over other classes k of alpha_nk b_nk, without class n itself.
        at_classes = np.einsum("ij,ij->i", other, types.size.astype(kind) * state.b)
        at_classes -= alike * np.diag(state.b)
        own = state.a * errors.own + at_classes + types.rest * errors.rest * rows.c

        # Of the common tokens' rows: at the own output, at other classes', and at the rest. The sum
        # over all classes of each type counts class n too, which the first term undoes.
        Y = rows.classes.T
        common = (errors.own + alike)[:, None] * Y - other @ (types.size[:, None] * Y).astype(kind)
        common -= types.rest * errors.rest[:, None] * rows.rest
        return own, (common, own[:, None] * rows.distinct)

    def learned_and_push(self, state: State, f: Pair, own: Floats, g: Pair) -> tuple[Pair, Pair]:
        """Return what H gathers for a unit of evidence, and what pushes z, by class.

        Here they are f and f∘(g - f f·g) of Eqn 4; at finite T they are means over samples.

        Parameters
        ----------
        state, f, own, g
            The state, its attention, a class's own errors of shape (T,), and the gradient g.

        Returns
        -------
        Two pairs, each on common and distinct tokens, of shapes (T, C) and (T, D).
        """
        f_g = (f[0] * g[0]).sum(axis=1, keepdims=True) + (f[1] * g[1]).sum(axis=1, keepdims=True)
        push_common = f[0] * (g[0] - f[0] * f_g)
        # A class that shares no token isn't pushed at all, because its g is along its f. What
        # rounding leaves of the push is replaced by 0.
        push_distinct = f[1] * (g[1] - f[1] * f_g) * self._sharing
        return f, (push_common, push_distinct)

    def errors_and_gradient(self, state: State, f: Pair) -> tuple[Errors, Floats, Pair]:
        """Compute the errors under attention f, and what :meth:`gradient` returns."""
        rows = self.rows(state, f)
        errors = self.errors(state, f, rows)
        own, g = self.gradient(state, errors, rows)
        return errors, own, g

    def own_errors(self, state: State) -> Floats:
        """Compute 1 - alpha_nn of a class n of each type, shape (T,)."""
        errors, _, _ = self.errors_and_gradient(state, self.attention(state))
        return errors.own

    def rates_without_b(self, state: State, f: Pair, own: Floats, g: Pair) -> tuple[Floats, ...]:
        """Compute d/dtau of a, of H and of Z, in :class:`State`'s order and shapes.

        a gathers a class's own errors, H gathers f weighted by them, and Z moves along the push of
        all classes that ask with a query.

        Parameters
        ----------
        state, f, own, g
            The state, its attention, a class's own errors of shape (T,), and the gradient g.
        """
        learned, push = self.learned_and_push(state, f, own, g)
        paces = self.types.paces[:, None]
        ratio = self.ratio
        a = self.types.paces * own
        common = a[:, None] * learned[0]
        distinct = a[:, None] * learned[1]
        z_common = ratio * self.types.asking @ (paces * push[0])
        z_distinct = ratio * (paces * push[1])
        return a, common, distinct, z_common, z_distinct

    def rates(self, state: State) -> State:
        """Compute d(state)/dtau, in :class:`State`'s parts; b gathers the errors on other classes'
        outputs.
        """
        f = self.attention(state)
        errors, _, g = self.errors_and_gradient(state, f)
        a, *others = self.rates_without_b(state, f, errors.own, g)
        b = self.types.paces[:, None] * errors.other
        return State(a, b, *others)

    def rate(self, packed: Floats) -> Floats:
        """Compute d(state)/dtau of a packed state."""
        return np.concatenate([part.ravel() for part in self.rates(self.unpack(packed))])

    def tolerances(self) -> tuple[float, float]:
        """Return the solver's tolerances, by which z keeps six digits."""
        return RTOL, ATOL

    def failed(self, log_tau: float) -> str:
        """Write how far the law could be integrated."""
        return (
            f"the law with lr_z/lr_y = {self.ratio:g} could be integrated up to lr_y t/K = "
            f"{np.exp(log_tau):.3g}"
        )
