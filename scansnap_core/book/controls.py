"""Controls that nobody computed: a number written down as ``control=`` would fail whatever the claim.

A proof's control is another thing: a false claim, given to the same procedure, which has to refuse it.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

_WRAPPERS = {"abs", "bool", "float", "int", "Float", "Fraction", "Integer", "Number", "Rational", "S", "sympify"}
_CONSTANTS = {f"{module}.{name}" for module in ("math", "np", "sp") for name in ("E", "e", "inf", "oo", "pi")}

_Numbered = tuple[int, ast.AST]
"""A node with the number of its cell."""

_Bindings = dict[str, list[ast.expr | None]]
"""From a name to all that it is bound to in its scope; None stands for what is no expression of its own."""


def literal_controls(cells: Iterable[str]) -> list[tuple[int, str]]:
    """Find the controls that consist of literals alone.

    A name counts as the literals that it is bound to, as long as it is bound to numbers only. A table of printed values
    isn't a number, and neither is what a function returns.

    Parameters
    ----------
    cells : iterable of str
        The sources of a notebook's code cells.

    Returns
    -------
    list of (int, str)
        The cell's number, from 1, and the control's source.
    """
    trees: list[_Numbered] = [(number, _parsed(source)) for number, source in enumerate(cells, 1)]
    return sorted(_found(trees, {}))


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # its execution fails, and says so
        return ast.Module([], [])


def _found(roots: list[_Numbered], outer: _Bindings) -> Iterator[tuple[int, str]]:
    """The literal controls below some nodes of one scope, and in the functions that they define."""
    own: list[_Numbered] = []
    functions: list[_Numbered] = []
    waiting = list(roots)
    while waiting:
        number, node = waiting.pop()
        own.append((number, node))
        for child in ast.iter_child_nodes(node):
            nested = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            (functions if nested else waiting).append((number, child))
    bindings = {**outer, **_bound(node for _, node in own)}
    for number, node in own:
        for keyword in node.keywords if isinstance(node, ast.Call) and not _proves(node) else []:
            if keyword.arg == "control" and _is_literal(keyword.value, bindings, ()):
                yield number, ast.unparse(keyword.value)
    for number, function in functions:
        yield from _found([(number, child) for child in ast.iter_child_nodes(function)], bindings)


def _proves(call: ast.Call) -> bool:
    """A proof's procedure and claim stand between its id and its control, where a check has one measured value."""
    values = len(call.args) + sum(keyword.arg in ("procedure", "claim") for keyword in call.keywords)
    return isinstance(call.func, ast.Attribute) and call.func.attr == "holds" and values > 2


def _bound(nodes: Iterable[ast.AST]) -> _Bindings:
    bindings: _Bindings = defaultdict(list)
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _bind(target, value, bindings)
            case ast.AnnAssign(target=target, value=annotated):
                _bind(target, annotated, bindings)
            case ast.AugAssign(target=target):
                _bind(target, None, bindings)
            case ast.For(target=target, iter=rows) | ast.comprehension(target=target, iter=rows):
                for row in rows.elts if isinstance(rows, ast.Tuple | ast.List | ast.Set) else [None]:
                    _bind(target, row, bindings)
            case ast.arg(arg=name):
                bindings[name].append(None)
    return bindings


def _bind(target: ast.expr, value: ast.expr | None, bindings: _Bindings) -> None:
    match target, value:
        case ast.Name(id=name), _:
            bindings[name].append(value)
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for each, its in zip(targets, values, strict=True):
                _bind(each, its, bindings)
        case ast.Tuple(elts=targets), _:
            for each in targets:
                _bind(each, None, bindings)


def _is_literal(expression: ast.expr | None, bindings: _Bindings, seen: tuple[str, ...]) -> bool:
    match expression:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            bound = bindings.get(name, [])
            return name not in seen and bool(bound) and all(_is_literal(b, bindings, (*seen, name)) for b in bound)
        case ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
            parts = [part for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr)]
            return all(_is_literal(part, bindings, seen) for part in parts)
        case ast.Attribute():
            return ast.unparse(expression) in _CONSTANTS
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            return name in _WRAPPERS and all(_is_literal(argument, bindings, seen) for argument in args)
    return False
