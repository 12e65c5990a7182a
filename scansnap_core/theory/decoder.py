"""Compute the decoder at T = infinity in NumPy, on all tokens or from the overlaps E alone.

Flows ask :class:`Expectation` tens of thousands of times. It gives what
:mod:`scansnap_core.engine.model` gives for a batch of every class once, with q = P(.|n) and the
weight P(n), in a third of the time: with a dozen tokens a call takes longer than its arithmetic,
and NumPy's calls are shorter than Torch's.

While attention rests, Eqns 7 and 26 keep Y in the span of F. Write Y = F V with V of shape (K, M).
Then W = F^T Y = (I + E) V, so that only E enters of the data: :class:`Decoder`. Rows of V and W are
classes. The first K columns are the next tokens: class n's own token is column n. Y(0) = 0 keeps
the columns of the M - K outputs that name no class equal, so one last column of multiplicity M - K
stands for them.

Leading axes ("...") batch over states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import RATE, checked_numbers, is_real, is_whole, shown, takes, whole
from scansnap_core.data.inputs import check_places
from scansnap_core.data.probabilities import Outputs
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.theory import formulas, spectrum
from scansnap_core.theory.functions import function_of

SYMMETRY_TOLERANCE = 1e-12
"""Overlaps may differ from their transpose by this much, because of rounding."""
_zeta = function_of(formulas.zeta, (formulas.e_, formulas.M))


class Forward(NamedTuple):
    """The forward pass of every class.

    Attributes
    ----------
    u
        What the decoder reads, shape (..., K, D).
    error
        x_{T+1} - α, shape (..., K, O).
    g
        Theorem 1's g = Y (x_{T+1} - α), shape (..., K, D).
    """

    u: Floats
    error: Floats
    g: Floats


def forward(u: Floats, Y: Floats, target: Floats, multiplicity: Floats) -> Forward:
    """Decode the inputs u (..., K, D) with Y (..., D, O).

    ``target`` is one-hot, (K, O). A column that stands for several outputs, by its
    ``multiplicity`` (O,), has the sum of their errors.
    """
    logits = u @ Y + np.log(multiplicity)
    alpha = np.exp(logits - logits.max(axis=-1, keepdims=True))

    # 1 - alpha_nn is computed as a sum. Once the class is learned, the difference has no digits.
    others = alpha / alpha.sum(axis=-1, keepdims=True) * (1 - target)
    error = target * others.sum(axis=-1, keepdims=True) - others
    return Forward(u, error, error @ Y.swapaxes(-1, -2))


def through_attention(f: Floats, g: Floats) -> Floats:
    """Compute diag(c) P^⊥_f g / ‖c‖_2 = f∘(g - f f^T g), by which g moves Z in Eqn 4.

    Shapes are (..., K, L). It holds where the decoder reads f.
    """
    return np.asarray(f * (g - f * (f * g).sum(axis=-1, keepdims=True)))


class Expectation:
    """The forward pass and Lemma 1's directions for K classes over L tokens, with Q queries and O
    outputs.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> expectation = Expectation(ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2]))
    >>> expectation.f(np.zeros((1, 5))).round(3)
    array([[0.548, 0.374, 0.748, 0.   , 0.   ],
           [0.548, 0.   , 0.   , 0.374, 0.748]])
    """

    def __init__(self, classes: SequenceClasses) -> None:
        """Take from the classes what each step needs: P (K, L), which class asks with which query,
        targets (K, O), and the classes' weights P(n).
        """
        compact = classes.compact
        outputs = classes.outputs
        self._probs = compact.probs
        self._held = compact.held
        self._query_row = compact.query_row
        self._asks = (np.arange(len(compact.queries))[:, None] == compact.query_row).astype(
            np.float64
        )
        self._target = outputs.targets
        self._multiplicity = outputs.multiplicity
        self._weight = 1 / classes.num_classes
        self._paces = classes.paces[:, None]
        self._per_output = self._paces / (classes.num_classes * outputs.multiplicity)

    def f(self, Z: Floats) -> Floats:
        """Compute f_n = LN(X^T b) as rows (..., K, L) from Z (..., Q, L)."""
        # This is spectrum.F of each class, written out because a flow asks at every step.
        z = np.where(self._held, Z[..., self._query_row, :], -np.inf)
        weights = self._probs * np.exp(z - z.max(axis=-1, keepdims=True))
        return weights / np.sqrt((weights * weights).sum(axis=-1, keepdims=True))

    def forward(self, u: Floats, Y: Floats) -> Forward:
        """Run :func:`forward` with the outputs of the classes."""
        return forward(u, Y, self._target, self._multiplicity)

    def of_Y(self, found: Forward) -> Floats:
        """Compute dJ/dY, shape (..., D, O), per output.

        A column that stands for several outputs gets the gradient of one of them, so that they stay
        equal.
        """
        return found.u.swapaxes(-1, -2) @ (found.error * self._per_output)

    def of_Z(self, found: Forward) -> Floats:
        """Compute dJ/dZ, shape (..., Q, L), where the decoder reads f."""
        return self._weight * self.per_query(self._paces * through_attention(found.u, found.g))

    def per_query(self, per_class: Floats) -> Floats:
        """Sum over each query's classes, shape (..., Q, L), values of each class, (..., K, L)."""
        return self._asks @ per_class


@takes(num_classes=whole())
def zeta(num_classes: int, vocab_size: int) -> Floats:
    """Compute zeta_n = M/(M - 1) (e_n - 1/M) of every class n as rows (App. D.1).

    The shape is (K, K + 1), or (K, K) where K = M.
    """
    check_places("zeta", num_classes**2)
    return np.asarray(_zeta(Outputs.lumped(np.arange(num_classes), vocab_size).targets, vocab_size))


def solution(E: Floats, vocab_size: int, heights: ArrayLike) -> Floats:
    """Compute V = (I - E') diag((M - 1) h_n) zeta of Theorem 5, for which Y = F V; (K, K + 1).

    ``heights`` has one h_n for each class. With h_n = h*(N_n) it is the solution of update (26)
    after N_n steps of batch size 1 that show class n (Eqn 70).
    """
    E = _checked_overlaps(E)
    rule = "one finite height a class, not negative"
    remedy = "pass e.g. h_star of each class's steps"
    at = checked_numbers("heights", heights, least=0, rule=rule, remedy=remedy, dims=1)
    if len(at) != len(E):
        raise BadInput(f"{len(at)} heights with K = {len(E)}", rule, remedy)
    W = (vocab_size - 1) * at[:, None] * zeta(len(E), vocab_size)
    return np.asarray((np.eye(len(E)) - spectrum.E_prime(E)) @ W)


class Decoder:
    """Y = F V with Z fixed, under the true gradient (7) or under the proofs' update (26).

    Parameters
    ----------
    E
        The overlaps E = F^T F - I, shape (K, K); under (26) I + E is not singular.
    vocab_size, lr_y
        M >= max(K, 2) and eta_Y.
    modified
        False: a step that shows class n moves Y along f_n (Eqn 7). True: along f_n - F E' e_n (Eqn
        26).

    Attributes
    ----------
    multiplicity
        How many outputs each column stands for, shape (K + 1,), as in
        :func:`scansnap_core.engine.model.decode`.

    Examples
    --------
    >>> overlaps = np.array([[0.0, 0.3], [0.3, 0.0]])
    >>> decoder = Decoder(overlaps, vocab_size=100, lr_y=1.0, modified=True)
    >>> decoder.logits(decoder.step(decoder.initial(), 0)).round(3)
    array([[ 0.99, -0.01, -0.01],
           [ 0.  , -0.  , -0.  ]])
    """

    @takes(lr_y=RATE)
    def __init__(self, E: Floats, vocab_size: int, lr_y: float, *, modified: bool) -> None:
        """Prepare I + E, and along which combinations of the f_n a step moves Y."""
        E = _checked_overlaps(E)
        K = len(E)
        if not is_real(vocab_size) or not vocab_size >= max(K, 2):  # NaN isn't
            value = f"M = {shown(vocab_size)} with K = {K}"
            rule = "next tokens are tokens, and M >= 2"
            raise BadInput(value, rule, "enlarge the vocabulary")
        outputs = Outputs.lumped(np.arange(K), vocab_size)
        self._lr_y = lr_y
        self._overlaps = np.eye(K) + E
        self._directions = np.eye(K) - spectrum.E_prime(E) if modified else np.eye(K)
        self._shape = (K, len(outputs))
        self._targets = outputs.targets
        self.multiplicity = outputs.multiplicity

    def initial(self) -> Floats:
        """Return V = 0, shape (K, K + 1)."""
        return np.zeros(self._shape)

    def logits(self, V: Floats) -> Floats:
        """Compute W = F^T Y = (I + E) V, shape (..., K, K + 1)."""
        return np.asarray(self._overlaps @ V)

    def errors(self, V: Floats) -> Floats:
        """Compute e_n - alpha_n as rows, shape (..., K, K + 1).

        The last column is the error of one of the M - K equal outputs.
        """
        return self._forward(V).error / self.multiplicity

    def gradient(self, V: Floats) -> Floats:
        """Compute the coefficients a_nn' of g_n = sum_n' a_nn' f_n' (Eqn 9), shape (..., K, K).

        Theorem 1 names them a_nn = gamma iota_n and a_nn' = -gamma beta_nn'.
        """
        return self._forward(V).g

    def _forward(self, V: Floats) -> Forward:
        """Run :func:`forward` on Y = F V, of which only F^T F = I + E is needed."""
        return forward(self._overlaps, V, self._targets, self.multiplicity)

    def step(self, V: Floats, n: int) -> Floats:
        """Return V after a step of batch size 1 that shows class n, numbered from 0; shape (K, K +
        1).
        """
        if not is_whole(n) or not 0 <= n < self._shape[0]:
            raise BadInput(
                f"n = {shown(n)}",
                f"classes are numbered 0..{self._shape[0] - 1}",
                "choose one of them",
            )
        return np.asarray(V + self._lr_y * np.outer(self._directions[:, n], self.errors(V)[n]))

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute dV/dt, flat, for ``solve_ivp``; it doesn't depend on t.

        It is the expected step of batch size 1, in which each class has the weight P(n) = 1/K.
        """
        K = self._shape[0]
        errors = self.errors(state.reshape(self._shape))
        return np.asarray(self._lr_y / K * self._directions @ errors).ravel()

    def path(self, times: ArrayLike, **solver: Any) -> Floats:
        """Compute V at increasing times of the flow from V = 0; shape (len(times), K, K + 1).

        Times are in steps of batch size 1. ``solver`` overrides settings of ``solve_ivp``: DOP853
        with rtol 1e-9 and atol 1e-16.
        """
        settings = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-16} | solver
        times = np.asarray(times, dtype=float)
        solved = solve_ivp(
            self.rhs, (0, times[-1]), self.initial().ravel(), t_eval=times, **settings
        )
        return np.asarray(solved.y.T.reshape(len(times), *self._shape))


def beta_over_iota(gradient: Floats) -> Floats:
    """Compute beta_nn'/iota_n of Eqn 9 with a zero diagonal, from :meth:`Decoder.gradient`.

    Shapes are (..., K, K). The speed gamma cancels. The push on attention over the same speed,
    xi_n/(gamma iota_n), is the sum over n' of this times E_nn'.

    Examples
    --------
    >>> beta_over_iota(np.array([[2.0, -0.5], [-0.4, 4.0]]))
    array([[0.  , 0.25],
           [0.1 , 0.  ]])
    """
    own = np.einsum("...ii->...i", gradient)
    return np.asarray(np.eye(own.shape[-1]) - gradient / own[..., None])


def _checked_overlaps(E: ArrayLike) -> Floats:
    """Return E as a symmetric array of floats, or raise BadInput."""
    rule = "E holds one overlap for each pair of classes, f_n^T f_n' = f_n'^T f_n"
    remedy = "pass e.g. classes.E"
    array = checked_numbers("E", E, least=-np.inf, rule=rule, remedy=remedy, dims=2)
    if array.shape[0] != array.shape[1]:
        raise BadInput(f"E of shape {array.shape}", rule, remedy)
    if np.abs(array - array.T).max() > SYMMETRY_TOLERANCE:
        raise BadInput("E, which isn't its transpose", rule, remedy)
    return array
