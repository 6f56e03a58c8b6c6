"""A message of the Messages API, whole and as a stream, field for field as the vendor sends it."""

from collections.abc import Iterator

import msgspec

from tollkeeper_simulator.dialect import Event, Passage
from tollkeeper_simulator.dialects.anthropic.signature import signature_of
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece, escape, joined

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
# What has been said when a stream begins.
TOKENS_AT_THE_START = 1
DELTA = b"content_block_delta"


def whole_message(scene: Scene, *, in_pieces: bool, around: tuple[bytes, bytes] | None = None) -> Iterator[Piece]:
    """Part by part; with two usages the member is there twice. The words stand in `around` where that is given."""
    speech, heading = scene.speech, scene.heading
    yield Piece(
        b'{"model":"%b","id":"%b","type":"message","role":"assistant","content":[' % (heading.model, heading.id), 0
    )
    if speech.thinking_tokens:
        yield Piece(b'{"type":"thinking","thinking":"', speech.hidden_tokens)
        yield from speech.thoughts if in_pieces else (joined(speech.thoughts),)
        comma = b"," if speech.pieces or speech.tool_name else b""
        yield Piece(b'","signature":"%b"}%b' % (_signature(scene), comma), 0)
    if speech.pieces:
        before, after = around or _block_around(scene)
        yield Piece(before, speech.name_tokens)
        yield from speech.pieces if in_pieces else (speech.joined,)
        yield Piece(after, 0)
    told = b',"usage":%b' % usage(scene, scene.figures.output_tokens) * scene.times_usage_is_told
    yield Piece(b"],%b%b}" % (_stop(scene), told), 0)


def usage(scene: Scene, output_tokens: int) -> bytes:
    """The usage object: right, or wrong in the way that was asked for."""
    figures = scene.figures
    fresh = figures.input_tokens - figures.cached_tokens - figures.cache_write_tokens
    asked, told = scene.misstated(fresh, output_tokens)
    written, for_an_hour = figures.cache_write_tokens, figures.cache_write_1h_tokens
    fields: dict[str, object] = {
        "input_tokens": asked,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": figures.cached_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written - for_an_hour,
            "ephemeral_1h_input_tokens": for_an_hour,
        },
        "output_tokens": told,
        "service_tier": "standard",
    }
    if figures.thinking_tokens:
        fields["output_tokens_details"] = {"thinking_tokens": min(figures.thinking_tokens, output_tokens)}
    if figures.tool_uses:
        fields["server_tool_use"] = {"web_search_requests": figures.tool_uses}
    if scene.directions.usage == "string":
        fields = {name: str(value) for name, value in fields.items()}
    return msgspec.json.encode(fields)


class MessageEvents:
    """One streamed message; the `Telling` of Anthropic."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._thinks = scene.speech.thinking_tokens > 0

    def opening(self) -> Iterator[Event]:
        heading = self._scene.heading
        told = b',"usage":%b' % usage(self._scene, TOKENS_AT_THE_START) if self._tells_usage else b""
        message = (
            b'{"model":"%b","id":"%b","type":"message","role":"assistant","content":[],"stop_reason":null,'
            b'"stop_sequence":null,"stop_details":null%b}'
        ) % (heading.model, heading.id, told)
        yield Event(b'{"type":"message_start","message":%b}' % message, name=b"message_start")
        yield Event(b'{"type":"ping"}', name=b"ping")

    def content(self) -> Iterator[Event | Passage]:
        speech = self._scene.speech
        if self._thinks:
            yield self._start(0, b'{"type":"thinking","thinking":"","signature":""}', speech.hidden_tokens)
            if speech.thoughts:
                yield Passage(speech.thoughts, [_delta(0, b"thinking_delta", b"thinking")], DELTA)
            before, after = _delta(0, b"signature_delta", b"signature")
            yield Event(before + _signature(self._scene) + after, name=DELTA)
            yield self._stop(0)
        if speech.pieces:
            index = int(self._thinks)
            yield self._start(index, _empty_block(self._scene), speech.name_tokens)
            kind, field = (
                (b"text_delta", b"text") if speech.tool_name is None else (b"input_json_delta", b"partial_json")
            )
            yield Passage(speech.pieces, [_delta(index, kind, field)], DELTA)
            yield self._stop(index)

    def finish(self) -> Iterator[Event]:
        told = usage(self._scene, self._scene.figures.output_tokens)
        told = b',"usage":%b' % told if self._tells_usage else b""
        for _ in range(max(self._scene.times_usage_is_told, 1)):
            yield Event(b'{"type":"message_delta","delta":{%b}%b}' % (_stop(self._scene), told), name=b"message_delta")

    def done(self) -> Event:
        return Event(b'{"type":"message_stop"}', name=b"message_stop")

    def malformed(self) -> Event:
        return Event(b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","te', name=DELTA)

    def padding(self) -> tuple[Event, bytes]:
        return Event(b'{"type":"ping","padding":"', name=b"ping"), b'"}'

    @property
    def _tells_usage(self) -> bool:
        return self._scene.times_usage_is_told > 0

    def _start(self, index: int, block: bytes, tokens: int) -> Event:
        data = b'{"type":"content_block_start","index":%d,"content_block":%b}' % (index, block)
        return Event(data, tokens, b"content_block_start")

    def _stop(self, index: int) -> Event:
        return Event(b'{"type":"content_block_stop","index":%d}' % index, name=b"content_block_stop")


def _delta(index: int, kind: bytes, field: bytes) -> tuple[bytes, bytes]:
    start = b'{"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":"'
    return start % (index, kind, field), b'"}}'


def _signature(scene: Scene) -> bytes:
    thought = b"".join(piece.escaped for piece in scene.speech.thoughts).decode()
    return signature_of(thought).encode()


def _stop(scene: Scene) -> bytes:
    reason = STOP_REASONS[scene.speech.finish_reason]
    details = b"null"
    if reason == "refusal":
        details = b'{"type":"refusal","category":"general_harms","explanation":"This answer was withheld."}'
    return b'"stop_reason":"%b","stop_sequence":null,"stop_details":%b' % (reason.encode(), details)


def _empty_block(scene: Scene) -> bytes:
    name = scene.speech.tool_name
    if name is None:
        return b'{"type":"text","text":""}'
    return b'{"type":"tool_use","id":"%b","name":"%b","input":{}}' % (_tool_id(scene), escape(name))


def _block_around(scene: Scene) -> tuple[bytes, bytes]:
    """What stands before and after the pieces of the answer's block."""
    name = scene.speech.tool_name
    if name is None:
        return b'{"type":"text","text":"', b'"}'
    return b'{"type":"tool_use","id":"%b","name":"%b","input":' % (_tool_id(scene), escape(name)), b"}"


def _tool_id(scene: Scene) -> bytes:
    return scene.heading.call_id(0, b"toolu_")
