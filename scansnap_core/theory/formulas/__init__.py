"""The paper's closed forms, each once, as SymPy expressions under the paper's own symbols.

Chapters derive them, differentiate them and break them;
:func:`scansnap_core.theory.functions.function_of` makes a function of NumPy or Torch arrays of any
of them. Each is imported by its name as a plain SymPy expression, as are its symbols; what is known
about it stands in ``FORMULAS``, by its name, and :func:`find` searches there.

Examples
--------
>>> from scansnap_core.theory.formulas import FORMULAS, gamma
>>> gamma
h*(M - 1)**2/(M + exp(M*h) - 1)
>>> FORMULAS["gamma"].place
'Lemma 9; Theorem 1, (85)'
"""

from typing import Any

from scansnap_core.theory.formulas import attention, decoder, symbols  # noqa: F401
from scansnap_core.theory.formulas.registry import FORMULAS, SYMBOLS, Formula, Symbol, find

__all__ = ["FORMULAS", "SYMBOLS", "Formula", "Symbol", "find"]


def __getattr__(name: str) -> Any:
    if entry := SYMBOLS.get(name) or FORMULAS.get(name):
        return entry.expression
    raise AttributeError(
        f"{name} is neither a closed form nor a symbol of the registry; formulas.find() searches it"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *SYMBOLS, *FORMULAS})
