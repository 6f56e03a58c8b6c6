"""What a vendor's wire format consists of: how a request is read, and how an answer is worded, whole or streamed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from tollkeeper_simulator.order import Asked
from tollkeeper_simulator.problem import Problem
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece


class Event(NamedTuple):
    """One event of a stream, without its frame; `tokens` of the answer are in it."""

    data: bytes
    tokens: int = 0
    name: bytes = b""


class Passage(NamedTuple):
    """Content that is told piece by piece: what stands before and after each piece, in each choice."""

    pieces: Sequence[Piece]
    around: Sequence[tuple[bytes, bytes]]
    name: bytes = b""


class ToldParts(NamedTuple):
    """What a vendor tells of its usage beside input, output, cached input and thoughts."""

    cache_write: bool = False
    cache_write_1h: bool = False
    media: bool = False
    tools: bool = False


class Telling(Protocol):
    """One answer as a stream, in the order of these methods."""

    def opening(self) -> Iterable[Event]: ...

    def content(self) -> Iterable[Event | Passage]: ...

    def finish(self) -> Iterable[Event]:
        """Why it ended, and what it used."""

    def done(self) -> Event | None:
        """The mark at the very end, where the vendor has one."""

    def malformed(self) -> Event:
        """An event whose JSON breaks off."""

    def padding(self) -> tuple[Event, bytes]:
        """An event that says nothing at length: what stands before the padding, and after it."""


class Wording(Protocol):
    """How a vendor words an answer, whole or streamed, and an error."""

    @property
    def line_end(self) -> bytes:
        """Between the lines of a stream."""

    def own_fields(self, request_id: bytes) -> bytes:
        """The headers that every answer of this vendor has."""

    def error(self, problem: Problem, request_id: bytes) -> bytes: ...

    def error_fields(self, problem: Problem) -> tuple[bytes, ...]:
        """The headers of an error."""

    def error_event(self, scene: Scene) -> Event:
        """The error that ends a stream."""

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        """The whole answer as one JSON object, part by part."""

    def telling(self, scene: Scene) -> Telling: ...


class Dialect(Wording, Protocol):
    """One vendor's wire format."""

    @property
    def vendor(self) -> str: ...

    @property
    def id_start(self) -> str:
        """How the ids of answers begin."""

    @property
    def tells(self) -> ToldParts: ...

    def check(self, request: Request, key: str | None) -> None:
        """Raise Refused for a wrong key (None: every key is right) or wrong headers."""

    def unknown_address(self, request: Request) -> Problem: ...

    def read(self, request: Request) -> Asked:
        """Raise Refused for an order that the vendor would not take."""

    def models(self, created: int) -> bytes: ...
