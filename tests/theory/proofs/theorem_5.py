import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import vanishes
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
