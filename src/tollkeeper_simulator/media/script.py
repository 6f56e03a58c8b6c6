"""What is done for a call that is no chat, act by act."""

from collections.abc import Iterator

from tollkeeper_simulator import frames
from tollkeeper_simulator.acts import Act, Begin, End, Pause, Send
from tollkeeper_simulator.dialect import Dialect
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.media.answer import Answer, Part
from tollkeeper_simulator.scene import early_stop
from tollkeeper_simulator.script import MISSING_BYTES, no_answer


def media_script(dialect: Dialect, request_id: bytes, chosen: Directions, answer: Answer) -> Iterator[Act]:
    """The answer, or as much of it as the directions allow."""
    if chosen.delay_ms:
        yield Pause(chosen.delay_ms / 1_000)
    if chosen.is_no_answer:
        yield from no_answer(dialect, request_id, chosen, answer.content_type)
        return
    # A wrong length needs one.
    chunked = answer.chunked and not chosen.wrong_length
    promised = answer.length + MISSING_BYTES if chosen.wrong_length else answer.length
    length = b"transfer-encoding: chunked" if chunked else b"content-length: %d" % promised
    kind = b"content-type: " + answer.content_type
    yield Begin(200, frames.head(200, dialect.own_fields(request_id), kind, length))
    if chosen.first_chunk_ms:
        yield Pause(chosen.first_chunk_ms / 1_000)
    for act in _content(answer, chosen):
        if isinstance(act, Send) and chunked:
            yield Send(frames.chunk(act.data), act.tokens, act.images)
        else:
            yield act
    if chunked:
        yield Send(frames.LAST_CHUNK)
    yield End("wrong_length", close=True) if chosen.wrong_length else End("finished")


def _content(answer: Answer, chosen: Directions) -> Iterator[Act]:
    """The answer without its HTTP frame. What comes midway comes before a content chunk is whole."""
    sent, last = 0, answer.content_chunks - chosen.midway
    if not chosen.midway and (stop := early_stop(chosen, 0, last)) is not None:
        yield stop
    for part in answer.parts:
        if chosen.midway and part.ends_chunk and (stop := early_stop(chosen, sent, last)) is not None:
            yield stop
        yield from _dripped(part) if chosen.drip else (Send(part.data, part.tokens, part.images),)
        if not part.ends_chunk:
            continue
        sent += 1
        if not chosen.midway and (stop := early_stop(chosen, sent, last)) is not None:
            yield stop
        if chosen.chunk_ms and sent < answer.content_chunks:
            yield Pause(chosen.chunk_ms / 1_000)


def _dripped(part: Part) -> Iterator[Act]:
    for at in range(len(part.data)):
        is_last = at + 1 == len(part.data)
        # Not behind it: who has the last byte may hang up before the end is known here.
        yield Pause(0)
        yield Send(part.data[at : at + 1], part.tokens if is_last else 0, part.images if is_last else 0)
