"""The law of one memory a class: against a reduction-free copy, against the true gradient, and where it has to fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import log_softmax

import scansnap_core as ss
from scansnap_core.data.sequences import CLASSES
from scansnap_core.law import Law, types_of
from scansnap_core.law.types import TYPES
from scansnap_core.theory import gallery, spectrum
from scansnap_core.theory.solving import IntegrationFailed
from tests.refusing import refuses

SYSTEMS = {
    "equal": ss.with_overlap(3, 1000, 0.2, distinct_weights=[1, 2]),
    "Syn-Medium": ss.syn_medium(3),
    "irregular": gallery.random_classes(6, np.random.default_rng(5)),
    "no other output": ss.SequenceClasses([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.6, 0, 0.4]], query_of=[0, 0, 1]),
    "one other output": ss.SequenceClasses(
        [[0.5, 0.5, 0, 0], [0.2, 0.3, 0.5, 0], [0.6, 0, 0.4, 0]], query_of=[0, 0, 1]
    ),
    "unlike frequencies": ss.syn_medium(2).with_frequencies([0.05, 0.2, 0.5, 0.25]),
}
TAUS = np.array([1.0, 10.0, 100.0])


def by_types(classes: ss.SequenceClasses, ratio: float) -> np.ndarray:
    types = types_of(classes)
    return np.stack([types.per_query(at.z_common, at.z_distinct) for at in Law(types, ratio).path(TAUS)])


def one_by_one(classes: ss.SequenceClasses, ratio: float, taus: np.ndarray) -> np.ndarray:
    """The law with every class, token and output by itself: Y = sum_k fbar_k y_k^T."""
    compact, outputs, K = classes.compact, classes.outputs, classes.num_classes
    seen = K * classes.frequencies[:, None]
    shapes = [(K, len(outputs)), compact.probs.shape, (len(compact.queries), len(compact.tokens))]
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def rhs(tau: float, state: np.ndarray) -> np.ndarray:
        y, H, Z = (part.reshape(shape) for part, shape in zip(np.split(state, cuts), shapes, strict=True))
        f = spectrum.F(compact.probs, Z[compact.query_row])
        a = y[np.arange(K), np.arange(K)][:, None]
        mean = H / a if a.any() else f
        Y = mean.T @ y
        errors = outputs.targets - np.exp(log_softmax(f @ Y + np.log(outputs.multiplicity), axis=1))
        g = errors @ Y.T
        push = seen * f * (g - f * (f * g).sum(axis=1, keepdims=True))
        dZ = np.zeros_like(Z)
        np.add.at(dZ, compact.query_row, push)
        own = errors[np.arange(K), np.arange(K)][:, None]
        moved = seen * errors / outputs.multiplicity
        return np.concatenate([moved.ravel(), (seen * own * f).ravel(), ratio * dZ.ravel()])

    start = np.zeros(sum(int(np.prod(shape)) for shape in shapes))
    options = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-14, "first_step": 1e-6}
    states = solve_ivp(rhs, (0, taus[-1]), start, t_eval=taus, **options).y.T
    return states[:, cuts[-1] :].reshape(len(taus), *shapes[-1])


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float((np.linalg.norm(one - other, axis=(1, 2)) / np.linalg.norm(other, axis=(1, 2))).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_types_change_nothing(name: str) -> None:
    assert distance(by_types(SYSTEMS[name], 1.0), one_by_one(SYSTEMS[name], 1.0, TAUS)) < 1e-5


@pytest.mark.parametrize("ratio", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("name", ["equal", "Syn-Medium", "irregular", "unlike frequencies"])
def test_the_true_flow_obeys_it(name: str, ratio: float) -> None:
    path = ss.solve(ss.TrueFlow(SYSTEMS[name], 1.0, ratio), TAUS, unit="tau")
    assert distance(by_types(SYSTEMS[name], ratio), path.Z.values) < 0.015


def test_lambda_adds_up_the_classes_that_push() -> None:
    classes = SYSTEMS["Syn-Medium"]
    types, compact = types_of(classes), classes.compact
    law, weight = Law(types, 2.0), np.arange(3.0, 3 + len(types.size))
    at = law.path(TAUS)[1]
    f = spectrum.F(compact.probs, types.per_query(at.z_common, at.z_distinct)[compact.query_row])
    expected = np.zeros((len(compact.queries), len(compact.tokens)))
    np.add.at(expected, compact.query_row, 2.0 * weight[types.of_class][:, None] * f**2)
    np.testing.assert_allclose(types.per_query(*law.weighted_lambda(at, weight)), expected, rtol=1e-9, atol=0)


def test_attention_is_finite_at_large_logits() -> None:
    law = Law(types_of(SYSTEMS["equal"]), 1.0)
    for at_zero, shifted in zip(
        *(law.attention(law.unpack(np.full(law.num_values, z))) for z in (0.0, 1e3)), strict=True
    ):
        np.testing.assert_allclose(shifted, at_zero, rtol=1e-9, atol=0)


def test_the_moment_asked_for_first_changes_nothing() -> None:
    law = Law(types_of(SYSTEMS["equal"]), 1.0)
    (late,), (_, after) = law.path(np.array([1e6])), law.path(np.array([1e-3, 1e6]))
    for alone, beside in zip(late, after, strict=True):
        assert alone == pytest.approx(beside, rel=1e-5, abs=1e-12)


def test_a_law_that_cannot_be_integrated_says_so() -> None:
    law = Law(types_of(SYSTEMS["equal"]), 1e300)
    said = r"the law with lr_z/lr_y = 1e\+300 could be integrated up to lr_y t/K"
    with pytest.raises(IntegrationFailed, match=said) as failure:
        law.path(np.array([1e-300, 1.0]))
    assert failure.value.last is not None
    assert 1e-300 < failure.value.last < 1
    assert [at.a.shape for at in failure.value.reached] == [(1,)]


def test_refuses_what_has_no_types() -> None:
    wrong: Any = SYSTEMS["equal"]
    with refuses("types = SequenceClasses(K=3, M=1000, queries=1)", TYPES.says):
        Law(wrong, 1.0)
    wrong = "wikitext"
    with refuses("classes = 'wikitext'", CLASSES.says):
        types_of(wrong)


def test_a_class_that_shares_nothing_stays_at_zero_at_no_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its push is rounding noise, which the solver would resolve where memory is fast."""
    count = 0
    rate = Law.rate

    def counted(law: Law, packed: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        return rate(law, packed)

    monkeypatch.setattr(Law, "rate", counted)
    pair = {"ship": {"and": 0.3, "wave": 0.5, "sail": 0.2}, "plane": {"and": 0.4, "cloud": 0.4, "wing": 0.2}}
    counts = []
    for third in ({"and": 0.2, "oak": 0.6, "elm": 0.2}, {"oak": 0.5, "elm": 0.3, "ash": 0.2}):
        classes = ss.SequenceClasses.from_dicts(pair | {"tree": third}, query_of="the", vocab_size=1000)
        types = types_of(classes)
        count = 0
        states = Law(types, 10.0).path(TAUS)
        counts.append(count)
    of_tree = types.of_class[list(classes.coords["class"]).index("tree")]
    assert all((at.z_distinct[of_tree] == 0).all() for at in states)
    assert np.abs(states[-1].z_distinct).max() > 1e-3
    assert counts[1] < 2 * counts[0]
