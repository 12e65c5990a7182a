"""A process that has imported what chapters import, and forks a kernel whenever it's asked for one.

Run as a program, by its path, so that nothing of this package is imported before a chapter does so. It reads requests
as lines of JSON and answers each with one: ``{"argv", "folder", "quiet"}`` starts a kernel and gets its process
id; ``{"ended": id}`` gets that process's exit code, or null while it runs. At the end of its input it ends.

A forked kernel differs from one of its own in two ways. The order of sets of texts (the hash seed) is the same in all
kernels of one such process. And a submodule below is there though a chapter imported its package alone: a test sees to
it that no chapter does so with a package that wouldn't bring it.
"""

import atexit
import gc
import importlib
import json
import os
import sys
import warnings
from contextlib import suppress

PRELOADED = (
    "dask.array",  # xarray asks whether an array is one of dask's
    "h5netcdf",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "jinja2",
    "matplotlib.pyplot",
    "nbformat",
    "numpy.random",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.stats",
    "sympy",
    "sympy.physics.units",  # simplify() imports it
    "torch",
    "torch._dynamo",  # an optimiser's first step imports it
    "xarray",
    "yaml",
    "z3",
)
"""Libraries whose import takes long. The package itself and what attaches itself to a kernel are left to the kernel."""
GRAMMAR = "rfc3987_syntax"
"""What the package imports nbformat without, most of a second (:data:`scansnap_core.extras.GRAMMAR`)."""


def serve() -> None:
    """Answer requests until there are no more, or be the kernel that one of them asked for."""
    for line in sys.stdin:
        request = json.loads(line)
        if "ended" in request:
            ended, status = os.waitpid(request["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if ended else None
        else:
            answer = os.fork()
            if not answer:
                return be_kernel(**request)
        print(json.dumps(answer), flush=True)
    return None


def be_kernel(argv: list[str], folder: str, quiet: bool) -> None:
    """Go on as a kernel, as if the interpreter had been started with these arguments in this folder."""
    os.setsid()  # signals for a kernel reach it and what it started, and nothing else
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    if quiet:
        os.dup2(nothing, 2)
    os.dup2(2, 1)
    os.chdir(folder)
    sys.argv = [*argv, f"--IPKernelApp.parent_handle={os.getppid()}"]  # without its parent a kernel ends itself
    draw_anew()
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()
    atexit._run_exitfuncs()
    os._exit(0)  # to take apart all that was imported would take as long as the kernel's start


def draw_anew() -> None:
    """Seed the libraries' common generators: else every kernel would draw the same, and nobody would notice."""
    for name in {"numpy.random", "torch", "sympy.core.random"} & sys.modules.keys():
        sys.modules[name].seed()


def preload() -> None:
    """Import what there is of the libraries.

    Raises
    ------
    SystemExit
        One warns meanwhile, which would be missing among the outputs of every chapter that imports it.
    """
    sys.modules[GRAMMAR] = None  # type: ignore[assignment]
    with warnings.catch_warnings(record=True) as heard:
        for name in PRELOADED:
            with suppress(ImportError, OSError):  # the chapter that needs it says so
                importlib.import_module(name)
    del sys.modules[GRAMMAR]
    if heard:
        told = "; ".join(f"{each.filename}: {each.category.__name__}: {each.message}" for each in heard)
        sys.exit(f"a library warns as it's imported, and no forked kernel would say so: {told}")
    gc.freeze()  # nothing of it is garbage, so no kernel need look


if __name__ == "__main__":
    preload()
    serve()
