"""A second engine tries each claim of the book that the first one certified or called false.

Polynomial claims, which z3, coefficients or Sturm's theorem decide, are tried by cvc5; claims over
a box or at a point, which Arb's balls decide, by mpmath's intervals. Each chapter is run up to its
last proof, and every claim is tried as the chapter hands it over. The second engine may find no
answer, in the time that it has; a contradiction ends the run with 1. Both engines are given what
the same gate has read. Matrices and words are counted and not tried.

    python -m pip install cvc5==1.4.2
    python -m tools.second_engine            # or the ids of some chapters
    python -m tools.second_engine --save results/second_engine.csv
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import csv
import io
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sympy as sp

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.book.faults import code_of
from scansnap_core.book.notebooks import code_cells, read_notebook
from scansnap_core.ledger.contents import chapter_paths
from scansnap_core.theory import certify
from scansnap_core.theory.certify.language import OPERATORS, RELATIONS, read, read_claim
from tools.interval_claims import FALSE, NO_ANSWER, PROVED, at_point, from_zero, over_box

ROOT = Path(__file__).parents[1]
SECONDS = float(os.environ.get("SECOND_ENGINE_SECONDS", "30"))
"""The second engine has so long for each claim."""
NOT_TRIED = "not tried"


# -- cvc5 ------------------------------------------------------------------------------------------


class Solver:
    """cvc5 on relations of the language of claims."""

    def __init__(self) -> None:
        import cvc5

        self.kinds = cvc5.Kind
        self.terms = cvc5.TermManager()
        self.divisors: list[Any] = []
        joined = {
            "sum": self.kinds.ADD,
            "product": self.kinds.MULT,
            ">": self.kinds.GT,
            ">=": self.kinds.GEQ,
            "<": self.kinds.LT,
            "<=": self.kinds.LEQ,
            "==": self.kinds.EQUAL,
            "!=": self.kinds.DISTINCT,
            "not": self.kinds.NOT,
            "exp": self.kinds.EXPONENTIAL,
        }
        self.arithmetic: dict[str, Callable[..., Any]] = {
            name: lambda *parts, kind=kind: self.terms.mkTerm(kind, *parts)
            for name, kind in joined.items()
        }
        self.arithmetic |= {
            "and": lambda *parts: self._joined(self.kinds.AND, parts, True),
            "or": lambda *parts: self._joined(self.kinds.OR, parts, False),
            "number": lambda number: self.terms.mkReal(number.numerator, number.denominator),
            "power": self._power,
        }
        assert {*OPERATORS, *RELATIONS} <= {*self.arithmetic}

    def _joined(self, kind: Any, parts: Sequence[Any], empty: bool) -> Any:
        if len(parts) < 2:
            return parts[0] if parts else self.terms.mkBoolean(empty)
        return self.terms.mkTerm(kind, *parts)

    def _power(self, base: Any, exponent: int) -> Any:
        one = self.terms.mkReal(1)
        size = abs(exponent)
        power = (
            one
            if size == 0
            else base
            if size == 1
            else self.terms.mkTerm(self.kinds.MULT, *[base] * size)
        )
        if exponent >= 0:
            return power
        self.divisors.append(base)
        return self.terms.mkTerm(self.kinds.DIVISION, one, power)

    def variables(self, names: Sequence[str]) -> list[Any]:
        """Make real variables."""
        return [self.terms.mkConst(self.terms.getRealSort(), name) for name in names]

    def undefined(self) -> Any:
        """Say that a divisor is 0."""
        zero = self.terms.mkReal(0)
        return self.arithmetic["or"](*[self.arithmetic["=="](base, zero) for base in self.divisors])

    def none(self, *formulas: Any, logic: str = "QF_NRA") -> bool | None:
        """Tell whether no real numbers meet the formulas; None if that isn't known in time."""
        import cvc5

        solver = cvc5.Solver(self.terms)
        solver.setLogic(logic)
        solver.setOption("tlimit-per", str(int(1000 * SECONDS)))
        for formula in formulas:
            solver.assertFormula(formula)
        answer = solver.checkSat()
        return True if answer.isUnsat() else False if answer.isSat() else None


def _word_for(none: bool | None) -> str:
    return {True: PROVED, False: FALSE, None: NO_ANSWER}[none]


def decide(claim: Any, *assumptions: Any) -> str:
    """Tell whether a relation is defined and follows from others."""
    wanted, region = read_claim(claim, assumptions)
    solver = Solver()
    variables = solver.variables(wanted.names)
    known = [given.compiled(solver.arithmetic)(variables) for given in region]
    solver.divisors.clear()
    fails = solver.arithmetic["not"](wanted.compiled(solver.arithmetic)(variables))
    return _word_for(solver.none(*known, solver.arithmetic["or"](fails, solver.undefined())))


def on_ray(expression: Any, variable: sp.Symbol, start: Any) -> str:
    """Tell whether a sum of polynomials times exponentials is positive beyond a point."""
    solver = Solver()
    variables = solver.variables([str(variable)])
    value = read(expression, [variable]).compiled(solver.arithmetic)(variables)
    first = read(start).compiled(solver.arithmetic)([])
    beyond = solver.arithmetic[">"](variables[0], first)
    fails = solver.arithmetic["<="](value, solver.arithmetic["number"](Fraction(0)))
    logic = "QF_NRAT" if expression.has(sp.exp) else "QF_NRA"
    return _word_for(solver.none(beyond, fails, logic=logic))


def between(coefficients: Sequence[Any], low: Any, high: Any) -> str:
    """Tell whether a polynomial is not negative between two numbers."""
    x = sp.Symbol("x", real=True)
    exact = [sp.Rational(str(number)) for number in (*coefficients, low, high)]
    polynomial = sum((number * x**power for power, number in enumerate(exact[:-2])), sp.Integer(0))
    # Unevaluated: of a constant or of x² SymPy would say itself that it isn't negative.
    return decide(sp.Ge(polynomial, 0, evaluate=False), x >= exact[-2], x <= exact[-1])


SECOND: dict[str, Callable[..., str]] = {
    "positive": lambda expression, box, **_: (
        over_box(expression, box, time.monotonic() + SECONDS) if box else at_point(expression, {})
    ),
    "at": lambda expression, values, *_: at_point(expression, values),
    "positive_from_zero": lambda expression, variable, end, order: from_zero(
        expression, variable, end, order, time.monotonic() + SECONDS
    ),
    "decide": decide,
    "positive_on_ray": on_ray,
    "nonnegative_between": between,
}
ENGINES = {
    name: "mpmath" if name in ("positive", "at", "positive_from_zero") else "cvc5"
    for name in SECOND
}
CLAIMS = {
    "positive": "positive on a box",
    "at": "positive at a point",
    "positive_from_zero": "positive beyond a zero at 0",
    "decide": "relations of polynomials",
    "positive_on_ray": "positive beyond a point",
    "nonnegative_between": "not negative between two points",
    "vanishes": "words of matrices",
}
"""What each procedure is handed, in words. The last one's claims are counted, and not tried."""


# -- the book's claims -----------------------------------------------------------------------------

Answer = tuple[str, str, str, float]
"""A procedure, what the first engine says, what the second says, and its seconds."""


def in_time(procedure: Callable[..., str], *given: Any, **more: Any) -> str:
    """Let a procedure answer in a process of its own, which is ended a little after its time.

    cvc5 has the limit too, but it doesn't look at its clock within some steps of algebra. What
    isn't answered, or ends the process, has no answer.
    """
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)

    def answer() -> None:
        try:
            sender.send((procedure(*given, **more), ""))
        except (ArithmeticError, RuntimeError, ValueError) as error:
            sender.send((NO_ANSWER, f"{type(error).__name__}: {str(error)[:200]}"))

    process = processes.Process(target=answer)
    process.start()
    sender.close()
    try:
        told, fault = receiver.recv() if receiver.poll(1.2 * SECONDS) else (NO_ANSWER, "")
    except EOFError:
        told, fault = NO_ANSWER, "its process ended"
    finally:
        process.kill()
        process.join()
        receiver.close()
    if fault:
        print(f"    {fault}", file=sys.stderr)
    return told


def watched(name: str, first: Callable[..., Any], answers: list[Answer]) -> Callable[..., Any]:
    """Let a procedure's claims be tried by the second engine too. What both say is noted."""

    def both(*given: Any, **more: Any) -> Any:
        certificate = first(*given, **more)
        before = time.monotonic()
        second = in_time(SECOND[name], *given, **more) if name in SECOND else NOT_TRIED
        word = PROVED if certificate.proved else FALSE if certificate.false else NO_ANSWER
        answers.append((name, word, second, time.monotonic() - before))
        if {word, second} == {PROVED, FALSE}:
            print(
                f"    {name} says {word}, {ENGINES[name]} says {second}: {given}", file=sys.stderr
            )
        return certificate

    return both


def run_chapter(path: Path) -> list[Answer]:
    """Run a chapter up to its last cell that hands a claim over."""
    import matplotlib as mpl

    mpl.use("Agg")
    answers: list[Answer] = []
    for name in CLAIMS:
        setattr(certify, name, watched(name, getattr(certify, name), answers))
    trees = [code_of(cell.source) for cell in code_cells(read_notebook(path))]
    names = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)} & {
        *CLAIMS
    }
    names |= {"proved"}
    last = [
        place
        for place, tree in enumerate(trees)
        for node in ast.walk(tree)
        if getattr(node, "id", "") in names
    ]
    os.chdir(path.parent)
    shared: dict[str, Any] = {"__name__": "__main__", "display": lambda *_, **__: None}
    for tree in trees[: max(last, default=-1) + 1]:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, str(path), "exec"), shared)
    return answers


def counts(answers: Sequence[Answer], name: str) -> dict[str, int]:
    """Count a procedure's claims and controls: all, and those on which both engines agree, say the
    opposite, or one of them has no answer.
    """
    words = [(first, second) for procedure, first, second, _ in answers if procedure == name]
    return {
        "claims": len(words),
        "same": sum(first == second != NO_ANSWER for first, second in words),
        "opposite": sum({*both} == {PROVED, FALSE} for both in words),
        "no answer": sum(NO_ANSWER in both for both in words),
    }


def table(answers: Sequence[Answer]) -> str:
    """Write what was found of each procedure's claims, with versions and the commit, as CSV."""
    head = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name, claim in CLAIMS.items():
        found = counts(answers, name)
        if name == "positive":
            rows.writerow(["what is claimed", "tried by", *found, "commit"])
        engine = f"{ENGINES[name]} {version(ENGINES[name])}" if name in ENGINES else NOT_TRIED
        numbers = found.values() if name in ENGINES else [found["claims"], *[""] * 3]
        rows.writerow([claim, engine, *numbers, commit])
    return text.getvalue()


def main(arguments: Sequence[str]) -> int:
    """Try the claims of the chapters with these ids, or of all; print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ids", nargs="*", help="chapters; all, if none is named")
    parser.add_argument("--chapter", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--save", type=Path, help="the table to write, of all chapters")
    asked = parser.parse_args(arguments)
    if asked.chapter:
        print(json.dumps(run_chapter(asked.chapter)))
        return 0
    if asked.save and asked.ids:
        raise BadInput("--save", "the table is one of all chapters", "name no chapters")
    paths = [
        path
        for path in chapter_paths(ROOT / "chapters")
        if "theory.certify" in path.read_text(encoding="utf-8")
    ]
    answers: list[Answer] = []
    broken = []
    for path in paths:
        if asked.ids and path.stem not in asked.ids:
            continue
        command = [sys.executable, "-m", "tools.second_engine", "--chapter", str(path)]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        sys.stderr.write(run.stderr[-3000:])
        if run.returncode:
            broken.append(path.stem)
            continue
        found: list[Answer] = [tuple(each) for each in json.loads(run.stdout.splitlines()[-1])]
        answers += found
        words = Counter(f"{first}, {second}" for _, first, second, _ in found)
        print(path.stem, dict(words), f"{sum(each[3] for each in found):.1f} s", flush=True)
    for name in CLAIMS:
        engine = f"tried by {ENGINES[name]}" if name in ENGINES else NOT_TRIED
        numbers = ", ".join(f"{what}: {count}" for what, count in counts(answers, name).items())
        seconds = sum(each[3] for each in answers if each[0] == name)
        print(f"{name}, {engine}: {numbers}, {seconds:.0f} s")
    apart = [each for each in answers if {each[1], each[2]} == {PROVED, FALSE}]
    print(
        f"{len(answers)} claims and controls, {len(apart)} contradictions; "
        f"chapters that broke: {broken or 'none'}"
    )
    failed = bool(apart or broken or not answers)
    if asked.save and not failed:
        files.save(asked.save, table(answers))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
