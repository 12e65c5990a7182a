"""The paper's closed forms, each once, as SymPy expressions under the paper's own symbols.

Chapters derive them, differentiate them and break them; :func:`scansnap_core.theory.functions.function_of` makes a
function of NumPy or Torch arrays of any of them. A symbol with a trailing underscore is the *value* of the quantity
whose closed form has the bare name: ``gamma`` is written in ``h_``, and ``h`` is what h is at time t.

Clocks: t and s count steps of batch size 1. In Lemmas 5-8 all steps show the one class; where K classes are seen in
turn, h is taken at t/K (Lemma 9).
"""

from sympy import IndexedBase, LambertW, Sum, Symbol, exp, log, sqrt

# -- symbols ---------------------------------------------------------------------------------------------------------

M = Symbol("M", positive=True)
"""Vocabulary size."""
K = Symbol("K", positive=True)
"""Number of classes (next tokens)."""
t = Symbol("t", nonnegative=True)
"""Time, in steps of batch size 1."""
eta_Y = Symbol("eta_Y", positive=True)  # noqa: N816
eta_Z = Symbol("eta_Z", positive=True)  # noqa: N816
C_0 = Symbol("C_0", positive=True)
"""rho_0^4 / K of Sec. 6."""
rho = Symbol("rho", positive=True)
"""f_n^T f_n' at t = 0 where all overlaps are equal: 1/rho_0^2 of Sec. 6."""
h_ = Symbol("h", nonnegative=True)
Gamma_ = Symbol("Gamma", nonnegative=True)
B_ = Symbol("B_n", nonnegative=True)
omega_1_ = Symbol("omega_1", positive=True)
gamma_ = Symbol("gamma", nonnegative=True)
chi_ = Symbol("chi", positive=True)
r_0 = Symbol("r_0", real=True)
"""The relative gain at t = 0."""
z = Symbol("z", real=True)
z_0 = Symbol("z_0", real=True)
"""An attention logit, and the same at t = 0."""
f_0 = Symbol("f_0", positive=True)
"""f_{n l_0} at t = 0."""
c_l, c_other = Symbol("ctilde_l", positive=True), Symbol("ctilde_l'", positive=True)
"""Unnormalised attention c~ of two tokens l and l'."""
l, k = Symbol("l", integer=True, positive=True), Symbol("k", integer=True, positive=True)  # noqa: E741
P = IndexedBase("P", positive=True)
"""P(l|n) over tokens l = 1..M."""
z_m = IndexedBase("z", real=True)
"""z_m, the row of Z of the query token, over tokens l = 1..M."""

# -- the decoder: one class seen again and again ---------------------------------------------------------------------

h_rate = eta_Y / ((M - 1) + exp(M * h_))
"""dh/dt (Eqn 44), and eta_Y times the factor of e_n - alpha_n (Eqn 32)."""

h_step = h_ + h_rate
"""h*(s) from h_ = h*(s - 1) (Eqn 33)."""

h_implicit = exp(M * h_) + (M - 1) * M * h_ - (M * eta_Y * t + 1)
"""Zero along the solution h(t) of Eqn 44 (Eqn 45)."""

h = log((M - 1) * LambertW(exp((M * eta_Y * t + 1) / (M - 1)) / (M - 1))) / M
"""h(t): Eqn 45 solved by Lambert's W. (The paper leaves it implicit.)"""

alpha_target = exp(M * h_) / ((M - 1) + exp(M * h_))
"""alpha_nn, the probability of the class's own next token, at h_ (Eqn 32)."""

alpha_other = 1 / ((M - 1) + exp(M * h_))
"""alpha_nj for j != n, at h_ (Eqn 32)."""

# -- where the exponential meets the line ----------------------------------------------------------------------------

J_lower = -LambertW(-1 / (M - 1)) / M
J_upper = -LambertW(-1 / (M - 1), -1) / M
"""The two zeros of exp(M h) - (M - 1) M h, the edges of J_1 (Lemma 8); real for M >= 1 + e. (The paper leaves them
implicit.)"""

omega_0 = 2 + log(J_lower) / log(M)
omega_1 = M * J_upper / log(M) - 1
"""Of Lemma 8: J_1 = [1/M^(2 - omega_0), (1 + omega_1) ln(M)/M]. omega_1 is Theorem 1's delta'."""

# -- the two ends of the phase transition -----------------------------------------------------------------------------

t_0_prime = K * log(M) / eta_Y
"""t_0', up to which attention scans: exp(M h) <= M - 1 (Lemma 9, Theorem 4)."""

t_0 = 2 * (1 + omega_1_) * K * log(M) / eta_Y
"""t_0, from which attention snaps, at omega_1_ = omega_1 for the o(1) (Lemma 9, Theorem 4)."""

# -- the speed of attention ------------------------------------------------------------------------------------------

gamma = (M - 1) ** 2 * h_ / ((M - 1) + exp(M * h_))
"""gamma(t) at h_ = h(t/K): the speed control coefficient (Lemma 9, Eqn 85)."""

Gamma = eta_Z / eta_Y * K * (M - 1) ** 2 * h_**2 / 2
"""Gamma(t) = eta_Z times the integral of gamma, at h_ = h(t/K) (Eqn 125-128)."""

B = log(C_0 + 4 * Gamma_) / 4
"""B_n at Gamma_ = Gamma(t), as printed (Eqn 124, 129)."""

B_shared = log(1 + 4 * K * (K - 1) * rho**2 * Gamma_) / (4 * K)
"""B_n at Gamma_ = Gamma(t) as Eqn 10 has it for small overlaps: the K classes share one logarithm. (Not in the paper;
see Theorem 4's chapter.)"""

z_snap = -log(4 * Gamma_ / C_0 + 1) / 4
"""z_ml of Theorem 4's common token at Gamma_ = Gamma(t) (Eqn 122)."""

xi_snap = gamma_ / (C_0 + 4 * Gamma_)
"""xi_n along z_snap, at gamma_ = gamma(t) (Eqn 123)."""

# -- attention -------------------------------------------------------------------------------------------------------

c = P[l] * exp(z_m[l]) / Sum(P[k] * exp(z_m[k]), (k, 1, M))
"""c_{l|m,n}: l1-normalised attention (Eqn 5)."""

f = P[l] * exp(z_m[l]) / sqrt(Sum(P[k] ** 2 * exp(2 * z_m[k]), (k, 1, M)))
"""f_nl: l2-normalised attention."""

r = (c_l / c_other) ** 2 - 1
"""r_{l/l'|n}: the relative gain of l over l' (Theorem 3)."""

chi = exp(2 * (z - z_0))
"""chi_l: the growth factor (Eqn 11)."""

r_grown = r_0 * chi_
"""r_{l/l'|n}(t) at chi_ = chi_l(t) (Eqn 11)."""

chi_lower = exp(2 * f_0**2 * B_)
chi_upper = exp(2 * B_)
"""The two sides of Eqn 12, at B_ = B_n(t)."""
