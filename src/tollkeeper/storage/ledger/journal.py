"""The journal: a local file that remembers settlements until the database has them (a write-ahead journal).

It is mapped with mmap and not fsynced: it survives kill -9 of the process, not loss of the host, and a write costs no
system call. The next worker on the same host replays what its predecessor could not settle; the sweeper settles what
was lost with a host.

Rules of this file
1. A settlement is written before the caller's last byte is sent. A later line for a call replaces an earlier one.
2. A file is locked while its owner lives. One that can be locked belongs to nobody and is replayed, then removed.
3. Segments have a few megabytes and are removed once everything in them is booked. Their room is reserved before it is
   used, where the file system keeps such promises: a full disk is an error then, not a signal in the middle of a line.
"""

import fcntl
import logging
import mmap
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import UUID

import msgspec

from tollkeeper.ports import Settlement
from tollkeeper.storage.ledger.journal_folder import JournalFolder, NotOurs

SEGMENT_BYTES = 4 * 1024 * 1024
SEGMENT_NAME = re.compile(r"[0-9]{1,18}-[0-9]{6,9}\.journal")

log = logging.getLogger(__name__)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Settlement).decode


class Segment:
    """One file, locked by this process."""

    def __init__(self, folder: JournalFolder, name: str) -> None:
        self._folder = folder
        self._name = f"{name}.journal"
        # Locked before it has its name: another process that found it unlocked would take its owner for dead.
        nameless = f"{name}.new"
        folder.remove(nameless)
        self._descriptor: int | None = folder.create(nameless)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rename(nameless, self._name)
        self._room: mmap.mmap | None = None
        self._size_bytes = 0
        self.unbooked: set[UUID] = set()

    def has_room_for(self, line: bytes) -> bool:
        return self._size_bytes + len(line) <= SEGMENT_BYTES

    def write(self, request_id: UUID, line: bytes) -> None:
        """Raise OSError where there is no room for the line."""
        if not self.has_room_for(line):
            raise OSError("a line is longer than its segment")
        room, end = self._room or self._reserve(), self._size_bytes + len(line)
        # A process killed in the middle of this leaves a last line with zeros in it, which no reader takes for one.
        room[self._size_bytes : end] = line
        self._size_bytes = end
        self.unbooked.add(request_id)

    def remove(self) -> None:
        self._folder.remove(self._name)
        self.leave()

    def leave(self) -> None:
        """Give up the lock: the next worker on this host may replay the file."""
        if self._room is not None:
            self._room.close()
            self._room = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _reserve(self) -> mmap.mmap:
        if self._descriptor is None:
            raise OSError("the journal is closed")
        os.posix_fallocate(self._descriptor, 0, SEGMENT_BYTES)
        self._room = mmap.mmap(self._descriptor, SEGMENT_BYTES)
        return self._room


class Journal:
    """The segments of one worker."""

    def __init__(self, folder: Path, worker_id: int) -> None:
        """Raise UnsafeFolder where settlements could be forged."""
        self._folder = JournalFolder(folder)
        self._worker_id = worker_id
        self._number = 0
        self._segments = [self._new_segment()]

    def write(self, settlement: Settlement) -> None:
        line = encode(settlement) + b"\n"
        if not self._segments[-1].has_room_for(line):
            self._segments.append(self._new_segment())
        self._segments[-1].write(settlement.request_id, line)

    def booked(self, request_id: UUID) -> None:
        """The database has this one."""
        for segment in self._segments:
            segment.unbooked.discard(request_id)
        if len(self._segments) == 1:
            return
        # A line that is replayed although its call was settled does nothing, so segments may go in any order.
        for segment in [segment for segment in self._segments[:-1] if not segment.unbooked]:
            self._segments.remove(segment)
            segment.remove()

    @property
    def unbooked(self) -> int:
        """Calls of which it knows, and the database does not."""
        return len(set().union(*(segment.unbooked for segment in self._segments)))

    def close(self) -> None:
        """Leave behind only what is not booked."""
        for segment in self._segments:
            if segment.unbooked:
                segment.leave()
            else:
                segment.remove()
        self._folder.close()

    def _new_segment(self) -> Segment:
        self._number += 1
        return Segment(self._folder, f"{self._worker_id}-{self._number:06d}")


class OrphanJournal(NamedTuple):
    """The files of a dead worker, with the last settlement of every call in them."""

    worker_id: int
    paths: list[Path]
    settlements: list[Settlement]


def orphaned(path: Path) -> Iterator[OrphanJournal]:
    """Every worker whose files can be locked. They stay locked by this process while they are being handled. Raise
    UnsafeFolder, and FileNotFoundError where there is no such folder."""
    with closing(JournalFolder(path, create=False)) as folder:
        for worker_id, group in groupby(_segments_in(folder), key=lambda name: _place(name)[0]):
            with ExitStack() as stack:
                own, last = [], dict[UUID, Settlement]()
                try:
                    for name in group:
                        for file in stack.enter_context(_locked(folder, name)):
                            own.append(path / name)
                            last |= {settlement.request_id: settlement for settlement in _settlements(file.read())}
                except (BlockingIOError, FileNotFoundError):
                    continue
                if own:
                    yield OrphanJournal(worker_id, own, list(last.values()))


def _segments_in(folder: JournalFolder) -> list[str]:
    """In the order in which they were written."""
    names = [name for name in folder.names() if name.endswith(".journal")]
    for name in names:
        if not SEGMENT_NAME.fullmatch(name):
            log.warning("%s is left alone: no journal has such a name", folder.path / name)
    return sorted(filter(SEGMENT_NAME.fullmatch, names), key=_place)


def _place(name: str) -> tuple[int, int]:
    """Worker and number of a segment, from its name."""
    worker_id, _, number = name.removesuffix(".journal").partition("-")
    return int(worker_id), int(number)


@contextmanager
def _locked(folder: JournalFolder, name: str) -> Iterator[Sequence[BinaryIO]]:
    """The file, locked; nothing where it is not ours. Raise BlockingIOError while its worker lives."""
    try:
        descriptor = folder.open(name)
    except NotOurs as problem:
        log.warning("%s is left alone: %s", folder.path / name, problem)
        yield ()
        return
    with os.fdopen(descriptor, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield (file,)


def _settlements(text: bytes) -> Iterator[Settlement]:
    # What follows the last line is room that was not used.
    for line in text.rstrip(b"\0").splitlines():
        # The last line may be torn: its call is settled by the sweeper.
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            yield decode(line)
