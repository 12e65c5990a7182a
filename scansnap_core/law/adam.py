"""Adam under the true gradient: a flow, and a law for its first updates alone.

Clock: t in updates, of whatever batch size.
"""

from __future__ import annotations

import numpy as np

from scansnap_core.base.rules import Rule, is_real, takes
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.engine.names import ADAM_BETAS, ADAM_EPS
from scansnap_core.theory.decoder import Expectation
from scansnap_core.theory.flows import Flow, TrueFlow

BETAS = Rule(
    lambda pair: (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(is_real(x) and 0 < x < 1 for x in pair)
    ),
    "two numbers between 0 and 1",
    "pass e.g. (0.9, 0.999)",
)


def first_signs(classes: SequenceClasses) -> Floats:
    """Compute where Adam's first updates move z at T = infinity, shape (Q, L).

    It is 1 for up, -1 for down and 0 for a token that doesn't move; all others move at one speed.

    At Y = Z = 0 the gradient of Z is 0, so what moves z has to be read off after Y's first update.
    As the rates go to 0, Adam's first updates move each entry of Y by one size, with the sign of
    its gradient at Y = Z = 0. So Y is a multiple of that matrix of signs, and z moves with the sign
    of its own gradient under this Y, by Eqn 4. These are gradients of J, which training makes
    larger.
    """
    expectation = Expectation(classes)
    compact = classes.compact
    f = expectation.f(np.zeros((len(compact.queries), len(compact.tokens))))
    start = expectation.forward(f, np.zeros((f.shape[1], len(classes.outputs))))
    return np.sign(
        expectation.of_Z(start._replace(g=start.error @ np.sign(expectation.of_Y(start)).T))
    )


class AdamFlow(Flow):
    """θ' = eta m/(sqrt(v) + eps) of the true gradient at T = infinity, with both biases corrected.

    m and v are the running means of the gradient and of its square over -1/ln(beta) updates, for
    Adam's betas in (0, 1). The state packs Y and Z, then their m, then their v; the rates are those
    of the updates.
    """

    name = "Adam's flow"

    @takes(betas=BETAS)
    def __init__(
        self,
        classes: SequenceClasses,
        lr_y: float,
        lr_z: float,
        *,
        betas: tuple[float, float] = ADAM_BETAS,
    ) -> None:
        """Lay out the state: Y and Z, the running means of their gradients, and those of the
        squares.
        """
        self._true = TrueFlow(classes, 1.0, 1.0)
        memories = tuple(f"{kind}_{name}" for kind in ("mean", "square") for name in "YZ")
        super().__init__(classes, lr_y, lr_z, ("Y", "Z", *memories), self._true.class_weight)
        # The updates over which the two running means go, and each entry's eta. The true flow's
        # rates are 1, so that its derivative is the gradient itself; the part B of its state has no
        # influence on that and stays 0.
        self._lengths = [-1 / np.log(beta) for beta in betas]
        self._rates = np.repeat([lr_y, lr_z], [int(np.prod(self.shapes[name])) for name in "YZ"])
        self._b = np.zeros(classes.num_classes)

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state, t in updates."""
        place, mean, square = np.split(state, 3)
        g = self._true.rhs(t, np.concatenate([place, self._b]))[: len(place)]
        # At t = 0 both running means are 0; their quotient goes to the gradient's sign. Later each
        # is divided by the share of its weights that has been used, 1 - e^(-t/length).
        first, second = self._lengths
        if t == 0:
            ahead = np.sign(g)
        else:
            root = np.sqrt(np.maximum(square, 0) / -np.expm1(-t / second))
            ahead = mean / -np.expm1(-t / first) / (root + ADAM_EPS)
        return np.concatenate([self._rates * ahead, (g - mean) / first, (g**2 - square) / second])
