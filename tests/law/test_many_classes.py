"""The law of many classes in split steps: against the law integrated as it is, and how seldom it asks the decoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.law import Law, State, many_classes, memory, predicting, trials, types_of
from scansnap_core.law.memory import Pair
from scansnap_core.law.sampled_law import SampledLaw
from scansnap_core.theory import gallery
from scansnap_core.theory.solving import IntegrationFailed
from tests.refusing import refuses

TAUS = np.array([0.01, 2.0, 30.0, 31.0, 500.0])
SYSTEMS = {
    "equal overlaps": trials.systems(11, 1)[0],
    "unequal": trials.systems(11, 2)[1],
    "random": gallery.random_classes(10, np.random.default_rng(4)),
    "some alike": ss.syn_medium(3),
    "unlike frequencies": ss.syn_medium(3).with_frequencies([0.02, 0.08, 0.1, 0.1, 0.3, 0.4]),
    "no other output": ss.SequenceClasses([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.6, 0, 0.4]], query_of=[0, 0, 1]),
}


LAWS = {f"{name}, {ratio}": Law(types_of(SYSTEMS[name]), ratio) for name in SYSTEMS for ratio in (0.01, 3.0)}
LAWS["finite length"] = SampledLaw(types_of(SYSTEMS["unequal"]), 1.0, 256)


def distance(law: Law) -> float:
    """Return the largest error of z over the largest z at that time, for common and distinct tokens separately."""
    found = 0.0
    for turned, exact in zip(many_classes.path(law, TAUS), law.path(TAUS), strict=True):
        for name in ("z_common", "z_distinct"):
            one, other = getattr(turned, name), getattr(exact, name)
            if other.any():
                found = max(found, np.abs(one - other).max() / np.abs(other).max())
    return found


@pytest.mark.parametrize("name", LAWS)
def test_they_lead_where_the_law_goes(name: str) -> None:
    assert distance(LAWS[name]) < 1e-3


def test_the_decoder_is_asked_seldom_where_attention_is_stiff(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    errors_and_gradient = Law.errors_and_gradient

    def counted(self: Law, state: State, f: Pair) -> Any:
        asked.append(float(state.a[0]))
        return errors_and_gradient(self, state, f)

    monkeypatch.setattr(Law, "errors_and_gradient", counted)
    law = Law(types_of(SYSTEMS["unequal"]), 10.0)
    list(many_classes.path(law, TAUS[-1:]))
    few = len(asked)
    law.path(TAUS[-1:])
    assert 4 * few < len(asked) - few


def test_predict_splits_steps_where_there_are_many_unlike_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = trials.systems(11, 2)[1]
    exact = ss.predict(classes, 1, 0.1, [1e3], exact=False).Z.values
    monkeypatch.setattr(memory, "MOST_WHOLE", 10)
    turned = ss.predict(classes, 1, 0.1, [0.0, 1e3], exact=False).Z.values[1]
    assert turned == pytest.approx(exact[0], rel=1e-2, abs=1e-3 * np.abs(exact).max())
    assert (turned != exact[0]).any()
    monkeypatch.setattr(predicting, "MOST_WHOLE", 10)
    with refuses(
        "2 unlike classes with momentum", "with momentum the law has at most 10 numbers, of some 300 unlike classes"
    ):
        ss.predict(classes, 1, 0.1, [1e3], optimizer="momentum", exact=False)
    with refuses(
        "2 unlike classes with batch_size", "with batch_size the law has at most 10 numbers, of some 300 unlike classes"
    ):
        ss.predict(classes, 1, 0.1, [1e3], batch_size=1)


def test_too_fast_is_an_error_that_says_how_far_it_went() -> None:
    with pytest.raises(IntegrationFailed, match=r"could be integrated up to lr_y t/K = .* only: "):
        list(many_classes.path(Law(types_of(SYSTEMS["unequal"]), 1e300), TAUS))
