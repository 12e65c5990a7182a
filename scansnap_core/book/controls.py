"""Controls that nothing computes: a number written down as ``control=`` would fail whatever the claim.

A control is computed if what it is made of, followed back through the notebook's own names and functions, reaches the
mathematics: the package, SciPy, SymPy, Torch, or NumPy's random numbers, linear algebra and grids. A proof's control is
another thing: a false claim, given to the same procedure, which has to refute it.
"""

import ast
from collections.abc import Iterable, Iterator

_MATHEMATICS = ("scansnap_core", "scipy", "sympy", "torch", "xarray")
_WITHIN_NUMPY = ("arange", "geomspace", "linalg", "linspace", "logspace", "random")
_NO_MATHEMATICS = ("scansnap_core.ledger", "scansnap_core.plots")
_LITERALS = {"E", "Float", "I", "Integer", "Matrix", "Number", "One", "Rational", "S", "Zero", "oo", "pi", "sympify"}
_PROVED = "proved"


def constant_controls(cells: Iterable[str]) -> list[tuple[int, str]]:
    """Find the controls that nothing computes, or that are the measured value with a number added or multiplied.

    Parameters
    ----------
    cells : iterable of str
        The sources of a notebook's code cells.

    Returns
    -------
    list of (int, str)
        The cell's number, from 1, and the control's source; ``**{...}`` if it hides there.
    """
    trees = [_parsed(source) for source in cells]
    made = _made_of(trees)
    found = []
    for number, tree in enumerate(trees, 1):
        for call in _claims_in(tree):
            controls = [keyword.value for keyword in call.keywords if keyword.arg == "control"]
            found += [] if controls else [(number, "**{...}")]
            found += [
                (number, ast.unparse(control))
                for control in controls
                if not _reaches_mathematics(control, made) or _is_the_measured(control, call.args[1:2])
            ]
    return found


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # its execution fails, and says so
        return ast.Module([], [])


def _claims_in(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=witness, attr="holds" | "refutes")) if (
                ast.unparse(witness) != _PROVED
            ):
                yield node


_Made = dict[str, list[ast.AST]]
"""From a name to all that the notebook makes it of: an import stands for itself."""


def _made_of(trees: Iterable[ast.Module]) -> _Made:
    made: _Made = {}

    def add(target: ast.AST, *parts: ast.AST | None) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                made.setdefault(node.id, []).extend(part for part in parts if part is not None)

    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        add(target, value)
                case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.NamedExpr(target=target):
                    add(target, node.value)
                case ast.For(target=target, iter=rows) | ast.comprehension(target=target, iter=rows):
                    add(target, rows)
                    if isinstance(rows, ast.Tuple | ast.List):  # lists that the loop fills by another name
                        add(rows, target)
                case ast.withitem(optional_vars=target, context_expr=value) if target is not None:
                    add(target, value)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    made.setdefault(name, []).extend(node.body)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    for alias in names:
                        made.setdefault((alias.asname or alias.name).partition(".")[0], []).append(node)
                case ast.Call(func=ast.Attribute(value=target, attr="append" | "add" | "extend" | "update")):
                    add(target, *node.args)
    return made


def _reaches_mathematics(start: ast.AST, made: _Made) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for node in _walk_outside_literals(waiting.pop()):
            if isinstance(node, ast.Attribute) and ast.unparse(node).partition(".")[2].startswith(_WITHIN_NUMPY):
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                for part in made.get(node.id, []):
                    if isinstance(part, ast.Import | ast.ImportFrom):
                        if _is_mathematics(part, node.id):
                            return True
                    else:
                        waiting.append(part)
    return False


def _walk_outside_literals(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below one, but for ``sp.pi`` and the function in ``sp.Integer(2)``, which are numbers written down."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Attribute) and each.attr in _LITERALS:
            continue
        yield each
        waiting.extend(ast.iter_child_nodes(each))


def _is_mathematics(node: ast.Import | ast.ImportFrom, name: str) -> bool:
    origin = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    full = [f"{origin}.{alias.name}".strip(".") for alias in node.names if name in (alias.asname, alias.name)]
    full += [alias.name for alias in node.names if alias.name.startswith(f"{name}.")]
    return any(each.startswith(_MATHEMATICS) and not each.startswith(_NO_MATHEMATICS) for each in full)


def _is_the_measured(control: ast.expr, measured: list[ast.expr]) -> bool:
    """Whether a control is the measured expression, with numbers added, subtracted, multiplied or divided."""
    while isinstance(control, ast.BinOp) and isinstance(control.right, ast.Constant):
        control = control.left
    while isinstance(control, ast.BinOp) and isinstance(control.left, ast.Constant):
        control = control.right
    return bool(measured) and ast.dump(control) == ast.dump(measured[0])
