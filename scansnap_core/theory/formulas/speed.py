"""The speed of attention: gamma (Lemma 9), its integral Gamma, and the two laws of B_n (Theorem 4)."""

from sympy import exp, log

from scansnap_core.theory.formulas.registry import STEPS, record
from scansnap_core.theory.formulas.symbols import C_0, Gamma_, K, M, eta_Y, eta_Z, gamma_, h_, i, mu, rho, rho_0, t, z

_SNAPPING = "the premises of Theorem 4: one common token, one query, z'_ml and xi_n of the order of exp(4 z_ml)"

gamma = record(
    "gamma",
    (M - 1) ** 2 * h_ / ((M - 1) + exp(M * h_)),
    "Lemma 9; Theorem 1, (85)",
    "gamma(t) at h_ = h(t/K): the speed control coefficient.",
    clock=STEPS,
)
Gamma = record(
    "Gamma",
    eta_Z / eta_Y * K * (M - 1) ** 2 * h_**2 / 2,
    "Theorem 4, (125)-(128)",
    "Gamma(t) = eta_Z times the integral of gamma, at h_ = h(t/K).",
    clock=STEPS,
)

C_0_of_rho = record("C_0_of_rho", rho_0**4 / K, "Theorem 4, (13)", "C_0, with rho_0 the length of c~_n.")
z_rate_snap = record(
    "z_rate_snap",
    -eta_Z * gamma_ * exp(4 * z) / C_0,
    "Theorem 4, (13)",
    "z'_ml of the common token, Theorem 4's first premise.",
)
xi_of_z = record("xi_of_z", gamma_ * exp(4 * z) / C_0, "Theorem 4, (13)", "xi_n, Theorem 4's second premise.")
z_snap = record(
    "z_snap",
    -log(4 * Gamma_ / C_0 + 1) / 4,
    "Theorem 4, (122)",
    "z_ml of the common token at Gamma_ = Gamma(t).",
    conditions=_SNAPPING,
)
xi_snap = record(
    "xi_snap",
    gamma_ / (C_0 + 4 * Gamma_),
    "Theorem 4, (123)",
    "xi_n along z_snap, at gamma_ = gamma(t).",
    conditions=_SNAPPING,
)
B = record(
    "B",
    log(C_0 + 4 * Gamma_) / 4,
    "Theorem 4, (124), (129)",
    "B_n at Gamma_ = Gamma(t), as printed: at t = 0 it is ln(C_0)/4 instead of 0.",
    conditions=_SNAPPING,
)
B_early = record(
    "B_early",
    log(C_0 + 2 * (M - 1) ** 2 / (K * M**2) * eta_Y * eta_Z * t**2) / 4,
    "Theorem 4, (14), (130)",
    "B_n(t) while attention scans.",
    conditions="t < t_0'; " + _SNAPPING,
    clock=STEPS,
)
B_late = record(
    "B_late",
    log(C_0 + 2 * K * (M - 1) ** 2 / M**2 * (eta_Z / eta_Y) * log(M * eta_Y * t / K) ** 2) / 4,
    "Theorem 4, (14), (131)",
    "B_n(t) after attention has snapped.",
    region=t > 0,
    conditions="t >= t_0; " + _SNAPPING,
    clock=STEPS,
)
B_shared = record(
    "B_shared",
    log(1 + 4 * K * (K - 1) * rho**2 * Gamma_) / (4 * K),
    "Theorem 4, (129)",
    "B_n at Gamma_ = Gamma(t) as (10) has it for small overlaps: the K classes share one logarithm.",
    "ours",
    region=K > 1,
)

momentum_clock = record(
    "momentum_clock",
    i / (1 - mu) - mu * (1 - mu**i) / (1 - mu) ** 2,
    "Sec. 8",
    "How many steps of plain gradient descent i steps with heavy-ball momentum are worth under a constant gradient.",
    "ours",
    region=mu < 1,
    clock="updates",
)
