import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import as_pair, at, cleared, decide, positive, vanishes
from scansnap_core.theory.certify.overlaps import ONES, E_prime_word, E_word
from scansnap_core.theory.formulas import Gamma_, K, rho

proved = Chapter("theorem_4").witness("proved")
exact_pull = formulas.xi_equal
# %% idea
unit, now = sp.Identity(K), sp.Symbol("rho_t", positive=True)  # the overlap at time t, at most rho
fourth = sp.Symbol("f4", nonnegative=True)  # sum of f_l^4 over a class's distinct tokens
inverse = (unit - rho / (1 + (K - 1) * rho) * ONES) / (1 - rho)
slowest, fastest = K * (1 - rho) ** 2, K + 1  # -d ln(rho)/dB lies between their doubles


def law(kappa, speed):
    """B if the overlap falls like e^(-2 kappa B) and dB/dGamma = speed (rho(t)/rho)^2."""
    return sp.log(1 + 4 * kappa * speed * Gamma_) / (4 * kappa)


lower = law(fastest, (K - 1) * rho**2 / (1 + (K - 2) * rho))
upper = law(slowest, (K - 1) * rho**2 / (1 - rho**2))
# %% hide


def rates_of(classes):
    """xi_n/gamma = -E'_nn, and the common token's rate: all K classes push it, each with K - 1 terms."""
    a, b = as_pair(unit - inverse)
    push = classes * (K - 1) * b * rho * (rho - 1)
    return all_of(
        inverse=as_pair(((1 - rho) * unit + rho * ONES) * inverse) == (1, 0),
        xi=sp.simplify(-(a + b) - exact_pull) == 0,
        common=sp.simplify(push + K * (1 - rho) * exact_pull) == 0,
    )


def premises(part):
    """|ratio - 1| <= part (K - 1) rho for both repaired premises, up to Assumption 2's upper edge."""
    inside = K >= 2, rho * K * (K - 1) <= 1
    ratios = (1 / ((1 - rho) * (1 + (K - 1) * rho)), 1 / (1 + (K - 1) * rho))
    rooms = [part * (K - 1) * rho + sign * (ratio - 1) for ratio in ratios for sign in (1, -1)]
    return decide(sp.And(*(cleared(room) >= 0 for room in rooms)), *inside)


def sandwich(most):
    """-d ln(rho)/dB = 2 [K (1 - rho)^2 + sum of f_l^4], and dB/dGamma = xi_n/gamma, along (10); then comparison."""
    fall = K * (1 - now) ** 2 + fourth
    speed = exact_pull.subs(rho, now)
    slow, fast = (K - 1) * now**2 / (1 + (K - 2) * rho), (K - 1) * now**2 / (1 - rho**2)
    inside = K >= 2, now <= rho, rho < 1, fourth <= (1 - now) ** 2

    def no_less(larger, smaller):
        return decide(cleared(larger - smaller) >= 0, *inside)

    def solves(B, kappa, start):
        return sp.simplify(sp.diff(B, Gamma_) - start * sp.exp(-4 * kappa * B)) == 0

    return all_of(
        falls_at_least=decide(fall >= slowest, *inside),
        falls_at_most=decide(fall <= K + most, *inside),
        speed_at_least=no_less(speed, slow),
        speed_at_most=no_less(fast, speed),
        lower_law=solves(lower, fastest, slow.subs(now, rho)),
        upper_law=solves(upper, slowest, fast.subs(now, rho)),
    )


# %% hide
def within_a_share(part):
    """S = ln(1 + 4 K (K-1) rho^2 Gamma)/(4K) is at most (1 + part/K) B, by the lower law, and at least (1 - part/K) B.

    By the upper law for K >= 3. For K = 2 by the flow without the distinct tokens' f_l^4, on which B and Gamma are
    integrals over the overlap r = q rho: 1 + 8 rho^2 Gamma - e^(4B) starts at 0 and rises as r falls.
    """
    inside, r, q = (K >= 2, rho * K * (K - 1) <= 1), sp.Symbol("r", positive=True), sp.Symbol("q")
    B = (sp.log(rho * (1 - r) / ((1 - rho) * r)) + 1 / (1 - rho) - 1 / (1 - r)) / 4
    rises = 2 * rho**2 / exact_pull.subs({K: 2, rho: r}) - sp.exp(4 * B)
    left = 2 * (1 - rho) * (1 + rho * q) - q * sp.exp(1 / (1 - rho) - 1 / (1 - q * rho))
    return all_of(
        lower_law=decide(sp.And(K + part >= K + 1, cleared((K + 1) / (1 + (K - 2) * rho) - K) >= 0), *inside),
        upper_law=decide(K * (1 - rho) ** 2 >= K - part, K >= 3, *inside),
        and_its_logarithm=decide(slowest * (K - 1) <= K * (K - 1) * (1 - rho**2), *inside),
        B_of_the_overlap=sp.simplify(sp.diff(B, r) + 1 / (4 * r * (1 - r) ** 2)) == 0,
        K_2_over_rho=sp.simplify(rises.subs(r, q * rho) * q**2 * rho * (1 - rho) / (1 - q * rho) - rho * left) == 0,
        K_2=positive(left, {rho: (0, sp.Rational(1, 2)), q: (0, 1)}),
    )


# %% hide
def leading_order(times):
    """E' = E - E E', and f_n = s a_n makes E_nk = s^2 a_n a_k: a pair of (97) is -E_nk^2 and terms of s^6."""
    a_n, a_k, s = sp.symbols("a_n a_k s", positive=True)
    overlap = a_n * a_k * s**2
    pair = a_n * s * overlap * (overlap * a_n * s - a_k * s)
    return all_of(
        E_prime_is_E_to_first_order=vanishes(E_prime_word - E_word + E_word * E_prime_word),
        pair=sp.limit((pair + times * overlap**2) / s**4, s, 0) == 0,
    )


def peak_before_half_t_0(start):
    """At the peak M - 1 = e^v (v - 1), at the time s/eta_Y (45); and e^s < (M - 1) s puts s below Lemma 8's u_1.

    s lies between v and v + 1/(v - 1).
    """
    v = sp.Symbol("v", positive=True)
    m, far = sp.exp(v) * (v - 1), 12
    s = (sp.exp(v) - 1 + m * v) / (m + 1)
    return all_of(
        up_to_12=positive(v + sp.log(v - 1) + sp.log(s) - s, {v: (start, far)}),
        s_above_v=sp.simplify((s - v) * (m + 1) - (sp.exp(v) - 1 - v)) == 0,
        s_below=sp.simplify((v + 1 / (v - 1) - s) * (m + 1) - (1 + v + 1 / (v - 1))) == 0,
        beyond=at(sp.log(far - 1) + sp.log(far) - sp.Rational(1, far - 1), {}),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "$\\xi_n/\\gamma = (K-1)\\rho^2/[(1-\\rho)(1+(K-1)\\rho)]$ and $\\dot z_l = -K(1-\\rho)\\,\\eta_Z\\,\\xi_n$",
        rates_of,
        K,
        1,
        "the common token pushed by one class alone",
        "every $K \\ge 2$, one query, one common token, equal overlaps $\\rho < 1$, $M \\to \\infty$",
        "none",
    ),
    (
        "Repaired premises against (10): $|\\text{ratio} - 1| \\le (K-1)\\rho$",
        premises,
        1,
        sp.Rational(1, 2),
        "half of that",
        "every real $K \\ge 2$, one query, one common token, $0 < \\rho \\le 1/(K(K-1))$, $M \\to \\infty$",
        "the line above",
    ),
    (
        "Along (10) $B_n$ is between $\\frac{1}{4(K+1)}\\ln(1 + 4(K+1)\\frac{(K-1)\\rho^2}{1+(K-2)\\rho}\\Gamma)$ and "
        "$\\frac{1}{4\\kappa}\\ln(1 + 4\\kappa\\frac{(K-1)\\rho^2}{1-\\rho^2}\\Gamma)$, $\\kappa = K(1-\\rho)^2$",
        sandwich,
        1,
        sp.Rational(9, 10),
        "$K + 0.9$ for $K + 1$",
        "every $K \\ge 2$, $\\Gamma$ and $\\rho < 1$, $M \\to \\infty$, one query, one common token, $Z(0) = 0$, "
        "any distinct tokens, alike in all classes",
        "$\\frac{d}{dt}\\ln f_l = \\dot z_l - \\sum_k f_k^2\\dot z_k$; comparison of solutions",
    ),
    (
        "The shared form is within a $K$-th of $B_n$ along (10)",
        within_a_share,
        1,
        sp.Rational(9, 10),
        "nine tenths of a $K$-th",
        "every $K \\ge 2$ and $\\Gamma$, $M \\to \\infty$, $\\rho \\le 1/(K(K-1))$, one query, one common token, "
        "$Z(0) = 0$, distinct tokens alike in all classes",
        "the bounds above; comparison of solutions",
    ),
    (
        "Unequal classes, leading order: $\\xi_n \\to \\gamma\\sum_k E_{nk}^2$ and $\\dot z_l = -\\eta_Z\\sum_n\\xi_n$",
        leading_order,
        1,
        2,
        "twice that",
        "every $K$, one query, any shares $f_{nl} = s\\,a_n$ of one common token, $s \\to 0$, $M \\to \\infty$",
        "$\\beta = E'$",
    ),
    (
        "$\\gamma$ peaks before $t_0/2$",
        peak_before_half_t_0,
        sp.Rational(9, 5),
        sp.Rational(17, 10),
        "from $M = 5$ on",
        "every real $M \\ge 6$, $\\eta_Y > 0$ and $K$",
        "Lemma 8; Lemma 9: the peak is where $e^u(u-1) = M - 1$",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
