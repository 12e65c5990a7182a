"""What `pip install scansnap_core` alone is good for: everything else that is installed here is hidden."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scansnap_core import __version__
from scansnap_core.base.extras import MissingExtra, needs
from tests.refusing import refuses

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
EXAMPLE = str(ROOT / "examples" / "two_topics.yaml")

HIDE = """
import sys
from importlib.machinery import PathFinder

hidden, find = set(sys.argv.pop(1).split(",")), PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in hidden else find(name, *more)
"""
RESEARCH = f"""
import numpy as np
from scansnap_core.data.audit import audit
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.theory import decoder, dynamics, flows, formulas, gallery, measures, sampling, spectrum, tails
from scansnap_core.ledger import page

classes = SequenceClasses.load({EXAMPLE!r})
audit(classes)
run = train(classes, lr_y=1.0, lr_z=1.0, steps=3, batch_size=None, seq_len=np.inf)
print(float(run.loss[..., -1].squeeze()) < float(run.loss[..., 0].squeeze()))
"""
COMMAND = "from scansnap_core.cli import main; sys.exit(main(sys.argv[1:]))"


@cache
def needed(requirement: str) -> frozenset[str]:
    """The distributions that one brings, itself among them."""
    parsed = Requirement(requirement)
    if parsed.marker and not parsed.marker.evaluate({"extra": ""}):
        return frozenset()
    try:
        below = requires(parsed.name) or []
    except PackageNotFoundError:
        below = []
    return frozenset({canonicalize_name(parsed.name)}).union(*map(needed, below))


@pytest.fixture(scope="module")
def hidden() -> str:
    """The modules that the base dependencies don't bring."""
    brought = frozenset({"scansnap-core"}).union(*map(needed, PROJECT["dependencies"]))
    modules = packages_distributions().items()
    found = {module for module, names in modules if not brought.intersection(map(canonicalize_name, names))}
    assert {"IPython", "h5netcdf", "matplotlib", "nbformat", "numba", "zarr"} <= found
    assert found.isdisjoint({"numpy", "scipy", "sympy", "torch", "tqdm", "xarray", "yaml"})
    return ",".join(found)


def alone(hidden: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDE + program, hidden, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("program", "said"), [((RESEARCH,), r"True\n"), ((COMMAND, "audit", EXAMPLE), ".*common tokens")]
)
def test_classes_are_audited_and_trained(program: tuple[str, ...], said: str, hidden: str) -> None:
    done = alone(hidden, *program)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(said, done.stdout, re.DOTALL)


@pytest.mark.parametrize(
    ("arguments", "missing", "extra"),
    [
        ("train {example} --lr-y 1 --lr-z 1 --steps 1 --out {folder}/run.nc", "h5netcdf", "sweeps"),
        ("sweep fig6 --out {folder}/fig6.zarr", "numba", "sweeps"),
        ("text train --corpus topics --out {folder}/topics.zarr", "zarr", "sweeps"),
        ("verify lemma_06", r"\w+", "book"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    hidden: str, tmp_path: Path, arguments: str, missing: str, extra: str
) -> None:
    done = alone(hidden, COMMAND, *(word.format(example=EXAMPLE, folder=tmp_path) for word in arguments.split()))
    message = rf"scansnap: error: {missing}: it isn't installed; pip install 'scansnap_core\[{extra}\]'\n"
    assert re.fullmatch(message, done.stderr)
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


EXTRA_OF = {
    "plots": "plots", "pictures": "plots", "engine.compiled": "sweeps", "storage.store": "sweeps",
    "theory.certify": "proofs", "text.corpus": "text", "book.execute": "book",
}  # fmt: skip


@pytest.mark.parametrize("module", EXTRA_OF)
def test_a_module_names_the_extra_that_it_needs(hidden: str, module: str) -> None:
    done = alone(hidden, f"import scansnap_core.{module}")
    assert f"pip install 'scansnap_core[{EXTRA_OF[module]}]'" in done.stderr.splitlines()[-1]


def test_extras_that_are_named_exist() -> None:
    sources = [path.read_text(encoding="utf8") for path in (ROOT / "scansnap_core").rglob("*.py")]
    named = {name for source in sources for name in re.findall(r'^ *with needs\("(\w+)"\)', source, re.MULTILINE)}
    assert named == PROJECT["optional-dependencies"].keys() - {"test"}


def test_a_missing_extra_is_bad_input_and_an_import_error() -> None:
    with refuses("nowhere", "it isn't installed", "pip install 'scansnap_core[sweeps]'") as caught, needs("sweeps"):
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")
    assert isinstance(caught.value, MissingExtra)
    assert isinstance(caught.value, ImportError)


def test_the_version_stands_in_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    from scansnap_core.cli import main

    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"scansnap {__version__}\n"
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf8")
