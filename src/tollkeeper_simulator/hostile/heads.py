"""What a malicious provider does to the head of any answer, whole, streamed or refused: one function for each act."""

from collections.abc import Callable, Iterator

from tollkeeper_simulator.acts import Act, Begin, Pause, Send
from tollkeeper_simulator.hostile.directions import Hostile

EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"


def with_hostile_head(acts: Iterator[Act], chosen: Hostile, secrets: str) -> Iterator[Act]:
    """The same acts with another head."""
    for act in acts:
        if not isinstance(act, Begin):
            yield act
            continue
        begun = act
        for name, change in HEAD_ACTS.items():
            if getattr(chosen, name):
                begun = change(begun, chosen, secrets)
        yield from _dripped(begun, chosen.header_drip_ms) if chosen.header_drip_ms else (begun,)


def _other_status(begun: Begin, chosen: Hostile, _: str) -> Begin:
    return _restated(begun, chosen.raw_status)


def _other_redirect(begun: Begin, chosen: Hostile, _: str) -> Begin:
    return _restated(begun, chosen.redirect_status) if begun.status == 302 else begun


def _restated(begun: Begin, status: int) -> Begin:
    rest = begun.head.partition(b"\r\n")[2]
    return Begin(status, b"HTTP/1.1 %d Murmur\r\n%b" % (status, rest))


def _many_fields(begun: Begin, chosen: Hostile, _: str) -> Begin:
    return _with_fields(begun, b"".join(b"x-murmur-%d: river\r\n" % number for number in range(chosen.header_count)))


def _long_field(begun: Begin, chosen: Hostile, _: str) -> Begin:
    return _with_fields(begun, b"x-long: %b\r\n" % (b"x" * chosen.header_bytes))


def _leaking_fields(begun: Begin, chosen: Hostile, secrets: str) -> Begin:
    if chosen.leak != "headers":
        return begun
    told = secrets.encode("latin-1")
    return _with_fields(begun, b"x-echo: %b\r\nset-cookie: key=%b\r\nwww-authenticate: %b\r\n" % (told, told, told))


def _hints_before(begun: Begin, chosen: Hostile, _: str) -> Begin:
    return Begin(begun.status, EARLY_HINTS * chosen.early_hints + begun.head)


HEAD_ACTS: dict[str, Callable[[Begin, Hostile, str], Begin]] = {
    "raw_status": _other_status,
    "redirect_status": _other_redirect,
    "header_count": _many_fields,
    "header_bytes": _long_field,
    "leak": _leaking_fields,
    "early_hints": _hints_before,
}


def _with_fields(begun: Begin, fields: bytes) -> Begin:
    return Begin(begun.status, begun.head.removesuffix(b"\r\n") + fields + b"\r\n")


def _dripped(begun: Begin, wait_ms: float) -> Iterator[Act]:
    yield Begin(begun.status, begun.head[:1])
    for at in range(1, len(begun.head)):
        yield Pause(wait_ms / 1_000)
        yield Send(begun.head[at : at + 1])
