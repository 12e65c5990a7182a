"""Which changes count as mutants, and that each is what it says."""

from __future__ import annotations

from tools.mutants.catalogue import mutants_of


def changes(source: str) -> set[str]:
    return {mutant.becomes for mutant in mutants_of("theory.flows", source)}


def test_arithmetic_and_numbers() -> None:
    swapped = {f"y = x {operator} 2" for operator in "+-/"} | {"y = x ** 2"}
    assert changes("y = x * 2") == swapped | {"y = x * 1", "y = x * 3"}


def test_comparisons_signs_booleans_and_loops() -> None:
    assert changes("y = a < b") == {f"y = a {operator} b" for operator in ("==", "!=", "<=", ">", ">=")}
    assert changes("y = -x") == {"y = x"}
    assert changes("y = a and True") == {"y = a or True", "y = a and False"}
    assert changes("y = x is None") == {"y = x is not None"}
    assert changes("y = 1 if a else 1") - {"y = 2 if a else 1", "y = 0 if a else 1"} == {
        "y = 1 if not a else 1",
        "y = 1 if a else 2",
        "y = 1 if a else 0",
    }
    assert changes("for x in y: break") == {"for x in []: break", "for x in y: continue"}


def test_a_decorator_is_left_out() -> None:
    (found,) = mutants_of("theory.flows", "class A:\n    @property\n    def b(self):\n        pass\n")
    assert (found.line, found.becomes) == ("@property", "")
    assert "@" not in found.source


def test_what_means_nothing_is_no_mutant() -> None:
    source = (
        'def f(a: int | None, *, b: "3 - 1" = None) -> Floats[2]:\n    """From 1 to 2 - x."""\nx: Array[3]\n"""2."""\n'
    )
    assert changes(source) == set()
    assert changes(source + "y = 1\n") == {"y = 0", "y = 2"}  # control


def test_the_same_change_counts_once() -> None:
    assert [m.becomes for m in mutants_of("theory.flows", "y = 0 - 1")].count("y = 0 - 0") == 1
    assert len(changes("y = -x")) == len(list(mutants_of("theory.flows", "y = -x")))


def test_equal_lines_are_numbered() -> None:
    found = [m for m in mutants_of("theory.flows", "y = -x\nz = 0\n\nif x:\n    y  =  -x\n") if m.line == "y = -x"]
    assert [m.number for m in found] == [1, 2]
    assert [m.source.splitlines()[row] for m, row in zip(found, (0, 4), strict=True)] == ["y = x", "    y  =  x"]
