"""A call that runs, and the ways in which it can be ended from outside."""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NoReturn, Protocol, Self, TypeVar

from tollkeeper.core.addresses import Address
from tollkeeper.core.client_ip import Ip
from tollkeeper.core.errors import GatewayError, NodeStopping, TimeLimitReached
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money.charge import Ending
from tollkeeper.metrics.calls import SettledCall
from tollkeeper.ports import CallClaim
from tollkeeper.relay.dispatch.attempt import Attempt
from tollkeeper.relay.gate import GateVisitor
from tollkeeper.steady import Alarm, later

Body = TypeVar("Body")

# How long a call that is cut off may wait for the next piece of its answer.
CUT_OFF_SECONDS = 3.0


class ClientLeft(Exception):
    """The client has disconnected before the end of its answer."""


class IncomingRequest(GateVisitor, Protocol):
    """A request as the edge took it in: its credentials, address and client. The edge keeps it; a call refers to it and
    copies nothing."""

    @property
    def address(self) -> Address | None: ...
    @property
    def authorization(self) -> str | None: ...
    @property
    def client(self) -> Ip | None: ...
    @property
    def path(self) -> str: ...
    def header(self, name: bytes, /) -> str | None:
        """The value of a header that may stand only once."""
        ...

    def called_by(self, caller: KeyRecord, /) -> None:
        """Take note of the caller's key, as soon as it is known."""
        ...

    def note_hold(self, waited_seconds: float, /) -> None:
        """Take note of how long it waited for its hold."""
        ...

    def note_model(self, model_id: str, /) -> None:
        """Take note of the catalog's model, as soon as it is known."""
        ...

    def note_settled(self, settled: SettledCall, attempts: Sequence[Attempt], /) -> None:
        """Take note of what the call cost, and of the attempts it took."""
        ...


class Call:
    """What becomes of a request that is relayed."""

    __slots__ = (
        "_alarm",
        "_among",
        "_due",
        "_ends_after_seconds",
        "_let_go_of_body",
        "_reason",
        "_rings_at",
        "_task",
        "_without_us_seconds",
        "claim_when_cut",
        "created_at",
        "cut_off_by",
        "ended_as",
        "has_answer",
        "is_streamed",
        "note_cut",
        "request",
        "write_failure",
    )

    def __init__(self, request: IncomingRequest, let_go_of_body: Callable[[], None] = lambda: None) -> None:
        """`let_go_of_body` is called when the body is not needed any more."""
        self.request = request
        self.created_at = time.monotonic()
        # Of its time, what its caller took to send the body.
        self._without_us_seconds = 0.0
        self._let_go_of_body = let_go_of_body
        # Whether its answer goes out as it comes.
        self.is_streamed = False
        # Whether it has begun to, so that its caller cannot be given another.
        self.has_answer = False
        # Where it may be cut: makes the claim by which it is known again from then on, of the body; and notes it.
        self.claim_when_cut: Callable[[], CallClaim] | None = None
        self.note_cut: Callable[[CallClaim], Awaitable[None]] | None = None
        # Set where it was not the provider's answer that decided the ending. The first to decide is right.
        self.ended_as: Ending | None = None
        # Why the caller gets no more of it.
        self.cut_off_by: GatewayError | None = None
        # Writes the error that ends a stream that has begun, in a protocol where that depends on what was sent before.
        self.write_failure: Callable[[GatewayError], bytes] | None = None
        self._reason: GatewayError | ClientLeft | None = None
        self._task: asyncio.Task[object] | None = None
        self._ends_after_seconds: float | None = None
        self._among: Running | None = None
        # What is to happen at a time, and the alarm for what comes first.
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._alarm: Alarm | None = None
        self._rings_at = math.inf

    async def read_body(self, read: Callable[[], Awaitable[Body]]) -> Body:
        """Read the body. The time that this takes is the caller's."""
        begun = time.monotonic()
        try:
            return await read()
        finally:
            self._without_us_seconds = time.monotonic() - begun

    def forget_body(self) -> None:
        """An answer has come, or none will: the body is not needed any more."""
        self.claim_when_cut = self.note_cut = None
        self._let_go_of_body()

    def own_seconds(self, provider_seconds: float) -> float:
        """The time so far that is neither its caller's nor the provider's."""
        return max(0.0, time.monotonic() - self.created_at - self._without_us_seconds - provider_seconds)

    def cut(self) -> Callable[[], Awaitable[None]] | None:
        """The caller gets the 524, and the call goes on without them. What is to be done before they are told: the
        claim is made now, as an answer may come in this very moment, and the body be forgotten."""
        self.goes_on(Ending.CUT)
        make, note = self.claim_when_cut, self.note_cut
        return None if make is None or note is None else partial(note, make())

    def goes_on(self, ending: Ending) -> None:
        """The caller gets no more of it, but the answer is paid for and therefore read to its end."""
        self.ended_as = self.ended_as or ending

    def end(self, reason: GatewayError | ClientLeft, ending: Ending) -> None:
        """Let the call fail with `reason`, wherever it stands just now."""
        if self._task is not None and self._reason is None:
            self.goes_on(ending)
            self._reason = reason
            self._task.cancel()

    def cut_off(self, reason: GatewayError, ending: Ending) -> None:
        """Send the caller nothing more but `reason`, at the next piece; wherever it stands, if there is none soon.
        The provider is not stopped by that, so that what it made can still be known."""
        if self.cut_off_by is None and self.ended_as is None:
            self.cut_off_by = reason
            self.goes_on(ending)
            self.later(CUT_OFF_SECONDS, lambda: self.end(reason, ending))

    def endable(self, after_seconds: float | None, *, among: "Running | None" = None) -> Self:
        """Within this block, the only one of a call, it can be ended, and after that time it is. Those `among` which it
        is know of it, until it is discarded there."""
        self._ends_after_seconds, self._among = after_seconds, among
        return self

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        if self._ends_after_seconds is not None:
            self.end_later(self._ends_after_seconds, Ending.TIME_LIMIT)
        if self._among is not None:
            self._among.add(self)
        return self

    async def __aexit__(self, _: object, problem: BaseException | None, __: object) -> None:
        """It cannot be ended any more. Raise the reason why it was, if it was."""
        try:
            if problem is None and self._reason is not None:
                await self._absorb()
            elif isinstance(problem, asyncio.CancelledError) and self._reason is not None and self._task is not None:
                self._task.uncancel()
                self._raise_reason()
        finally:
            self._task = None
            self._due.clear()
            if self._alarm is not None:
                self._alarm.cancel()

    def _raise_reason(self) -> NoReturn:
        """No reference to what is raised stays here: its traceback has the frames of the call, and they have its body.
        Such a circle would keep both until the garbage collector comes by, which is seldom."""
        reason, self._reason = self._reason, None
        try:
            raise reason or ClientLeft from None
        finally:
            del reason

    def end_later(self, seconds: float, ending: Ending) -> None:
        self.later(seconds, lambda: self.end(TimeLimitReached(), ending))

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Act after so many seconds, unless the call has come to its end by then. It has one alarm for all of that:
        hardly any call lasts until the first rings."""
        at = asyncio.get_running_loop().time() + seconds
        self._due.append((at, act))
        if at < self._rings_at:
            self._ring_after(seconds, at)

    def _ring_after(self, seconds: float, at: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._rings_at, self._alarm = at, later(seconds, self._ring)

    def _ring(self) -> None:
        now = max(asyncio.get_running_loop().time(), self._rings_at)
        due = sorted((each for each in self._due if each[0] <= now), key=lambda each: each[0])
        self._due = [each for each in self._due if each[0] > now]
        self._alarm, self._rings_at = None, math.inf
        if self._due:
            at = min(at for at, _ in self._due)
            self._ring_after(at - now, at)
        for _, act in due:
            act()

    async def _absorb(self) -> None:
        """The call came to its own end in the very moment in which it was to be ended: that is no news any more."""
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            self._task.uncancel()


class Running:
    """The calls under way in this process, so that it can stop in order."""

    def __init__(self) -> None:
        self._calls: set[Call] = set()
        self._none_left = asyncio.Event()
        self._over = False

    def add(self, call: Call) -> None:
        """One that can be ended."""
        self._calls.add(call)
        if self._over:
            call.end(NodeStopping(), Ending.NODE_STOPPED)

    def discard(self, call: Call) -> None:
        self._calls.discard(call)
        if not self._calls:
            self._none_left.set()

    @property
    def count(self) -> int:
        return len(self._calls)

    @property
    def is_over(self) -> bool:
        """Whether every call was asked to end."""
        return self._over

    def streams(self) -> list[Call]:
        return [call for call in self._calls if call.is_streamed]

    def end_all(self) -> None:
        self._over = True
        for call in list(self._calls):
            call.end(NodeStopping(), Ending.NODE_STOPPED)

    async def wait_until_none(self) -> None:
        while self._calls:
            self._none_left.clear()
            await self._none_left.wait()
