"""Adam's flow: what Adam does at small rates, with its two memories and nothing else.

Clock: updates of any batch size. A rate only sets how far attention gets in one memory, so at fixed eta_Z/eta_Y the
path depends on x = eta s and on the lengths of the memories in x, eta/ln(1/beta_1) and eta/ln(1/beta_2), alone.
"""

from __future__ import annotations

import numpy as np

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.optimizers import ADAM_BETAS, ADAM_EPS
from scansnap_core.rules import is_real, listed, shown
from scansnap_core.theory.flow import Floats, Flow
from scansnap_core.theory.flows import TrueFlow


class AdamFlow(Flow):
    """θ' = eta m/(sqrt(v) + eps) of the true gradient at T = infinity, with both means' biases put right.

    m and v are the running means of the gradient and of its square over -1/ln(beta) updates. The state packs Y and Z,
    then their m, then their v.

    Parameters
    ----------
    classes, lr_y, lr_z
        As in :class:`~scansnap_core.theory.flow.Flow`; the rates are those of the updates.
    betas
        Adam's, each in (0, 1).

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.syn_small()
    >>> flow = AdamFlow(classes, lr_y=0.001, lr_z=0.001)
    >>> after = ss.solve(flow, [200], method="RK45", rtol=1e-5, atol=1e-9).Z.values.ravel()
    >>> recipe = {"lr_y": 0.001, "lr_z": 0.001, "steps": 200, "optimizer": "adam", "batch_size": None}
    >>> trained = ss.train(classes, seq_len=float("inf"), **recipe).Z.isel(recorded=-1).values.ravel()
    >>> bool(abs(after - trained).max() < 0.003)
    True
    """

    name = "Adam's flow"

    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, *, betas: tuple[float, float] = ADAM_BETAS
    ) -> None:
        pair = listed("betas", betas)
        if len(pair) != 2 or not all(is_real(beta) and 0 < beta < 1 for beta in pair):
            raise BadInput(f"betas = {shown(betas)}", "two numbers between 0 and 1", "pass e.g. (0.9, 0.999)")
        self._true = TrueFlow(classes, 1.0, 1.0)
        memories = tuple(f"{kind}_{name}" for kind in ("mean", "square") for name in "YZ")
        super().__init__(classes, lr_y, lr_z, ("Y", "Z", *memories), self._true.class_weight)
        self._lengths = [-1 / np.log(beta) for beta in pair]
        self._rates = np.repeat([lr_y, lr_z], [int(np.prod(self.shapes[name])) for name in "YZ"])
        self._b = np.zeros(classes.num_classes)

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        place, mean, square = np.split(state, 3)
        g = self._true.rhs(t, np.concatenate([place, self._b]))[: len(place)]
        first, second = self._lengths
        if t == 0:
            ahead = np.sign(g)
        else:
            root = np.sqrt(np.maximum(square, 0) / -np.expm1(-t / second))
            ahead = mean / -np.expm1(-t / first) / (root + ADAM_EPS)
        return np.concatenate([self._rates * ahead, (g - mean) / first, (g**2 - square) / second])
