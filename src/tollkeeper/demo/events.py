"""A streamed answer as server-sent events, well told or badly, as the directions have it."""

from collections.abc import Iterator
from typing import NamedTuple

from tollkeeper.demo import frames
from tollkeeper.demo.acts import Act, Begin, End, Pause, Send
from tollkeeper.demo.scene import Scene
from tollkeeper.demo.vendor import Chunks, Problem

PADDING_BLOCK = b"x" * 65_536
BURST_EVENTS = 64


class Burst(NamedTuple):
    """Events that follow each other without a pause: framed one by one, sent as one."""

    events: list[bytes]
    tokens: int


def streamed(scene: Scene) -> Iterator[Act]:
    """The acts of a streamed answer, from its head to its end."""
    yield Begin(200, frames.stream_head(scene.request_id))
    if scene.directions.first_chunk_ms:
        yield Pause(scene.directions.first_chunk_ms / 1_000)
    ending = End("finished")
    for act in _events(scene):
        if isinstance(act, Burst):
            yield Send(b"".join(map(frames.chunk, act.events)), act.tokens)
        elif isinstance(act, Send):
            yield from _framed(act, drip=scene.directions.drip)
        elif isinstance(act, End):
            ending = act
            break
        else:
            yield act
    yield Send(frames.LAST_CHUNK)
    yield ending


def _framed(event: Send, *, drip: bool) -> Iterator[Act]:
    if not drip:
        yield Send(frames.chunk(event.data), event.tokens)
        return
    for at in range(len(event.data)):
        # Only the last byte makes the event whole.
        yield Send(frames.chunk(event.data[at : at + 1]), event.tokens if at + 1 == len(event.data) else 0)
        yield Pause(0)


def _events(scene: Scene) -> Iterator[Act | Burst]:
    """Events without their HTTP frame."""
    chosen, speech = scene.directions, scene.speech
    chunks = Chunks(scene.heading, with_usage=scene.wants_usage)
    yield from _turn(scene, 0)
    for index in range(scene.choices):
        yield _event(scene, chunks.opening(index, speech), speech.opening_tokens)
    if chosen.long_line:
        yield from _giant(scene, chunks)
    yield from _bursts(scene, chunks) if scene.directions.is_uneventful else _contents(scene, chunks)
    if chosen.no_finish:
        yield End("no_finish")
        return
    for index in range(scene.choices):
        yield _event(scene, chunks.finish(index, speech))
    for told in scene.usages():
        yield _event(scene, chunks.usage(told))
    if chosen.no_done:
        yield End("no_done")
        return
    yield _event(scene, b"[DONE]")


def _bursts(scene: Scene, chunks: Chunks) -> Iterator[Burst]:
    """The same events as of `_contents`, where nothing happens between them."""
    around = [(b"data: " + before, after + b"\n\n") for before, after in _around(scene, chunks)]
    pieces = scene.speech.pieces
    for start in range(0, len(pieces), BURST_EVENTS):
        some = pieces[start : start + BURST_EVENTS]
        events = [before + piece.escaped + after for piece in some for before, after in around]
        yield Burst(events, sum(piece.tokens for piece in some) * scene.choices)


def _contents(scene: Scene, chunks: Chunks) -> Iterator[Act]:
    pause = Pause(scene.directions.chunk_ms / 1_000)
    line_end = _line_end(scene)
    start = _comment(scene) + b"data: "
    around = _around(scene, chunks)
    turns = _turns(scene)
    sent = 0
    for piece in scene.speech.pieces:
        for before, after in around:
            if sent and pause.seconds:
                yield pause
            yield Send(b"%b%b%b%b%b" % (start, before, piece.escaped, after, line_end * 2), piece.tokens)
            sent += 1
            if sent in turns:
                yield from _turn(scene, sent)


def _around(scene: Scene, chunks: Chunks) -> list[tuple[bytes, bytes]]:
    """What stands before and after a piece, in each choice."""
    return [chunks.content(index, scene.speech) for index in range(scene.choices)]


def _turns(scene: Scene) -> set[int]:
    """After how many content chunks something happens; what is put past the end happens at the end."""
    chosen = scene.directions
    places = (chosen.error_at, chosen.malformed_at, chosen.cut_at, chosen.half_close_at, chosen.stall_at)
    return {min(at, scene.content_chunks) for at in places if at is not None}


def _turn(scene: Scene, sent: int) -> Iterator[Act]:
    """What happens after this many content chunks."""
    chosen, last = scene.directions, scene.content_chunks
    if chosen.malformed_at is not None and min(chosen.malformed_at, last) == sent:
        yield _event(scene, b'{"id":"%b","object":"chat.completion.chunk","choices":[{"index":0,' % scene.heading.id)
    if chosen.error_at is not None and min(chosen.error_at, last) == sent:
        problem = Problem(500, chosen.status_text, chosen.error_type, chosen.error_code)
        yield _event(scene, problem.body())
        yield End("error_sent")
    stop = scene.stop_after(sent)
    if stop is not None:
        yield stop


def _giant(scene: Scene, chunks: Chunks) -> Iterator[Act]:
    """One event of the wanted size, in blocks, so that its size costs nothing here."""
    before, after = chunks.padding()
    yield Send(b"data: " + before)
    left = scene.directions.long_line
    while left > 0:
        yield Send(PADDING_BLOCK[:left])
        left -= len(PADDING_BLOCK)
    yield Send(after + _line_end(scene) * 2)


def _event(scene: Scene, data: bytes, tokens: int = 0) -> Send:
    return Send(_comment(scene) + b"data: " + data + _line_end(scene) * 2, tokens)


def _comment(scene: Scene) -> bytes:
    return b": still here" + _line_end(scene) * 2 if scene.directions.comment else b""


def _line_end(scene: Scene) -> bytes:
    return b"\r\n" if scene.directions.crlf else b"\n"
