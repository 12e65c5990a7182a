"""The command ``scansnap``: it parses the command line, runs a command, and turns errors into exit statuses."""

import argparse
import io
import itertools
import os
import re
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from scansnap_core import __version__
from scansnap_core.bad_input import BadInput
from scansnap_core.commands import audit, book, predict, text, train

REFUSED = 2
INTERRUPTED, NOBODY_READS, TERMINATED = 130, 141, 143
"""128 and the signal's number, as of a program that SIGINT, SIGPIPE or SIGTERM ends."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, without arguments that of the process, and return the exit status.

    That is 0; 1 if something isn't verified; 2 on bad input; 130 if interrupted; 143 if terminated, as by ``kill`` or a
    batch system; 141 if whoever reads the output has gone, as ``head`` goes.
    """
    if arguments is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where Greek can't be written, question marks stand for it
    try:
        try:
            return _run(arguments)
        finally:
            print(end="", flush=True)  # a closed pipe shows here, not when Python ends
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        if isinstance(error, BrokenPipeError):
            return NOBODY_READS
        print(f"scansnap: error: {error.strerror}: {error.filename or 'output'}", file=sys.stderr)
        return REFUSED


def _run(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _Parser(prog="scansnap", description="The executable companion of the paper Scan and Snap.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(command_line=shlex.join(["scansnap", *given]))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for each in (book.verify, audit.run, predict.run, train.run, train.sweep, text.run):
        each.add_to(commands)
    for option, value in itertools.pairwise([*given, "-"]):
        if option.startswith("--") and (not value or option.endswith("=")):
            print(f"scansnap: error: {option.rstrip('=')} '': a value isn't empty; write one", file=sys.stderr)
            return REFUSED
    options = parser.parse_args(given)
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append("")  # as with python -m: modules of one's own are named from where one stands
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        with _terminable():
            return command(options)
    except BadInput as error:
        print(f"scansnap: error: {_in_options(str(error), options)}", file=sys.stderr)
        return REFUSED
    except SystemExit as error:  # no command ends like this, but a function of the user's own may
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        place = f"{frame.f_code.co_filename} ends the program in line {line}"
        print(f"scansnap: error: {place}: a function of your own returns or raises; raise an error", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt as error:
        terminated = isinstance(error, _Terminated)
        print(f"scansnap: {'terminated' if terminated else 'interrupted'}: {options.when_stopped}", file=sys.stderr)
        return TERMINATED if terminated else INTERRUPTED


class _Terminated(KeyboardInterrupt):
    """SIGTERM came: what cleans up after Ctrl-C cleans up after it too."""


@contextmanager
def _terminable() -> Iterator[None]:
    """Raise `_Terminated` on SIGTERM, which would else end the process without a word."""

    def stop(*_: object) -> NoReturn:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _in_options(message: str, options: argparse.Namespace) -> str:
    """Turn a message about Python's arguments into one about the command's: "lr_y = -1.0" is "--lr-y -1.0" there."""
    if message.startswith("file "):  # a file's keys may have the names of options
        return message
    for name in set(vars(options)) - {"command", "command_line", "id"}:
        argument = rf"(?<![\w-]){name} ?= ?'?(?:math\.)?([\w.:+-]*\w)'?"
        message = re.sub(argument, rf"--{name.replace('_', '-')} \1", message)
    return message.replace("--batch-size None", "--expectation") if "expectation" in options else message


class _Parser(argparse.ArgumentParser):
    """Refuses what it can't parse in the one line of other bad input."""

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"scansnap: error: {message}; see {self.prog} --help\n")


if __name__ == "__main__":
    sys.exit(main())
