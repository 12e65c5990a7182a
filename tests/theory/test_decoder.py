"""The decoder on the overlaps alone, against the same updates written out on Y with all M columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from scansnap_core.base.rules import RATE
from scansnap_core.data.inputs import SIZE
from scansnap_core.theory import clocks, decoder, spectrum
from scansnap_core.theory.decoder import Decoder
from tests.engine.references import overlapping_classes
from tests.refusing import refuses

LR = 0.7
ORDER = np.random.default_rng(4).integers(3, size=40)


def rows_of_F() -> np.ndarray:
    probs = overlapping_classes().compact.probs
    return spectrum.F(probs, np.zeros_like(probs))


def written_out(F: np.ndarray, vocab_size: int, *, modified: bool, sign: float = 1.0) -> np.ndarray:
    """Y (L, M) after the steps of ORDER, by Eqn 7 or Eqn 26 entry by entry; class n's next token is n."""
    K, L = F.shape
    E_prime = sign * (np.eye(K) - np.linalg.inv(F @ F.T))
    Y = np.zeros((L, vocab_size))
    for n in ORDER:
        weights = np.exp(Y.T @ F[n])
        error = np.eye(vocab_size)[n] - weights / weights.sum()
        direction = F[n] - (sum(F[k] * E_prime[k, n] for k in range(K)) if modified else 0)
        Y += LR * np.outer(direction, error)
    return Y


def stepped(vocab_size: int, *, modified: bool) -> tuple[Decoder, np.ndarray]:
    model = Decoder(spectrum.E(rows_of_F()), vocab_size, LR, modified=modified)
    V = model.initial()
    for n in ORDER:
        V = model.step(V, n)
    return model, V


@pytest.mark.parametrize("modified", [False, True])
@pytest.mark.parametrize("vocab_size", [3, 9])
def test_steps_are_those_of_Y(vocab_size: int, modified: bool) -> None:
    F = rows_of_F()
    model, V = stepped(vocab_size, modified=modified)
    Y = written_out(F, vocab_size, modified=modified)
    columns = slice(None, V.shape[1])
    assert pytest.approx(Y[:, columns], abs=1e-13) == F.T @ V
    assert model.logits(V) == pytest.approx((F @ Y)[:, columns], abs=1e-13)
    weights = np.exp(F @ Y)
    errors = np.eye(3, vocab_size) - weights / weights.sum(axis=1, keepdims=True)
    assert model.errors(V) == pytest.approx(errors[:, columns], abs=1e-14)
    assert model.gradient(V) == pytest.approx(spectrum.projection(F, errors @ Y.T), abs=1e-12)
    # controls: the other update, and the sign of App. D.1
    assert np.abs(F.T @ V - written_out(F, vocab_size, modified=not modified)[:, columns]).max() > 0.1
    if modified:
        assert np.abs(F.T @ V - written_out(F, vocab_size, modified=True, sign=-1.0)[:, columns]).max() > 0.1


def test_the_modified_steps_are_theorem_5() -> None:
    _, V = stepped(9, modified=True)
    counts = np.bincount(ORDER, minlength=3)
    assert len(set(counts)) > 1
    E, heights = spectrum.E(rows_of_F()), clocks.h_star(40, 9, LR)
    assert pytest.approx(decoder.solution(E, 9, heights[counts]), abs=1e-13) == V
    assert np.abs(decoder.solution(E, 9, heights[counts - 1]) - V).max() > 1e-2  # control: one step late


def test_zeta_is_the_definition() -> None:
    for n, row in enumerate(decoder.zeta(3, 9)):
        full = 9 / 8 * (np.eye(9)[n] - 1 / 9)
        assert row == pytest.approx(full[:4], abs=1e-15)
        assert full @ full == pytest.approx(1 + 1 / 8, rel=1e-9, abs=0)
    assert decoder.zeta(4, 4).sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-15)
    assert decoder.zeta(4, 4).shape == (4, 4)


def test_the_error_of_a_learned_class_keeps_its_digits() -> None:
    model = Decoder(np.zeros((2, 2)), 10, LR, modified=False)
    V = 50.0 * decoder.zeta(2, 10)
    # 1 - alpha_nn = 9 exp(-50 (10/9)) to leading order, far below the spacing of numbers near 1
    assert model.errors(V)[0, 0] == pytest.approx(9 * np.exp(-500 / 9), rel=1e-12, abs=0)


def test_leading_axes_are_times() -> None:
    model, V = stepped(9, modified=False)
    both = np.stack([V, 2 * V])
    assert model.gradient(both)[1] == pytest.approx(model.gradient(2 * V), rel=1e-14, abs=0)


OVERLAPS = np.array([[0.0, 0.3], [0.3, 0.0]])
ALIKE = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_the_least_decoders() -> None:
    one = Decoder(np.zeros((1, 1)), 2, LR, modified=False)
    assert one.errors(one.initial()).tolist() == [[0.5, -0.5]]
    alike = Decoder(ALIKE, 9, 1.0, modified=False)  # the gradient needs no independent classes
    assert np.isfinite(alike.rhs(0.0, alike.initial().ravel())).all()
    assert decoder.zeta(500, 1000).shape == (500, 501)


def one_step(n: Any) -> Any:
    model = Decoder(OVERLAPS, 9, 1.0, modified=True)
    return model.step(model.initial(), n)


AN_OVERLAP = "E holds one overlap for each pair of classes, f_n^T f_n' = f_n'^T f_n"
NEXT_TOKENS = "next tokens are tokens, and M >= 2"
INDEPENDENT = "(I + E)^-1 needs classes whose f_n are linearly independent"
MADE: list[tuple[Any, Any, Any, str, str]] = [
    *((np.zeros(shape), 9, 1.0, f"E of shape {shape}", AN_OVERLAP) for shape in ((3,), (2, 3), (3, 2), (3, 3, 3))),
    (np.zeros((3, 3)), 2, 1.0, "M = 2 with K = 3", NEXT_TOKENS),
    (np.zeros((1, 1)), 1, 1.0, "M = 1 with K = 1", NEXT_TOKENS),
    (np.array([[0.0, 0.3], [0.2, 0.0]]), 9, 1.0, "E, which isn't its transpose", AN_OVERLAP),
    (np.full((2, 2), np.nan), 9, 1.0, "E = nan", AN_OVERLAP),
    (np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1e-200], [0.0, 1e-200, 0.0]]), 9, 1.0, "E with I + E singular", INDEPENDENT),
    (ALIKE, 9, 1.0, "E with I + E singular", INDEPENDENT),
    (OVERLAPS, np.nan, 1.0, "M = nan with K = 2", NEXT_TOKENS),
    (OVERLAPS, 9, -1.0, "lr_y = -1.0", RATE.says),
    (OVERLAPS, 9, np.nan, "lr_y = nan", RATE.says),
]
NO_HEIGHTS = [
    ([0.1], "1 heights with K = 2"),
    ([0.1, 0.1, 0.1], "3 heights with K = 2"),
    ([0.1, -0.1], "heights = -0.1"),
    ([0.1, np.inf], "heights = inf"),
    ([[0.1, 0.1]], "heights of shape (1, 2)"),
    ([[0.1], [0.1]], "heights of shape (2, 1)"),
]
BAD: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
    *((partial(Decoder, modified=True), (E, M, rate), value, rule) for E, M, rate, value, rule in MADE),
    *((one_step, (n,), f"n = {n!r}", "classes are numbered 0..1") for n in (-1, 2, 3, True, 0.0, None)),
    *(
        (decoder.solution, (OVERLAPS, 9, heights), value, "one finite height a class, not negative")
        for heights, value in NO_HEIGHTS
    ),
    *((decoder.zeta, (3, M), f"vocab_size = {M!r}", SIZE.says) for M in ([9], np.array([9]), "9", None, np.nan)),
    *((decoder.zeta, (K, 9), f"num_classes = {K!r}", "a positive integer") for K in (0, 2.5, "3")),
    (decoder.zeta, (20_000, 50_000), "zeta of 4e+08 numbers", "an array in memory holds 1e+08 of them at most"),
]


@pytest.mark.parametrize(("call", "arguments", "value", "rule"), BAD)
def test_bad_input_is_refused(call: Callable[..., Any], arguments: tuple[Any, ...], value: str, rule: str) -> None:
    with refuses(value, rule):
        call(*arguments)


def test_overlaps_are_their_transpose_but_for_rounding() -> None:
    for off in (decoder.SYMMETRY_TOLERANCE, 0.5 * decoder.SYMMETRY_TOLERANCE):
        decoder.Decoder(np.array([[0.0, off], [0.0, 0.0]]), 9, LR, modified=True)
    with refuses(
        "E, which isn't its transpose", "E holds one overlap for each pair of classes, f_n^T f_n' = f_n'^T f_n"
    ):
        decoder.Decoder(np.array([[0.0, 2 * off * 1.001], [0.0, 0.0]]), 9, LR, modified=True)


def test_path_follows_the_solution_under_update_26() -> None:
    E = 0.2 * (1 - np.eye(3))
    times = np.array([1.0, 30.0, 200.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the solver warns of a setting that it doesn't know
        path = Decoder(E, 50, LR, modified=True).path(times)
    expected = [decoder.solution(E, 50, np.full(3, clocks.h(t / 3, 50, LR))) for t in times]
    assert path == pytest.approx(np.stack(expected), abs=1e-7)


def test_beta_over_iota_is_read_off_g() -> None:
    E = 0.2 * (1 - np.eye(3))
    model = Decoder(E, 50, LR, modified=True)
    (V,) = model.path([100.0])
    found = decoder.beta_over_iota(np.stack([model.gradient(V)] * 2))
    assert (decoder.beta_over_iota(model.gradient(V)) == found[0]).all()
    directions = np.eye(3) - spectrum.E_prime(E)
    expected = -(directions @ (np.eye(3) - 1 / 50))  # of which the diagonal is -iota
    assert found[1] == pytest.approx(expected / -expected.diagonal()[:, None] * (1 - np.eye(3)), abs=1e-6)
    assert found.diagonal(axis1=1, axis2=2) == pytest.approx(np.zeros((2, 3)), abs=1e-15)
