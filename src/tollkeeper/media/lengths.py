"""The lengths of audio files, found by a few processes beside this one (`media/measure`).

Rules of this file
1. This process never reads a file itself: it hands it over in memory and reads a line of answer.
2. A child measures one file at a time. One that is late, or whose caller went away, is killed: what it would still say
   might be taken for the answer to the next file.
3. A child that died is replaced, and its file is tried once more: perhaps the file was not what killed it.
4. A length is measured or the file is refused. It is never guessed.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from tollkeeper.core.errors import InvalidParameter, TooMuchToMeasure

log = logging.getLogger(__name__)

# By the ending of a file's name, the demuxers that its content may need.
DEMUXERS: Final = {
    "mp3": "mp3",
    "mp4": "mov",
    "mpeg": "mp3,mpeg",
    "mpga": "mp3",
    "m4a": "mov",
    "wav": "wav",
    "webm": "matroska",
}
PROGRAM: Final = "tollkeeper.media.measure"
START_SECONDS_MOST: Final = 30.0
ANSWER_BYTES_MOST: Final = 256
# Handed over so many bytes at a time, so that other calls need not wait for a whole file.
SLICE_BYTES: Final = 256 * 1024

WRONG_NAME = f"must be an audio file whose name ends in one of {', '.join(DEMUXERS)}"
NOT_AUDIO = "must be a whole audio file of the kind that its name says, .{}; it is broken or something else"
UNMEASURABLE = "has audio of a kind whose length cannot be read; convert it to mp3 or wav"
TOO_SLOW = "has so many pieces of audio that its length could not be read in time; send it in parts"


class AudioLength(msgspec.Struct, frozen=True):
    """How long a file is to be heard, and the family of its container."""

    milliseconds: int
    format: str


class ProcessAudioLengths:
    """Measures audio files. Children are started as they are needed."""

    def __init__(self, *, children: int = 2, seconds_most: float = 5, waiting_most: int = 16) -> None:
        self._seconds_most = seconds_most
        self._waiting_most = waiting_most
        self._waiting = 0
        self._seats = asyncio.Semaphore(children)
        # Of those whose files are being measured or wait for that; forgotten with the last of them.
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._idle: list[Child] = []
        self._ended: list[Child] = []

    async def milliseconds(self, content: bytes | bytearray, filename: str, *, owner: int) -> int:
        """The `AudioLengths` port. Who sends many files waits for them one after the other, and keeps nobody else."""
        turn = self._turns.get(owner)
        if turn is None:
            turn = self._turns[owner] = asyncio.Lock()
        async with turn:
            return (await self.measure(content, filename)).milliseconds

    async def measure(self, content: bytes | bytearray, filename: str) -> AudioLength:
        """Raise InvalidParameter where that cannot be done for this file, TooMuchToMeasure where not for now."""
        _, dot, ending = filename.lower().rpartition(".")
        if not dot or ending not in DEMUXERS:
            raise InvalidParameter("file", WRONG_NAME)
        async with self._seat():
            # A second time by a new child: others that wait may be dead as well.
            answer = await self._ask(content, DEMUXERS[ending]) or await self._ask(content, DEMUXERS[ending], new=True)
        match answer.split():
            case ["ok", milliseconds, container] if milliseconds.isdecimal():
                return AudioLength(int(milliseconds), container)
            case ["unmeasurable"]:
                raise InvalidParameter("file", UNMEASURABLE)
        raise InvalidParameter("file", NOT_AUDIO.format(ending))

    @asynccontextmanager
    async def _seat(self) -> AsyncIterator[None]:
        """One of as many places as there may be children. Few may wait for one, and not for long."""
        if self._waiting >= self._waiting_most:
            raise TooMuchToMeasure
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds_most):
                await self._seats.acquire()
        except TimeoutError:
            raise TooMuchToMeasure from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._seats.release()

    async def _ask(self, content: bytes | bytearray, demuxers: str, *, new: bool = False) -> str:
        """A child's answer; nothing where it died."""
        child = self._idle.pop() if self._idle and not new else await Child.started()
        answer = ""
        try:
            async with asyncio.timeout(self._seconds_most):
                answer = await child.ask(content, demuxers)
        except TimeoutError:
            raise InvalidParameter("file", TOO_SLOW) from None
        finally:
            if answer:
                self._idle.append(child)
            else:
                self._end(child)
        return answer

    def _end(self, child: "Child") -> None:
        child.kill()
        self._ended = [child, *(ended for ended in self._ended if not ended.is_gone)]

    async def close(self) -> None:
        """When nobody measures any more."""
        while self._idle:
            self._end(self._idle.pop())
        for child in self._ended:
            await child.gone()


class Child:
    """A process that measures one file at a time, and the socket to it."""

    def __init__(self, process: asyncio.subprocess.Process, connection: socket.socket) -> None:
        self.process = process
        self._connection = connection

    @classmethod
    async def started(cls) -> "Child":
        """One that is ready. It knows nothing of this process: no settings, no environment."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with ExitStack() as undoing:
            undoing.callback(ours.close)
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-m", PROGRAM),
                    stdin=theirs.fileno(),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={},
                )
            child = cls(process, ours)
            undoing.callback(child.kill)
            with suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS_MOST):
                    if await child._answer():
                        undoing.pop_all()
                        return child
        log.error("a process that measures audio could not be started: python -m %s", PROGRAM)
        raise TooMuchToMeasure

    async def ask(self, content: bytes | bytearray, demuxers: str) -> str:
        with _memory_file() as descriptor:
            await _fill(descriptor, content)
            try:
                socket.send_fds(self._connection, [demuxers.encode()], [descriptor])
            except ConnectionError:
                return ""
            return await self._answer()

    async def _answer(self) -> str:
        try:
            answer = await asyncio.get_running_loop().sock_recv(self._connection, ANSWER_BYTES_MOST)
        except ConnectionError:
            return ""
        return answer.decode("ascii", "replace")

    def kill(self) -> None:
        self._connection.close()
        with suppress(ProcessLookupError):
            self.process.kill()

    @property
    def is_gone(self) -> bool:
        return self.process.returncode is not None

    async def gone(self) -> None:
        await self.process.wait()


@contextmanager
def _memory_file() -> Iterator[int]:
    descriptor = os.memfd_create("audio")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _fill(descriptor: int, content: bytes | bytearray) -> None:
    with memoryview(content) as whole:
        at = 0
        while at < len(whole):
            at += os.write(descriptor, whole[at : at + SLICE_BYTES])
            await asyncio.sleep(0)
