"""One connection to Redis on which many commands travel at once.

A client of the usual kind spends more on one command than limits may cost a call here, so the bytes of many go out in
one write, and hiredis reads what comes back.
"""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

import hiredis

from tollkeeper.storage.redis.places import RedisServer

RedisReply = Any
pack: Callable[[tuple[object, ...]], bytes] = hiredis.pack_command  # type: ignore[assignment]


class PipeBroken(ConnectionError):
    """The connection is gone, or what came over it cannot be used."""


class Pipe(asyncio.Protocol):
    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        # How many replies each sender waits for, and whom to tell.
        self._awaited: deque[tuple[int, Callable[[list[RedisReply]], None]]] = deque()
        self._replies: list[RedisReply] = []
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def send(self, packed: bytes, replies: int, on_replies: Callable[[list[RedisReply]], None]) -> None:
        """Send commands, and let `on_replies` have their replies. Nobody is told anything after `broken`."""
        if self._transport is None or self._transport.is_closing():
            return
        self._awaited.append((replies, on_replies))
        self._transport.write(packed)

    async def ask(self, *commands: Sequence[object]) -> list[RedisReply]:
        """For what is not in a hurry. Raise PipeBroken."""
        answered: asyncio.Future[list[RedisReply]] = asyncio.get_running_loop().create_future()
        if self.broken.done():
            raise PipeBroken
        self.send(
            b"".join(pack(tuple(command)) for command in commands),
            len(commands),
            lambda replies: None if answered.done() else answered.set_result(replies),
        )
        either: set[asyncio.Future[Any]] = {answered, self.broken}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not answered.done():
            raise PipeBroken
        replies = answered.result()
        for reply in replies:
            if isinstance(reply, hiredis.ReplyError):
                raise PipeBroken(str(reply))
        return replies

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._break()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while self._awaited:
                reply = self._reader.gets()
                if reply is False:
                    return
                self._replies.append(reply)
                if len(self._replies) == self._awaited[0][0]:
                    _, on_replies = self._awaited.popleft()
                    replies, self._replies = self._replies, []
                    on_replies(replies)
        except hiredis.ProtocolError:
            self.close()

    def connection_lost(self, problem: Exception | None) -> None:
        self._break()

    def _break(self) -> None:
        self._awaited.clear()
        if not self.broken.done():
            self.broken.set_result(None)


async def connect(place: RedisServer) -> Pipe:
    """Raise OSError or PipeBroken."""
    loop = asyncio.get_running_loop()
    if place.path is not None:
        _, pipe = await loop.create_unix_connection(Pipe, place.path)
    else:
        secured = ssl.create_default_context() if place.tls else None
        _, pipe = await loop.create_connection(Pipe, place.host, place.port, ssl=secured)
    with contextlib.ExitStack() as undo:
        undo.callback(pipe.close)
        await pipe.ask(*_greetings(place))
        undo.pop_all()
    return pipe


def _greetings(place: RedisServer) -> list[Sequence[object]]:
    greetings: list[Sequence[object]] = []
    if place.password is not None:
        greetings.append(("AUTH", *([place.username] if place.username else []), place.password))
    if place.database:
        greetings.append(("SELECT", place.database))
    greetings.append(("CLIENT", "SETNAME", "tollkeeper-limits"))
    return greetings
