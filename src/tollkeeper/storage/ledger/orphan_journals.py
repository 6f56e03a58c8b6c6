"""Journals that workers left behind: what their calls cost, and which were never sent."""

import fcntl
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import UUID

import msgspec

from tollkeeper.ports import Settlement
from tollkeeper.storage.ledger.journal import MARKS_SENDING, SENDING
from tollkeeper.storage.ledger.journal_folder import JournalFolder, NotOurs

SEGMENT_NAME = re.compile(r"[0-9]{1,18}-[0-9]{6,9}\.journal")
WHOLE_ID = re.compile(rb"[0-9a-f]{32}")

log = logging.getLogger(__name__)

decode = msgspec.json.Decoder(Settlement).decode


class OrphanJournal(NamedTuple):
    """The files of a dead worker, with the last settlement of every call in them."""

    worker_id: int
    paths: list[Path]
    settlements: list[Settlement]
    # Calls that may have gone out; None where nobody knows: of an earlier version, or of a boot before this one.
    sent: frozenset[UUID] | None

    def never_sent(self, left: Settlement) -> bool:
        """Whether a hold that it left open is of a call that never went out."""
        return self.sent is not None and left.request_id not in self.sent and not left.charge.usage.output_units


def orphaned(path: Path) -> Iterator[OrphanJournal]:
    """Every worker whose files can be locked. They stay locked by this process while they are being handled. Raise
    UnsafeFolder, and FileNotFoundError where there is no such folder."""
    with closing(JournalFolder(path, create=False)) as folder:
        for worker_id in sorted({_place(name)[0] for name in _segments_in(folder)}):
            with ExitStack() as stack:
                try:
                    found = _taken(folder, worker_id, stack)
                except (BlockingIOError, FileNotFoundError):
                    continue
                if found:
                    lines = list(found.values())
                    yield OrphanJournal(worker_id, list(found), _settlements(lines), _sent(lines))


def _taken(folder: JournalFolder, worker_id: int, stack: ExitStack) -> dict[Path, list[bytes]]:
    """The lines of each of a worker's files, which are locked now. Raise BlockingIOError while it lives."""
    seen: set[str] = set()
    found: dict[Path, list[bytes]] = {}
    # It may have lived, and begun another file, since they were listed: who has one lock looks again.
    while new := [name for name in _segments_in(folder) if _place(name)[0] == worker_id and name not in seen]:
        for name in new:
            seen.add(name)
            for file in stack.enter_context(_locked(folder, name)):
                # What follows the last line is room that was not used.
                found[folder.path / name] = file.read().rstrip(b"\0").splitlines(keepends=True)
    return found


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


def _settlements(segments: list[list[bytes]]) -> list[Settlement]:
    """The last settlement of each call."""
    last: dict[UUID, Settlement] = {}
    for line in chain.from_iterable(segments):
        # The last line may be torn: its call is settled by the sweeper.
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            settlement = decode(line)
            last[settlement.request_id] = settlement
    return list(last.values())


def _sent(segments: list[list[bytes]]) -> frozenset[UUID] | None:
    if not all(lines and lines[0] == MARKS_SENDING for lines in segments):
        return None
    ids = [line.removeprefix(SENDING).strip() for line in chain.from_iterable(segments) if line.startswith(SENDING)]
    # A torn line is of a call that was not sent yet.
    return frozenset(UUID(hex=found.decode()) for found in ids if WHOLE_ID.fullmatch(found))
