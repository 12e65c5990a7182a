"""The commands of ``scansnap``: functions, whose options are declared in a row each. Importing them needs no torch.

A row is an option's name with what stands for its value, its type or the choices, and its help; then its default if it
has one, or ``REQUIRED``. A name that ends in "..." takes several values.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.storage.provenance import provenance

if TYPE_CHECKING:
    import xarray as xr

REQUIRED = object()
NOTHING_KEPT = "nothing was stored; the same command begins anew"
GOES_ON = "what was finished is stored; give the same command again, and it goes on from there"
CLASS_FILE = ("FILE", Path, "the classes, a .yaml or .json file")
DEVICE = ("--device NAME", str, "auto, cpu or cuda", "auto")


class Command(NamedTuple):
    """A command: a function of its options, its name, its line in the list of commands, and its rows.

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
            commands = commands.add_parser(group, help=self.says).add_subparsers(required=True, metavar="COMMAND")
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


def check_new(path: Path) -> None:
    """Try to write a file of results before they are computed: only a try shows that the file can be written."""
    try:
        path.open("xb").close()
    except FileExistsError:
        raise BadInput(f"--out {path}", "a stored run is never overwritten", "name another file") from None
    except OSError as error:
        raise BadInput(f"--out {path}: {error.strerror}", "the file can be written", "name another file") from None
    path.unlink()
    with needs("sweeps"):
        import_module("h5netcdf")


def store(found: xr.Dataset, options: argparse.Namespace) -> None:
    """Store results as NetCDF with the command that made them and the checksum of the class file."""
    digest = hashlib.sha256(options.file.read_bytes()).hexdigest()
    found.attrs |= {**provenance(options.command_line), "class_file_sha256": digest}
    files.save(options.out, found.to_netcdf(engine="h5netcdf"), new=True)
