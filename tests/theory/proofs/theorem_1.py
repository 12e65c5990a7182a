import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import cleared, decide, vanishes
from scansnap_core.theory.certify.overlaps import E_prime_word, E_word
from scansnap_core.theory.formulas import Ep_other, Ep_own, Ep_rest, M, q_0, q_0_, q_1, q_1_, theta_other

proved = Chapter("theorem_1").witness("proved")
# %% idea
w_n, w_other, largest, ratio = sp.symbols("w_n w_other w_max r", positive=True)  # w = 1 + theta, max w/min w
own, row, row_prime = sp.symbols("E_prime_nn Ew EprimeW", real=True)  # E'_nn, (Ew)_n and (E'w)_n
any_K, root = formulas.K, sp.Symbol("root", positive=True)  # sqrt(K - 1)
with_theta = {formulas.sigma: 0, formulas.theta: w_n - 1, theta_other: w_other - 1}


def summed(formula):
    """The sum over n' of E_nn' beta_nn', with E E' = E - E' for the products and E_nn = 0: any K, any Theta."""
    replaced = {Ep_other: -own, Ep_rest: (row - row_prime) + w_n * own, w_other: row}
    return sp.expand(formula.subs(with_theta).subs(replaced, simultaneous=True))


both_parts = formulas.pull.subs(with_theta).subs({Ep_own: own, Ep_rest: row_prime - w_n * own})
# %% hide


def coefficients(formula):
    """q = q_0 1 + (q_1 - q_0) e_n, row n' of (I - E')(I + Theta) q, and then its sum."""
    own_entry = q_1_ * w_n - (q_1_ * w_n * Ep_own + q_0_ * Ep_rest)
    entry = w_other * q_0_ - (q_1_ * w_n * Ep_other + q_0_ * Ep_rest)
    return all_of(
        products_of_E=vanishes(E_word * E_prime_word - E_word + E_prime_word),
        iota_is_the_coefficient=sp.expand(own_entry - formulas.iota.subs(with_theta)) == 0,
        beta_is_minus_the_coefficient=sp.expand(entry + formula.subs(with_theta)) == 0,
        the_sum_has_two_parts=sp.expand(summed(formula) - both_parts) == 0,
    )


def without_floor(bound):
    """(Ew)_j <= mu w_j with mu = r sqrt(K - 1)/K, so E' w = Ew - E Ew + ... >= (1 - mu) Ew >= 0."""
    signs = q_1_ > 0, q_0_ < 0, own < 0, row_prime >= 0
    return all_of(
        mu_at_most_1=decide(
            ratio * root <= any_K, sp.Eq(root**2, any_K - 1), any_K >= 2, (ratio * bound[0]) ** 2 <= bound[1]
        ),
        positive=decide(both_parts > 0, *signs),
    )


def beyond_assumption_2(edge):
    """The same with w = 1 and mu = |lambda_1| sqrt(K - 1), for a row of E is at most |lambda_1| long."""
    top = sp.Symbol("lambda_1", positive=True)
    signs = q_1_ > 0, q_0_ < 0, own < 0, row_prime >= 0, w_n > 0
    return all_of(
        mu_at_most_1=decide((top * root) ** 2 <= 1, sp.Eq(root**2, any_K - 1), any_K >= 2, top * root <= edge),
        two_over_K=decide(4 * (any_K - 1) <= any_K**2, any_K >= 2),
        positive=decide(both_parts > 0, *signs),
    )


def with_floor(bound):
    """-E'_nn >= (36/M)/(1 + 1/K), and the rest is at most max w |q_0|/sqrt(K - 1); M > 36 K^2."""
    formula, most = bound
    printed = formula is formulas.beta_printed
    against = 1 / root + (2 * root / any_K if printed else 0)  # the second for 2 |q_0| (Ew)_n
    lost = sp.expand(summed(formula) - both_parts - (2 * q_0_ * row if printed else 0))
    room = 36 * any_K / (any_K + 1) * (M - 1) / M - ratio * against  # over |q_0| min w
    polynomial = cleared(room)
    return all_of(
        the_sum_is_the_both_parts_and_this=lost == 0,
        q_1_over_q_0=sp.simplify(q_1 / -q_0 - (M - 1)) == 0,
        positive=decide(
            polynomial > 0,
            sp.Eq(root**2, any_K - 1),
            root >= 1,
            any_K >= 2,
            36 * any_K**2 <= M,
            ratio >= 1,
            ratio <= most,
        ),
    )


def remainders(constant):
    """delta_2 = |q_0| times K - 1 entries of E' w, delta_3 w_n' more; a row of E' is at most 1/(K - 1) long."""
    known = sp.Eq(root**2, any_K - 1), root >= 1, M >= 100, largest <= sp.Rational(147, 100)
    return all_of(
        delta_2=decide(M**2 * largest < constant * (M - 1) ** 2 * root, *known),
        delta_3=decide(M**2 * largest * (root + 1) < constant * (M - 1) ** 2 * root, *known),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(86), (88) repaired, $\\sum\\beta f_n^\\top f_{n'} = q_1 w_n(-E'_{nn}) + |q_0|\\sum_{k \\ne n} w_k E'_{nk}$",
        coefficients,
        formulas.beta,
        formulas.beta_printed,
        "(88) as printed",
        "every $K$, $M$, $E$ and $\\Theta$; $w = 1 + \\theta$",
        "$(I+E)(I-E') = I$, $E_{nn} = 0$",
    ),
    (
        "(a) with $\\Theta$, no lower bound on eigenvalues: $\\xi_n > 0$ if $\\max w/\\min w \\le K/\\sqrt{K-1}$",
        without_floor,
        (root, any_K**2),
        (sp.S.One, sp.Integer(400)),
        "$\\max w/\\min w$ up to 20",
        "every $K \\ge 2$, every $M$, every $E$ with $|\\lambda_1| < 1/K$, every class that overlaps",
        "Lemma 16; a row of $E$ is at most $|\\lambda_1|$ long; $E \\ge 0$",
    ),
    (
        "(a) at equal counts beyond Assumption 2: $\\xi_n > 0$ if $|\\lambda_1| \\le 1/\\sqrt{K-1}$, so up to $2/K$",
        beyond_assumption_2,
        1,
        sp.Rational(101, 100),
        "$1.01/\\sqrt{K-1}$",
        "every $K \\ge 2$, every $M$, $\\Theta = 0$, every $E$ with $|\\lambda_1| < 1$, every class that overlaps",
        "Lemma 16; a row of $E$ is at most $|\\lambda_1|$ long; $E \\ge 0$",
    ),
    (
        "(a) with $\\Theta$ under Assumption 2, (88) repaired: $\\xi_n > 0$ if $\\max w/\\min w \\le 23$",
        with_floor,
        (formulas.beta, 23),
        (formulas.beta, 24),
        "24 for 23",
        "every $K \\ge 2$, $M$ and $E$ that satisfy Assumption 2",
        "Lemmas 15, 16; $-E'_{nn} \\ge \\min\\lambda_i^2/(1+|\\lambda_1|)$",
    ),
    (
        "(a) with (88) as printed, under Assumption 2: the sum is positive if $\\max w/\\min w \\le 11$",
        with_floor,
        (formulas.beta_printed, 11),
        (formulas.beta_printed, 12),
        "12 for 11",
        "every $K \\ge 2$, $M$ and $E$ that satisfy Assumption 2",
        "Lemmas 15, 16; $-E'_{nn} \\ge \\min\\lambda_i^2/(1+|\\lambda_1|)$",
    ),
    (
        "(87), (89): $|\\delta_2|, |\\delta_3| < 3/M$",
        remainders,
        3,
        2,
        "$2/M$",
        "every $K \\ge 2$, $M \\ge 100$, $E$ with $|\\lambda_1| < 1/K$, $w \\le 1.47$",
        "Lemma 15",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
