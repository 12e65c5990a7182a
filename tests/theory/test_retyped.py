"""Each closed form is typed once, in the registry: chapters and modules import it from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from scansnap_core.book.notebooks import code_cells, read_notebook
from scansnap_core.ledger.registry import chapter_paths
from tests.theory.retyped import known, retyped

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = ROOT / "scansnap_core" / "theory" / "formulas"
MODULES = [path for path in sorted((ROOT / "scansnap_core").rglob("*.py")) if REGISTRY not in path.parents]
SECOND_PROGRAM = "second-program"
"""The tag of a cell that computes a closed form by a program of its own, on purpose."""


@pytest.mark.parametrize("path", chapter_paths(ROOT / "chapters"), ids=lambda path: path.stem)
def test_chapter_imports_its_formulas(path: Path) -> None:
    cells = [cell for cell in code_cells(read_notebook(path)) if SECOND_PROGRAM not in cell.metadata.get("tags", [])]
    assert [found for cell in cells for found in retyped(cell.source)] == []


def test_modules_import_their_formulas() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf8") for path in MODULES}
    assert {name: found for name, source in sources.items() if (found := list(retyped(source)))} == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("speed = (m - 1) ** 2 * height / (m - 1 + np.exp(m * height))", "gamma"),
        ("rate = height / (np.exp(height * m) + m - 1) * (m - 1) * (m - 1)", "gamma"),
        ("x = lr / (classes.vocab_size + math.expm1(classes.vocab_size * v[3]))", "h_rate"),
        ("low = -size / (size - 1) ** 2", "q_0"),
        ("b = high * (1 + own) * Ep[k, n] + low * (sum(rest) - (1 + other))", "beta without sigma"),
        ("b = (1 + s) * (low * (1 + other + rest) + high * Ep[k, n] * (1 + own))", "beta_printed"),
        ("part = np.eye(3) - np.linalg.inv(np.eye(3) + overlaps)", "E_prime"),
        ("print(f'{math.log(4 * G + C) / 4:.2f}')", "B"),
        ("def f(m):\n    return 1 + sp.LambertW(-1 / (m - 1), -1) / sp.log(m)", ""),
        ("w = -1 - sp.LambertW(-1 / (m - 1), -1) / sp.log(m)", "omega_1"),
    ],
)
def test_a_planted_one_is_found(source: str, name: str) -> None:
    assert [found for found, _ in retyped(source)][:1] == [name] * bool(name)


@pytest.mark.parametrize(
    "source",
    [
        "speed = (m - 1) ** 2 * height / (m + np.exp(m * height))",
        "rate = function_of(gamma, (h_, M))(height, m)",
        "b = high * (1 + own) * Ep[k, n] - low * (sum(rest) - (1 + other))",
        "part = np.eye(3) + np.linalg.inv(np.eye(3) + overlaps)",
        "x = 2 * a + b",
        "x = np.exp() + np.log(a, b) + lambertw(a, k=1)",
    ],
)
def test_what_is_none_is_left_alone(source: str) -> None:
    assert list(retyped(source)) == []


def test_most_formulas_are_looked_for() -> None:
    names = {name.split(" without ")[0] for forms in known().values() for name in forms}
    assert {"gamma", "beta", "beta_printed", "iota", "q_0", "E_prime", "h", "t_0", "B_late", "zeta"} <= names
