"""Attention: Theorems 2 and 3; and what moves it: E', iota and beta of the gradient (9), unequal
counts.
"""

from sympy import Identity, Inverse, Sum, exp, log, sqrt

from scansnap_core.theory.formulas.registry import OWN_STEPS, STEPS, record
from scansnap_core.theory.formulas.symbols import *

c = record(
    "c",
    P[l] * exp(z_m[l]) / Sum(P[k] * exp(z_m[k]), (k, 1, M)),
    "Sec. 3.2, (5)",
    "c_{l|m,n}: l1-normalised attention.",
    conditions="T = infinity",
)
f = record(
    "f",
    P[l] * exp(z_m[l]) / sqrt(Sum(P[k] ** 2 * exp(2 * z_m[k]), (k, 1, M))),
    "Sec. 4, (7)",
    "f_nl: l2-normalised attention, what the decoder sees.",
    conditions="T = infinity",
)

z_force = record(
    "z_force",
    f_l * (overlap * f_l - f_other),
    "Theorem 2, (97)",
    "What one pair of classes adds to z'_ml, over eta_Z gamma beta_nn'.",
)
z_rate_distinct = record(
    "z_rate_distinct",
    eta_Z * f_l**2 * xi_,
    "Theorem 2, (98)",
    "z'_ml of a token that is distinct to class n.",
    conditions="Eqn 10; of true steps of batch size 1, the K-th part",
)
z_rate_common = record(
    "z_rate_common",
    -eta_Z * (1 - f_l**2) * xi_,
    "Theorem 2, (100)",
    "What class n adds to z'_ml of the single common token.",
    conditions="Eqn 10, with one common token",
)
z_force_symmetric = record(
    "z_force_symmetric",
    -(f_l**2) * (1 - overlap),
    "Corollary 2, (107)",
    "z_force at a common token on which all classes agree.",
)

r = record(
    "r", (c_l / c_other) ** 2 - 1, "Theorem 3", "r_{l/l'|n}: the relative gain of l over l'."
)
chi = record("chi", exp(2 * (z - z_0)), "Theorem 3, (11)", "chi_l: the growth factor.")
r_grown = record("r_grown", r_0 * chi_, "Theorem 3, (11)", "r_{l/l'|n}(t) at chi_ = chi_l(t).")
chi_lower = record(
    "chi_lower", exp(2 * f_0**2 * B_), "Theorem 3, (12)", "What chi is at least, at B_ = B_n(t)."
)
chi_upper = record(
    "chi_upper", exp(2 * B_), "Theorem 3, (12)", "What chi is at most, at B_ = B_n(t)."
)

_ONE = Identity(K)

E_prime = record(
    "E_prime",
    _ONE - Inverse(_ONE + E),
    "Lemma 14, (28), (77); App. D.1",
    "E' = I - (I + E)^-1, so that (I + E)^-1 = I - E'.",
    "repaired",
    conditions=(
        "App. D.1 defines E' with the opposite sign; (28), Lemmas 14-17 and Theorems 1 and 5 need "
        "this one"
    ),
)
lambda_prime = record(
    "lambda_prime",
    x / (1 + x),
    "Lemma 14, (77), (78)",
    "The eigenvalue of E' that goes with the eigenvalue lambda_i of E.",
    region=x > -1,
)
E_prime_size = record(
    "E_prime_size",
    lambda_1 / (1 - lambda_),
    "Lemma 15, (78)",
    "What the |eigenvalues| of E' stay within.",
    region=lambda_ < 1,
)
E_prime_gap = record(
    "E_prime_gap",
    lambda_1**2 / (1 - lambda_1),
    "Lemma 17, (80)",
    "What |E'_n'n - E_nn'| stays within.",
    region=lambda_1 < 1,
)
E_prime_equal = record(
    "E_prime_equal",
    rho / ((1 - rho) * (1 + (K - 1) * rho)),
    "Lemma 14",
    "E'_n'n where all overlaps are rho.",
    "ours",
    region=rho < 1,
)
Y = record(
    "Y",
    F * (_ONE - E_prime_) * (_ONE + Theta) * W_bar,
    "Theorem 5, (70)",
    "The solution of update (26), with W_bar's rows w_n = (M - 1) h(N/K) zeta_n.",
    conditions="Y(0) = 0, F at rest",
)

iota = record(
    "iota",
    (1 + sigma) * (q_1_ * (1 + theta) * (1 - Ep_own) - q_0_ * Ep_rest),
    "Theorem 1, (86)",
    "The coefficient of f_n in g/gamma, at Ep_rest = sum over k != n of (1 + theta_k) E'_kn.",
    conditions="update (26), F at rest",
)
beta_printed = record(
    "beta_printed",
    (1 + sigma) * (q_1_ * (1 + theta) * Ep_other + q_0_ * ((1 + theta_other) + Ep_rest)),
    "Theorem 1, (88)",
    "beta_nn' as printed: the first term of q_0 has the wrong sign.",
    conditions="update (26), F at rest",
)
beta = record(
    "beta",
    (1 + sigma) * (q_1_ * (1 + theta) * Ep_other + q_0_ * (Ep_rest - (1 + theta_other))),
    "Theorem 1, (88)",
    "The coefficient of -f_n' in g/gamma, at Ep_rest = sum over k != n of (1 + theta_k) E'_kn'.",
    "repaired",
    conditions="update (26), F at rest",
)
xi = record(
    "xi",
    gamma_ * Sum(beta_n[k] * E_n[k], (k, 1, K)),
    "Theorem 1a",
    "The growth rate xi_n, the sum running over the classes n' = k, with beta_nn = 0.",
)
pull = record(
    "pull",
    (1 + sigma) * (q_1_ * (1 + theta) * -Ep_own - q_0_ * Ep_rest),
    "Theorem 1, (91)-(93)",
    "xi_n/gamma in two parts, both positive under Assumption 2, at Ep_rest = sum over k != n of "
    "(1 + theta_k) E'_nk.",
    "ours",
    conditions="update (26), F at rest",
)
xi_equal = record(
    "xi_equal",
    (K - 1) * rho**2 / ((1 - rho) * (1 + (K - 1) * rho)),
    "Theorem 1a",
    "xi_n/gamma = -E'_nn where all overlaps are rho, as M grows.",
    "ours",
    region=rho < 1,
)
beta_true = record(
    "beta_true",
    exp(rho * own_logit) + (exp(rho * own_logit) - 1) / (rho * own_logit) - 1,
    "Lemma 3; Theorem 1",
    "M beta/iota under the true gradient (7) where all overlaps are rho, as M grows at a fixed "
    "own logit.",
    "ours",
)

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
    "The order of the bound on |h(N_n) - h(N_bar)|, at h_ = h(N_bar).",
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
    "sigma_bound",
    eta_Y * Delta_ / 3,
    "Lemma 11, (62), (65)",
    "What sigma' stays within.",
    clock=OWN_STEPS,
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
