import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import at, decide, positive, positive_from_zero, positive_on_ray
from scansnap_core.theory.formulas import M, error_factor, eta_Y, h_

proved = Chapter("corollary_1").witness("proved")
A = sp.Symbol("A", positive=True)  # sqrt(M/(M-1))/epsilon
closed = (M - 1) / (M * eta_Y) * ((A - 1) + sp.log((M - 1) * (A - 1))) - 1 / (M * eta_Y)
# %% idea
over_eps, log_Me, log_K, log_delta = sp.symbols("E L k d", positive=True)  # 1/eps, ln(M/eps), ln K, ln(1/delta)
S, mean, L_K = sp.symbols("S mu L_K", positive=True)  # sightings (a whole number), N/K, ln(K/delta)


def no_later_than_the_flow(beyond):
    """Each step adds to the recursion's lead, so h* >= h (Lemma 7), and the length falls as h grows."""
    u, D = sp.symbols("u D", positive=True)
    time_at, rate = formulas.time_of_h.subs(h_, u / M), D * (M - 1 + sp.exp(u + beyond * D)) / M
    change = (time_at.subs(u, u + D) - time_at - 1).subs(eta_Y, rate)
    added = sp.exp(D) - 1 - D * sp.exp(beyond * D)
    return all_of(
        one_over_the_length_rises=sp.simplify(sp.diff(1 / error_factor, h_) * (M - 1) - M * sp.exp(M * h_)) == 0,
        a_step_s_lead=sp.simplify(change * M * rate - sp.exp(u) * added) == 0,
        positive=positive_on_ray(added, D, 0),
    )


# %% hide
def h_for_h_star(c):
    """A relative error c of the length is alpha (1 - e^-w), w = M(h* - h). There the lead passes its bound (Lemma 7).

    All over phi = (1 - alpha)/(1 - y), y = 1/M. To half the logarithm the steps up to alpha add G(alpha) - G(y), over
    1 - y, at most, with Lemma 7's G(a) = -a/48 + a^2/8. The rate 1 is the worst.
    """
    y, part, end = sp.Symbol("y"), sp.Symbol("part"), sp.Rational(1, 1000)
    alpha = c + (1 - c) * part
    phi, w = (1 - alpha) / (1 - y), -sp.log(1 - c / alpha)
    beyond = (alpha - y) / (1 - y) * (-sp.Rational(1, 48) + (alpha + y) / 8)
    box = {y: (0, sp.Rational(1, 100)), part: (end, 1 - end)}
    rooms = [c + (1 - alpha) * w + phi * (sp.log(phi) / 2 - G * beyond) for G in (0, 1)]
    return all_of(
        half_the_logarithm=positive(rooms[0], box, budget=2000),
        with_the_rest=positive(rooms[1], box, budget=2000),
        alpha_near_c=at(((1 - alpha) * w - 1).subs(part, end), {}),
        phi_near_0=at(c + end * sp.log(end) / 2 - end, {}),
    )


# %% hide
def sum_is_enough(part):
    """With x = A - 1 and q^2 = 1 - 1/M: 1/eps = (1 + x) q, and a = ln((M-1)x) is at most b = ln(M/eps) >= 0."""
    x, q, a, b = sp.symbols("x q a b", real=True)
    share = 1 - 1 / M
    in_x = closed.subs(A, 1 + x) * eta_Y - share * (x + sp.log((M - 1) * x)) + 1 / M
    known = x > 0, q > 0, q < 1
    return all_of(
        S_n_in_x=sp.simplify(in_x) == 0,
        a_below_b=decide(q**2 * x <= q * (1 + x), *known),
        b_not_negative=decide(M * q * (1 + x) >= 1, *known, sp.Eq(M * q**2, M - 1), M >= 2),
        sum=decide(part * (1 + x) * q + b - q**2 * (x + a) + (1 - q**2) > 0, *known, a <= b, b >= 0),
    )


def product_is_enough(vocabulary):
    return all_of(
        logarithm=at(sp.log(2 * vocabulary) - 2, {}),
        sum_below_product=decide(over_eps + log_Me <= over_eps * log_Me, over_eps >= 2, log_Me >= 2),
    )


def steps_are_enough(factor):
    """Chernoff: N_n <= S - 1 has at most the chance e^(-(mu - S + 1)^2/(2 mu)); rounding N costs mu up to 1/K."""
    known = mean >= factor * (S + L_K) - sp.Rational(1, 2), S >= 1
    return decide(sp.And(mean >= S - 1, (mean - S + 1) ** 2 >= 2 * mean * L_K), *known)


# %% hide
def steps_are_needed(factor):
    """Unseen with the chance (1 - 1/K)^N; and for N/K < S - 1 a median is below S, though delta/K < 1/2."""
    x = sp.Symbol("x", positive=True)  # 1/K
    return all_of(
        unseen=positive_from_zero(sp.Rational(139, 100) * x + sp.log(1 - x), x, sp.Rational(1, 2), order=1),
        both=decide(factor * mean >= S - 1 + L_K, mean >= S - 1, sp.Rational(139, 100) * mean >= L_K),
    )


def within_the_printed_count(factor):
    """2(S + ln(K/delta)), S < S_n + 1, against P = ln(M/eps)/(eps eta_Y) >= max(S_n, 2 ln K, ln(1/delta))."""
    printed, S_n = sp.symbols("P S_n", positive=True)
    known = S_n <= printed, log_K <= log_Me, 2 * log_Me <= printed, log_delta <= printed, log_Me >= 2
    return all_of(
        half_of_it_is_above_ln_K=decide(2 * log_Me <= over_eps * log_Me, over_eps >= 2),
        count=decide(2 * (S_n + 1 + log_K + log_delta) <= factor * printed, *known),
    )


def with_the_term(weight):
    """M >= 10 K^2 and eps <= 1/2 make 2 ln K <= ln(M/eps) - ln 20; S_n by the sum, the printed count by the product."""
    rate = sp.Symbol("e", positive=True)  # 1/eta_Y
    steps = 2 * (rate * (over_eps + log_Me) + 1 + log_K + log_delta)
    known = over_eps >= 2, log_Me >= 4, rate >= 1, 2 * log_K <= log_Me - sp.Rational(299, 100)
    return all_of(
        ln_20=at(sp.log(20) - sp.Rational(299, 100), {}),
        ln_80=at(sp.log(80) - 4, {}),
        count=decide(steps <= 2 * rate * over_eps * log_Me + weight * log_delta, *known),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "The recursion needs at most $\\lceil S_n\\rceil$ sightings",
        no_later_than_the_flow,
        0,
        1,
        "a recursion with $\\alpha$ taken after its step",
        "every real $M > 1$, $\\eta_Y > 0$, $\\varepsilon$",
        "none",
    ),
    (
        "(71) with $h(N_n)$ for $h^*(N_n)$: the error's length is off by at most 15 %",
        h_for_h_star,
        sp.Rational(15, 100),
        sp.Rational(12, 100),
        "12 %; 12.8 % is reached",
        "every real $M \\ge 100$, $0 < \\eta_Y \\le 1$ and $N_n$",
        "Lemma 7's bound on the lead, step by step",
    ),
    (
        "$S_n \\le \\frac{1}{\\eta_Y}(\\frac1\\varepsilon + \\ln\\frac M\\varepsilon)$",
        sum_is_enough,
        1,
        sp.Rational(1, 2),
        "half of $1/\\varepsilon$",
        "every real $M \\ge 2$, $\\eta_Y > 0$, $\\varepsilon < \\sqrt{M/(M-1)}$",
        "none",
    ),
    (
        "$S_n \\le \\frac{1}{\\varepsilon\\eta_Y}\\ln\\frac M\\varepsilon$, constant 1",
        product_is_enough,
        4,
        3,
        "from $M = 3$ on",
        "every real $M \\ge 4$, $\\eta_Y > 0$, $\\varepsilon \\le \\frac12$",
        "the sum, above",
    ),
    (
        "$N(K,\\delta) \\le 2K(S + \\ln\\frac K\\delta)$ for $S$ sightings of each class",
        steps_are_enough,
        2,
        sp.Rational(19, 10),
        "1.9 for 2",
        "every $K \\ge 2$, $S \\ge 1$, $\\delta \\in (0,1)$",
        "Chernoff's bound of Lemma 10; the union bound",
    ),
    (
        "$N(K,\\delta) \\ge \\frac{K}{2.4}(S - 1 + \\ln\\frac K\\delta)$",
        steps_are_needed,
        sp.Rational(24, 10),
        sp.Rational(22, 10),
        "2.2 for 2.4",
        "every $K \\ge 2$, $S \\ge 1$, $\\delta \\in (0,1)$",
        "a median of a binomial is at most its mean, rounded up",
    ),
    (
        "$N(K,\\delta)$ is at most 6 times the printed count for "
        "$\\delta \\ge (\\varepsilon/M)^{1/(\\varepsilon\\eta_Y)}$",
        within_the_printed_count,
        6,
        5,
        "5 for 6",
        "every real $M \\ge 4$, $2 \\le K \\le M$, $\\eta_Y \\le 1$, $\\varepsilon \\le \\frac12$",
        "the two bounds above",
    ),
    (
        "$N(K,\\delta)$ is at most twice the printed count plus $K\\ln\\frac1\\delta$",
        with_the_term,
        2,
        1,
        "half of $K\\ln\\frac1\\delta$",
        "every $K \\ge 2$, $M \\ge 10K^2$, $\\eta_Y \\le 1$, $\\varepsilon \\le \\frac12$, $\\delta \\in (0,1)$",
        "the bounds above",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
