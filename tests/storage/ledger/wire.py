"""The way from a worker to the database: a TCP relay that breaks before a statement is executed, or after its commit.

Rules of this file
1. It breaks at a message of PostgreSQL's protocol, not at a time: before an Execute is passed on, so that the server
   never hears of the statement; or at the ReadyForQuery after it, so that it is committed and nobody knows.
2. A way that has ended stays so: whoever was at its near end is dead for the database.
"""

import asyncio
from enum import StrEnum
from urllib.parse import urlsplit, urlunsplit

PARSE, BIND, EXECUTE, READY_FOR_QUERY = b"P", b"B", b"E", b"Z"
KIND_BYTES, LENGTH_BYTES = 1, 4
# What asyncpg asks for itself, on a new connection.
OF_THE_DRIVER = (b"typeinfo_tree", b"'jit'")


class Break(StrEnum):
    UNSENT = "the statement is never executed"
    UNSEEN = "the statement is committed, its answer never seen"


class Wire:
    def __init__(self, database_url: str) -> None:
        self._far = urlsplit(database_url)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._armed: Break | None = None
        self._statements_before = 0
        self._is_last = False
        self.broke = asyncio.Event()
        self.has_ended = False
        self.url = ""
        # Whatever passes bytes: not of the process at its near end.
        self.tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        login = self._far.netloc.rpartition("@")[0]
        # What is encrypted could not be told apart.
        self.url = urlunsplit(self._far._replace(netloc=f"{login}@127.0.0.1:{port}", query="sslmode=disable"))

    def arm(self, broken: Break | None, *, statements_before: int = 0, is_last: bool = False) -> None:
        """Break at the statement that follows so many others. `is_last`: that is also the end of it."""
        self._armed, self._statements_before, self._is_last = broken, statements_before, is_last
        self.broke.clear()

    def end(self) -> None:
        """Nothing passes any more, and nobody gets in."""
        self.has_ended = True
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        self.end()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def next_statement(self) -> Break | None:
        """What becomes of the statement that is about to be executed."""
        if self._armed is None:
            return None
        if self._statements_before:
            self._statements_before -= 1
            return None
        found, self._armed = self._armed, None
        return found

    def has_broken(self) -> None:
        if self._is_last:
            self.end()
        self.broke.set()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None
        self.tasks.add(own)
        own.add_done_callback(self.tasks.discard)
        writers = {writer}
        self._writers |= writers
        try:
            far_reader, far_writer = await asyncio.open_connection(self._far.hostname, self._far.port)
            writers.add(far_writer)
            self._writers |= writers
            passage = Passage(self, (reader, writer), (far_reader, far_writer))
            there, back = (asyncio.create_task(way) for way in (passage.there(), passage.back()))
            self.tasks |= {there, back}
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            for way in (there, back):
                way.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            self.tasks -= {there, back}
        finally:
            self._writers -= writers
            for each in writers:
                each.transport.abort()


class Passage:
    """One connection through the wire."""

    def __init__(
        self,
        wire: Wire,
        near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._wire = wire
        self._from_near, self._to_near = near
        self._from_far, self._to_far = far
        self._is_unseen = False
        # The text of each prepared statement, by its name, and of the one that is about to be executed.
        self._prepared: dict[bytes, bytes] = {}
        self._bound = b""

    async def there(self) -> None:
        # The first message has no kind.
        self._to_far.write(await _message(self._from_near, kind_bytes=0))
        while True:
            message = await _message(self._from_near)
            if self._executes(message):
                broken = self._wire.next_statement()
                if broken is Break.UNSENT:
                    self._wire.has_broken()
                    return
                self._is_unseen = broken is Break.UNSEEN
            self._to_far.write(message)

    def _executes(self, message: bytes) -> bool:
        """Whether the message lets a statement of the worker's be executed."""
        content = message[KIND_BYTES + LENGTH_BYTES :]
        if message.startswith(PARSE):
            name, text, _ = content.split(b"\0", 2)
            self._prepared[name] = text
        elif message.startswith(BIND):
            _, name, _ = content.split(b"\0", 2)
            self._bound = self._prepared[name]
        return message.startswith(EXECUTE) and not any(own in self._bound for own in OF_THE_DRIVER)

    async def back(self) -> None:
        while True:
            message = await _message(self._from_far)
            if not self._is_unseen:
                self._to_near.write(message)
            elif message.startswith(READY_FOR_QUERY):
                self._wire.has_broken()
                return


async def _message(reader: asyncio.StreamReader, *, kind_bytes: int = KIND_BYTES) -> bytes:
    head = await reader.readexactly(kind_bytes + LENGTH_BYTES)
    length = int.from_bytes(head[kind_bytes:])
    return head + await reader.readexactly(length - LENGTH_BYTES)
