"""Orders of error: of long steps, of the scatter over samples, and of a force half an update before."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multinomial

import scansnap_core as ss
from scansnap_core.law import Law, State, inertia, many_classes, trials, types_of
from scansnap_core.law.memory import Errors, Pair
from scansnap_core.law.sampled_law import SampledLaw


def decoder_asked(law: Law, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often the path from tau = 1 to 500 asks the decoder; before it, steps are short and grow."""
    asked: list[float] = []
    errors_and_gradient = Law.errors_and_gradient

    def counted(self: Law, state: State, f: Pair) -> tuple[Errors, np.ndarray, Pair]:
        asked.append(float(state.a[0]))
        return errors_and_gradient(self, state, f)

    with monkeypatch.context() as patch:
        patch.setattr(Law, "errors_and_gradient", counted)
        list(many_classes.path(law, np.array([1.0])))
        early = len(asked)
        list(many_classes.path(law, np.array([500.0])))
    return len(asked) - 2 * early


@pytest.mark.parametrize(("nodes", "order"), [(many_classes.NODES, 5), (many_classes.NODES - 1, 4)])
def test_long_steps_are_of_an_order_one_above_their_nodes(
    monkeypatch: pytest.MonkeyPatch, nodes: int, order: int
) -> None:
    monkeypatch.setattr(many_classes, "NODES", nodes)
    law = Law(types_of(trials.systems(11, 2)[1]), 1.0)
    counts = []
    for tolerance in (3e-3, 3e-5):
        monkeypatch.setattr(many_classes, "TOLERANCE", tolerance)
        counts.append(decoder_asked(law, monkeypatch))
    # An error of this order in the step: 100 times the tolerance takes 100^(1/order) times fewer steps.
    found = np.log(100) / np.log(counts[1] / counts[0])
    assert abs(found - order) < 0.5


def all_samples(probs: np.ndarray, num: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every f of ``num`` tokens of these three, and its chance."""
    counts = np.array([(i, j, num - i - j) for i, j in itertools.product(range(num + 1), repeat=2) if i + j <= num])
    f = counts * np.exp(z)
    return f / np.linalg.norm(f, axis=1, keepdims=True), multinomial.pmf(counts, num, probs)


def test_the_scatter_of_unlike_classes_logits_is_that_over_all_samples() -> None:
    probs = np.zeros((2, 12))
    probs[0, :3] = 0.6, 0.1, 0.3
    probs[1, [0, 1, 3]] = 0.2, 0.2, 0.6
    types = types_of(ss.SequenceClasses(probs, query_of=[9, 9]))
    law = SampledLaw(types, 1.0, 64)
    # One class's output has lost much to the other class; the other's has lost little.
    state = law.path(np.array([30.0]))[0]._replace(b=np.array([[0.0, 4.0], [0.5, 0.0]]))
    rows = law.rows(state, law.attention(state))
    cut = types.common.shape[1]
    for i, k in ((0, 1), (1, 0)):
        p = np.hstack([types.common[i], types.distinct[i]])
        z = np.hstack([state.z_common[types.query[i]], state.z_distinct[i]])
        scatter = []
        for num in (100, 200):
            f, chance = all_samples(p, num, z)
            by_common, by_distinct = f[:, :cut] @ rows.classes, f[:, cut:] @ rows.distinct[i]
            own = by_common[:, i] + state.a[i] * by_distinct
            over = by_common[:, k] - state.b[i, k] * by_distinct - own
            scatter.append(num * (chance @ over**2 - (chance @ over) ** 2))
        found = law._variance(state, state.common / state.a[:, None], rows.distinct)[i, k]
        assert found == pytest.approx(2 * scatter[1] - scatter[0], rel=0.01)  # 1/num extrapolated away


class Steady(Law):
    """A law whose force never changes. It keeps the places at which it was asked."""

    asked: list[np.ndarray]

    def rate(self, packed: np.ndarray) -> np.ndarray:
        self.asked.append(packed)
        return np.ones_like(packed)


def test_a_force_is_asked_where_the_motion_was_half_an_update_before() -> None:
    momentum, pace = 0.9, 0.3
    law = Steady(types_of(ss.syn_small()), 1.0)
    law.asked = []
    made = inertia.InertialLaw(law, momentum, pace)
    place = np.linspace(1, 2, law.num_values)
    coasting = np.linspace(-1, 3, law.num_values)
    made._rhs(0.0, np.concatenate([place, coasting]))
    now, before = law.asked
    np.testing.assert_array_equal(now, place)
    # Under a force of 1 the motion is x' = 1 - kappa + c, and c - kappa falls by the factor mu with each update.
    half, decay = made.update / 2, -np.log(momentum) / made.update
    kappa = momentum * -np.log(momentum) / (1 - momentum)
    exact = place - half - (coasting - kappa) * np.expm1(decay * half) / decay
    straight = place - half * (1 - kappa + coasting)
    # The bend of the path is taken to first order in decay * half, 0.05.
    assert np.abs(before - exact).max() < 0.05 * np.abs(straight - exact).max()
