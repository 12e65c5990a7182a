"""The mutants: every change that one of the operators below makes to one of the modules."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
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
    "data.probabilities",
    "data.sequences",
    "engine.draws",
    "engine.model",
    "engine.optimizers",
    "engine.variants",
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
    "theory.flows",
    "theory.formulas.attention",
    "theory.formulas.decoder",
    "theory.formulas.registry",
    "theory.formulas.symbols",
    "theory.functions",
    "theory.law.closed",
    "theory.law.inertia",
    "theory.law.memory",
    "theory.law.phases",
    "theory.law.predicting",
    "theory.law.sampled_law",
    "theory.law.types",
    "theory.measures",
    "theory.quantities",
    "theory.sampling",
    "theory.solving",
    "theory.spectrum",
    "theory.tails",
)
"""The modules of the package that a number or a verdict of the book rests on."""

_COMPARISONS = {
    "Eq": ("NotEq",),
    "NotEq": ("Eq",),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
"""Each comparison becomes its contrary, and the one with another boundary."""

# Left out, because they would raise the score for nothing: bitwise operators and shifts, which only give type errors;
# // and %, which turn a formula into a staircase that no test could miss; unary + for -, which deletes the -.
OPERATORS = (
    *(f"ReplaceBinaryOperator_{a}_{b}" for a, b in permutations(("Add", "Sub", "Mul", "Div", "Pow"), 2)),
    *(f"ReplaceComparisonOperator_{a}_{b}" for a, others in _COMPARISONS.items() for b in others),
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

EXEMPTION = "# mutant: "
"""Begins a comment, on the line or above it, that says why tests can't tell some mutants of the line from the line."""
_WITHOUT_EFFECT = {"cache", "lru_cache", "overload"}
"""Decorators whose removal changes no result."""


@dataclass(frozen=True)
class Mutant:
    """One change to one line.

    Attributes
    ----------
    module : str
        One of `MODULES`.
    row : int
        The line's number in the module, from 1.
    line, becomes : str
        The line before and after, without indentation and repeated spaces.
    source : str
        The mutated module.
    exempt : bool
        Whether the line has an `EXEMPTION`.
    """

    module: str
    row: int
    line: str
    becomes: str
    source: str = field(repr=False)
    exempt: bool = False

    @property
    def path(self) -> Path:
        """Return the module's file, from the root of the tree."""
        return module_path(self.module)

    def __str__(self) -> str:
        return f"{self.path}:{self.row}: {self.line} -> {self.becomes}"


def module_path(module: str) -> Path:
    """Return the file of one of `MODULES`, from the root of the tree."""
    return Path("scansnap_core", *module.split(".")).with_suffix(".py")


def mutants_of(root: Path, module: str) -> list[Mutant]:
    """Return all mutants of a module of the tree at ``root``."""
    return list(_mutants(module, (root / module_path(module)).read_text("utf8")))


def _mutants(module: str, source: str) -> Iterator[Mutant]:
    lines, tree = source.splitlines(), get_ast(source)
    copied = pickle.dumps(tree)  # each change is made in a tree of its own, and to parse takes longer
    nodes = list(ast_nodes(tree))
    seen = {_meaning(source), None}
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        positions = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, ((row, _), _) in enumerate(positions):
            mutated = MutationVisitor(occurrence, operator).walk(pickle.loads(copied)).get_code()
            if (meaning := _meaning(mutated)) in seen:
                continue
            seen.add(meaning)
            becomes = "" if name == "RemoveDecorator" else mutated.splitlines()[row - 1]
            yield Mutant(module, row, _plain(lines[row - 1]), _plain(becomes), mutated, _is_exempt(lines, row - 1))


def _is_exempt(lines: list[str], index: int) -> bool:
    """Tell whether a line holds an `EXEMPTION`, or one begins in the comment above it."""
    if EXEMPTION in lines[index]:
        return True
    while index > 0 and lines[index - 1].lstrip().startswith("#"):
        index -= 1
        if EXEMPTION in lines[index]:
            return True
    return False


def _plain(line: str) -> str:
    return " ".join(line.split())


def _meaning(source: str) -> str | None:
    """Return the syntax tree without what no result depends on; None if the source doesn't parse.

    That are docstrings, annotations, the marks * and / between parameters, ``zip``'s ``strict``, the decorators in
    `_WITHOUT_EFFECT`, and whether the imports for types are made.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
                node.decorator_list = [d for d in node.decorator_list if not _WITHOUT_EFFECT & {*_names(d)}]
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
            case ast.Call(func=ast.Name("zip")):
                node.keywords = []
            case ast.If() if "TYPE_CHECKING" in _names(node.test):
                node.test = ast.Constant(None)
    return ast.dump(tree)


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
