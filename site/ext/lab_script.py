"""The lab's script: its sources in ``site/lab``, with the closed forms printed as JavaScript from
the package's own.
"""

import json
from pathlib import Path

import sympy as sp
from scipy.integrate import DOP853

from scansnap_core.theory import formulas
from scansnap_core.theory.formulas import (
    B_,
    C_0,
    Gamma_,
    K,
    M,
    eta_Y,
    eta_Z,
    f_0,
    h_,
    omega_1_,
    rho,
    rho_0,
    t,
    z,
    z_0,
)
from scansnap_core.theory.functions import stable_form

FUNCTIONS = {name: name for name in ("sigmoid", "omega", "lowerLambertW")} | {"log1p": "Math.log1p"}
# Sec. 6: an overlap rho at t = 0 is 1/rho_0^2
AS_PRINTED = {C_0: formulas.C_0_of_rho.subs(rho_0, 1 / sp.sqrt(rho)), Gamma_: formulas.Gamma}
FORMULAS = {
    "h": (formulas.h, (t, M, eta_Y)),
    "gamma": (formulas.gamma, (h_, M)),
    "omega_1": (formulas.omega_1, (M,)),
    "t_0_prime": (formulas.t_0_prime, (K, M, eta_Y)),
    "t_0": (formulas.t_0, (K, M, eta_Y, omega_1_)),
    "chi": (formulas.chi, (z, z_0)),
    "chi_lower": (formulas.chi_lower, (f_0, B_)),
    "chi_upper": (formulas.chi_upper, (B_,)),
    "z_printed": (formulas.z_snap.subs(AS_PRINTED), (h_, M, K, rho, eta_Y, eta_Z)),
    "B_printed": (formulas.B.subs(AS_PRINTED), (h_, M, K, rho, eta_Y, eta_Z)),
}


def function_script(expression: sp.Expr, arguments: tuple[sp.Symbol, ...]) -> str:
    """Write a formula as a JavaScript function, in the same stable form as in Python."""
    # The lower branch of W has no stable form to take: its argument isn't an exponential.
    lower = expression.replace(
        lambda part: isinstance(part, sp.LambertW) and len(part.args) == 2,
        lambda part: sp.Function("lowerLambertW")(part.args[0]),
    )
    symbols, stable = stable_form(lower, arguments)
    return f"({', '.join(map(str, symbols))}) => {sp.jscode(stable, user_functions=FUNCTIONS)}"


def formula_script() -> str:
    """Write a JavaScript object ``formulas`` with a function for each of FORMULAS."""
    functions = [f"  {name}: {function_script(*formula)}," for name, formula in FORMULAS.items()]
    return "const formulas = {\n" + "\n".join(functions) + "\n};\n"


def tableau_script() -> str:
    """Write the coefficients of SciPy's DOP853."""
    arrays = {name: getattr(DOP853, name).tolist() for name in ("A", "B", "C", "E3", "E5")}
    return f"const tableau = {json.dumps(arrays)};\n"


def parts(root: Path, folder: str, *names: str) -> str:
    """Join the scripts of a folder of ``site/lab``, all or those named."""
    paths = sorted((root / "site/lab" / folder).glob("*.js"))
    return "\n".join(
        path.read_text(encoding="utf8") for path in paths if not names or path.stem in names
    )


def core_script(root: Path, more: str = "", *names: str) -> str:
    """Write the numeric core, a function whose text can become a worker; ``more`` goes in,
    ``names`` come out.
    """
    given = ", ".join(
        (
            "attention",
            "entropy",
            "formulas",
            "moments",
            "serve",
            "trainingPath",
            "withOverlap",
            *names,
        )
    )
    return (
        'function labCore() {\n"use strict";\n'
        f"{formula_script()}{tableau_script()}{parts(root, 'core')}\n"
        f"{more}\nreturn {{ {given} }};\n}}\n"
    )


def lab_script(root: Path) -> str:
    """The whole script, a classic one: a page from the disk may load no modules."""
    fields = (root / "site/lab/fields.json").read_text(encoding="utf8").strip()
    return (
        f'"use strict";\n(function () {{\n{core_script(root)}'
        f"const core = labCore();\nconst FIELDS = {fields};\n{parts(root, 'page')}\n"
        'document.querySelectorAll(".ss-lab[data-preset]").forEach(makeLab);\n'
        "listenForNames();\n})();\n"
    )
