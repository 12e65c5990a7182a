"""The value of a printed formula: enough LaTeX to compare the page of equations with the code's closed forms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

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


def sides(formula: str) -> Iterator[str]:
    """Split a formula at its relation signs."""
    yield from (side for side in _RELATION.split(re.sub(r"\\[td]frac", r"\\frac", formula)) if side.strip())


def value(side: str, at: Mapping[str, float]) -> float:
    """A side's value where the registry's symbols have the given values; ValueError if it isn't understood here."""
    reader = _Reader(side, at)
    result = reader.sum()
    if reader.tokens:
        raise ValueError(f"{reader.tokens[:3]} is left over")
    return result


class _Reader:
    def __init__(self, side: str, at: Mapping[str, float]) -> None:
        self.at, self.tokens, position = dict(at) | {"e": math.e}, [], 0
        while position < len(side):
            if (ignored := _IGNORED.match(side, position)) is not None:
                position = ignored.end()
            elif (token := _TOKEN.match(side, position)) is not None:
                self.tokens.append(token[0])
                position = token.end()
            else:
                raise ValueError(f"{side[position : position + 9]!r} isn't understood")

    def _next(self, *wanted: str) -> bool:
        if self.tokens and self.tokens[0] in wanted:
            del self.tokens[0]
            return True
        return False

    def sum(self) -> float:
        result = -self.product() if self._next("-") else self.product()
        while self.tokens and self.tokens[0] in ("+", "-"):
            sign = 1 if self.tokens.pop(0) == "+" else -1
            result += sign * self.product()
        return result

    def product(self) -> float:
        result = self.power()
        while self.tokens and self.tokens[0] not in ("+", "-", ")", "}", "]"):
            if self._next("/"):
                result /= self.power()
            else:
                self._next("\\cdot", "*")
                result *= self.power()
        return result

    def power(self) -> float:
        base = self.atom()
        return base ** self.atom() if self._next("^") else base

    def atom(self) -> float:
        if not self.tokens:
            raise ValueError("it ends too soon")
        token = self.tokens.pop(0)
        if token in ("(", "[", "{"):
            result = self.sum()
            if not self._next(")", "]", "}"):
                raise ValueError("a bracket isn't closed")
            return result
        if token == "\\frac":
            if self.tokens[0].isdigit() and len(self.tokens[0]) == 2:  # \frac14
                self.tokens[:1] = list(self.tokens[0])
            top = self.atom()
            return top / self.atom()
        if token == "\\sqrt":
            return math.sqrt(self.atom())
        if token in ("\\exp", "\\ln"):
            exponent = self.atom() if self._next("^") else 1.0
            return float((math.exp if token == "\\exp" else math.log)(self.power()) ** exponent)
        if token in LETTERS:
            name, _, power = LETTERS[token].partition("^")
            return float(self.at[name] ** int(power or 1))
        return float(token)
