"""The gallery's matrices are what their names say, and training's E is that of the recorded logits."""

from __future__ import annotations

import numpy as np
import pytest

from scansnap_core.data.audit import audit
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.theory import gallery, spectrum
from tests.refusing import refuses


@pytest.mark.parametrize("num_classes", [2, 3, 8, 41])
@pytest.mark.parametrize("top", [0.01, 0.99, 3.0])
def test_overlaps_are_admissible_and_have_the_top_asked_for(num_classes: int, top: float) -> None:
    for name, E in gallery.overlaps(num_classes, top, np.random.default_rng(0)).items():
        assert E.shape == (num_classes, num_classes), name
        assert np.array_equal(E, E.T), name
        assert not E.diagonal().any(), name
        assert E.min() == 0, name
        assert np.abs(np.linalg.eigvalsh(E)).max() == pytest.approx(top, rel=1e-12, abs=0), name


def test_the_shapes_differ_in_how_many_classes_an_overlap_involves() -> None:
    partners = {
        name: sorted(set((E > 0).sum(axis=1).tolist()))
        for name, E in gallery.overlaps(6, 0.5, np.random.default_rng(0)).items()
    }
    del partners["random"]
    assert partners == {"equal": [5], "pair": [0, 1], "pairs": [1], "star": [1, 5]}

    for E in gallery.overlaps(2, 0.3, np.random.default_rng(0)).values():  # two classes leave one shape
        assert pytest.approx(np.array([[0, 0.3], [0.3, 0]]), rel=1e-9, abs=0) == E
    with refuses("num_classes = 1", "overlaps need two classes, 10,000 at most"):
        gallery.overlaps(1, 0.5, np.random.default_rng(0))
    for top in (0.0, -1.0, np.nan, np.inf):
        with refuses(f"top = {top}", "|lambda_1| is positive where two classes overlap"):
            gallery.overlaps(3, top, np.random.default_rng(0))


def satisfies_assumption_2(classes: SequenceClasses) -> bool:
    return all(condition.holds for condition in audit(classes) if condition.name.startswith("2"))


def test_the_systems_stand_on_both_sides_of_assumption_2() -> None:
    systems = gallery.systems()
    assert [name for name, classes in systems.items() if satisfies_assumption_2(classes)] == ["inside"]
    inside = {name: satisfies_assumption_2(classes) for name, classes in gallery.compared().items()}
    assert inside == {"K = 2": True, "K = 3": True, "Syn-Small": False}


def test_random_classes_hold_eight_tokens_each() -> None:
    classes = gallery.random_classes(100, np.random.default_rng(1))
    assert [len(classes.support(n)) for n in range(100)] == [8] * 100
    assert len(np.unique(classes.query_of)) == 4
    assert 8 < (classes.E > 0).sum(axis=1).mean() < 24


def test_along_training_starts_at_the_data_and_follows_the_logits() -> None:
    classes = gallery.systems()["irregular"]
    path = gallery.along_training(classes, [0, 20], lr_y=1.0, lr_z=0.3)
    assert path[0] == pytest.approx(classes.E, abs=1e-14)
    run = train(classes, lr_y=1.0, lr_z=0.3, steps=20, batch_size=32)
    logits = run.Z.isel(seed=0, rate=0, recorded=-1).sel(query=classes.query_of).values
    weights = classes.compact.probs * np.exp(logits)
    f = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    assert path[1] + np.eye(12) == pytest.approx(f @ f.T, abs=1e-12)
    # control: training moves E
    assert np.abs(path[1] - path[0]).max() > 1e-3


@pytest.mark.parametrize("num_queries", [1, 3])
def test_classes_with_a_given_attention_have_it_on_the_smallest_vocabulary_allowed(num_queries: int) -> None:
    F = gallery.attentions(3, 2, np.array([0.3]), np.random.default_rng(0))[0]
    classes = gallery.with_attention(F, num_queries)
    found = classes.compact.probs / np.linalg.norm(classes.compact.probs, axis=1, keepdims=True)
    assert pytest.approx(F @ F.T - np.eye(3), abs=1e-14) == classes.E
    assert pytest.approx(np.sort(F[F > 0]), abs=1e-14) == np.sort(found[found > 0])
    assert len(set(classes.query_of)) == num_queries
    smallest = np.abs(np.linalg.eigvalsh(classes.E)).min()
    assert 6 / np.sqrt(classes.vocab_size - 1) > smallest >= 6 / np.sqrt(classes.vocab_size)


def test_the_uneven_classes_satisfy_assumption_2_at_its_lower_edge() -> None:
    classes = gallery.uneven()
    assert satisfies_assumption_2(classes)
    assert pytest.approx(np.array([[0, 0.18], [0.18, 0]]), abs=1e-15) == classes.E
    assert list(classes.common_tokens) == [0]
    assert 6 / np.sqrt(classes.vocab_size - 1) > 0.18 > 6 / np.sqrt(classes.vocab_size)
    lengths = [np.linalg.norm(row) for row in classes.compact.probs]
    assert classes.compact.probs[:, 0] / lengths == pytest.approx([0.9, 0.2], rel=1e-14, abs=0)


def test_two_of_the_lopsided_classes_common_tokens_rise_and_a_single_common_token_doesnt() -> None:
    for classes, rises in ((gallery.lopsided(), 2), (gallery.uneven(), 0)):
        assert satisfies_assumption_2(classes)
        F = spectrum.F(classes.compact.probs, np.zeros_like(classes.compact.probs))
        force = spectrum.force(F, spectrum.beta(spectrum.E(F), classes.vocab_size)).sum(axis=0)
        common = np.isin(classes.compact.tokens, classes.common_tokens)
        assert common.sum() == rises + 1
        assert (force[common] > 0).sum() == rises


def test_tied_classes_have_the_top_asked_for_and_tokens_of_their_own() -> None:
    classes = gallery.tied_classes(4, 60, 0.3, np.random.default_rng(0))
    assert np.abs(np.linalg.eigvalsh(classes.E)).max() == pytest.approx(0.3, abs=1e-9)
    holders = (classes.probs > 0).sum(axis=0)
    assert holders[:8].tolist() == [1] * 8
    assert holders.max() == 2


@pytest.mark.parametrize("num_common", [1, 3])
@pytest.mark.parametrize("num_classes", [2, 7])
def test_attentions_are_unit_vectors_with_the_top_asked_for(num_common: int, num_classes: int) -> None:
    tops = np.array([0.01, 0.1, 0.9 / num_classes])
    F = gallery.attentions(num_classes, num_common, tops, np.random.default_rng(3))
    assert F.shape == (3, num_classes, num_common + 2 * num_classes)
    assert F.min() >= 0
    assert np.linalg.norm(F, axis=-1) == pytest.approx(1, abs=1e-14)
    holders = (F > 0).sum(axis=1)
    assert (holders[:, :num_common] == num_classes).all()
    assert (holders[:, num_common:] == 1).all()
    assert np.abs(np.linalg.eigvalsh(spectrum.E(F))).max(axis=-1) == pytest.approx(tops, rel=1e-10, abs=0)


def test_attention_stays_possible_where_the_top_is_out_of_reach() -> None:
    F = gallery.attentions(2, 1, np.array([5.0]), np.random.default_rng(4))
    assert np.linalg.norm(F, axis=-1) == pytest.approx(1, abs=1e-14)
    assert (F[:, :, 0] <= 0.9999 + 1e-12).all()
    assert np.linalg.eigvalsh(spectrum.E(F))[0, -1] < 1
