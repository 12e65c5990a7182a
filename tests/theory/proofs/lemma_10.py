import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import at, decide

proved = Chapter("lemma_10").witness("proved")
# %% idea
pi_10, s_10, tau_10 = sp.symbols("pi s tau", real=True)


def hoeffding(curvature):
    """ln E e^(s(X-p)) has slope 0 at 0 and the curvature pi (1 - pi); Markov's bound at the best s."""
    exponent = curvature * s_10**2 / 2 - s_10 * tau_10
    best = exponent.subs(s_10, tau_10 / curvature)
    return all_of(
        curvature=decide(pi_10 * (1 - pi_10) <= curvature, pi_10 >= 0, pi_10 <= 1),
        best_s=sp.expand(exponent - best - curvature * (s_10 - tau_10 / curvature) ** 2 / 2) == 0,
        exponent=sp.simplify(best + tau_10**2 / (2 * curvature)) == 0,
    )


def near_below_far(steps_taken):
    """sqrt(x/2) + 1 < sqrt x exactly for x = N ln(2/delta) above 6 + 4 sqrt 2; delta < 1 makes x > N ln 2."""
    root = sp.sqrt(6 + 4 * sp.sqrt(2))
    return all_of(
        edge=sp.simplify((root / sp.sqrt(2) + 1 - root) ** 2) == 0,
        at_the_first=at(steps_taken * sp.log(2) - root**2, {}),
    )


proved.prove(
    "$P(|N_n - NP(n)| > N\\tau) \\le 2e^{-2N\\tau^2}$, so the near bound of (58) holds with probability $1-\\delta$",
    hoeffding,
    sp.Rational(1, 4),
    control=sp.Rational(24, 100),
    control_is="a curvature of 0.24, for $2e^{-N\\tau^2/0.48}$",
    region="every $N$, $P(n)$ and $\\delta \\in (0,1)$",
    assumptions="independent draws; Markov's and the union bound; $|\\lceil x\\rceil - x| < 1$",
)
proved.prove(
    "Near bound below far bound for every $\\delta$",
    near_below_far,
    17,
    control=16,
    control_is="$N = 16$",
    region="every $N \\ge 17$, $\\delta \\in (0,1)$",
)
