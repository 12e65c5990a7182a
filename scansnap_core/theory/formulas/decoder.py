"""The decoder and the speed it gives attention: one class seen again and again (Lemmas 5-9), and
B_n (Theorem 4).
"""

from sympy import LambertW, exp, log

from scansnap_core.theory.formulas.registry import OWN_STEPS, STEPS, record
from scansnap_core.theory.formulas.symbols import *

h_rate = record(
    "h_rate",
    eta_Y / ((M - 1) + exp(M * h_)),
    "Lemma 6, (44); Lemma 5, (32)",
    "dh/dt, and eta_Y times the factor of e_n - alpha_n.",
    clock=OWN_STEPS,
)
h_step = record(
    "h_step",
    h_ + h_rate,
    "Lemma 5, (33)",
    "h*(s) from h_ = h*(s - 1).",
    conditions="Y(0) = 0, Z at rest, every step shows the one class",
    clock=OWN_STEPS,
)
h_implicit = record(
    "h_implicit",
    exp(M * h_) + (M - 1) * M * h_ - (M * eta_Y * t + 1),
    "Lemma 6, (45)",
    "Zero along the solution h(t) of (44).",
    clock=OWN_STEPS,
)
h = record(
    "h",
    log((M - 1) * LambertW(exp((M * eta_Y * t + 1) / (M - 1)) / (M - 1))) / M,
    "Lemma 6, (45)",
    "h(t): (45) solved by Lambert's W, where the paper leaves it implicit.",
    "ours",
    region=M > 1,
    clock=OWN_STEPS,
)
time_of_h = record(
    "time_of_h",
    (exp(M * h_) + (M - 1) * M * h_ - 1) / (M * eta_Y),
    "Lemma 6, (45)",
    "The time at which h(t) is h_: (45) solved for t.",
    "ours",
    clock=OWN_STEPS,
)

alpha_target = record(
    "alpha_target",
    exp(M * h_) / ((M - 1) + exp(M * h_)),
    "Lemma 5, (32)",
    "alpha_nn, the probability of the class's own next token, at h_.",
)
alpha_other = record(
    "alpha_other", 1 / ((M - 1) + exp(M * h_)), "Lemma 5, (32)", "alpha_nj for j != n, at h_."
)
error_factor = record(
    "error_factor",
    (M - 1) / ((M - 1) + exp(M * h_)),
    "Lemma 5, (32); Corollary 1, (71)",
    "The error e_n - alpha_n over zeta_n, at h_ = h(N_n).",
)

zeta = record(
    "zeta",
    M / (M - 1) * (e_ - 1 / M),
    "App. D.1; Lemmas 5 and 12, (31), (66)-(69)",
    "An entry of zeta_n, the direction along which w_n and e_n - alpha_n lie: 1 at n, -1/(M - 1) "
    "elsewhere.",
    region=M > 1,
)
w = record(
    "w",
    (M - 1) * h_ * zeta,
    "Lemma 5, (31); Lemma 12, (66)-(69)",
    "An entry of w_n = F^T Y's row n, at h_ = h*(s) or h(N_n).",
    conditions="update (26), or a single class",
    region=M > 1,
)
q_1 = record("q_1", 1 + 1 / (M - 1), "App. D.1; Theorem 1, (83)", "zeta_n^T zeta_n.", region=M > 1)
q_0 = record(
    "q_0",
    -M / (M - 1) ** 2,
    "App. D.1; Theorem 1, (83)",
    "zeta_n^T zeta_n' for n != n'.",
    region=M > 1,
)
steps_to_learn = record(
    "steps_to_learn",
    K / (epsilon * eta_Y) * log(M / epsilon),
    "Corollary 1, (73)",
    "What the number of steps to the error epsilon is claimed to be at most of the order of.",
    clock=STEPS,
)

J_lower = record(
    "J_lower",
    -LambertW(-1 / (M - 1)) / M,
    "Lemma 8, (50)",
    "The smaller zero of exp(M h) - (M - 1) M h, the left edge of J_1, which the paper leaves "
    "implicit.",
    "ours",
    region=1 + exp(1) < M,
)
J_upper = record(
    "J_upper",
    -LambertW(-1 / (M - 1), -1) / M,
    "Lemma 8, (51)",
    "The larger zero, the right edge of J_1.",
    "ours",
    region=1 + exp(1) < M,
)
omega_0 = record(
    "omega_0",
    log(J_lower) / log(M) + 2,
    "Lemma 8, (50)",
    "J_1 begins at 1/M^(2 - omega_0).",
    region=1 + exp(1) < M,
)
omega_1 = record(
    "omega_1",
    M * J_upper / log(M) - 1,
    "Lemma 8, (51); Theorem 1",
    "J_1 ends at (1 + omega_1) ln(M)/M; Theorem 1's delta'.",
    region=1 + exp(1) < M,
)

t_0_prime = record(
    "t_0_prime",
    K * log(M) / eta_Y,
    "Lemma 9; Theorem 4, (130)",
    "t_0', up to which attention scans: exp(M h) <= M - 1.",
    clock=STEPS,
)
t_0 = record(
    "t_0",
    K * log(M) / eta_Y * 2 * (1 + omega_1_),
    "Lemma 9, (55); Theorem 4, (131)",
    "t_0, from which attention snaps, at omega_1_ = omega_1 for the o(1).",
    clock=STEPS,
)
t_balanced = record(
    "t_balanced",
    (M - 2 + (M - 1) * log(M - 1)) / (M * eta_Y),
    "Lemma 9, (52)",
    "The time at which exp(M h) = M - 1, where the class's own token has half of alpha.",
    region=M > 1,
    clock=OWN_STEPS,
)
Delta_1 = record(
    "Delta_1",
    exp(M * h_) / (M - 1),
    "Lemma 9's proof",
    "alpha_nn over the sum of the others.",
    region=M > 1,
)
Delta_2 = record(
    "Delta_2",
    exp(M * h_) / ((M - 1) * M * h_),
    "Lemma 9's proof",
    "The exponential term of (45) over the linear one.",
    region=h_ > 0,
)
h_early = record(
    "h_early",
    (M * eta_Y * t + 1) / ((1 + Delta_2_) * M * (M - 1)),
    "Lemma 9, (53)",
    "h(t) by the linear term of (45), at Delta_2_ = Delta_2(h).",
    region=M > 1,
    clock=OWN_STEPS,
)
_grown = (M * eta_Y * t + 1) / (1 + 1 / Delta_2_)
h_late = record(
    "h_late",
    log(_grown) / M,
    "Lemma 9, (56)",
    "h(t) by the exponential term of (45), at Delta_2_ = Delta_2(h).",
    clock=OWN_STEPS,
)
gamma_early = record(
    "gamma_early",
    (M * eta_Y * t + 1) / ((1 + Delta_1_) * (1 + Delta_2_) * M),
    "Lemma 9, (54)",
    "gamma by the linear term of (45), K = 1.",
    clock=OWN_STEPS,
)
gamma_late = record(
    "gamma_late",
    (M - 1) ** 2 / M * log(_grown) / ((1 + 1 / Delta_1_) * _grown),
    "Lemma 9, (57)",
    "gamma by the exponential term of (45), K = 1.",
    clock=OWN_STEPS,
)

_SNAPPING = (
    "the premises of Theorem 4: one common token, one query, z'_ml and xi_n of the order of "
    "exp(4 z_ml)"
)

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

C_0_of_rho = record(
    "C_0_of_rho", rho_0**4 / K, "Theorem 4, (13)", "C_0, with rho_0 the length of c~_n."
)
z_rate_snap = record(
    "z_rate_snap",
    -eta_Z * gamma_ * exp(4 * z) / C_0,
    "Theorem 4, (13)",
    "z'_ml of the common token, Theorem 4's first premise.",
)
xi_of_z = record(
    "xi_of_z", gamma_ * exp(4 * z) / C_0, "Theorem 4, (13)", "xi_n, Theorem 4's second premise."
)
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
    "B_n at Gamma_ = Gamma(t) as (10) has it for small overlaps: the K classes share one "
    "logarithm.",
    "ours",
    region=K > 1,
)

momentum_clock = record(
    "momentum_clock",
    i / (1 - mu) - mu * (1 - mu**i) / (1 - mu) ** 2,
    "Sec. 8",
    "How many steps of plain gradient descent i steps with heavy-ball momentum are worth under a "
    "constant gradient.",
    "ours",
    region=mu < 1,
    clock="updates",
)
