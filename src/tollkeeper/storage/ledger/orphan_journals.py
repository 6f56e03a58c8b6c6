"""Journals that workers left behind: what their calls cost, and which were never sent."""

import fcntl
import logging
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple
from uuid import UUID

import msgspec

from tollkeeper.ports import Settlement
from tollkeeper.storage.ledger.journal import MARKS_SENDING, SENDING
from tollkeeper.storage.ledger.journal_folder import JournalFolder, NotOurs

SEGMENT_NAME = re.compile(r"[0-9]{1,18}-[0-9]{6,9}\.journal")
WHOLE_ID = re.compile(rb"[0-9a-f]{32}")
LEFT_ALONE_REMEMBERED = 256
# Of a file that has no lines for us.
UNREAD: Final[list[bytes]] = []

log = logging.getLogger(__name__)

decode = msgspec.json.Decoder(Settlement).decode


class OrphanJournal(NamedTuple):
    """The files of a dead worker, with the last settlement of every call in them."""

    worker_id: int
    paths: list[Path]
    settlements: list[Settlement]
    # Calls that may have gone out; None where nobody knows: of an earlier version, of a boot before this one, or where
    # something could not be read.
    sent: frozenset[UUID] | None

    def never_sent(self, left: Settlement) -> bool:
        """Whether a hold that it left open is of a call that never went out."""
        return self.sent is not None and left.request_id not in self.sent and not left.charge.usage.output_units


def orphaned(path: Path) -> Generator[OrphanJournal]:
    """Every worker whose files can be locked. They stay locked by this process while they are being handled. Raise
    UnsafeFolder, and FileNotFoundError where there is no such folder; in the end OSError, where one could not be read:
    it keeps no other from being settled."""
    failed = list[OSError]()
    with closing(JournalFolder(path, create=False)) as folder:
        for worker_id in sorted({_place(name)[0] for name in _segments_in(folder)}):
            with ExitStack() as stack:
                try:
                    found = _taken(folder, worker_id, stack)
                except (BlockingIOError, FileNotFoundError):
                    continue
                except OSError as problem:
                    failed.append(problem)
                    continue
                paths = [path for path, lines in found.items() if lines is not UNREAD]
                if paths:
                    segments = list(found.values())
                    settlements = _settlements(segments)
                    yield OrphanJournal(worker_id, paths, settlements, _sent(segments, settlements))
    if failed:
        raise failed[0]


def _taken(folder: JournalFolder, worker_id: int, stack: ExitStack) -> dict[Path, list[bytes]]:
    """The lines of each of a worker's files, which are locked now; `UNREAD` of those that are not ours to read. Raise
    BlockingIOError while it lives."""
    seen: set[str] = set()
    found: dict[Path, list[bytes]] = {}
    # It may have lived, and begun another file, since they were listed: who has one lock looks again.
    while new := [name for name in _segments_in(folder) if _place(name)[0] == worker_id and name not in seen]:
        for name in new:
            seen.add(name)
            file = stack.enter_context(_locked(folder, name))
            # What follows the last line is room that was not used.
            lines = UNREAD if file is None else file.read().rstrip(b"\0").splitlines(keepends=True)
            found[folder.path / name] = lines
    return found


def _segments_in(folder: JournalFolder) -> list[str]:
    """In the order in which they were written."""
    names = [name for name in folder.names() if name.endswith(".journal")]
    for name in names:
        if not SEGMENT_NAME.fullmatch(name):
            _leave_alone(folder.path / name, "no journal has such a name")
    return sorted(filter(SEGMENT_NAME.fullmatch, names), key=_place)


@lru_cache(maxsize=LEFT_ALONE_REMEMBERED)
def _leave_alone(path: Path, why: str) -> None:
    """Logged once: every worker looks for journals once a second."""
    log.warning("%s is left alone: %s", path, why)


def _place(name: str) -> tuple[int, int]:
    """Worker and number of a segment, from its name."""
    worker_id, _, number = name.removesuffix(".journal").partition("-")
    return int(worker_id), int(number)


@contextmanager
def _locked(folder: JournalFolder, name: str) -> Iterator[BinaryIO | None]:
    """The file, locked; None where it is not ours. Raise BlockingIOError while its worker lives."""
    try:
        descriptor = folder.open(name)
    except NotOurs as problem:
        _leave_alone(folder.path / name, str(problem))
        yield None
        return
    with os.fdopen(descriptor, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file


def _settlements(segments: list[list[bytes]]) -> list[Settlement]:
    """The last settlement of each call."""
    last: dict[UUID, Settlement] = {}
    for line in chain.from_iterable(segments):
        # The last line may be torn: its call is settled by the sweeper.
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            settlement = decode(line)
            last[settlement.request_id] = settlement
    return list(last.values())


def _sent(segments: list[list[bytes]], settlements: list[Settlement]) -> frozenset[UUID] | None:
    """Calls of which a line says that they were about to be sent, or what they came to."""
    if not all(lines and lines[0] == MARKS_SENDING and _is_known(lines[1:]) for lines in segments):
        return None
    ids = [line.removeprefix(SENDING).strip() for line in chain.from_iterable(segments) if line.startswith(SENDING)]
    # A torn line is of a call that was not sent yet.
    marked = (UUID(hex=found.decode()) for found in ids if WHOLE_ID.fullmatch(found))
    return frozenset(chain(marked, (settlement.request_id for settlement in settlements)))


def _is_known(lines: Iterable[bytes]) -> bool:
    """Whether each says something to us, but for one that was torn: it has no end."""
    try:
        for line in lines:
            if line.startswith(SENDING) and line.endswith(b"\n"):
                if not WHOLE_ID.fullmatch(line.removeprefix(SENDING).strip()):
                    return False
            elif line.endswith(b"\n"):
                decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
