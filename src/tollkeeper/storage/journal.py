"""The journal: a local file that remembers settlements until the database has them.

It is written without fsync: that survives kill -9 of the process, which is what it is for. The next worker on the same
host settles from it what its predecessor could not; whatever is lost with the whole host is settled by the sweeper.

Rules of this file
1. A settlement is written before the caller's last byte is sent. A later line for a call replaces an earlier one.
2. A file is locked while its owner lives. One that can be locked belongs to nobody and is replayed, then removed.
3. Segments end at a few megabytes and are removed once everything in them is booked.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import UUID

import msgspec

from tollkeeper.ports import Settlement

SEGMENT_BYTES = 4 * 1024 * 1024

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Settlement).decode


class Segment:
    """One file, locked by this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Locked before it has its name: nobody may find it and take its owner for dead.
        nameless = path.with_suffix(".new")
        self._descriptor: int | None = os.open(nameless, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        nameless.rename(path)
        self.size_bytes = 0
        self.unbooked: set[UUID] = set()

    def write(self, settlement: Settlement) -> None:
        """Raise OSError where the line could not be written whole."""
        if self._descriptor is None:
            raise OSError("the journal is closed")
        line = encode(settlement) + b"\n"
        # One write of one line: a process killed in the middle leaves either all of it or a torn last line.
        if os.write(self._descriptor, line) < len(line):
            os.ftruncate(self._descriptor, self.size_bytes)
            raise OSError("the disk is full")
        self.size_bytes += len(line)
        self.unbooked.add(settlement.request_id)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()
        self.leave()

    def leave(self) -> None:
        """Give up the lock: whoever comes next may replay what is in here."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Journal:
    """The segments of one worker."""

    def __init__(self, folder: Path, worker_id: int) -> None:
        self._folder = folder
        self._worker_id = worker_id
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._segments = [self._new_segment()]

    def write(self, settlement: Settlement) -> None:
        if self._segments[-1].size_bytes > SEGMENT_BYTES:
            self._segments.append(self._new_segment())
        self._segments[-1].write(settlement)

    def booked(self, request_id: UUID) -> None:
        """The database has this one."""
        for segment in self._segments:
            segment.unbooked.discard(request_id)
        # A line that is replayed although its call was settled does nothing, so segments may go in any order.
        for segment in [segment for segment in self._segments[:-1] if not segment.unbooked]:
            self._segments.remove(segment)
            segment.remove()

    def close(self) -> None:
        """Leave behind only what is not booked."""
        for segment in self._segments:
            if segment.unbooked:
                segment.leave()
            else:
                segment.remove()

    def _new_segment(self) -> Segment:
        self._number += 1
        return Segment(self._folder / f"{self._worker_id}-{self._number:06d}.journal")


class Orphan(NamedTuple):
    """The files of a dead worker, with the last settlement of every call in them."""

    worker_id: int
    paths: list[Path]
    settlements: list[Settlement]


def orphaned(folder: Path) -> Iterator[Orphan]:
    """Every worker whose files can be locked. They stay locked by this process while they are being handled."""
    paths = sorted(folder.glob("*.journal"), key=_place)
    for worker_id, group in groupby(paths, key=lambda path: _place(path)[0]):
        own = list(group)
        with ExitStack() as stack:
            try:
                files = [stack.enter_context(_locked(path)) for path in own]
            except (BlockingIOError, FileNotFoundError):
                continue
            last: dict[UUID, Settlement] = {}
            for file in files:
                last |= {settlement.request_id: settlement for settlement in _settlements(file.read())}
            yield Orphan(worker_id, own, list(last.values()))


def _place(path: Path) -> tuple[int, int]:
    """Worker and number of a segment, from its name."""
    worker_id, _, number = path.stem.partition("-")
    return int(worker_id), int(number)


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file


def _settlements(text: bytes) -> Iterator[Settlement]:
    for line in text.splitlines():
        # The last line may be torn: its call is settled by the sweeper.
        with suppress(msgspec.DecodeError):
            yield decode(line)
