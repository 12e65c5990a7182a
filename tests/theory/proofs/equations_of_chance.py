import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import decide, nonnegative_coefficients, positive_on_ray

proved = Chapter("equations_of_chance").witness("proved")


# %% idea
def ceilings(factor):
    """(60): Delta = ceil(a), a = sqrt(N ln(1/delta)) >= 1, and N-bar = ceil(mu), mu = N/K >= 1."""
    a, up, mu, mean = sp.symbols("a Delta mu N_bar", positive=True)
    rounded = a >= 1, mu >= 1, up >= a, up < a + 1, mean >= mu, mean < mu + 1
    return decide(sp.And(up * mu <= factor * a * mean, a * mean <= factor * up * mu), *rounded)


def three_lines(part_of_it):
    """(63), h concave and rising, h(0) = 0: its values at N-bar - Delta, N-bar and N_n, and its slope at the first."""
    low, mid, high, slope, gap, N = sp.symbols("h_low h_mid h_n slope Delta N", positive=True)
    part = sp.Symbol("part", nonnegative=True)  # |N_n - N| in units of Delta
    concave = gap < N, slope * (N - gap) <= low, low <= mid, mid - low <= slope * gap, part <= 1
    return all_of(
        more_than_the_mean=decide(high - mid <= part_of_it * (mid - low), *concave, high - mid <= part * (mid - low)),
        fewer=decide(mid - high <= part_of_it * (mid - low), *concave, low <= high, high <= mid),
        slope=decide(mid - low <= slope * gap, *concave),
        chord=decide(slope * gap * (N - gap) <= mid * gap, *concave),
    )


# %% hide
def sightings(power):
    """(72), (73): e^u = (M-1)(l/eps - 1), u = M h(S_n), l^2 = M/(M-1), lies between (M/eps)^(1/power) and M/eps.

    (M-1)/M at 1/power = 3/5 leaves at least half of ln(M/eps) for the second part of (73).
    """
    size, error = sp.symbols("M epsilon", positive=True)
    m, e = sp.symbols("m e", positive=True)  # M = 100 + m, 1/eps = 2 + e
    least = ((size - 1) * (1 / error - 1)) ** 5 - (size / error) ** (5 / power)
    shifted = least.subs({size: 100 + m, error: 1 / (2 + e)})
    return all_of(
        above=nonnegative_coefficients(sp.expand(shifted), m, e),
        below=decide((size - 1) * size <= size**2, size >= 1),  # (l (M-1)/eps)^2 against (M/eps)^2
        second_of_73=decide((size - 1) * 3 >= sp.Rational(5, 2) * size, size >= 100),
    )


def first_of_73(factor):
    """M eta_Y S_n = e^u - 1 + (M-1)u by (45), at most u (e^u + M - 1) = u (M-1) l/eps."""
    u = sp.Symbol("u", positive=True)
    return positive_on_ray(factor * u * sp.exp(u) - sp.exp(u) + 1, u, 0)


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(60), last part: $\\Delta/\\bar N$ is within a factor 2 of $(K/\\sqrt N)\\sqrt{\\ln(1/\\delta)}$",
        ceilings,
        2,
        sp.Rational(19, 10),
        "a factor 1.9",
        "every $K$, $N \\ge K$, $\\delta$ with $N\\ln(1/\\delta) \\ge 1$",
        "none",
    ),
    (
        "(63), its three lines",
        three_lines,
        1,
        sp.Rational(1, 2),
        "half the second line",
        "every $M > 1$, $\\eta_Y > 0$, $\\Delta < \\bar N$, $|N_n - \\bar N| \\le \\Delta$",
        "$h$ is concave (Lemma 11), $h(0) = 0$",
    ),
    (
        "(72) and (73), second part, within a factor 2",
        sightings,
        sp.Rational(5, 3),
        sp.S.One,
        "$\\ln(M/\\varepsilon)$ itself below",
        "every real $M \\ge 100$, $\\varepsilon \\le \\frac12$",
        "none",
    ),
    (
        "(73), first part: $S_n \\le \\sqrt{M/(M-1)}\\,h(S_n)(M-1)/(\\eta_Y\\varepsilon)$",
        first_of_73,
        1,
        sp.Rational(9, 10),
        "0.9 of it",
        "every real $M > 1$, $\\eta_Y > 0$, $\\varepsilon < 1$",
        "(45)",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
