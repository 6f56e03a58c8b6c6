"""One caller's connection: its requests in, their answers out, one after the other.

Rules of this file
1. What is sent behind a request waits until that is answered, and until its client has read most of what it was sent.
   Who sends too far ahead is held back.
2. A client that does not read holds the application back.
3. After the last answer of a connection what still comes is read and let go, until its client has taken the answer and
   for a moment more: a connection that is closed over unread bytes is reset, and its client would never see the rest.
4. A client that closes its sending half (FIN) counts as gone: one that only waits for its answer cannot be told from
   one that has left.
"""

import asyncio
import fcntl
import select
import struct
import termios
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from tollkeeper.server.cycle import Cycle
from tollkeeper.server.refusals import MALFORMED, SLOW_HEAD
from tollkeeper.server.requests import RequestReader
from tollkeeper.server.rules import Malformed

if TYPE_CHECKING:
    from tollkeeper.server.listener import Listener

# What may wait to be taken, of a request and behind it.
AHEAD_BYTES_MOST: Final = 64 * 1024
# What may wait to be read by the client.
UNSENT_BYTES_MOST: Final = 64 * 1024
# Who was refused has so long to stop sending.
LINGER_SECONDS: Final = 2.0
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
COUNT: Final = struct.Struct("i")


class CallerConnection(asyncio.Protocol):
    __slots__ = (
        *("_cycle", "_drains", "_is_due", "_is_leaving", "_is_paused", "_listener", "_loop", "_reader", "_transport"),
        *("has_asked", "is_full", "is_gone", "peer", "write"),
    )

    _transport: asyncio.Transport
    # To the client, at once. Nobody writes to one that is gone.
    write: Callable[[bytes], None]

    def __init__(self, listener: "Listener", loop: asyncio.AbstractEventLoop, peer: tuple[str, int]) -> None:
        self.peer = peer
        self._listener = listener
        self._loop = loop
        self._reader = RequestReader()
        # The request that is being answered.
        self._cycle: Cycle | None = None
        # Whether its client has much to read, and who waits until it has read enough.
        self.is_full = False
        self._drains: list[asyncio.Future[None]] = []
        self._is_paused = False
        # Whether it is to go on in the loop's next turn.
        self._is_due = False
        # Nothing that comes is read any more.
        self._is_leaving = False
        # Whether a request has come on it.
        self.has_asked = False
        self.is_gone = False

    @property
    def closes_soon(self) -> bool:
        return self._listener.is_closed

    @property
    def is_between(self) -> bool:
        """Whether it has no request, nor the beginning of one, not even one that the loop has not read yet."""
        return not self.has_begun and not has_arrived(self._transport)

    @property
    def has_begun(self) -> bool:
        """Whether it has a request, or the beginning of one."""
        return self._cycle is not None or self._reader.held_bytes > 0

    # What the event loop calls:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.write = self._transport.write
        self._transport.set_write_buffer_limits(high=UNSENT_BYTES_MOST)
        self._listener.enter(self)

    def data_received(self, data: bytes) -> None:
        if not self._is_leaving:
            self._reader.feed(data)
            self._go_on()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        drains, self._drains = self._drains, []
        for drain in drains:
            if not drain.done():
                drain.set_result(None)
        if self._cycle is None and self._reader.held_bytes:
            self._go_on_soon()

    def connection_lost(self, _: Exception | None) -> None:
        self.is_gone = True
        self._listener.leave(self)
        self.resume_writing()
        if self._cycle is not None:
            self._cycle.leave()

    # What a cycle calls:

    async def drained(self) -> None:
        drain = self._loop.create_future()
        self._drains.append(drain)
        await drain

    def ask_for_the_rest(self) -> None:
        self.write(CONTINUE)
        if not self._reader.is_whole:
            # Until now it was not its turn.
            self._listener.note_awaited(self)

    def read_on(self) -> None:
        if self._is_paused:
            self._go_on_soon()

    def end_answer(self, *, keeps_alive: bool) -> None:
        self._cycle = None
        if self.is_gone:
            return
        if not (keeps_alive and self._reader.is_whole):
            self._linger()
            return
        self._listener.note_idle(self)
        if self._is_paused or self._reader.held_bytes:
            self._go_on_soon()

    def abort(self) -> None:
        self._transport.abort()

    # What the listener calls:

    @property
    def is_to_be_read(self) -> bool:
        """Whether something has come that nobody has read yet, although it is its turn."""
        if self._is_paused:
            return self._cycle is not None
        return not self._transport.is_closing() and has_arrived(self._transport)

    @property
    def waits_for_a_word(self) -> bool:
        """Whether its client sends the rest of its request only when it is told to."""
        return self._cycle is not None and self._cycle.owes_a_word

    @property
    def held_bytes(self) -> int:
        """What is kept of it here, both ways."""
        return self._reader.held_bytes + self.unwritten_bytes

    @property
    def unwritten_bytes(self) -> int:
        """What the kernel has yet to take."""
        return self._transport.get_write_buffer_size()

    @property
    def unsent_bytes(self) -> int:
        """What its client has yet to take. The kernel takes more only when much of what it has was taken: who judged
        by that alone would take a slow client for one that takes nothing."""
        return self.unwritten_bytes + kept_bytes(self._transport)

    def close(self) -> None:
        """After what is still to be written."""
        if not self.is_gone:
            self._is_leaving = True
            self._reader = RequestReader()
            self._listener.note_leaving(self)
            self._transport.close()

    def expire(self) -> None:
        """It has been without a whole request for too long."""
        if self._cycle is not None:
            # As if its client had left in the middle of its request.
            self._listener.note_busy(self)
            self.abort()
            return
        if self._reader.held_bytes and not self._is_leaving:
            self.write(SLOW_HEAD)
        self.close()

    def _go_on_soon(self) -> None:
        """In the loop's next turn; once, whoever asks: others have their turns."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._go_on_now)

    def _go_on_now(self) -> None:
        self._is_due = False
        self._go_on()

    def _go_on(self) -> None:
        """Do what can be done with what has come."""
        if self._is_leaving or self.is_gone:
            return
        try:
            if self._cycle is None:
                if not self.is_full:
                    self._begin_cycle()
            elif not self._reader.is_whole:
                self._feed(self._cycle)
        except Malformed:
            self._refuse()
        if self._reader.held_bytes or self._is_paused:
            self._hold_back()

    def _begin_cycle(self) -> None:
        head = self._reader.head()
        if head is not None:
            self._listener.note_busy(self)
            self.has_asked = True
            begun = b"" if self._reader.is_whole else self._reader.body()
            self._cycle = cycle = Cycle(self, head, begun, is_whole=self._reader.is_whole)
            if not self._reader.is_whole:
                self._listener.note_awaited(self)
            self._listener.run(cycle)
            if self._reader.held_bytes and not self._reader.is_whole:
                self._go_on_soon()

    def _feed(self, cycle: Cycle) -> None:
        if cycle.unread_bytes <= AHEAD_BYTES_MOST:
            before, piece = self._reader.held_bytes, self._reader.body()
            cycle.feed(piece, is_whole=self._reader.is_whole)
            if self._reader.is_whole:
                self._listener.note_busy(self)
            else:
                self._listener.note_awaited(self)
            if not self._reader.is_whole and 0 < self._reader.held_bytes < before:
                # There is more of it.
                self._go_on_soon()

    def _hold_back(self) -> None:
        """Take no more while too much is waiting."""
        # Without a cycle, what has come waits only where its client is slow to read.
        unread_bytes = 0 if self._cycle is None else self._cycle.unread_bytes
        is_waiting = self._cycle is not None or self.is_full
        is_ahead = is_waiting and max(unread_bytes, self._reader.held_bytes) > AHEAD_BYTES_MOST
        if is_ahead is not self._is_paused:
            self._is_paused = is_ahead
            if is_ahead:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _refuse(self) -> None:
        if self._cycle is None:
            self.write(MALFORMED)
            self._linger()
        else:
            self._cycle.break_body()

    def _linger(self) -> None:
        self._is_leaving = True
        self._listener.note_idle(self)
        self._transport.write_eof()
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        self._loop.call_later(LINGER_SECONDS, self._linger_on)

    def _linger_on(self) -> None:
        if self._transport.is_closing():
            return
        if self.unsent_bytes:
            self._loop.call_later(LINGER_SECONDS, self._linger_on)
        else:
            self.close()


def has_arrived(transport: asyncio.Transport) -> bool:
    """Whether there is something to read that its protocol was not told of yet."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def kept_bytes(transport: asyncio.Transport) -> int:
    """What the kernel keeps until its receiver has acknowledged it (SIOCOUTQ); 0 where it does not say."""
    try:
        found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(COUNT.size))
    except OSError:
        return 0
    return int(COUNT.unpack(found)[0])
