"""Which mutants there are: every change that one of the operators below can make to one of the modules."""

from __future__ import annotations

import ast
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator

MODULES = (
    "book.compare",
    "book.equations",
    "book.claims_in_words",
    "data.sequences",
    "engine.architectures",
    "engine.counter",
    "engine.draws",
    "engine.model",
    "engine.optimizers",
    "ledger.cards",
    "ledger.checks",
    "ledger.proofs",
    "ledger.values",
    "sweeps.blocks",
    "theory.certify.balls",
    "theory.certify.boxes",
    "theory.certify.polynomials",
    "theory.clocks",
    "theory.decoder",
    "theory.dynamics",
    "theory.expectation",
    "theory.flows",
    "theory.formulas.attention",
    "theory.formulas.correlations",
    "theory.formulas.counts",
    "theory.formulas.decoder",
    "theory.formulas.registry",
    "theory.formulas.speed",
    "theory.formulas.symbols",
    "theory.functions",
    "theory.law.adam",
    "theory.law.closed",
    "theory.law.counts",
    "theory.law.first_order",
    "theory.law.inertia",
    "theory.law.memory",
    "theory.law.phases",
    "theory.law.predicting",
    "theory.law.sampling",
    "theory.law.types",
    "theory.measures",
    "theory.quantities",
    "theory.sampling",
    "theory.solving",
    "theory.spectrum",
    "theory.tails",
)
"""What a number or a verdict of the book rests on, within the package."""

# Left out, because they would raise the score for nothing: bitwise operators, shifts, and comparisons that become `is`,
# which only give type errors; // and %, which turn a formula into a staircase that no test could miss; unary + for -,
# which is the same as deleting the -.
OPERATORS = (
    *(f"ReplaceBinaryOperator_{a}_{b}" for a, b in permutations(("Add", "Sub", "Mul", "Div", "Pow"), 2)),
    *(f"ReplaceComparisonOperator_{a}_{b}" for a, b in permutations(("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"), 2)),
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
    "NumberReplacer",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
    "RemoveDecorator",
)


@dataclass(frozen=True, order=True)
class Mutant:
    """One change to one line.

    Attributes
    ----------
    module : str
        One of `MODULES`.
    line, becomes : str
        The line before and after, without indentation and repeated spaces. They name the change wherever the line
        moves to.
    number : int
        Which of the lines of the module that read so, from 1.
    operator : str
        Cosmic Ray's name of the change.
    occurrence : int
        Which of the places in the module where the operator can make its change, from 0.
    position : tuple
        Where the change begins and ends: pairs of line and column.
    source : str
        The mutated module.
    """

    module: str
    line: str
    becomes: str
    number: int
    operator: str = field(compare=False)
    occurrence: int = field(compare=False)
    position: tuple[tuple[int, int], tuple[int, int]] = field(compare=False)
    source: str = field(compare=False, repr=False)

    @property
    def path(self) -> Path:
        """The module's file, from the root of the tree."""
        return module_path(self.module)

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What names it in a file: module, line, what it becomes, number."""
        return self.module, self.line, self.becomes, self.number

    def __str__(self) -> str:
        which = f" (no. {self.number} of its kind)" if self.number > 1 else ""
        return f"{self.module}.py: {self.line}{which} -> {self.becomes}"


def module_path(module: str) -> Path:
    """The file of one of `MODULES`, from the root of the tree."""
    return Path("scansnap_core", *module.split(".")).with_suffix(".py")


def catalogue(root: Path, modules: Iterable[str] = MODULES) -> list[Mutant]:
    """Every mutant of these modules of the tree at ``root``, in an order that depends on the sources alone."""
    return sorted(
        mutant for module in modules for mutant in mutants_of(module, (root / module_path(module)).read_text("utf8"))
    )


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """The mutants of one module's source.

    A change of a docstring, an annotation or the mark * between parameters is none, nor is one that doesn't parse or
    that another operator makes too.
    """
    lines, before = source.splitlines(), Counter[str]()
    for begin, end, around in _statements(source):
        # a statement at a time, because what is parsed for each mutant then is short
        parts = slice(begin), slice(begin, end), slice(end, None)
        head, statement, tail = ("".join(source.splitlines(keepends=True)[part]) for part in parts)
        statement = around + statement
        top = begin - around.count("\n")
        tree = get_ast(statement)
        copied = pickle.dumps(tree)  # each change is made in a tree of its own, and to parse takes longer
        nodes = list(ast_nodes(tree))
        seen = {_meaning(statement), None}
        for name in OPERATORS:
            operator = get_operator(f"core/{name}")()
            positions = [position for node in nodes for position in operator.mutation_positions(node)]
            for occurrence, ((first, left), (last, right)) in enumerate(positions):
                mutated = MutationVisitor(occurrence, operator).walk(pickle.loads(copied)).get_code()
                meaning = _meaning(mutated)
                if meaning in seen:
                    continue
                seen.add(meaning)
                row = top + first - 1
                becomes = "" if name == "RemoveDecorator" else mutated.splitlines()[first - 1]
                number = Counter(map(_plain, lines[: row + 1]))[_plain(lines[row])]
                place = (top + first, left), (top + last, right)
                which = before[name] + occurrence
                line = _plain(lines[row])
                yield Mutant(
                    module, line, _plain(becomes), number, name, which, place, head + mutated[len(around) :] + tail
                )
            before[name] += len(positions)


def _statements(source: str) -> Iterator[tuple[int, int, str]]:
    """The rows of each statement of a module, from 0 and without the last, each with what stands above it.

    Of a class, the rows of each statement in it; the text is what it needs above it to be parsed.
    """
    begin = 0
    for node in ast.parse(source).body:
        parts = node.body if isinstance(node, ast.ClassDef) else [node]
        for part in parts:
            end = part.end_lineno or 0
            yield begin, end, "" if part is parts[0] else "class _:\n"
            begin = end


def _plain(line: str) -> str:
    return " ".join(line.split())


def _meaning(source: str) -> str | None:
    """The syntax tree without docstrings, annotations, and the marks * and / between parameters.

    None if the source doesn't parse.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
            case ast.arguments():
                node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
                node.defaults = [*node.defaults, *filter(None, node.kw_defaults)]
                node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
            case ast.AnnAssign():
                node.annotation = ast.Constant(None)
            case ast.Expr(value=ast.Constant(value=str())):
                node.value = ast.Constant(None)
    return ast.dump(tree)
