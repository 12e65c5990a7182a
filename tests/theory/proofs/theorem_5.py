import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import decide, positive, vanishes
from scansnap_core.theory.certify.overlaps import E_prime_word, E_word

proved = Chapter("theorem_5").witness("proved")
# %% idea
W_word, one_step = sp.symbols("W step", commutative=False)  # W = (I + Theta) W_bar, and e_n (e_n - alpha_n)^T


def induction(sign):
    """Y = F (I - E') W stays so under (26), and W = F^T Y moves by the step alone; F^T F = I + E throughout."""
    prime = sign * E_prime_word
    Y_on_F, moved = (1 - prime) * W_word, (1 - prime) * one_step
    return all_of(
        W_is_F_transposed_Y=vanishes((1 + E_word) * Y_on_F - W_word),
        its_step_is_26s=vanishes((1 + E_word) * moved - one_step),
        the_form_stays=vanishes(Y_on_F + moved - (1 - prime) * (W_word + one_step)),
        pseudo_inverse=vanishes((1 - prime) * (1 + E_word) - 1) and vanishes((1 + E_word) * (1 - prime) - 1),
    )


proved.prove(
    "(70): under (26) $Y = F(I-E')(I+\\Theta)\\bar W$ at every step, and $(I-E')F^\\top = F^\\dagger$",
    induction,
    1,
    control=-1,
    control_is="App. D.1's sign of $E'$",
    region="every $K$, $M$, $\\eta_Y$, every order of the classes, every $F$ with independent columns",
    assumptions="$Y(0) = 0$, Lemma 5 for $\\bar w_n$",
)


# %% hide
def narrow_bound(factor):
    """Both tails at y = sqrt(factor L/mu) <= 1, mu = N/K, L = ln(2K/delta) >= ln 4, by Chernoff: at most 2 e^-L.

    With E = mu y^2 the upper rate is at least (E - y)/(2 + 2y/3), half a step too few, and the lower one at least
    (E - 2y(1 - y))/2, the ceiling too few. Both fall short of E/factor by less as E grows.
    """
    y = sp.Symbol("y", nonnegative=True)
    E = factor * sp.log(4)
    above, below = (E - y) / (2 + 2 * y / 3), (E - 2 * y * (1 - y)) / 2
    return all_of(
        worst_at_the_least_E=decide((2 + 2 * y / 3) <= factor, y <= 1),
        both_tails=positive(2 - sp.exp(E / factor - above) - sp.exp(E / factor - below), {y: (0, 1)}),
    )


proved.prove(
    "All $|\\theta_n| \\le \\sqrt{3K\\ln(2K/\\delta)/N}$ with probability $1-\\delta$",
    narrow_bound,
    3,
    control=sp.Rational(5, 2),
    control_is="2.5 for 3",
    region="every $K \\ge 2$, $\\delta \\in (0,1)$, $N \\ge 3K\\ln(2K/\\delta)$, $M \\ge 2$, $0 < \\eta_Y \\le 1$",
    assumptions="half a step (Lemma 12); Chernoff's bounds of Lemma 10; (61)",
)
