"""The commands of ``scansnap``. Each is a function, with one row per option.

Importing them doesn't import PyTorch.

A row is an option's name with what stands for its value, its type or the choices, and its help;
then its default if it has one, or ``REQUIRED``. A name that ends in "..." takes several values.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.storage.provenance import provenance

if TYPE_CHECKING:
    import xarray as xr

REQUIRED = object()
NOTHING_KEPT = "nothing was stored; the same command begins anew"
GOES_ON = "what was finished is stored; give the same command again, and it goes on from there"
CLASS_FILE = ("FILE", Path, "the classes, a .yaml or .json file")
DEVICE = ("--device NAME", str, "auto, cpu or cuda", "auto")


class Command(NamedTuple):
    """A command: a function of its options, its name, its line in the list of commands, and its
    rows.

    ``when_stopped`` says what is left of a run that is interrupted, and what to do.
    """

    run: Callable[[argparse.Namespace], int]
    name: str
    says: str
    rows: tuple[tuple[Any, ...], ...]
    when_stopped: str

    def add_to(self, commands: argparse._SubParsersAction[Any]) -> None:
        """Add the command to the command line; its function's docstring describes it."""
        *groups, name = self.name.split()
        for group in groups:
            commands = commands.add_parser(group, help=self.says).add_subparsers(
                required=True, metavar="COMMAND"
            )
        parser = commands.add_parser(name, help=self.says, description=self.run.__doc__)
        for names, kind, says, *rest in self.rows:
            name, _, value = names.removesuffix("...").partition(" ")
            how: dict[str, Any] = {"type": kind, "metavar": value or name}
            if kind is bool or isinstance(kind, tuple):
                how = {"action": "store_true"} if kind is bool else {"choices": kind}
            if names.endswith("..."):
                how["nargs"] = "+" if value else "*"
            if rest:
                how |= {"required": True} if rest == [REQUIRED] else {"default": rest[0]}
                says += "" if rest == [REQUIRED] else f" (default: {rest[0]})"
            parser.add_argument(name.lower(), help=says, **how)
        parser.set_defaults(command=self.run, when_stopped=self.when_stopped)


def command(
    name: str, says: str, *rows: tuple[Any, ...], when_stopped: str = NOTHING_KEPT
) -> Callable[[Callable[[argparse.Namespace], int]], Command]:
    """Make a command of a function."""
    return lambda run: Command(run, name, says, rows, when_stopped)


class NewFile:
    """The file that ``--out`` names: what can go wrong is tried before the work, and the file is
    written after it.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        """Raise BadInput unless the file can be written, and note the command and the class file's
        checksum.
        """
        with needs("sweeps"):
            import_module("h5netcdf")
        with _as_option("--out"):
            files.try_new(options.out)
        self._path: Path = options.out
        digest = hashlib.sha256(options.file.read_bytes()).hexdigest()
        self._attrs = {**provenance(options.command_line), "class_file_sha256": digest}

    def store(self, found: xr.Dataset) -> None:
        """Store results as NetCDF with the command that made them and the checksum of the class
        file.
        """
        files.keep(
            self._path, found.assign_attrs(self._attrs).to_netcdf(engine="h5netcdf"), new=True
        )


@contextmanager
def _as_option(option: str) -> Iterator[None]:
    """Say in messages by which option a file was given, as in "--classes mine.yaml".

    The package doesn't know options: where a file can't be used, its message begins with "file"
    and asks for another. Here the option takes the place of that word.
    """
    try:
        yield
    except BadInput as error:
        raise BadInput(
            error.value.replace("file", option, 1), error.rule, "name another file"
        ) from None
