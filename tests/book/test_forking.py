"""Kernels that one process forks: what they print is what kernels of their own print, and they end as those do."""

import ast
import mmap
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from time import sleep

import nbformat
import pytest
import sympy
import torch

from scansnap_core.book import execute, forking, zygote
from scansnap_core.book.forking import Zygote
from scansnap_core.book.notebooks import code_cells, read_notebook

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not forking.pays(forking.FEW + 1), reason="kernels are forked under Linux alone. To get it: run it there"
)

IMPORTED = "import sys\nprint(sorted(name for name in sys.modules if name.startswith('scansnap_core')))"
PLACE = "import os\nprint(os.getcwd() == {folder!r}, os.getsid(0) == os.getpid(), os.environ['OMP_NUM_THREADS'])"
PICTURE = "import matplotlib.pyplot as plt\n_ = plt.plot([0, 1])"
NAMES = "print(sorted(name for name in dir() if name[0] != '_'), __name__)"
FAULTS = """
import resource
def faults(rounds):
    for _ in range(rounds):
        _ = [bytearray(2**24) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
print(-faults(2) + faults(5))
"""
DRAWS = "import random, numpy\nprint(numpy.random.rand(), random.random())"


@pytest.fixture
def light(light_program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks however few kernels, by a process that has imported no more than they need here."""
    monkeypatch.setattr(forking, "_PROGRAM", light_program)
    monkeypatch.setattr(forking, "FEW", 0)


def written(folder: Path, *chapters: tuple[str, ...]) -> list[Path]:
    paths = [folder / f"chapter_{n}.ipynb" for n in range(len(chapters))]
    for path, cells in zip(paths, chapters, strict=True):
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return paths


def executed(paths: list[Path]) -> list[execute.Execution]:
    return list(execute.execute_all(paths, 2, lambda: None).values())


def texts(run: execute.Execution) -> list[str]:
    return [output.get("text", "") for cell in run.notebook.cells for output in cell.outputs]


def test_a_forked_kernel_says_what_one_of_its_own_says(
    tmp_path: Path, light: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = (NAMES, IMPORTED, PLACE.format(folder=str(tmp_path)), PICTURE)
    paths = written(tmp_path, cells)
    forked = executed(paths)[0]
    monkeypatch.setattr(forking, "FEW", 9)
    own = executed(paths)[0]
    assert forked.notebook.cells == own.notebook.cells
    assert texts(forked)[1] == "[]\n"
    assert texts(forked)[2] == "True True 1\n"
    assert "image/png" in forked.notebook.cells[3].outputs[-1].data


def test_kernels_draw_apart(tmp_path: Path, light: None) -> None:
    """A chapter that forgets its seed must not look as if it gave the same each time."""
    first, second = (texts(run)[0].split() for run in executed(written(tmp_path, (DRAWS,), (DRAWS,))))
    assert not {*first} & {*second}


def test_a_forked_kernel_that_hangs_or_dies_is_named(
    tmp_path: Path, light: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(execute, "_CELL_TIMEOUT_SECONDS", 1)
    hangs, dies = executed(written(tmp_path, ("import time; time.sleep(60)",), ("import os; os._exit(3)",)))
    assert hangs.failure == "cell 1 ran longer than 1 s"
    assert "ended its kernel" in dies.failure
    assert "Traceback" not in capfd.readouterr().err


@pytest.fixture
def forks(light: None) -> Iterator[Zygote]:
    with Zygote(os.environ) as started:
        yield started


def test_exit_codes_come_back(forks: Zygote, tmp_path: Path) -> None:
    process = forking._Process(forks, forks.ask(argv=["kernel", "--no-such-option"], folder=str(tmp_path), quiet=True))
    process.kill()
    assert process.wait() == -9
    assert process.poll() == -9
    process.terminate()


def test_what_forks_kernels_may_end(forks: Zygote) -> None:
    forks._process.kill()
    with pytest.raises(RuntimeError, match=r"zygote\.py, which forks kernels, ended with -9"):
        forks.ask(ended=1)


def test_kernels_end_with_the_process_that_forked_them(tmp_path: Path, light: None) -> None:
    started = Zygote(os.environ)
    pid = started.ask(argv=["kernel", "-f", str(tmp_path / "kernel.json")], folder=str(tmp_path), quiet=True)
    while not (tmp_path / "kernel.json").exists():
        sleep(0.05)
    with started:
        pass
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return
        sleep(0.1)
    pytest.fail("the kernel still runs")


def test_what_is_preloaded_is_there_and_none_of_this_package() -> None:
    assert all(find_spec(name.partition(".")[0]) for name in zygote.PRELOADED)
    assert not any(name.startswith("scansnap") for name in zygote.PRELOADED)


def test_torch_and_sympy_draw_anew_too() -> None:
    before = torch.get_rng_state(), sympy.core.random.rng.getstate()
    try:
        zygote.draw_anew()
        assert not torch.equal(torch.get_rng_state(), before[0])
        assert sympy.core.random.rng.getstate() != before[1]
    finally:
        torch.set_rng_state(before[0])
        sympy.core.random.rng.setstate(before[1])


def test_a_library_that_warns_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grumbles.py").write_text("import warnings\nwarnings.warn('old')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(zygote, "PRELOADED", ("grumbles",))
    with pytest.raises(SystemExit, match=r"grumbles\.py: UserWarning: old"):
        zygote.preload()


def test_no_chapter_relies_on_what_is_preloaded() -> None:
    """A submodule that its package doesn't bring is imported by who uses it."""
    dotted = {tuple(name.split(".")[:2]) for name in zygote.PRELOADED if "." in name}
    program = "import sys, importlib; print(hasattr(importlib.import_module(sys.argv[1]), sys.argv[2]))"
    brings = {pair: subprocess.check_output([sys.executable, "-P", "-c", program, *pair], text=True) for pair in dotted}
    lacking = {pair for pair, answer in brings.items() if answer == "False\n"}
    # control: scipy, numpy and torch bring theirs
    assert {package for package, _ in lacking} == {"dask", "ipykernel", "matplotlib", "sympy"}
    chapters = [path for path in (ROOT / "chapters").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts]
    assert len(chapters) > 60
    for path in chapters:
        nodes = [node for cell in code_cells(read_notebook(path)) for node in ast.walk(ast.parse(cell.source))]
        bare = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
        asked = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        relied = [pair for pair in lacking if pair[0] in bare and pair[1] in asked]
        assert not relied, f"{path.name}: {relied}"


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc",
    reason="only glibc is told how to keep memory. To get it: run under a Linux that has it",
)
def test_a_kernel_keeps_the_memory_that_it_frees() -> None:
    def faults(environment: Mapping[str, str]) -> int:
        return int(subprocess.check_output([sys.executable, "-c", FAULTS], env=environment, text=True))

    asked, pages = execute.kernel_environment(), 5 * 4 * 2**24 // mmap.PAGESIZE
    without = {name: value for name, value in asked.items() if not name.startswith("MALLOC_")}
    assert faults(asked) < pages / 100 < faults(without)
