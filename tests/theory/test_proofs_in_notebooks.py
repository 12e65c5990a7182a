"""Each chapter's proofs alone, as its notebook has them: the cells of proofs, and of the others what these need."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from nbformat import NotebookNode

from scansnap_core.book.notebooks import code_cells, read_notebook
from scansnap_core.ledger import display, read_claims
from scansnap_core.ledger.registry import chapter_paths

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
CLAIMS = {path: read_claims(path.with_suffix(".yaml")).claims.values() for path in chapter_paths(ROOT / "chapters")}
PROOFS = {path: ids for path, claims in CLAIMS.items() if (ids := {c.id for c in claims if c.kind == "proof"})}


def is_proof(cell: NotebookNode) -> bool:
    return cell.id.startswith("cell-proved")


def read(node: ast.AST) -> set[str]:
    """The names that a statement reads; one that it adds to is among them."""
    nodes = list(ast.walk(node))
    added = {n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return added | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds, and those below a key of which it stores something."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    stores = [n for n in ast.walk(node) if isinstance(getattr(n, "ctx", None), ast.Store)]
    return {n.id for each in stores for n in (each, getattr(each, "value", each)) if isinstance(n, ast.Name)}


def run_proofs(name: str, cells: list[NotebookNode]) -> None:
    """Execute the cells of proofs, after those statements before the first that define what they use."""
    sources = [ast.parse(cell.source) for cell in cells if is_proof(cell)]
    first = [is_proof(cell) for cell in cells].index(True)
    before = [node for cell in cells[:first] for node in ast.parse(cell.source).body]
    wanted, kept = set().union(*map(read, sources)), []
    for node in reversed(before):
        if not isinstance(node, ast.Expr) and bound(node) & wanted:
            kept.append(node)
            wanted |= read(node)
    scope: dict[str, object] = {}
    for tree in (ast.Module(kept[::-1], []), *sources):
        exec(compile(tree, name, "exec"), scope)


@pytest.mark.parametrize("path", PROOFS, ids=lambda path: path.stem)
def test_every_claim_is_proved_and_every_control_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[str] = []
    monkeypatch.setattr(display, "show_proof", lambda proof: proved.append(proof.id))
    monkeypatch.setattr(display, "show", lambda output: None)
    monkeypatch.chdir(path.parent)
    started = time.process_time()
    run_proofs(path.stem, code_cells(read_notebook(path)))
    assert set(proved) == PROOFS[path]
    assert time.process_time() - started < SECONDS
