"""Weak correlations: E', and the coefficients iota and beta of the back-propagated gradient (9)."""

from sympy import Identity, Inverse, Sum, exp

from scansnap_core.theory.formulas.registry import record
from scansnap_core.theory.formulas.symbols import (
    E,
    E_n,
    E_prime_,
    Ep_other,
    Ep_own,
    Ep_rest,
    F,
    K,
    Theta,
    W_bar,
    beta_n,
    gamma_,
    k,
    lambda_,
    lambda_1,
    own_logit,
    q_0_,
    q_1_,
    rho,
    sigma,
    theta,
    theta_other,
    x,
)

_ONE = Identity(K)

E_prime = record(
    "E_prime",
    _ONE - Inverse(_ONE + E),
    "Lemma 14, (28), (77); App. D.1",
    "E' = I - (I + E)^-1, so that (I + E)^-1 = I - E'.",
    "repaired",
    conditions="App. D.1 defines E' with the opposite sign; (28), Lemmas 14-17 and Theorems 1 and 5 need this one",
)
E_prime_printed = record(
    "E_prime_printed",
    Inverse(_ONE + E) - _ONE,
    "App. D.1",
    "E' as App. D.1 defines it, the negative of what the lemmas need.",
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
    "xi_n/gamma in two parts, both positive under Assumption 2, at Ep_rest = sum over k != n of (1 + theta_k) E'_nk.",
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
    "M beta/iota under the true gradient (7) where all overlaps are rho, as M grows at a fixed own logit.",
    "ours",
)
