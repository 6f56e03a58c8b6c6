"""A streamed answer as server-sent events, well told or badly, as the directions have it."""

import time
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from tollkeeper_simulator import frames
from tollkeeper_simulator.acts import Act, Begin, End, Pause, Send
from tollkeeper_simulator.dialect import Event, Passage, Telling, Wording
from tollkeeper_simulator.scene import Scene

PADDING_BLOCK = b"x" * 65_536
BURST_EVENTS = 64
_TOKENS = attrgetter("tokens")


class Burst(NamedTuple):
    """Events that follow each other without a pause: framed one by one, sent as one."""

    events: list[bytes]
    tokens: int


class Frame:
    """What stands around the data of an event."""

    def __init__(self, dialect: Wording, scene: Scene) -> None:
        self._line_end = b"\r\n" if scene.directions.crlf else dialect.line_end
        self._comment = b": still here" + self._line_end * 2 if scene.directions.comment else b""
        self.after = self._line_end * 2

    def before(self, name: bytes) -> bytes:
        return self._comment + (b"event: " + name + self._line_end if name else b"") + b"data: "

    def send(self, event: Event) -> Send:
        return Send(self.before(event.name) + event.data + self.after, event.tokens)


def streamed(dialect: Wording, scene: Scene) -> Iterator[Act]:
    """The acts of a streamed answer, from its head to its end."""
    yield Begin(200, frames.stream_head(dialect.own_fields(scene.request_id)))
    if scene.directions.first_chunk_ms:
        yield Pause(scene.directions.first_chunk_ms / 1_000)
    ending = End("finished")
    for act in events_of(dialect, scene):
        if isinstance(act, Burst):
            yield Send(frames.chunks(act.events), act.tokens)
        elif isinstance(act, Send):
            yield from framed(act, drip=scene.directions.drip)
        elif isinstance(act, End):
            ending = act
            break
        else:
            yield act
    yield Send(frames.LAST_CHUNK)
    yield ending


def framed(event: Send, *, drip: bool) -> Iterator[Act]:
    if not drip:
        yield Send(frames.chunk(event.data), event.tokens)
        return
    for at in range(len(event.data)):
        # Only the last byte makes the event whole.
        yield Send(frames.chunk(event.data[at : at + 1]), event.tokens if at + 1 == len(event.data) else 0)
        yield Pause(0)


def events_of(dialect: Wording, scene: Scene) -> Iterator[Act | Burst]:
    """Events without their HTTP frame."""
    chosen, telling, frame = scene.directions, dialect.telling(scene), Frame(dialect, scene)
    mishaps = Mishaps(dialect, scene, telling, frame)
    yield from mishaps.after(0)
    for event in telling.opening():
        yield frame.send(event)
    if chosen.long_line:
        yield from _giant(chosen.long_line, telling, frame)
    yield from _content(scene, telling, frame, mishaps)
    if chosen.no_finish:
        yield End("no_finish")
        return
    for event in telling.finish():
        yield frame.send(event)
    if (done := telling.done()) is None:
        return
    yield End("no_done") if chosen.no_done else frame.send(done)


def _content(scene: Scene, telling: Telling, frame: Frame, mishaps: "Mishaps") -> Iterator[Act | Burst]:
    sent = 0
    for part in telling.content():
        if isinstance(part, Event):
            yield frame.send(part)
        elif scene.directions.is_uneventful:
            yield from _bursts(part, frame)
        else:
            yield from _piece_by_piece(scene, part, frame, mishaps, sent)
            sent += len(part.pieces) * len(part.around)


def _bursts(passage: Passage, frame: Frame) -> Iterator[Burst]:
    """The same events as of `_piece_by_piece`, where nothing happens between them."""
    start, end = frame.before(passage.name), frame.after
    around = [(start + before, after + end) for before, after in passage.around]
    pieces = passage.pieces
    for at in range(0, len(pieces), BURST_EVENTS):
        some = pieces[at : at + BURST_EVENTS]
        events = [before + piece.escaped + after for piece in some for before, after in around]
        yield Burst(events, sum(map(_TOKENS, some)) * len(around))


def _piece_by_piece(scene: Scene, passage: Passage, frame: Frame, mishaps: "Mishaps", sent: int) -> Iterator[Act]:
    """`sent` content chunks are out already."""
    pause = Pause(scene.directions.chunk_ms / 1_000)
    start, end = frame.before(passage.name), frame.after
    for piece in passage.pieces:
        for before, after in passage.around:
            if sent and pause.seconds:
                yield pause
            closing = _stamped(after) if scene.directions.stamped else after
            yield Send(b"%b%b%b%b%b" % (start, before, piece.escaped, closing, end), piece.tokens)
            sent += 1
            if sent in mishaps.places:
                yield from mishaps.after(sent)


def _stamped(closing: bytes) -> bytes:
    """The end of a chunk with noise in it, as OpenAI's chunks have; this noise says when, for a script is asked for its
    next act when that is to be done."""
    return b'%b,"obfuscation":"%d"}' % (closing.removesuffix(b"}"), time.monotonic_ns())


class Mishaps:
    """What happens to a stream, and after how many content chunks; what is put past the end happens at the end."""

    def __init__(self, dialect: Wording, scene: Scene, telling: Telling, frame: Frame) -> None:
        self._dialect = dialect
        self._scene = scene
        self._telling = telling
        self._frame = frame
        chosen = scene.directions
        places = (chosen.error_at, chosen.malformed_at, chosen.cut_at, chosen.half_close_at, chosen.stall_at)
        self.places = {min(at, scene.content_chunks) for at in places if at is not None}

    def after(self, sent: int) -> Iterator[Act]:
        chosen, last = self._scene.directions, self._scene.content_chunks
        if chosen.malformed_at is not None and min(chosen.malformed_at, last) == sent:
            yield self._frame.send(self._telling.malformed())
        if chosen.error_at is not None and min(chosen.error_at, last) == sent:
            yield self._frame.send(self._dialect.error_event(self._scene))
            yield End("error_sent")
        stop = self._scene.stop_after(sent)
        if stop is not None:
            yield stop


def _giant(size: int, telling: Telling, frame: Frame) -> Iterator[Act]:
    """One event of the wanted size, in blocks, so that its size costs nothing here."""
    before, after = telling.padding()
    yield Send(frame.before(before.name) + before.data)
    left = size
    while left > 0:
        yield Send(PADDING_BLOCK[:left])
        left -= len(PADDING_BLOCK)
    yield Send(after + frame.after)
