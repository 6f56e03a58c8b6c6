"""What a script is made of: the few things that a server can do to a socket."""

from typing import NamedTuple


class Begin(NamedTuple):
    """Put the head of the answer on the wire."""

    status: int
    head: bytes


class Send(NamedTuple):
    """Put bytes on the wire; `tokens` of the answer are in them, and `images` are whole with them."""

    data: bytes
    tokens: int = 0
    images: int = 0


class Pause(NamedTuple):
    """Say nothing for a while; also what separates two writes."""

    seconds: float


class Stall(NamedTuple):
    """Say nothing more, until the client goes."""


class HalfClose(NamedTuple):
    """Close our side and say nothing more, until the client goes."""


class Cut(NamedTuple):
    """Reset the connection."""


class End(NamedTuple):
    """The call is over, in this way; the connection stays open unless it is to be closed."""

    ending: str
    close: bool = False


Act = Begin | Send | Pause | Stall | HalfClose | Cut | End
