"""The wire: one connection, its requests, and the scripts that are played on it.

Rules of this file
1. Every call that began is closed exactly once, at the moment its end was known here, whoever ended it.
2. Nothing is sent that the client does not take: a script waits while the socket is full.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, cast

from tollkeeper_simulator.acts import Act, Begin, Cut, End, HalfClose, Pause, Send
from tollkeeper_simulator.request import BadRequest, Request, RequestReader
from tollkeeper_simulator.truth import TruthLine

WRITE_BYTES_MOST = 16_384
RESET_AT_ONCE = struct.pack("ii", 1, 0)


class Call(NamedTuple):
    """A request that is being answered: what is known of it, what is to be done, and who hears when it is over."""

    line: TruthLine
    script: Iterator[Act]
    when_over: Callable[[TruthLine], None]


class Stage(Protocol):
    """Who answers the requests of a connection."""

    connections: "set[Connection]"

    def answer(self, request: Request) -> Call: ...

    def answer_nonsense(self, problem: BadRequest) -> Call: ...


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._loop = asyncio.get_running_loop()
        self._reader = RequestReader()
        self._call: Call | None = None
        self._steps: Iterator[bytes | Act] = iter(())
        self._timer: asyncio.Handle | None = None
        self._full = False
        self._silent = False
        self._keeps_alive = True
        self._ending_when_gone = "client_closed"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # Anything that the kernel does not take at once makes the script wait.
        self._transport.set_write_buffer_limits(high=0)
        self._stage.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        if self._call is None:
            self._run()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._run()

    def eof_received(self) -> None:
        self._gone()
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone()
        self._stage.connections.discard(self)

    def stop(self) -> None:
        """The simulator stops: whatever runs is over."""
        self._ending_when_gone = "stopped"
        self._gone()
        self._transport.abort()

    def _run(self) -> None:
        """Answer what has come, until a script pauses, the socket is full, or there is nothing to do."""
        while not (self._full or self._silent or self._transport.is_closing()):
            if self._call is None:
                self._call = self._next_call()
            if self._call is None:
                return
            step = next(self._steps)
            if isinstance(step, bytes):
                self._write(self._call.line, step)
            else:
                self._do(step)

    def _next_call(self) -> Call | None:
        try:
            request = self._reader.next()
        except BadRequest as problem:
            self._keeps_alive = False
            call = self._stage.answer_nonsense(problem)
        else:
            if request is None:
                return None
            self._keeps_alive = request.keeps_alive
            call = self._stage.answer(request)
        self._steps = _writes(call.line, call.script)
        return call

    def _write(self, line: TruthLine, data: bytes) -> None:
        if line.first_byte_at is None:
            line.first_byte_at = time.time()
        line.bytes_sent += len(data)
        self._transport.write(data)

    def _do(self, act: Act) -> None:
        if isinstance(act, Pause):
            self._silent = True
            self._timer = self._loop.call_later(act.seconds, self._resume)
        elif isinstance(act, End):
            self._close(act.ending)
            if act.close or not self._keeps_alive:
                self._transport.close()
        elif isinstance(act, Cut):
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
            self._close("cut")
            self._transport.abort()
        else:
            self._silent = True
            if isinstance(act, HalfClose):
                self._ending_when_gone = "half_closed"
                self._transport.write_eof()

    def _resume(self) -> None:
        self._silent = False
        self._timer = None
        self._run()

    def _gone(self) -> None:
        """The client is not there any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._silent = True
        self._close(self._ending_when_gone)

    def _close(self, ending: str) -> None:
        if self._call is None:
            return
        line, _, when_over = self._call
        self._call = None
        line.ending = ending
        line.closed_at = time.time()
        when_over(line)


def _writes(line: TruthLine, script: Iterator[Act]) -> Iterator[bytes | Act]:
    """The script with everything joined that is said in one breath: a system call costs more than an event."""
    waiting: list[bytes] = []
    size = tokens = images = 0
    for act in script:
        if isinstance(act, Send):
            waiting.append(act.data)
            size += len(act.data)
            tokens += act.tokens
            images += act.images
            if size < WRITE_BYTES_MOST:
                continue
        elif isinstance(act, Begin):
            line.status = act.status
            waiting.append(act.head)
            continue
        if waiting:
            if tokens:
                line.output_tokens += tokens
                line.note_moment()
            line.images += images
            yield b"".join(waiting)
            waiting.clear()
            size = tokens = images = 0
        if not isinstance(act, Send):
            yield act
