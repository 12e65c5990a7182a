import sympy as sp

from scansnap_core.ledger import Chapter, all_of

proved = Chapter("parameters").witness("proved")
# %% idea
tokens, width, inner = sp.symbols("M d d_k", integer=True, positive=True)
U_any = sp.MatrixSymbol("U", tokens, width)
V_any, Q_any, K_any = (
    sp.MatrixSymbol(f"W_{name}", width, size) for name, size in zip("VQK", (width, inner, inner), strict=True)
)
of_Y, of_Z = (sp.MatrixSymbol(f"D_{name}", tokens, tokens) for name in "YZ")  # the derivatives of J
move_V = U_any.T * of_Y.T * U_any
move_Q, move_K = (U_any.T * D * U_any * W / sp.sqrt(width) for D, W in ((of_Z, K_any), (of_Z.T, Q_any)))
G_any, A_any, B_any = U_any * U_any.T, U_any * Q_any, U_any * K_any


def same(one, other):
    return sp.expand(one - other).doit() == sp.ZeroMatrix(*one.shape)


def gradients_of(D):
    """dJ = tr(D_Y^T dY) + tr(D_Z^T dZ), with Y and Z composed, differentiated by whole matrices."""
    of_V = sp.Trace(of_Y.T * U_any * V_any.T * U_any.T).diff(V_any)
    of_both = sp.Trace(D.T * U_any * Q_any * K_any.T * U_any.T) / sp.sqrt(width)
    return all_of(V=same(of_V, move_V), Q=same(of_both.diff(Q_any), move_Q), K=same(of_both.diff(K_any), move_K))


def moved(last):
    """Y moves by U dW_V^T U^T, Z by U (dW_Q W_K^T + W_Q dW_K^T) U^T over root d."""
    Z_moves = U_any * (move_Q * K_any.T + Q_any * move_K.T) * U_any.T / sp.sqrt(width)
    of_both = (G_any * of_Z * B_any * B_any.T + A_any * A_any.T * of_Z * last) / width
    return all_of(Y=same(U_any * move_V.T * U_any.T, G_any * of_Y * last), Z=same(Z_moves, of_both))


# %% hide
def stays(sign):
    """d(W_Q^T W_Q + sign W_K^T W_K)."""
    of_Q, of_K = (move.T * W + W.T * move for move, W in ((move_Q, Q_any), (move_K, K_any)))
    return all_of(no_motion=same(of_Q + sign * of_K, sp.ZeroMatrix(inner, inner)))


def random_start(orders):
    """An entry between two tokens is a sum of products of independent entries of mean 0 and variance 1/d.

    Only squares are left of its variance: d^2 products of three in Y(0), d^3 of four in Z(0), over d.
    """
    variances = width**2 / width**3, width**3 / width**4 / width
    return all_of(
        **{name: variance == width**-order for name, variance, order in zip("YZ", variances, orders, strict=True)}
    )


for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "Gradients of $W_V$, $W_Q$, $W_K$ in any dimension",
        gradients_of,
        of_Z,
        of_Z.T,
        "$D_Z$ transposed",
        "every $M$, $d$, $d_k$, $U$ and parameters",
        "$dJ = \\mathrm{tr}(D_Y^\\top dY) + \\mathrm{tr}(D_Z^\\top dZ)$",
    ),
    (
        "What they do to $Y$ and $Z$: $GD_YG$ and $(GD_ZBB^\\top + AA^\\top D_ZG)/d$",
        moved,
        G_any,
        sp.Identity(tokens),
        "without the last $G$",
        "every $M$, $d$, $d_k$, $U$ and parameters",
        "$U$ at rest",
    ),
    (
        "$W_Q^\\top W_Q - W_K^\\top W_K$ stays what it is",
        stays,
        -1,
        1,
        "their sum",
        "every $M$, $d$, $d_k$, $U$ and $D_Z$",
        "gradient flow, $U$ learning or not",
    ),
    (
        "At random an entry of $Y(0)$ between two tokens has the size $d^{-1/2}$, and of $Z(0)$ $d^{-1}$",
        random_start,
        (1, 2),
        (1, 1),
        "$d^{-1/2}$ for $Z(0)$ as well",
        "every $M$ and $d = d_k$",
        "independent entries of mean 0 and variance $1/d$ in all four matrices",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
