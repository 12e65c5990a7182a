"""A journal keeps whole records, drops a torn one and refuses a damaged one."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from scansnap_core.storage.journal import Damaged, Journal


def test_a_journal_on_a_disk_that_is_full(tmp_path: Path) -> None:
    """What was written before the disk was full goes again, on a real limit of the file's size."""
    program = """
import resource, signal, sys
from pathlib import Path
from scansnap_core.storage.journal import Journal
journal = Journal(Path(sys.argv[1]))
journal.append({"block": 0})
size = Path(sys.argv[1]).stat().st_size
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
try:
    journal.append({"block": 1})
except OSError as error:
    print(error.strerror, Path(sys.argv[1]).stat().st_size - size, len(journal.records))
"""
    path = tmp_path / "journal"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large 0 1\n"
    assert Journal(path).records == [{"block": 0}]


def test_a_journal_drops_a_torn_record_and_refuses_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert Journal(path).records == []
    for block in range(3):
        Journal(path).append({"block": block})
    whole = path.read_bytes()
    assert whole.splitlines()[0] == b'a33671bb {"block": 0}'  # the CRC-32 is gzip's
    path.write_bytes(whole[:-3])
    journal = Journal(path)
    assert journal.records == [{"block": 0}, {"block": 1}]
    journal.append({"block": 2})
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"block": 1', b'"block": 7'))
    with pytest.raises(Damaged, match="line 2 of journal fails its checksum"):
        Journal(path)


@pytest.mark.parametrize("text", [b"[]", b"3", b"null", b"{", b"\xff", b"[" * 100_000, b"1" * 5_000])
def test_a_line_that_is_no_record(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Journal(path).append({"block": 0})
    path.write_bytes(path.read_bytes() + f"{zlib.crc32(text):08x} ".encode() + text + b"\n")
    with pytest.raises(Damaged, match="line 2 of journal is no record"):
        Journal(path)
