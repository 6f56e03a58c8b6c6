"""What the server and an application have of each other: requests to be answered, and the port as the application may
close it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

Header = tuple[bytes, bytes]


class CallerGone(Exception):
    """The client has hung up, or sent what is no body, before all of the request had come."""


class NotBegun(Exception):
    """An application, or its port, cannot begin; it has said why."""


def ignore() -> None:
    """What is done where nobody wants to know."""


class HttpRequest(Protocol):
    """A request, and the way back. Whoever answers it does so once: with `answer`, or with `begin` and `write`."""

    # Called once, when the client hangs up before its answer is over.
    on_left: Callable[[], None]

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> bytes:
        """As it was sent."""
        ...

    @property
    def query(self) -> bytes: ...
    @property
    def headers(self) -> Sequence[Header]:
        """In order, names in lower case."""
        ...

    @property
    def peer(self) -> tuple[str, int]:
        """Who has the other end of the connection."""
        ...

    @property
    def is_read(self) -> bool:
        """Whether all of its body was read."""
        ...

    def whole_body(self) -> bytes | None:
        """Its body, if all of that has come and nothing of it was read."""
        ...

    async def read(self) -> bytes:
        """What has come of its body, as soon as there is some; b"" after the end. Raise CallerGone."""
        ...

    @property
    def is_gone(self) -> bool:
        """Whether the client has hung up."""
        ...

    def hang_up(self) -> None:
        """Let the connection end with the answer."""
        ...

    def answer(self, status: int, headers: Sequence[Header], body: bytes) -> None: ...
    def begin(self, status: int, headers: Sequence[Header]) -> None:
        """Say how the answer begins. That goes out with its first piece."""
        ...

    def write(self, piece: bytes, *, is_last: bool = False) -> None: ...

    @property
    def is_full(self) -> bool:
        """Whether the client has much to read: wait until it is `drained` before more is written."""
        ...

    async def drained(self) -> None: ...
    def break_off(self) -> None:
        """End the connection where the answer stands: the only way to say in the middle of a file that it broke."""
        ...


class Port(Protocol):
    """Where an application is served."""

    def close(self) -> None:
        """Take no connection any more; when those that are open have come to their end, the application's life does."""
        ...

    def abort(self) -> None:
        """Do not wait for those that are open."""
        ...


class Application(msgspec.Struct, frozen=True):
    """Answers requests, and has a life from before the first to after the last."""

    answer: Callable[[HttpRequest], Awaitable[None]]
    life: Callable[[Port], AbstractAsyncContextManager[object]]
