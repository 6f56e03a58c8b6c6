"""What is done for one call, act by act: decided here without touching a socket, played in `wire`."""

import zlib
from collections.abc import Iterator

from tollkeeper_simulator import frames
from tollkeeper_simulator.acts import Act, Begin, End, Pause, Send
from tollkeeper_simulator.dialect import Wording
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.events import streamed
from tollkeeper_simulator.problem import Problem
from tollkeeper_simulator.scene import Scene

GARBAGE = b"<html><body>Bad gateway</body></html>"
BOMB_BLOCK = b" " * 1_048_576
PADDING_BLOCK = b" " * 65_536
# What a too large length promises and never sends.
MISSING_BYTES = 100


def script_of(dialect: Wording, scene: Scene) -> Iterator[Act]:
    """What is done for this call."""
    chosen = scene.directions
    if chosen.delay_ms:
        yield Pause(chosen.delay_ms / 1_000)
    if chosen.is_no_answer:
        kind = b"text/event-stream" if scene.streamed else b"application/json"
        yield from no_answer(dialect, scene.request_id, chosen, kind)
    elif scene.streamed:
        yield from streamed(dialect, scene)
    elif chosen.is_uneventful and not (chosen.first_chunk_ms or chosen.long_line or chosen.wrong_length):
        body = b"".join([piece.escaped for piece in dialect.whole(scene, in_pieces=False)])
        yield Begin(200, frames.json_head(200, dialect.own_fields(scene.request_id), len(body)))
        yield Send(body, scene.figures.output_tokens)
        yield End("finished")
    else:
        yield from _whole(dialect, scene)


def no_answer(dialect: Wording, request_id: bytes, chosen: Directions, kind: bytes) -> Iterator[Act]:
    """What is told where an answer of that content type should be."""
    if chosen.redirect is not None:
        yield from _redirect(dialect.own_fields(request_id), chosen.redirect)
    elif chosen.status != 200:
        told = (chosen.status_text, chosen.error_type, chosen.error_code, chosen.retry_after)
        yield from refuse(dialect, request_id, Problem(chosen.status, *told))
    elif chosen.json_garbage:
        yield from _json(dialect.own_fields(request_id), 200, GARBAGE, "garbage")
    else:
        yield from _bomb(dialect.own_fields(request_id), chosen.gzip_bomb, kind)


def refuse(dialect: Wording, request_id: bytes, problem: Problem, *, close: bool = False) -> Iterator[Act]:
    """An error, as the vendor tells it."""
    fields = dialect.error_fields(problem)
    body = dialect.error(problem, request_id)
    yield from _json(dialect.own_fields(request_id), problem.status, body, "refused", *fields, close=close)


def tell(dialect: Wording, request_id: bytes, body: bytes) -> Iterator[Act]:
    yield from _json(dialect.own_fields(request_id), 200, body, "finished")


def _redirect(own_fields: bytes, url: str) -> Iterator[Act]:
    yield Begin(302, frames.head(302, own_fields, b"location: " + url.encode(), b"content-length: 0"))
    yield End("redirected")


def _json(
    own_fields: bytes, status: int, body: bytes, ending: str, *fields: bytes, close: bool = False
) -> Iterator[Act]:
    yield Begin(status, frames.json_head(status, own_fields, len(body), *fields))
    yield Send(body)
    yield End(ending, close)


def _whole(dialect: Wording, scene: Scene) -> Iterator[Act]:
    """An answer in one piece, or as much of it as the directions allow."""
    chosen = scene.directions
    pieces = list(dialect.whole(scene, in_pieces=True))
    length = sum(len(piece.escaped) for piece in pieces) + chosen.long_line
    promised = length + MISSING_BYTES if chosen.wrong_length else length
    yield Begin(200, frames.json_head(200, dialect.own_fields(scene.request_id), promised))
    if chosen.first_chunk_ms:
        yield Pause(chosen.first_chunk_ms / 1_000)
    sent = 0
    if (stop := scene.stop_after(sent)) is not None:
        yield stop
    for piece in pieces:
        yield from _dripped(piece.escaped, piece.tokens) if chosen.drip else (Send(piece.escaped, piece.tokens),)
        if piece.is_content:
            sent += 1
            if (stop := scene.stop_after(sent)) is not None:
                yield stop
    for left in range(chosen.long_line, 0, -len(PADDING_BLOCK)):
        yield Send(PADDING_BLOCK[:left])
    yield End("wrong_length", close=True) if chosen.wrong_length else End("finished")


def _dripped(data: bytes, tokens: int) -> Iterator[Act]:
    for at in range(len(data)):
        # Not behind it: who has the last byte may hang up before the end is known here.
        yield Pause(0)
        yield Send(data[at : at + 1], tokens if at + 1 == len(data) else 0)


def _bomb(own_fields: bytes, size: int, kind: bytes) -> Iterator[Act]:
    """A small body that becomes a very large one when it is unpacked."""
    squeeze = zlib.compressobj(wbits=31)
    fields = (b"content-type: " + kind, b"content-encoding: gzip", b"transfer-encoding: chunked")
    yield Begin(200, frames.head(200, own_fields, *fields))
    for left in range(size, 0, -len(BOMB_BLOCK)):
        if squeezed := squeeze.compress(BOMB_BLOCK[:left]):
            yield Send(frames.chunk(squeezed))
    yield Send(frames.chunk(squeeze.flush()) + frames.LAST_CHUNK)
    yield End("gzip_bomb")
