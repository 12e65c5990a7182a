import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import as_pair, cleared, decide, normal_form, vanishes
from scansnap_core.theory.certify.overlaps import ONES, E_prime_word, E_word
from scansnap_core.theory.formulas import K, M, rho

proved = Chapter("lemma_03").witness("proved")
A, B, C = sp.symbols("a b c", real=True)
near, far = sp.symbols("alpha' alpha_o", positive=True)
margin_near = (1 - rho) * (A - B)
margin_far = A + (K - 1) * rho * B - (1 + (K - 1) * rho) * C
gamma_beta = near * (A - B) + (M - K) * far * (C - B)
gamma_iota = (K - 1) * near * (A - B) + (M - K) * far * (A - C)
# %% idea
one_K, lambda_k, bound = sp.Identity(K), sp.Symbol("lambda_k", real=True), sp.Symbol("lambda_1", positive=True)
gram_all = (1 - rho) * one_K + rho * ONES  # I + E where all overlaps are rho
inverse_all = (one_K - rho / (1 + (K - 1) * rho) * ONES) / (1 - rho)


def coordinates(seen):
    """(24) holds with any a to its right, which the trace only moves round."""
    F_all, Y_M, dY_M = (sp.MatrixSymbol(name, M, M) for name in ("F", "Y", "dY"))
    unit = sp.MatrixSymbol("e", M, 1)
    return all_of(
        eqn_24=(seen(F_all, dY_M).T * unit - dY_M.T * F_all * unit).doit().is_ZeroMatrix is True,
        eqn_25=(seen(F_all, Y_M).T * unit - Y_M.T * F_all * unit).doit().is_ZeroMatrix is True,
    )


def update(sign):
    """(27)-(30) and (40) for every E with an E', and what the modification F E' e_n is."""
    prime = sign * E_prime_word
    return all_of(
        row_n_moves_alone=vanishes((1 + E_word) * (1 - prime) - 1),
        true_rows=vanishes(1 + (1 + E_word) * prime - (1 + E_word)),
        products_with_F_are_E_with_a_zero_diagonal=normal_form((1 + E_word) * prime) == E_word,
        squared_length_is_minus_E_prime_nn=vanishes(prime * (1 + E_word) * prime - (E_word - prime)),
    )


def size_of_change(power):
    """Sum of lambda^2/(1+lambda) u_nk^2 where the sum of lambda u_nk^2 is 0: at most a chord over [-l, l] at 0."""
    chord = bound**2 / (1 - bound**2) ** power * (1 - lambda_k)
    room = cleared(chord - lambda_k**2 / (1 + lambda_k))
    return decide(room >= 0, bound < 1, -bound <= lambda_k, lambda_k <= bound)


# %% hide
def all_equal(classes):
    """The margins and coefficients above, from V = (a - b) I + b J and one column c."""
    V = (A - B) * one_K + B * ONES
    own = (classes - 1) * near + (M - classes) * far
    W_own, W_other = as_pair(gram_all * V)
    error = (own + near) * one_K - near * ONES
    seen_own, seen_other = as_pair(error * V)
    outside = (M - classes) * far * C
    return all_of(
        inverse=as_pair(gram_all * inverse_all) == (1, 0),
        E_prime=sp.simplify(as_pair(one_K - inverse_all)[1] - formulas.E_prime_equal) == 0,
        margin_near=sp.expand(W_own - margin_near) == 0,
        margin_far=sp.expand(W_own + W_other - (1 + (K - 1) * rho) * C - margin_far) == 0,
        iota=sp.expand(seen_own + seen_other - outside - gamma_iota) == 0,
        beta=sp.expand(seen_other - outside + gamma_beta) == 0,
    )


def sign_of_beta(margin):
    """ln(alpha'/alpha_o) starts at 0 and rises where it is 0, by rho (a' + alpha): alpha' >= alpha_o, so c >= b."""
    level = sp.Symbol("alpha", positive=True)
    rate = (K - 1) * level + (M - K) * level  # a'
    flow = {A: rate, B: -level, C: -level}
    slope = sum(sp.diff(margin_far - margin, letter) * speed for letter, speed in flow.items())
    a_minus_b, c_minus_b = sp.symbols("ab cb", nonnegative=True)
    return all_of(
        slope_where_they_are_equal=sp.expand(slope - rho * (rate + level)) == 0,
        both_terms=decide(near * a_minus_b + (M - K) * far * c_minus_b > 0, M > K, a_minus_b > 0),
    )


def in_the_end(limit):
    """The multipliers -V_nj of V = (I - E') zeta, and beta/iota of (I - E')(I - ONES/M)(I - E') over (26)'s."""
    centred = one_K - ONES / M
    own_true, other_true = as_pair(inverse_all * centred * inverse_all)
    own_ideal, other_ideal = as_pair(inverse_all * centred)
    ratio = other_true / (own_true + other_true) / (other_ideal / (own_ideal + other_ideal))
    multiplier = formulas.E_prime_equal + 1 / (M * (1 + (K - 1) * rho))
    return all_of(
        multiplier_at_a_class=sp.cancel(other_ideal + multiplier) == 0,
        multiplier_is_positive=decide(cleared(multiplier) > 0, rho < 1, K >= 2, M > K),
        limit=sp.simplify(sp.limit(sp.limit(sp.factor(ratio), M, sp.oo), rho, 0) - limit) == 0,
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(24), (25): in $W' = F'^\\top Y$ the gradient is $e_n(e_n - \\alpha_n)^\\top$, and the logits are a row of it",
        coordinates,
        lambda F_all, Y_M: F_all.T * Y_M,
        lambda F_all, Y_M: F_all * Y_M,
        "$W' = F'Y$",
        "every $K$ and $M$, every $F'$ with $F'e_n = f_n$",
        "none",
    ),
    (
        "(27)-(30), (40), and $F E' e_n$: orthogonal to $f_n$, of squared length $-E'_{nn}$",
        update,
        1,
        -1,
        "$E'$ with the sign of Appendix D.1",
        "every $K$, every $E$ for which $I + E$ has an inverse",
        "$E^\\top = E$, $E_{nn} = 0$",
    ),
    (
        "$\\lVert F E' e_n\\rVert \\le |\\lambda_1|/\\sqrt{1-\\lambda_1^2}$",
        size_of_change,
        1,
        0,
        "$|\\lambda_1|$",
        "every $K$, every $E$ with $|\\lambda_1| < 1$",
        "(79)",
    ),
    (
        "Equal overlaps: the margins, $\\gamma\\iota$, $\\gamma\\beta$ and $E'$ are the ones above",
        all_equal,
        K,
        K - 1,
        "with $K - 1$ classes",
        "every $K$, $M$, $\\rho$",
        "none",
    ),
    (
        "Equal overlaps: $\\gamma\\beta > 0$ under (7) at every time",
        sign_of_beta,
        margin_near,
        A - B,
        "the margin $a - b$ against another class, its overlap forgotten",
        "every $K \\ge 2$, $M > K$, $0 < \\rho < 1$, $t > 0$",
        "classes shown alike, $Y(0) = 0$",
    ),
    (
        "Equal overlaps: multipliers positive; $-S_{n'n}/S_{nn}$ over (26)'s $\\beta/\\iota$ tends to 2",
        in_the_end,
        2,
        1,
        "1 for 2",
        "every $K \\ge 2$; multipliers for every $M > K$, the limit as $M \\to \\infty$, then $\\rho \\to 0$",
        "none; that the flow ends there is assumed",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
