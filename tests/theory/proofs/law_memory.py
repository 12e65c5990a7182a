import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import decide
from scansnap_core.theory.formulas import K, M
from scansnap_core.theory.law import closed

proved = Chapter("law_memory").witness("proved")
# %% idea
here, past, lam_, end = sp.symbols("s x lambda_ A", positive=True)


def passes_on(most):
    """For a' = x <= s: x e^(-lambda (s² - x²)/2) is at most s times it, whose integral to infinity is 1/lambda."""
    weight = sp.exp(-lam_ * (here**2 - past**2) / 2)
    return all_of(
        below=decide(past <= most * here, here >= past),
        integral=sp.integrate(lam_ * here * weight, (here, past, sp.oo)) == 1,
        early=decide(past * (end - past) <= end**2 / 4),
    )


# %% hide
alpha_k, alpha_0, R_c = sp.symbols("alpha_other alpha_rest R")
G_, G_c = sp.symbols("G G_c", real=True)


def alike_close(factor):
    """All classes' errors together are M - K at a class's output and -K elsewhere, times alpha_rest; g by entries."""
    own = (K - 1) * alpha_k + (M - K) * alpha_0
    row = sp.expand((own - (K - 1) * alpha_k) / alpha_0 * R_c), -K * R_c
    common = row[0] * (own - (K - 1) * alpha_k) - (M - K) * alpha_0 * row[1]
    a = (K - 1) * closed.b_ + (M - K) * closed.c_
    alone = a * own + (K - 1) * closed.b_ * alpha_k + (M - K) * closed.c_ * alpha_0
    f_1, f_2 = sp.symbols("f_1:3", positive=True)
    f = sp.Matrix([f_1, f_2, sp.sqrt(1 - f_1**2 - f_2**2)])
    felt = f.multiply_elementwise(sp.Matrix([G_c, G_, G_]).multiply_elementwise(f))
    felt -= f.multiply_elementwise(f) * (f.T * sp.Matrix([G_c, G_, G_]).multiply_elementwise(f))[0]
    drift = (G_ - G_c) * f_1**2 * (f.multiply_elementwise(f) - sp.Matrix([1, 0, 0]))
    return all_of(
        common_row=sp.expand(common - factor * (M - K) * alpha_0 * R_c) == 0,
        drift=sp.expand(alone - common.subs(R_c, closed.c_) - (K - 1) * closed.kappa.subs(closed.a_, a)) == 0,
        felt=sp.simplify(felt - drift) == sp.zeros(3, 1),
    )


# %% hide
def constants(turns):
    """Each step of the bound; turns: what the logarithms of J's entries change by, for a unit of max dz - min dz."""
    low, width, one, two, mean = sp.symbols("low width one two mean", real=True)
    inside = sp.And(*[sp.And(each >= low, each <= low + width) for each in (one, two, mean)])
    y_c, y_j, y_i, k = sp.symbols("y_c y_j y_i k", real=True)
    p, grown, size = sp.symbols("p e f", positive=True)
    (a, b, c), share = sp.symbols("a b c", positive=True), sp.Symbol("pi", nonnegative=True)
    outputs = a >= (K - 1) * b + (M - K) * c, b >= c, K >= 2, M > K, share <= 1
    kernel = a - M * (1 - share) * c
    return all_of(
        f=decide(sp.And(one - mean <= width, mean - one <= width), inside),
        J=decide(sp.And((one - mean) + 2 * (two - mean) <= turns * width), inside),
        drift=decide(2 * (one - mean) + 2 * (two - mean) <= 4 * width, inside),
        common_and_distinct=decide((k * y_c - y_j) ** 2 <= (k**2 + 1) * (y_c**2 + y_j**2)),
        two_distinct=decide((y_i - y_j) ** 2 <= (k**2 + 1) * (y_i**2 + y_j**2), k**2 >= 2),
        f_by_J=sp.expand(size * (1 - p) * size + (1 - p) * p - 2 * p * (1 - p)).subs(size, sp.sqrt(p)) == 0,
        second_order=sp.expand((grown**3 - 1) * grown**3 + (grown**3 - 1) - (grown**6 - 1)) == 0,
        kernel=sp.expand((kernel - (K - 1) * (b - c) + c - share * M * c).subs(a, (K - 1) * b + (M - K) * c)) == 0,
        rest=decide((M - K) * c <= a, *outputs),
        others=decide(sp.And((K - 1) * (b - c) <= a, b - c <= a), *outputs),
        own=decide(share * (b - c) <= (K - 1) * (b - c), *outputs),
        drift_rises=decide(a + b >= (K - 1) * (b - c), *outputs),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "Memory lets nothing grow: $a'\\int_{a'}^a e^{-\\lambda(s^2-a'^2)/2}\\,ds \\le \\min(a^2/4,\\,1/\\lambda)$",
        passes_on,
        1,
        sp.Rational(9, 10),
        "$0.9/\\lambda$",
        "all $\\lambda, a > 0$ and $0 \\le a' \\le a$",
        "none",
    ),
    (
        "Alike classes: $g$ at the common token is $M(M-K)\\,\\alpha_{rest}\\int f_c\\,\\alpha_{rest}\\,d\\tau$, "
        "the drift that is felt $(K-1)\\,\\kappa f_c^2\\,(f^2 - e_c)$",
        alike_close,
        M,
        M - K,
        "$(M-K)^2$",
        "every $K$ and $M$, any $Z$ that is alike for the classes",
        "three tokens stand for any number in the last step",
    ),
    (
        "The steps of the linear law's error, each with its constant",
        constants,
        3,
        2,
        "entries of $J$ that change by $2\\zeta$",
        "every $K \\ge 2$, $M > K$, any number of distinct tokens",
        "the two claims above; norms and the triangle inequality, as on this page",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
