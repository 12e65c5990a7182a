"""What chance does: counts of classes (Lemmas 10-12) and shares of tokens (Lemma 18)."""

from sympy import log, sqrt

from scansnap_core.theory.formulas.registry import OWN_STEPS, STEPS, record
from scansnap_core.theory.formulas.symbols import Delta_, K, M, N, N_bar, T, delta, eta_Y, h_

_LIKELY = "with probability 1 - delta at least"

count_bound = record(
    "count_bound",
    sqrt(N / 2 * log(2 / delta)) + 1,
    "Lemma 10, (58)",
    "What |N_n - ceil(N P(n))| stays within.",
    conditions=_LIKELY,
    clock=STEPS,
)
count_bound_wide = record(
    "count_bound_wide",
    sqrt(N * log(2 / delta)),
    "Lemma 10, (58)",
    "What count_bound is claimed to be below.",
    conditions=_LIKELY,
    clock=STEPS,
)
Delta = record(
    "Delta",
    sqrt(N * log(1 / delta)),
    "App. D.1; Remark 4, (60)",
    "Delta before it is rounded up.",
    clock=STEPS,
)
h_spread = record(
    "h_spread",
    h_ * Delta_ / N_bar,
    "Lemma 11, (61), (63)",
    "What |h(N_n) - h(N_bar)| is at most of the order of, at h_ = h(N_bar).",
    conditions=_LIKELY,
    clock=OWN_STEPS,
)
error_slope = record(
    "error_slope",
    M / (M - 1) * eta_Y / 4,
    "Lemma 11, (64)",
    "The most that a step changes ln(M - 1 + exp(M h)) by, where exp(M h) = M - 1.",
    region=M > 1,
    clock=OWN_STEPS,
)
sigma_bound = record(
    "sigma_bound", eta_Y * Delta_ / 3, "Lemma 11, (62), (65)", "What sigma' stays within.", clock=OWN_STEPS
)
theta_bound = record(
    "theta_bound",
    K / sqrt(N) * sqrt(log(K / delta)),
    "Lemma 12; Theorem 5, (70)",
    "What all |theta_n| are at most of the order of.",
    conditions=_LIKELY + "; N >> K^2",
    clock=STEPS,
)
share_bound = record(
    "share_bound",
    sqrt(log(2 / delta) / (2 * (T - 1))),
    "Lemma 18, (136)",
    "What |q_l - P(l|m,n)| stays within.",
    region=T > 1,
    conditions=_LIKELY,
)
