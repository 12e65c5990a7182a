"""The letters. One with a trailing underscore is the *value* of what has a closed form under the
bare name.

``gamma`` is written in ``h_``, and ``h`` is what h is at time t.
"""

from collections.abc import Callable

from sympy import IndexedBase, MatrixSymbol, Symbol

from scansnap_core.theory.formulas.registry import record_symbol as _record


def _letters(**assumed: bool) -> Callable[[str, str, str], Symbol]:
    return lambda name, letter, meaning: _record(name, Symbol(letter, **assumed), meaning)


_positive = _letters(positive=True)
_nonnegative = _letters(nonnegative=True)
_real = _letters(real=True)
_index = _letters(integer=True, positive=True)

# sizes, rates, time
M = _positive("M", "M", "Vocabulary size.")
K = _positive("K", "K", "Number of classes (next tokens).")
T = _positive("T", "T", "Sequence length; T - 1 contextual tokens are drawn.")
N = _positive("N", "N", "Number of steps of batch size 1.")
eta_Y = _positive("eta_Y", "eta_Y", "Learning rate of Y.")  # noqa: N816
eta_Z = _positive("eta_Z", "eta_Z", "Learning rate of Z.")  # noqa: N816
t = _nonnegative("t", "t", "Time, in steps of batch size 1.")
i = _nonnegative("i", "i", "Number of updates of an optimizer.")
mu = _nonnegative("mu", "mu", "Momentum, below 1.")
delta = _positive("delta", "delta", "The probability with which a bound may fail, below 1.")
epsilon = _positive("epsilon", "epsilon", "The error to be reached.")

# the decoder
h_ = _nonnegative("h_", "h", "h(t) or h*(s): the decoder's weight, a logit.")
e_ = _nonnegative("e_", "e_nj", "An entry of the unit vector e_n: 1 at j = n, else 0.")
omega_1_ = _positive("omega_1_", "omega_1", "omega_1 of Lemma 8.")
Delta_1_ = _positive("Delta_1_", "Delta_1", "Delta_1(h) of Lemma 9's proof.")
Delta_2_ = _positive("Delta_2_", "Delta_2", "Delta_2(h) of Lemma 9's proof.")
q_0_ = _record("q_0_", Symbol("q_0", negative=True), "q_0 of App. D.1.")
q_1_ = _positive("q_1_", "q_1", "q_1 of App. D.1.")

# correlations
rho = _positive(
    "rho", "rho", "f_n^T f_n' at t = 0 where all overlaps are equal: 1/rho_0^2 of Sec. 6."
)
rho_0 = _positive("rho_0", "rho_0", "The length of c~_n, taken for constant in Sec. 6.")
x = _real("x", "lambda_i", "An eigenvalue of E, above -1.")
lambda_1 = _positive("lambda_1", "lambda_1", "The largest |eigenvalue| of E, below 1.")
lambda_ = _positive("lambda_", "lambda", "A bound on |lambda_1|, below 1.")
Ep_own = _real("Ep_own", "E'_nn", "E'_nn, which Lemma 16 shows not to be positive.")
Ep_other = _real("Ep_other", "E'_n'n", "E'_n'n.")
Ep_rest = _real(
    "Ep_rest",
    "S",
    "The sum over k != n of (1 + theta_k) E'_kn (in iota_n) or E'_kn' (in beta_nn').",
)
sigma = _real(
    "sigma",
    "sigma",
    "The relative error of e_n - alpha_n by unequal counts (Corollary 1), above -1.",
)
theta = _real("theta", "theta_n", "The relative error of w_n by unequal counts (Lemma 12).")
theta_other = _real("theta_other", "theta_n'", "The same of w_n'.")
own_logit = _positive(
    "own_logit", "a", "A class's own logit under the true gradient, M h(t/K) to leading order."
)
E = _record("E", MatrixSymbol("E", K, K), "E = F^T F - I, the overlaps (K x K).")
E_prime_ = _record("E_prime_", MatrixSymbol("E'", K, K), "E' (K x K).")
F = _record("F", MatrixSymbol("F", M, K), "F = [f_1..f_K], the decoder's inputs (M x K).")
Theta = _record("Theta", MatrixSymbol("Theta", K, K), "Theta = diag(theta_1..theta_K).")
W_bar = _record(
    "W_bar", MatrixSymbol("Wbar", K, M), "W with rows w_n = (M - 1) h(N/K) zeta_n (K x M)."
)

# counts
Delta_ = _nonnegative("Delta_", "Delta", "How far a class's count may be from N/K, in steps.")
N_bar = _positive("N_bar", "Nbar", "N/K rounded up: the steps that a class is shown in the mean.")

# attention
l = _index("l", "l", "A token.")  # noqa: E741
k = _index("k", "k", "The index that a sum runs over: a token or a class.")
P = _record("P", IndexedBase("P", positive=True), "P(l|n) over tokens l = 1..M.")
z_m = _record(
    "z_m",
    IndexedBase("z", real=True),
    "z_m, the row of Z of the query token, over tokens l = 1..M.",
)
z = _real("z", "z", "An attention logit.")
z_0 = _real("z_0", "z_0", "An attention logit at t = 0.")
c_l = _positive("c_l", "ctilde_l", "Unnormalised attention c~ of a token l.")
c_other = _positive("c_other", "ctilde_l'", "Unnormalised attention c~ of a token l'.")
f_l = _positive("f_l", "f_nl", "f_nl.")
f_other = _nonnegative("f_other", "f_n'l", "f_n'l.")
f_0 = _positive("f_0", "f_0", "f_{n l_0} at t = 0.")
overlap = _nonnegative("overlap", "rho_nn'", "f_n^T f_n'.")
r_0 = _real("r_0", "r_0", "The relative gain at t = 0.")
chi_ = _positive("chi_", "chi", "The growth factor.")
beta_n = _record(
    "beta_n", IndexedBase("beta", real=True), "beta_nk over classes k = 1..K, with beta_nn = 0."
)
E_n = _record("E_n", IndexedBase("E_n", nonnegative=True), "f_n^T f_k over classes k = 1..K.")

# the speed of attention
gamma_ = _nonnegative("gamma_", "gamma", "The speed control coefficient.")
Gamma_ = _nonnegative("Gamma_", "Gamma", "eta_Z times the integral of gamma.")
B_ = _nonnegative("B_", "B_n", "B_n(t), eta_Z times the integral of xi_n.")
xi_ = _real("xi_", "xi_n", "The growth rate xi_n.")
C_0 = _positive("C_0", "C_0", "rho_0^4/K of Sec. 6.")
