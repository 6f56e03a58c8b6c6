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
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
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
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size_bytes = 0
        self.unbooked: set[UUID] = set()

    def write(self, settlement: Settlement) -> None:
        line = encode(settlement) + b"\n"
        # One write of one line: a process killed in the middle leaves either all of it or a torn last line.
        os.write(self._descriptor, line)
        self.size_bytes += len(line)
        self.unbooked.add(settlement.request_id)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()
        self.leave()

    def leave(self) -> None:
        """Give up the lock: whoever comes next may replay what is in here."""
        os.close(self._descriptor)


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
        while len(self._segments) > 1 and not self._segments[0].unbooked:
            self._segments.pop(0).remove()

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
    """A file whose owner is dead, with the last settlement of every call in it."""

    path: Path
    worker_id: int
    settlements: list[Settlement]


def orphaned(folder: Path) -> Iterator[Orphan]:
    """Every file that can be locked. It stays locked by this process while it is being handled."""
    for path in sorted(folder.glob("*.journal")):
        with suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield Orphan(path, int(path.name.partition("-")[0]), list(_settlements(file.read())))


def _settlements(text: bytes) -> Iterator[Settlement]:
    last: dict[UUID, Settlement] = {}
    for line in text.splitlines():
        # The last line may be torn: its call is settled by the sweeper.
        with suppress(msgspec.DecodeError):
            settlement = decode(line)
            last[settlement.request_id] = settlement
    yield from last.values()
