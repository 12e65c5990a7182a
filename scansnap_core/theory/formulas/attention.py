"""Attention: its normalisations, the fates of its logits (Theorem 2), relative gain and growth factor (Theorem 3)."""

from sympy import Sum, exp, sqrt

from scansnap_core.theory.formulas.registry import record
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

r = record("r", (c_l / c_other) ** 2 - 1, "Theorem 3", "r_{l/l'|n}: the relative gain of l over l'.")
chi = record("chi", exp(2 * (z - z_0)), "Theorem 3, (11)", "chi_l: the growth factor.")
r_grown = record("r_grown", r_0 * chi_, "Theorem 3, (11)", "r_{l/l'|n}(t) at chi_ = chi_l(t).")
chi_lower = record("chi_lower", exp(2 * f_0**2 * B_), "Theorem 3, (12)", "What chi is at least, at B_ = B_n(t).")
chi_upper = record("chi_upper", exp(2 * B_), "Theorem 3, (12)", "What chi is at most, at B_ = B_n(t).")
