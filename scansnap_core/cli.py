"""The command ``scansnap``: it parses the command line, runs a command, and turns errors into exit
statuses.

Only what is quickly imported is imported here. All else is imported where Ctrl-C is already
answered.
"""

import io
import itertools
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

REFUSED = 2
INTERRUPTED = 130
NOBODY_READS = 141
TERMINATED = 143
"""128 and the signal's number, as of a program that SIGINT, SIGPIPE or SIGTERM ends."""
_STOPPED = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, without arguments that of the process, and return the exit status.

    That is 0; 1 if something isn't verified; 2 on bad input; 130 if interrupted; 143 if terminated,
    as by ``kill`` or a batch system; 141 if whoever reads the output has gone, as ``head`` goes.
    Without arguments the process ends with this program: when all is done, it is deaf to Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None and isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that can't show Greek letters shows question marks in their place.
        sys.stdout.reconfigure(errors="replace")
    with _Stops(ends=arguments is None) as stops:
        try:
            return _with_output(given, stops)
        except KeyboardInterrupt as error:
            status = error.status if isinstance(error, _Stopped) else INTERRUPTED
            print(stops.line(status), file=sys.stderr)
            return status


class _Stopped(KeyboardInterrupt):
    """SIGINT or SIGTERM came: what cleans up after Ctrl-C cleans up after both."""

    def __init__(self, status: int) -> None:
        self.status = status


class _Stops:
    """Answers SIGINT and SIGTERM while the program runs, and knows what is left of the work.

    Parameters
    ----------
    ends
        Whether the process ends after the program, so that Ctrl-C has nothing to stop any more.
    """

    def __init__(self, ends: bool) -> None:
        self.left = "nothing was begun; give the same command again"
        self._ends = ends
        self._again = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "_Stops":
        if threading.current_thread() is threading.main_thread():  # Only it can set handlers.
            for each in (signal.SIGINT, signal.SIGTERM):
                # A shell's job in the background ignores Ctrl-C, and keeps doing so.
                if signal.getsignal(each) is not signal.SIG_IGN:
                    self._before[each] = signal.signal(each, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for each, before in self._before.items():
            signal.signal(each, signal.SIG_IGN if self._ends and each == signal.SIGINT else before)

    def line(self, status: int) -> str:
        """Say what came, what is left of the work, and what to do."""
        return f"scansnap: {_STOPPED[status]}: {self.left}"

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Raise `_Stopped` the first time; the second time, or in an import, end the process.

        A module that is interrupted half imported leaves tracebacks of its callbacks, and C++ may
        abort.
        """
        while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        status = 128 + number
        if self._again or frame is not None:
            os.write(2, f"{self.line(status)}\n".encode())
            os._exit(status)
        self._again = True
        raise _Stopped(status)


def _with_output(given: Sequence[str], stops: _Stops) -> int:
    """Run the command line, and return the exit status also where its output can't be written.

    That is so where the reader has gone, as ``head`` does, or the disk is full.
    """
    try:
        try:
            return _run(given, stops)
        finally:
            print(end="", flush=True)  # A closed pipe raises here, not at Python's end.
    except OSError as error:
        # Python flushes its output once more at its end; send that to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return NOBODY_READS
        print(f"scansnap: error: {error.strerror}: {error.filename or 'output'}", file=sys.stderr)
        return REFUSED


def _run(given: Sequence[str], stops: _Stops) -> int:
    """Parse the command line, run its command, and return the exit status.

    Bad input, and a function of the user's own that ends the program, become one line on standard
    error. ``stops`` learns what to say if the command is interrupted.
    """
    import traceback

    from scansnap_core.base.bad_input import BadInput

    for option, value in itertools.pairwise([*given, "-"]):
        if option.startswith("--") and (not value or option.endswith("=")):
            print(
                f"scansnap: error: {option.rstrip('=')} '': a value isn't empty; write one",
                file=sys.stderr,
            )
            return REFUSED
    options = _parser(given).parse_args(given)
    stops.left = options.when_stopped
    if not {"", os.getcwd()} & set(sys.path):
        # The user's own modules are found in the current folder, as with python -m.
        sys.path.append("")
    command: Callable[[Any], int] = options.command
    try:
        return command(options)
    except BadInput as error:
        print(f"scansnap: error: {_in_options(str(error), vars(options))}", file=sys.stderr)
        return REFUSED
    except SystemExit as error:  # no command ends like this, but a function of the user's own may
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        place = f"{frame.f_code.co_filename} ends the program in line {line}"
        print(
            f"scansnap: error: {place}: a function of your own returns or raises; raise an error",
            file=sys.stderr,
        )
        return REFUSED


def _parser(given: Sequence[str]) -> Any:
    """Make the parser of all commands; their options get the command line as it was given."""
    import argparse

    from scansnap_core import __version__
    from scansnap_core.commands import audit, book, predict, text, train

    class Parser(argparse.ArgumentParser):
        """Refuses what it can't parse in the one line of other bad input."""

        def error(self, message: str) -> NoReturn:
            """End the program with the message."""
            self.exit(REFUSED, f"scansnap: error: {message}; see {self.prog} --help\n")

    parser = Parser(
        prog="scansnap", description="The executable companion of the paper Scan and Snap."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(command_line=shlex.join(["scansnap", *given]))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for each in (book.verify, audit.run, predict.run, train.run, train.sweep, text.run):
        each.add_to(commands)
    return parser


def _in_options(message: str, options: dict[str, Any]) -> str:
    """Turn a message about Python's arguments into one about the command's: "lr_y = -1.0" is
    "--lr-y -1.0" there.
    """
    import re

    if message.startswith("file "):  # a file's keys may have the names of options
        return message
    for name in options.keys() - {"command", "command_line", "id"}:
        argument = rf"(?<![\w-]){name} ?= ?'?(?:math\.)?([\w.:+-]*\w)'?"
        message = re.sub(argument, rf"--{name.replace('_', '-')} \1", message)
    return (
        message.replace("--batch-size None", "--expectation")
        if "expectation" in options
        else message
    )


if __name__ == "__main__":
    sys.exit(main())
