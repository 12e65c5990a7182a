"""The value of a printed formula: enough LaTeX to compare the page of equations with the code's closed forms."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping

LETTERS = {
    "h^*(s-1)": "h_", "h^*(s)": "h_", r"h(\lceil t/K \rceil)": "h_", "h(t/K)": "h_", "h(N_n)": "h_", "h(t)": "h_",
    r"h(\bar N)": "h_", "h^2(t/K)": "h_^2", "h": "h_", "M": "M", "K": "K", "N": "N", "T": "T", "t": "t",
    r"\eta_Y": "eta_Y", r"\eta_Z": "eta_Z", r"\delta": "delta", r"\varepsilon": "epsilon", r"\bar N": "N_bar",
    r"\Delta_1": "Delta_1_", r"\Delta_2": "Delta_2_", r"\Delta": "Delta_", r"\lambda_i": "x",
    r"|\lambda_1|": "lambda_1", r"\lambda": "lambda_", r"\gamma": "gamma_", r"\Gamma(t)": "Gamma_",
    r"\Gamma": "Gamma_", "C_0": "C_0", "z_{ml}(t)": "z", "z_{ml}(0)": "z_0", "z_{ml}": "z", "z_l": "z",
    "B_n(t)": "B_", "f_{nl_0}^2(0)": "f_0^2", "f_{nl}": "f_l", "f_l": "f_l", "f_{n'l}": "f_other",
    r"f_n^\top f_{n'}": "overlap", r"\xi_n": "xi_", "q_0": "q_0_", "q_1": "q_1_", r"\sigma": "sigma",
    r"\theta_n": "theta", r"\theta_{n'}": "theta_other", "E'_{nn}": "Ep_own", "E'_{n'n}": "Ep_other",
    r"\sum_{k \ne n} (1+\theta_k) E'_{kn'}": "Ep_rest", r"\sum_{k \ne n} (1+\theta_k) E'_{kn}": "Ep_rest",
    "r_{l/l'|n}(0)": "r_0", r"\chi_l(t)": "chi_", r"\nu": "nu", r"\zeta_n": "zeta", "e": "e",
}  # fmt: skip
"""What the paper prints, and the name under which the registry has it."""

_RELATION = re.compile(
    r"=:|:?=|\\le(?![a-z])|\\ge(?![a-z])|\\lesssim|\\asymp|\\approx|\\to(?![a-z])|[<>&]|(?<!\\),|\\\\|\\quad|\\text"
)
_IGNORED = re.compile(r"\\(?:Big|big|left|right|,|begin\{\w+\}|end\{\w+\})|\s")
_TOKEN = re.compile(
    "|".join(map(re.escape, sorted(LETTERS, key=len, reverse=True)))
    + r"|\\(?:frac|sqrt|exp|ln|cdot)|\d+(?:\.\d+)?|[-+*/^(){}\[\]]"
)
_ATOM = r"(?<![\\\w])([\w.]+)\b *"
_RULES: list[tuple[str, Callable[..., float]]] = [
    (r"\\frac *(\d)(\d)", operator.truediv),
    (rf"\\frac *{_ATOM}{_ATOM}", operator.truediv),
    (rf"\\sqrt *{_ATOM}", math.sqrt),
    (rf"{_ATOM}\^ *{_ATOM}", operator.pow),
    (rf"\\exp *{_ATOM}", math.exp),
    (rf"\\ln *\^ *{_ATOM}{_ATOM}", lambda power, x: math.log(x) ** power),
    (rf"\\ln *{_ATOM}", math.log),
    (rf"{_ATOM}/ *{_ATOM}", operator.truediv),
    (rf"{_ATOM}(?:\* *|\\cdot *)?{_ATOM}", operator.mul),
]
"""What binds first comes first; each turns a part of a text without brackets into the name of its value."""


class _Values(dict[str, float]):
    def __missing__(self, name: str) -> float:
        return float(name)


def sides(formula: str) -> Iterator[str]:
    """Split a formula at its relation signs."""
    yield from (side for side in _RELATION.split(re.sub(r"\\[td]frac", r"\\frac", formula)) if side.strip())


def value(side: str, at: Mapping[str, float]) -> float:
    """A side's value where the registry's symbols have the given values; ValueError if it isn't understood here."""
    names, text = _Values({**at, "e": math.e}), _IGNORED.sub(" ", side)
    if _TOKEN.sub("", text).strip():
        raise ValueError(f"{_TOKEN.sub('', text)!r} isn't understood")
    text = _TOKEN.sub(lambda token: f" {LETTERS.get(token[0], token[0])} ", text)
    while (group := re.search(r"[({\[]([^(){}\[\]]*)[)}\]]", text)) is not None:
        names[f"_{len(names)}"] = _sum(group[1], names)
        text = f"{text[: group.start()]} _{len(names) - 1} {text[group.end() :]}"
    return _sum(text, names)


def _sum(text: str, names: _Values) -> float:
    """The value of a text without brackets."""
    for pattern, function in _RULES:
        while (found := re.search(pattern, text)) is not None:
            names[f"_{len(names)}"] = function(*(names[name] for name in found.groups()))
            text = f"{text[: found.start()]} _{len(names) - 1} {text[found.end() :]}"
    if re.fullmatch(rf" *-? *{_ATOM}(?:[-+] *{_ATOM})*", text) is None:
        raise ValueError(f"{text!r} isn't understood")
    return sum(float(f"{sign}1") * names[name] for sign, name in re.findall(rf"([-+]?) *{_ATOM}", text))
