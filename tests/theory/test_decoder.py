"""The decoder on the overlaps alone, against the same updates written out on Y with all M columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from scansnap_core import BadInput
from scansnap_core.theory import clocks, decoder, flows, spectrum
from scansnap_core.theory.decoder import Decoder
from tests.engine.references import overlapping_classes

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


def test_true_flow_with_Z_fixed() -> None:
    classes = overlapping_classes()
    whole = flows.TrueFlow(classes, LR, 0.0)
    model = Decoder(classes.E, classes.vocab_size, LR, modified=False)
    options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13}
    Y, _, _ = whole.unpack(solve_ivp(whole.rhs, (0, 30), whole.initial(), **options).y[:, -1])
    V = solve_ivp(model.rhs, (0, 30), model.initial().ravel(), **options).y[:, -1].reshape(3, 4)
    assert pytest.approx(Y, abs=1e-9) == rows_of_F().T @ V
    assert np.abs(Y).max() > 1


def test_idealised_flow_is_h_at_t_over_K() -> None:
    E = overlapping_classes().E
    model = Decoder(E, 1000, LR, modified=True)
    end = solve_ivp(model.rhs, (0, 60), model.initial().ravel(), method="DOP853", rtol=1e-11, atol=1e-15).y[:, -1]
    expected = decoder.solution(E, 1000, np.full(3, clocks.h(20.0, 1000, LR)))
    assert end.reshape(3, 4) == pytest.approx(expected, rel=1e-8, abs=0)


def test_the_error_of_a_learned_class_keeps_its_digits() -> None:
    model = Decoder(np.zeros((2, 2)), 10, LR, modified=False)
    V = 50.0 * decoder.zeta(2, 10)
    # 1 - alpha_nn = 9 exp(-50 (10/9)) to leading order, far below the spacing of numbers near 1
    assert model.errors(V)[0, 0] == pytest.approx(9 * np.exp(-500 / 9), rel=1e-12, abs=0)


def test_leading_axes_are_times() -> None:
    model, V = stepped(9, modified=False)
    both = np.stack([V, 2 * V])
    assert model.gradient(both)[1] == pytest.approx(model.gradient(2 * V), rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("shape", "vocab_size"), [((3,), 9), ((2, 3), 9), ((3, 2), 9), ((3, 3, 3), 9), ((3, 3), 2), ((1, 1), 1)]
)
def test_bad_input_is_named(shape: tuple[int, ...], vocab_size: int) -> None:
    with pytest.raises(BadInput, match=r"E of shape|M = 2 with K = 3|M = 1 with K = 1"):
        Decoder(np.zeros(shape), vocab_size, LR, modified=False)


def test_one_class_of_two_tokens_is_the_least() -> None:
    model = Decoder(np.zeros((1, 1)), 2, LR, modified=False)
    assert model.errors(model.initial()).tolist() == [[0.5, -0.5]]


OVERLAPS = np.array([[0.0, 0.3], [0.3, 0.0]])
ALIKE = np.array([[0.0, 1.0], [1.0, 0.0]])
ALIKE_TO_ROUNDING = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1e-200], [0.0, 1e-200, 0.0]])


@pytest.mark.parametrize(
    ("E", "vocab_size", "lr_y", "rule"),
    [
        (np.array([[0.0, 0.3], [0.2, 0.0]]), 9, 1.0, "E, which isn't its transpose"),
        (np.full((2, 2), np.nan), 9, 1.0, "E = nan: "),
        (ALIKE_TO_ROUNDING, 9, 1.0, "E with I \\+ E singular"),
        (ALIKE, 9, 1.0, "E with I \\+ E singular: .*; merge classes that are alike"),
        (OVERLAPS, np.nan, 1.0, "next tokens are tokens"),
        (OVERLAPS, 9, -1.0, "lr_y = -1.0: a learning rate is positive"),
        (OVERLAPS, 9, np.nan, "lr_y = nan: a learning rate is positive"),
    ],
)
def test_bad_input_of_a_decoder_is_refused(E: np.ndarray, vocab_size: int, lr_y: float, rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        decoder.Decoder(E, vocab_size, lr_y, modified=True)


@pytest.mark.parametrize("n", [-1, 2, 3, True, 0.0, None])
def test_a_step_shows_one_of_the_classes(n: Any) -> None:
    model = decoder.Decoder(OVERLAPS, 9, 1.0, modified=True)
    with pytest.raises(BadInput, match=r"n = .*: classes are numbered 0\.\.1"):
        model.step(model.initial(), n)


def test_the_gradient_needs_no_independent_classes() -> None:
    model = decoder.Decoder(ALIKE, 9, 1.0, modified=False)
    assert np.isfinite(model.rhs(0.0, model.initial().ravel())).all()


@pytest.mark.parametrize("heights", [[0.1], [0.1, 0.1, 0.1], [0.1, -0.1], [0.1, np.inf]])
def test_a_solution_takes_one_height_a_class(heights: list[float]) -> None:
    with pytest.raises(BadInput, match="one finite height a class, not negative"):
        decoder.solution(OVERLAPS, 9, heights)


def test_zeta_of_more_classes_than_memory_holds_is_refused() -> None:
    assert decoder.zeta(500, 1000).shape == (500, 501)
    with pytest.raises(BadInput, match=r"zeta of 4e\+08 numbers"):
        decoder.zeta(20_000, 50_000)


def test_overlaps_are_their_transpose_but_for_rounding() -> None:
    for off in (decoder.SYMMETRY_TOLERANCE, 0.5 * decoder.SYMMETRY_TOLERANCE):
        decoder.Decoder(np.array([[0.0, off], [0.0, 0.0]]), 9, LR, modified=True)
    with pytest.raises(BadInput, match="isn't its transpose"):
        decoder.Decoder(np.array([[0.0, 2 * off * 1.001], [0.0, 0.0]]), 9, LR, modified=True)


@pytest.mark.parametrize("vocab_size", [[9], np.array([9]), "9", None, np.nan])
def test_zeta_is_of_one_vocabulary(vocab_size: Any) -> None:
    with pytest.raises(BadInput, match=r"vocab_size = .*: an integer"):
        decoder.zeta(3, vocab_size)


def test_path_follows_the_solution_under_update_26() -> None:
    E = spectrum.equal_overlaps(3, 0.2)
    times = np.array([1.0, 30.0, 200.0])
    path = Decoder(E, 50, LR, modified=True).path(times)
    expected = [decoder.solution(E, 50, np.full(3, clocks.h(t / 3, 50, LR))) for t in times]
    assert path == pytest.approx(np.stack(expected), abs=1e-7)


def test_beta_over_iota_is_read_off_g() -> None:
    E = spectrum.equal_overlaps(3, 0.2)
    model = Decoder(E, 50, LR, modified=True)
    (V,) = model.path([100.0])
    found = decoder.beta_over_iota(np.stack([model.gradient(V)] * 2))
    directions = np.eye(3) - spectrum.E_prime(E)
    expected = -(directions @ (np.eye(3) - 1 / 50))  # of which the diagonal is -iota
    assert found[1] == pytest.approx(expected / -expected.diagonal()[:, None] * (1 - np.eye(3)), abs=1e-6)
    assert found.diagonal(axis1=1, axis2=2) == pytest.approx(np.zeros((2, 3)), abs=1e-15)
