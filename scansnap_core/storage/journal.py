"""An append-only file of checked lines: what a kill tore off is dropped, what was damaged is refused."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any


class Damaged(Exception):
    """A complete line isn't what was written, or is no record; the message names it."""


class Journal:
    """Records, one a line: the CRC-32 of the JSON in hexadecimal, then the JSON.

    A record counts from the moment its line is complete. So a process killed while it writes one leaves the journal
    as it was before, and the next one to append cuts the torn line off.

    Parameters
    ----------
    path
        The file; without it there are no records yet.

    Raises
    ------
    Damaged
        A complete line fails its checksum, or holds no JSON object.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes() if path.exists() else b""
        self._path, self._size = path, content.rfind(b"\n") + 1
        self.records: list[dict[str, Any]] = []
        """It holds all complete records, in the order in which they were appended."""
        for number, line in enumerate(content[: self._size].splitlines(), start=1):
            checksum, _, text = line.partition(b" ")
            if checksum != _checksum(text):
                raise Damaged(f"line {number} of {path.name} fails its checksum")
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                raise Damaged(f"line {number} of {path.name} is no record")
            self.records.append(record)

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, whole or not at all.

        Raises
        ------
        OSError
            It can't be written, for instance on a full disk; the journal is as it was.
        """
        text = json.dumps(record, sort_keys=True).encode()
        line = _checksum(text) + b" " + text + b"\n"
        rest = memoryview(line)
        with self._path.open("ab", buffering=0) as file:
            file.truncate(self._size)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(self._size)
                raise
        self._size += len(line)
        self.records.append(record)


def _checksum(text: bytes) -> bytes:
    return f"{zlib.crc32(text):08x}".encode()
