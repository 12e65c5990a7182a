"""Executing notebooks afresh, each in a kernel of the running interpreter."""

import asyncio
import atexit
import locale
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

from scansnap_core.base.extras import needs
from scansnap_core.book.notebooks import code_cells, read_notebook, write_notebook

with needs("book"):
    import nbformat
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets import default

_CELL_TIMEOUT_SECONDS = 300
_MOST_PRINTED = 10_000_000
"""Characters of text that a chapter may print."""
# JupyterLab writes these when it opens a chapter, so looking at one doesn't mark it as changed. The
# version is that of the oldest Python that the book runs on, because they are the same wherever a
# chapter is stored.
_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.11.2",
    },
}


@dataclass(frozen=True)
class Execution:
    """A notebook with its fresh outputs, up to the cell that failed, and the wall time with the
    kernel's start.
    """

    notebook: nbformat.NotebookNode
    failure: str
    """Why it ended early; empty if it didn't."""
    seconds: float


class _ThisPython(AsyncKernelManager):
    """Starts kernels of the running interpreter, whatever kernels are registered under the
    notebook's name.
    """

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())

    @default("transport_encryption")
    def _encrypt(self) -> str:
        # Without it each kernel warns in the terminal that others on the machine could read along.
        return "auto"


def execute_all(
    paths: list[Path],
    jobs: int,
    on_cell: Callable[[], object],
    environment: Mapping[str, str] | None = None,
) -> dict[Path, Execution]:
    """Execute notebooks, several at a time in a thread each; ``on_cell`` is called after each
    executed cell.

    The kernels' environment variables are those of `kernel_environment`, if no others are given.
    """
    environment = environment or kernel_environment()
    clients = {path: _client(path, on_cell) for path in paths}
    with ThreadPoolExecutor(jobs) as pool:
        runs = {
            path: pool.submit(_execute, client, path.parent, environment)
            for path, client in clients.items()
        }
        try:
            return {path: run.result() for path, run in runs.items()}
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for client in clients.values():
                _kill(client)
            raise


class _Client(NotebookClient):
    """Stops a chapter that prints without end."""

    printed = 0

    def output(self, outs: Any, msg: dict[str, Any], display_id: Any, cell_index: int) -> Any:
        """Keep an output, or end the kernel."""
        self.printed += len(msg["content"].get("text", ""))
        if self.printed > _MOST_PRINTED:
            _kill(self)
            return None
        return super().output(outs, msg, display_id, cell_index)


@cache
def _no_profile() -> str:
    """Return the folder of an empty IPython profile, which lasts as long as this process."""
    folder = mkdtemp(prefix="scansnap-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def kernel_environment() -> dict[str, str]:
    """Return the environment variables of kernels that execute chapters.

    They are those of this process, except for what would change a chapter's outputs: the user's
    own settings of Matplotlib and IPython, and the number of threads.
    """
    # Matplotlib makes a list of fonts when it is first imported, and a folder of its own, named in
    # os.environ, if the home folder can't be written. It says so on stderr. So this happens here,
    # because in a kernel the words would stand among a chapter's outputs.
    with suppress(ImportError):
        import matplotlib.font_manager  # noqa: F401
    plots = find_spec("matplotlib")
    style = (
        Path(plots.origin).with_name("mpl-data") / "matplotlibrc" if plots and plots.origin else ""
    )
    return {
        **os.environ,
        # One thread adds up in one order, so the last digits don't depend on the number of cores;
        # and a chapter's matrices are so small that more threads cost time.
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        # A backend chosen for the terminal would leave the notebook without its figures.
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MATPLOTLIBRC": str(style),
        "IPYTHONDIR": _no_profile(),
        "PYTHONSTARTUP": "",
    }


def other_environment() -> dict[str, str]:
    """Return an environment with another hash seed, time zone and language, on which no output may
    depend.
    """
    usual = kernel_environment()
    return {
        **usual,
        "PYTHONHASHSEED": "2" if usual.get("PYTHONHASHSEED") == "1" else "1",
        # POSIX's form needs no list of zones. Both are far from Greenwich, and not by whole hours.
        "TZ": "<-0930>9:30" if "+1245" in usual.get("TZ", "") else "<+1245>-12:45",
        "LC_ALL": _other_language(usual.get("LC_ALL") or usual.get("LANG", "")),
    }


def _other_language(usual: str) -> str:
    """Return an installed language that writes numbers with a comma, or else C."""
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"):
        with suppress(locale.Error):
            locale.setlocale(locale.LC_NUMERIC, name)
            locale.setlocale(locale.LC_NUMERIC, before)
            if name != usual:
                return name
    return "C"


def _client(path: Path, on_cell: Callable[[], object]) -> _Client:
    """Make the client that will execute a notebook, whose stored outputs it forgets."""
    notebook = read_notebook(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    return _Client(
        notebook,
        kernel_manager_class=_ThisPython,
        timeout=_CELL_TIMEOUT_SECONDS,
        record_timing=False,
        skip_cells_with_tag="",
        force_raise_errors=True,
        # A kernel that is asked to end in the middle of a cell leaves a traceback in the terminal,
        # so it isn't asked.
        shutdown_kernel="immediate",
        on_cell_executed=lambda **_: on_cell(),
    )


def _execute(client: _Client, folder: Path, environment: Mapping[str, str]) -> Execution:
    """Execute a notebook in a folder; say in one line where and why it ended, if it ended early."""
    start = perf_counter()
    failure = ""
    try:
        asyncio.run(client.async_execute(cwd=str(folder), env=environment))
    except CellExecutionError as error:
        failure = (
            f"{_last_cell(client)} raised {error.ename}: {' '.join(error.evalue.split())[:600]}"
        )
    except CellTimeoutError:
        failure = f"{_last_cell(client)} ran longer than {_CELL_TIMEOUT_SECONDS} s"
    except (DeadKernelError, RuntimeError) as error:
        too_much = f"more than {_MOST_PRINTED:,} characters were printed"
        failure = (
            f"{_last_cell(client)} ended its kernel: "
            f"{too_much if client.printed > _MOST_PRINTED else error}"
        )
    # Whatever else happens, such as a source that can't be sent, is this chapter's fault alone.
    except Exception as error:
        failure = f"{_last_cell(client)} can't be executed: {type(error).__name__}: {error}"
    return Execution(client.nb, failure, perf_counter() - start)


def _last_cell(client: NotebookClient) -> str:
    """Name the cell at which an execution stands."""
    return (
        f"cell {client.code_cells_executed}"
        if client.code_cells_executed
        else "no cell: the kernel's start"
    )


def _kill(client: NotebookClient) -> None:
    """End a client's kernel at once, so that the thread that waits for it ends too."""
    process = getattr(getattr(client.km, "provisioner", None), "process", None)
    if process is not None:
        process.kill()


def store(execution: Execution, path: Path) -> None:
    """Write a notebook with its fresh outputs and nothing that changes from run to run or from
    machine to machine.

    If it can't be written, the notebook is as it was.
    """
    notebook = execution.notebook
    notebook.metadata.pop("widgets", None)
    notebook.metadata.update(_METADATA)
    for cell in code_cells(notebook):
        cell.metadata.pop("execution", None)
    write_notebook(notebook, path)
