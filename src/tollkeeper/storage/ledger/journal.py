"""The journal: a local file that remembers settlements until the database has them (a write-ahead journal).

It is mapped with mmap and not fsynced: it survives kill -9 of the process, not loss of the host, and a write costs no
system call. The next worker on the same host replays what its predecessor could not settle; the sweeper settles what
was lost with a host.

Rules of this file
1. A settlement is written before the caller's last byte is sent. A later line for a call replaces an earlier one, and
   the segments before its own are not kept for that call any more: a long stream would keep all that were begun since.
2. A file is locked while its owner lives. One that can be locked belongs to nobody and is replayed, then removed.
3. Segments have a few megabytes and are removed once everything in them is booked. Their room is reserved before it is
   used, where the file system keeps such promises: a full disk is an error then, not a signal in the middle of a line.
4. Before a call goes out to a provider, a line says so: of the open holds of a dead worker those without any line were
   never sent, and are free. A segment that keeps such lines says so in its first, with the boot in which it was
   written: of what was in memory alone when the machine went down, nobody knows.
5. A segment is left when it is half full. Where no other can be had, `trouble` says so: no new calls may be taken, and
   those under way have the other half. Nothing but `reserve` ends the trouble.
"""

import fcntl
import logging
import mmap
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from tollkeeper.ports import Settlement
from tollkeeper.storage.ledger.journal_folder import JournalFolder

SEGMENT_BYTES = 4 * 1024 * 1024

FULL = (
    "The journal in {folder} cannot be written ({problem}): new calls are refused until it can, and calls under way go "
    "on. Make room on that disk, and delete no file that ends in .journal."
)

log = logging.getLogger(__name__)


def boot_id() -> str:
    """Which start of this machine it is; where that cannot be known, another answer for each process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return secrets.token_hex()


# The first line of a segment, and what stands before the id of a call that is about to be sent.
MARKS_SENDING = f"marks sending, boot {boot_id()}\n".encode()
SENDING = b"sending "

encode = msgspec.json.Encoder().encode


class Segment:
    """One file, locked by this process."""

    def __init__(self, folder: JournalFolder, name: str) -> None:
        self._folder = folder
        self._name = f"{name}.journal"
        # Locked before it has its name: another process that found it unlocked would take its owner for dead.
        nameless = f"{name}.new"
        folder.remove(nameless)
        self._descriptor: int | None = folder.create(nameless)
        self._room: mmap.mmap | None = None
        self._size_bytes = 0
        # Calls whose settlement is in it, and those that it knows to be sent.
        self.unbooked: set[UUID] = set()
        self.sent: set[UUID] = set()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            folder.rename(nameless, self._name)
        except OSError:
            self.leave()
            raise

    def is_left_before(self, line: bytes) -> bool:
        """Whether another segment should take this line. The first line of one has all of its room."""
        return self._size_bytes > len(MARKS_SENDING) and self._size_bytes + len(line) > SEGMENT_BYTES // 2

    def write(self, line: bytes) -> None:
        """Raise OSError where there is no room for the line."""
        room = self._room or self.reserve()
        end = self._size_bytes + len(line)
        if end > SEGMENT_BYTES:
            raise OSError("its segment is full, and there is no other")
        # A process killed in the middle of this leaves a last line with zeros in it, which no reader takes for one.
        room[self._size_bytes : end] = line
        self._size_bytes = end

    @property
    def is_wanted(self) -> bool:
        """Whether it says something that the database does not know."""
        return bool(self.unbooked or self.sent)

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

    def reserve(self) -> mmap.mmap:
        """Raise OSError where there is no room for the whole of it."""
        if self._room is not None:
            return self._room
        if self._descriptor is None:
            raise OSError("the journal is closed")
        os.posix_fallocate(self._descriptor, 0, SEGMENT_BYTES)
        self._room = mmap.mmap(self._descriptor, SEGMENT_BYTES)
        self.write(MARKS_SENDING)
        return self._room


class Journal:
    """The segments of one worker."""

    def __init__(self, folder: Path, worker_id: int) -> None:
        """Raise UnsafeFolder where settlements could be forged."""
        self._folder = JournalFolder(folder)
        self._worker_id = worker_id
        self._number = 0
        # Why there is no room for the calls to come, in words; empty where there is. Looked at by every call.
        self.trouble = ""
        # How often it could not be written, or no room be had.
        self.failures = 0
        try:
            self._segments = [self._new_segment()]
        except OSError:
            self._folder.close()
            raise

    def write(self, settlement: Settlement) -> None:
        """Raise OSError where it could not be written."""
        line = encode(settlement) + b"\n"
        if len(MARKS_SENDING) + len(line) > SEGMENT_BYTES:
            self.failures += 1
            raise OSError("a line is longer than its segment")
        self._write(line).unbooked.add(settlement.request_id)
        if len(self._segments) > 1:
            self._forget(settlement.request_id, self._segments[:-1])

    def write_sending(self, request_id: UUID) -> None:
        """Raise OSError where it could not be written."""
        self._write(b"%b%b\n" % (SENDING, request_id.hex.encode())).sent.add(request_id)

    def reserve(self) -> None:
        """Have room for the calls to come, or say in `trouble` why there is none."""
        try:
            self._segments[-1].reserve()
            if self._segments[-1].is_left_before(b""):
                self._segments.append(self._new_reserved())
        except OSError as problem:
            self._fail(problem)
        else:
            if self.trouble:
                log.warning("the journal can be written again: new calls are taken")
            self.trouble = ""

    def booked(self, request_id: UUID) -> None:
        """The database has this one."""
        self._forget(request_id, self._segments)

    @property
    def unbooked(self) -> int:
        """Calls of which it knows, and the database does not."""
        return len(set().union(*(segment.unbooked for segment in self._segments)))

    def close(self) -> None:
        """Leave behind only what is not booked."""
        for segment in self._segments:
            if segment.is_wanted:
                segment.leave()
            else:
                segment.remove()
        self._folder.close()

    def _forget(self, request_id: UUID, segments: Sequence[Segment]) -> None:
        """Keep none of these segments for this call. The last of all stays, for what is to come."""
        for segment in segments:
            segment.unbooked.discard(request_id)
            segment.sent.discard(request_id)
        if len(self._segments) == 1:
            return
        # A line that is replayed although its call was settled does nothing, so segments may go in any order.
        for segment in [segment for segment in self._segments[:-1] if not segment.is_wanted]:
            self._segments.remove(segment)
            segment.remove()

    def _write(self, line: bytes) -> Segment:
        """The segment that has it now."""
        try:
            if self._segments[-1].is_left_before(line) and not self.trouble:
                self._turn()
            self._segments[-1].write(line)
        except OSError as problem:
            self._fail(problem)
            raise
        return self._segments[-1]

    def _turn(self) -> None:
        """Go on in another segment; without one, in the half of this one that is left."""
        try:
            self._segments.append(self._new_reserved())
        except OSError as problem:
            self._fail(problem)

    def _fail(self, problem: OSError) -> None:
        self.failures += 1
        if not self.trouble:
            self.trouble = FULL.format(folder=self._folder.path, problem=problem.strerror or problem)
            log.error("%s", self.trouble)

    def _new_reserved(self) -> Segment:
        segment = self._new_segment()
        try:
            segment.reserve()
        except OSError:
            segment.remove()
            raise
        return segment

    def _new_segment(self) -> Segment:
        segment = Segment(self._folder, f"{self._worker_id}-{self._number + 1:06d}")
        self._number += 1
        return segment
