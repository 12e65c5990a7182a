import sympy as sp
from flint import fmpq, fmpq_poly

from scansnap_core.ledger import Certificate, Chapter, all_of
from scansnap_core.theory.certify import (
    at,
    decide,
    enclose,
    nonnegative_between,
    positive_from_zero,
    positive_on_ray,
)

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


# %% hide
def chernoff(third):
    """Markov's bound with E e^(sN_n) <= e^(mu(e^s - 1)), mu = Np, at e^s = 1 + d and at 1 - d; there x = |s|."""
    x = sp.Symbol("x", positive=True)
    up, down = sp.exp(x) - 1, 1 - sp.exp(-x)  # d
    rate_up, rate_down = x * (1 + up) - up, down - x * (1 - down)
    return all_of(
        best_s=all(
            sp.simplify(sp.diff(sp.exp(s_10) - 1 - s_10 * (1 + sign), s_10).subs(s_10, s)) == 0
            for sign, s in ((up, x), (-down, -x))
        ),
        above=positive_on_ray(sp.expand(rate_up * (2 + third * up) - up**2), x, 0),
        below=positive_on_ray(sp.expand((rate_down - down**2 / 2) * sp.exp(2 * x)), x, 0),
    )


def bernstein_enough(least):
    """ceil(N/K) is up to 1 above mu = N/K, which the lower side pays; its rate d^2/2 has the room for it."""
    mu, eps, L = sp.symbols("mu epsilon L", positive=True)
    known = mu * eps**2 >= L * (2 + 2 * eps / 3), eps <= 1, least <= L
    lower = mu * eps - (1 - eps)  # mu d for N_n < (1 - eps)(mu + 1)
    return all_of(
        upper=decide(mu * eps**2 >= L * (2 + 2 * eps / 3), *known),
        lower=decide(sp.And(lower >= 0, lower**2 >= 2 * L * mu), *known),
    )


# %% hide
def missed_at_most(allowed, sizes):
    """P(|N_n - ceil(Np)| >= k) <= allowed(N, k) for every p: between two jumps of the ceiling a polynomial in p."""
    hit, missed, polynomials = fmpq_poly([0, 1]), fmpq_poly([1, -1]), 0
    for N in sizes:
        chance = [int(sp.binomial(N, i)) * hit**i * missed ** (N - i) for i in range(N + 1)]
        for jump in range(N):
            for k in range(1, N + 1):
                outside = sum((chance[i] for i in range(N + 1) if abs(i - jump - 1) >= k), fmpq_poly([0]))
                bound = enclose(allowed(N, k), {}).lower().fmpq()
                part = nonnegative_between((bound - outside).coeffs(), fmpq(jump, N), fmpq(jump + 1, N))
                polynomials += 1
                if not part and bound < 1:
                    gap = f"N = {N}, ceil(Np) = {jump + 1}, deviation {k}: {part.gap}"
                    return Certificate("algebra", False, "polynomials", gap, false=part.false)
    return Certificate("algebra", True, f"{polynomials} polynomials")


def far_bound_kept(first):
    """From N = 17 on the near bound is below it, and is kept."""
    return all_of(
        up_to_16=missed_at_most(lambda N, k: 2 * sp.exp(-sp.Rational(k**2, N)), range(first, 17)),
        from_17_on=near_below_far(17),
    )


def remark_4(power):
    """A miss of Delta is one of m + 1 or more, m >= Delta, y = m/sqrt N: at most e^(-power y^2) for every m.

    Far out by Hoeffding; the ceiling's 1 is inside the m + 1 above, and is the strict < below. Near by the mode, which
    is at ceil(Np) or one less: what lies within m is at least m/R of what lies within R = ceil(6 sqrt(N)/5).
    """
    y, q, a, b, m, R, within, further = sp.symbols("y q a b m R W V", positive=True)  # a, b: P at the two edges
    r, root = sp.Rational(6, 5), sp.sqrt(13)
    near = y * (1 - 2 * sp.exp(-2 * r**2)) / (r + 1 / root)
    return all_of(
        up_to_12=missed_at_most(lambda N, k: sp.exp(-power * sp.Rational((k - 1) ** 2, N)), range(1, 13)),
        far=decide(2 * q**2 <= q**power, q <= sp.Rational(1, 2)),
        mode=decide(within * R >= m * further, within >= m * (a + b), further - within <= (R - m) * (a + b), m <= R),
        near=positive_from_zero(near - 1 + sp.exp(-power * y**2), y, sp.sqrt(sp.log(2)), order=1),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "$P(|N_n - NP(n)| > N\\tau) \\le 2e^{-2N\\tau^2}$, so (58)'s near bound is kept with probability $1-\\delta$",
        hoeffding,
        sp.Rational(1, 4),
        sp.Rational(24, 100),
        "a curvature of 0.24, for $2e^{-N\\tau^2/0.48}$",
        "every $N$, $P(n)$ and $\\delta \\in (0,1)$",
        "independent draws; Markov's and the union bound; $|\\lceil x\\rceil - x| < 1$",
    ),
    (
        "Near bound below far bound for every $\\delta$",
        near_below_far,
        17,
        16,
        "$N = 16$",
        "every $N \\ge 17$, $\\delta \\in (0,1)$",
        "none",
    ),
    (
        "The far bound of (58) is kept with probability $1 - \\delta$",
        far_bound_kept,
        2,
        1,
        "from $N = 1$ on",
        "every $N \\ge 2$, $P(n)$ and $\\delta \\in (0,1)$",
        "the near bound is kept, above",
    ),
    (
        "(60) with constant 1: $|N_n - \\lceil NP(n)\\rceil| \\le \\Delta$ with probability $1 - \\delta$",
        remark_4,
        1,
        4,
        "$\\Delta/2$ in place of $\\Delta$",
        "every $N$, $P(n)$ and $\\delta \\in (0,1)$",
        "Hoeffding's bound, above; a binomial rises to its mode and falls beyond",
    ),
    (
        "Chernoff: $P(N_n \\ge (1+d)\\mu) \\le e^{-\\mu d^2/(2 + 2d/3)}$, $P(N_n \\le (1-d)\\mu) \\le e^{-\\mu d^2/2}$",
        chernoff,
        sp.Rational(2, 3),
        sp.Rational(6, 10),
        "$0.6\\,d$ for $\\frac23 d$",
        "every $N$, $P(n)$ and $d > 0$; $\\mu = NP(n)$",
        "independent draws; Markov's bound, $1 + x \\le e^x$",
    ),
    (
        "Bernstein's $N$ is enough: $|N_n - \\bar N| \\le \\varepsilon\\bar N$ with probability $1 - \\delta$",
        bernstein_enough,
        3,
        2,
        "$\\delta$ up to $2e^{-2}$",
        "every $K$, $\\varepsilon \\le 1$, $\\delta \\le 2e^{-3}$",
        "Chernoff's bounds, above",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
