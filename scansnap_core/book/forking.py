"""Kernels forked from a process that has imported their libraries, instead of started one by one.

A kernel's start and a chapter's imports take some three seconds, most of them the same libraries' for every chapter.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any, Self

from scansnap_core.extras import GRAMMAR, needs, without

with needs("book"), without(GRAMMAR):
    from jupyter_client.connect import KernelConnectionInfo
    from jupyter_client.manager import KernelManager
    from jupyter_client.provisioning.local_provisioner import LocalProvisioner

FEW = 3
"""So many kernels start each its own interpreter: what forks kernels imports more than a few need."""
_PROGRAM = Path(__file__).with_name("zygote.py")


def pays(kernels: int) -> bool:
    """Whether so many kernels are better forked. Outside Linux, system libraries may not outlive a fork."""
    return sys.platform == "linux" and kernels > FEW


class Zygote:
    """The process that forks kernels; a context that ends it.

    Parameters
    ----------
    environment
        The environment variables of the process and of its kernels.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its answer (:mod:`scansnap_core.book.zygote`)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = ""
        with self._lock, suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{_PROGRAM.name}, which forks kernels, ended with {self._process.wait()}")
        return json.loads(answer)


class _Process:
    """A forked kernel, as far as a provisioner uses :class:`subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self.zygote, self.pid, self.returncode = zygote, pid, None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self.zygote.ask(ended=self.pid)
        return self.returncode

    def wait(self) -> int:
        while (code := self.poll()) is None:
            sleep(0.02)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class _Forking(LocalProvisioner):
    zygote: Zygote

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        folder, quiet = str(options.get("cwd") or Path.cwd()), options.get("stderr") is not None
        # "python -m ipykernel_launcher ...": the zygote is that interpreter
        pid = self.zygote.ask(argv=cmd[2:], folder=folder, quiet=quiet)
        self.process = _Process(self.zygote, pid)  # type: ignore[assignment]
        self.pid = self.pgid = pid
        self.cwd = folder
        return self.connection_info


def forked(managers: type[KernelManager], zygote: Zygote) -> type[KernelManager]:
    """A class of kernel managers like ``managers``, whose kernels ``zygote`` forks."""

    class Forked(managers):  # type: ignore[misc, valid-type]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.provisioner = _Forking(kernel_spec=self.kernel_spec, parent=self)
            self.provisioner.zygote = zygote

    return Forked
