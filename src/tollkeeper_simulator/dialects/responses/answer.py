"""A response, whole and as a stream, field for field as the vendor sends it."""

from collections.abc import Iterator

import msgspec

from tollkeeper_simulator.dialect import Event, Passage
from tollkeeper_simulator.dialects.openai import in_strings
from tollkeeper_simulator.dialects.responses.seal import seal
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece, escape, joined

INCOMPLETE = {"length": b"max_output_tokens", "content_filter": b"content_filter"}
ID_START_BYTES = len("resp_")

_ABOUT = (
    b'"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,"reasoning":{"effort":null,'
    b'"summary":null},"safety_identifier":null,"service_tier":"default","store":false,"temperature":1.0,'
    b'"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,'
    b'"top_p":1.0,"truncation":"disabled"'
)
_TEXT = b'{"type":"output_text","annotations":[],"logprobs":[],"text":"'


def usage(scene: Scene) -> bytes:
    """The usage object: right, or wrong in the way that was asked for."""
    figures = scene.figures
    asked, told = scene.misstated(figures.input_tokens, figures.output_tokens)
    text = (
        b'{"input_tokens":%d,"input_tokens_details":{"cache_write_tokens":%d,"cached_tokens":%d},"output_tokens":%d,'
        b'"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}'
    ) % (asked, figures.cache_write_tokens, figures.cached_tokens, told, figures.thinking_tokens, asked + told)
    return in_strings(text) if scene.directions.usage == "string" else text


def whole_response(scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
    """Part by part; with two usages the member is there twice."""
    speech = scene.speech
    yield Piece(_head(scene, _status(scene)), 0)
    if speech.thinking_tokens:
        before, after = _reasoning_around(scene)
        yield Piece(before, speech.hidden_tokens)
        yield from speech.thoughts if in_pieces else (joined(speech.thoughts),)
        yield Piece(after + b",", 0)
    before, after = _item_around(scene, _status(scene))
    yield Piece(before, speech.name_tokens)
    yield from speech.pieces if in_pieces else (speech.joined,)
    told = b',"usage":%b' % usage(scene) * scene.times_usage_is_told
    yield Piece(b"%b],%b%b%b}" % (after, _ABOUT, told, b',"user":null,"metadata":{}'), 0)


class ResponseEvents:
    """One streamed response; the `Telling` of this API. Every event has the next number."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._number = 0

    def opening(self) -> Iterator[Event]:
        begun = b"%b],%b%b}" % (_head(self._scene, b"in_progress"), _ABOUT, b',"usage":null,"user":null,"metadata":{}')
        for kind in (b"response.created", b"response.in_progress"):
            yield self._event(kind, b'"response":' + begun)

    def content(self) -> Iterator[Event | Passage]:
        if self._scene.speech.thinking_tokens:
            yield from self._thoughts()
        index = int(self._scene.speech.thinking_tokens > 0)
        if self._scene.speech.tool_name is None:
            yield from self._message(index)
        else:
            yield from self._call(index)

    def finish(self) -> Iterator[Event]:
        scene = self._scene
        told = usage(scene) if scene.times_usage_is_told else b"null"
        parts = [piece.escaped for piece in whole_response(_without_usage(scene), in_pieces=False)]
        whole = b'%b,"usage":%b}' % (b"".join(parts)[:-1], told)
        for _ in range(max(scene.times_usage_is_told, 1)):
            yield self._event(b"response." + _status(scene), b'"response":' + whole)

    def done(self) -> Event | None:
        return None

    def malformed(self) -> Event:
        name = b"response.output_text.delta"
        return Event(b'{"type":"%b","sequence_number":%d,"item_id":"msg_' % (name, self._number), name=name)

    def padding(self) -> tuple[Event, bytes]:
        return Event(b'{"type":"keepalive","sequence_number":%d,"padding":"' % self._number, name=b"keepalive"), b'"}'

    def _thoughts(self) -> Iterator[Event | Passage]:
        speech, place = (
            self._scene.speech,
            b'"item_id":"%b","output_index":0,"summary_index":0' % _id(self._scene, b"rs"),
        )
        before, after = _reasoning_around(self._scene, is_told=False)
        yield self._item(b"added", 0, before + after, speech.hidden_tokens)
        if speech.thoughts:
            text = joined(speech.thoughts).escaped
            part = b'"part":{"type":"summary_text","text":"%b"}'
            yield self._event(b"response.reasoning_summary_part.added", b"%b,%b" % (place, part % b""))
            for piece in speech.thoughts:
                yield self._delta(b"response.reasoning_summary_text.delta", place, piece)
            yield self._event(b"response.reasoning_summary_text.done", b'%b,"text":"%b"' % (place, text))
            yield self._event(b"response.reasoning_summary_part.done", b"%b,%b" % (place, part % text))
        before, after = _reasoning_around(self._scene)
        yield self._item(b"done", 0, before + joined(speech.thoughts).escaped + after)

    def _message(self, index: int) -> Iterator[Event | Passage]:
        scene, text = self._scene, self._scene.speech.joined.escaped
        place = b'"item_id":"%b","output_index":%d,"content_index":0' % (_id(scene, b"msg"), index)
        begun = b'{"id":"%b","type":"message","status":"in_progress","content":[],"role":"assistant"}'
        yield self._item(b"added", index, begun % _id(scene, b"msg"))
        yield self._event(b"response.content_part.added", b'%b,"part":%b"}' % (place, _TEXT))
        for piece in scene.speech.pieces:
            yield self._delta(b"response.output_text.delta", place, piece, b',"logprobs":[]')
        yield self._event(b"response.output_text.done", b'%b,"text":"%b","logprobs":[]' % (place, text))
        yield self._event(b"response.content_part.done", b'%b,"part":%b%b"}' % (place, _TEXT, text))
        before, after = _item_around(scene, _status(scene))
        yield self._item(b"done", index, before + text + after)

    def _call(self, index: int) -> Iterator[Event | Passage]:
        scene, text = self._scene, self._scene.speech.joined.escaped
        place = b'"item_id":"%b","output_index":%d' % (_id(scene, b"fc"), index)
        before, after = _item_around(scene, b"in_progress")
        yield self._item(b"added", index, before + after, scene.speech.name_tokens)
        for piece in scene.speech.pieces:
            yield self._delta(b"response.function_call_arguments.delta", place, piece)
        yield self._event(b"response.function_call_arguments.done", b'%b,"arguments":"%b"' % (place, text))
        before, after = _item_around(scene, _status(scene))
        yield self._item(b"done", index, before + text + after)

    def _item(self, what: bytes, index: int, item: bytes, tokens: int = 0) -> Event:
        return self._event(b"response.output_item." + what, b'"output_index":%d,"item":%b' % (index, item), tokens)

    def _delta(self, kind: bytes, place: bytes, piece: Piece, more: bytes = b"") -> Passage:
        """A passage of its own, for its number is."""
        before = b'{"type":"%b","sequence_number":%d,%b,"delta":"' % (kind, self._number, place)
        self._number += 1
        return Passage([piece], [(before, b'"%b}' % more)], kind)

    def _event(self, kind: bytes, members: bytes, tokens: int = 0) -> Event:
        data = b'{"type":"%b","sequence_number":%d,%b}' % (kind, self._number, members)
        self._number += 1
        return Event(data, tokens, kind)


def _head(scene: Scene, status: bytes) -> bytes:
    """A response up to its first item."""
    reason = INCOMPLETE.get(scene.speech.finish_reason) if status == b"incomplete" else None
    details = b"null" if reason is None else b'{"reason":"%b"}' % reason
    return (
        b'{"id":"%b","object":"response","created_at":%d,"status":"%b","background":false,"error":null,'
        b'"incomplete_details":%b,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":"%b",'
        b'"output":['
    ) % (scene.heading.id, scene.heading.created, status, details, scene.heading.model)


def _status(scene: Scene) -> bytes:
    return b"incomplete" if scene.speech.finish_reason in INCOMPLETE else b"completed"


def _id(scene: Scene, start: bytes) -> bytes:
    return b"%b_%b" % (start, scene.heading.id[ID_START_BYTES:])


def _reasoning_around(scene: Scene, *, is_told: bool = True) -> tuple[bytes, bytes]:
    """What stands before and after the summary of thoughts, sealed for whoever stores nothing."""
    sealed = msgspec.json.encode(seal(scene.heading.id.decode()))
    is_shown = is_told and bool(scene.speech.thoughts)
    before, after = (b'{"type":"summary_text","text":"', b'"}') if is_shown else (b"", b"")
    start = b'{"id":"%b","type":"reasoning","encrypted_content":%b,"summary":[%b'
    return start % (_id(scene, b"rs"), sealed, before), after + b"]}"


def _item_around(scene: Scene, status: bytes) -> tuple[bytes, bytes]:
    """What stands before and after the words of the answer's item."""
    name = scene.speech.tool_name
    if name is None:
        start = b'{"id":"%b","type":"message","status":"%b","content":[%b'
        return start % (_id(scene, b"msg"), status, _TEXT), b'"}],"role":"assistant"}'
    start = b'{"id":"%b","type":"function_call","status":"%b","arguments":"' % (_id(scene, b"fc"), status)
    return start, b'","call_id":"%b","name":"%b"}' % (scene.heading.call_id(0), escape(name))


def _without_usage(scene: Scene) -> Scene:
    return scene._replace(directions=msgspec.structs.replace(scene.directions, usage="no"))
