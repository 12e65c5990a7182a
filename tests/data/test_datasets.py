"""Syn-Small and Syn-Medium as the paper's figures used them, classes of a chosen overlap, and the audit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scansnap_core.data.audit import audit
from scansnap_core.data.datasets import syn_large, syn_medium, syn_small, with_overlap
from scansnap_core.data.sequences import SequenceClasses


def test_syn_small() -> None:
    classes = syn_small()
    assert classes.common_tokens.tolist() == list(range(10))
    assert classes.distinct_tokens(0).tolist() == list(range(10, 20))
    assert classes.distinct_tokens(1).tolist() == list(range(20, 30))
    assert classes.query_of.tolist() == [30, 31]
    assert classes.next_of.tolist() == [32, 33]
    total = 10 + 5.5  # ten tokens of weight 1, and 0.1 + 0.2 + ... + 1.0
    assert classes.probs[0, :10] == pytest.approx([1 / total] * 10, rel=1e-9, abs=0)
    assert classes.probs[1, 20:30] == pytest.approx([(i + 1) / 10 / total for i in range(10)], rel=1e-9, abs=0)


@pytest.mark.parametrize(("num_queries", "vocab_size"), [(1, 33), (3, 79), (5, 125), (10, 240)])
def test_syn_medium(num_queries: int, vocab_size: int) -> None:
    classes = syn_medium(num_queries)
    K = 2 * num_queries
    assert (classes.num_classes, classes.vocab_size) == (K, vocab_size)
    assert classes.common_tokens.tolist() == list(range(10))
    assert [classes.distinct_tokens(n).tolist() for n in (0, K - 1)] == [
        list(range(10, 20)),
        list(range(K * 10, K * 10 + 10)),
    ]
    first_query = 10 + 10 * K
    assert classes.query_of.tolist() == [first_query + n // 2 for n in range(K)]
    assert classes.next_of.tolist() == list(range(first_query + num_queries, vocab_size))


def test_syn_large_is_syn_medium_at_any_size() -> None:
    medium, large = syn_medium(3), syn_large(6, 10**12)
    assert (large.compact.probs == medium.compact.probs).all()
    assert (large.query_of == medium.query_of).all()
    assert (large.next_of == medium.next_of).all()
    assert large.vocab_size == 10**12
    odd = syn_large(3, 45)
    assert odd.query_of.tolist() == [40, 40, 41]
    assert odd.next_of.tolist() == [42, 43, 44]


@pytest.mark.parametrize("weights", [np.linspace(0.1, 1, 10), [1.0], [3, 1]])
@pytest.mark.parametrize("rho", [0.0, 0.01, 0.5, 0.99])
def test_every_overlap_is_rho(rho: float, weights: list[float]) -> None:
    K = 4
    classes = with_overlap(K, 60, rho, distinct_weights=weights)
    assert np.abs(classes.E - rho * (1 - np.eye(K))).max() < 1e-14
    assert classes.eigenvalues == pytest.approx([(K - 1) * rho] + [-rho] * (K - 1), abs=1e-14)
    assert classes.common_tokens.tolist() == ([0] if rho else [])
    assert all(len(classes.distinct_tokens(n)) == len(weights) for n in range(K))
    assert len(set(classes.query_of.tolist())) == 1


def holds(classes: SequenceClasses) -> dict[str, bool]:
    return {c.name: c.holds for c in audit(classes, lr_y=10, lr_z=1)}


def test_audit_inside_and_outside_each_edge() -> None:
    K, M = 3, 10_000
    low, high = 6 / math.sqrt(M), 1 / (K * (K - 1))  # 0.06 and 1/6
    inside = {
        "1(a) positions": True, "1(b) length": True, "1(c) rates": True,
        "2 vocabulary": True, "2 largest eigenvalue": True, "2 smallest eigenvalue": True,
    }  # fmt: skip
    for rho in (low * 1.001, (low + high) / 2, high * 0.999):
        assert holds(with_overlap(K, M, rho)) == inside
    assert holds(with_overlap(K, M, low * 0.999)) == {**inside, "2 smallest eigenvalue": False}
    assert holds(with_overlap(K, M, high * 1.001)) == {**inside, "2 largest eigenvalue": False}
    # M >= 10 K^2, where the eigenvalues have no room to be right
    assert holds(with_overlap(3, 90, 0.1))["2 vocabulary"] is True
    assert holds(with_overlap(3, 89, 0.1))["2 vocabulary"] is False


def test_audit_of_the_architecture() -> None:
    classes = with_overlap(3, 10_000, 0.1)
    named = {c.name: c for c in audit(classes, seq_len=128, lr_y=9.99, lr_z=1)}
    assert not named["1(b) length"].holds
    assert named["1(b) length"].actual == "T = 128"
    assert not named["1(c) rates"].holds
    assert named["1(c) rates"].actual == "eta_Y/eta_Z = 9.99"
    assert "1(c) rates" not in {c.name for c in audit(classes)}
