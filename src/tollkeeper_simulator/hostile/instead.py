"""What a malicious provider does instead of answering: one function for each act."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tollkeeper_simulator import frames
from tollkeeper_simulator.acts import Act, Begin, End, Send
from tollkeeper_simulator.dialect import Wording
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.problem import Problem
from tollkeeper_simulator.script import refuse

BLOCK = b"x" * 65_536
LEAKS = ("error", "code", "type", "param")


class Occasion(NamedTuple):
    """The call that gets no answer."""

    wording: Wording
    request_id: bytes
    directions: Directions
    hostile: Hostile
    secrets: str

    @property
    def status(self) -> int:
        """An error's, as the directions have it."""
        return self.hostile.raw_status or (400 if self.directions.status == 200 else self.directions.status)


def instead_of_answer(occasion: Occasion) -> Iterator[Act] | None:
    """What is done, if anything is."""
    return next((act(occasion) for applies, act in INSTEAD if applies(occasion.hostile)), None)


def _leak(occasion: Occasion) -> Iterator[Act]:
    told = occasion.secrets
    problem = {
        "error": Problem(occasion.status, f"Incorrect API key provided. You sent {told}"),
        "code": Problem(occasion.status, code=told),
        "type": Problem(occasion.status, type=told),
        "param": Problem(occasion.status, param=told),
    }[occasion.hostile.leak]
    return refuse(occasion.wording, occasion.request_id, problem)


def _leak_in_reason(occasion: Occasion) -> Iterator[Act]:
    head = b"HTTP/1.1 %d %b\r\ncontent-length: 0\r\n\r\n" % (occasion.status, occasion.secrets.encode("latin-1"))
    yield Begin(occasion.status, head)
    yield End("refused")


def _long_error(occasion: Occasion) -> Iterator[Act]:
    """An error message without end, in blocks, so that its size costs nothing here."""
    before, after = occasion.wording.error(Problem(occasion.status, "@"), occasion.request_id).split(b"@", 1)
    size = occasion.hostile.error_bytes
    own = occasion.wording.own_fields(occasion.request_id)
    yield Begin(occasion.status, frames.json_head(occasion.status, own, len(before) + size + len(after)))
    yield Send(before)
    for left in range(size, 0, -len(BLOCK)):
        yield Send(BLOCK[:left])
    yield Send(after)
    yield End("refused")


def _switch(occasion: Occasion) -> Iterator[Act]:
    head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n"
    yield Begin(101, head)
    yield Send(b"\x81\x05river" * 8)
    yield End("switched", close=True)


def _error_in_200(occasion: Occasion) -> Iterator[Act]:
    own, body = occasion.wording.own_fields(occasion.request_id), occasion.wording.error(Problem(500), b"")
    yield Begin(200, frames.json_head(200, own, len(body)))
    yield Send(body)
    yield End("refused")


def _odd_status(occasion: Occasion) -> Iterator[Act]:
    return refuse(occasion.wording, occasion.request_id, Problem(occasion.status))


INSTEAD: tuple[tuple[Callable[[Hostile], bool], Callable[[Occasion], Iterator[Act]]], ...] = (
    (lambda hostile: hostile.leak in LEAKS, _leak),
    (lambda hostile: hostile.leak == "status_text", _leak_in_reason),
    (lambda hostile: hostile.error_bytes > 0, _long_error),
    (lambda hostile: hostile.switching, _switch),
    (lambda hostile: hostile.error_in_200, _error_in_200),
    (lambda hostile: hostile.raw_status >= 300, _odd_status),
)
