"""An answer with generated content, whole and as a stream, field for field as the vendor sends it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from tollkeeper_simulator.dialect import Event, Passage
from tollkeeper_simulator.dialects.gemini.signature import signature_text
from tollkeeper_simulator.dialects.gemini.turns import INSISTS
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece, escape, joined

FINISH_REASONS = {"stop": b"STOP", "length": b"MAX_TOKENS", "tool_calls": b"STOP", "content_filter": b"SAFETY"}
BLOCK = b'"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}'
RATINGS = b',"safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true}]'


class PartFrame(NamedTuple):
    """What stands before and after a piece in its part."""

    before: bytes
    after: bytes


THOUGHT = PartFrame(b'{"thought":true,"text":"', b'"}')
TEXT = PartFrame(b'{"text":"', b'"}')


def whole_content(scene: Scene, *, in_pieces: bool, frame: PartFrame | None = None) -> Iterator[Piece]:
    """Part by part; with two usages the member is there twice. Text stands in `frame` where one is given."""
    speech = scene.speech
    told = _all_usage(scene) * scene.times_usage_is_told
    if speech.finish_reason == "blocked":
        yield Piece(b"{%b%b%b}" % (BLOCK, told, _heading(scene)), 0)
        return
    for index in range(scene.choices):
        yield Piece(b"," if index else b'{"candidates":[', 0)
        yield from _candidate(scene, index, frame or _frame(scene, index), in_pieces=in_pieces)
    yield Piece(b"]%b%b}" % (told, _heading(scene)), 0)


def _candidate(scene: Scene, index: int, frame: PartFrame, *, in_pieces: bool) -> Iterator[Piece]:
    speech = scene.speech
    if not (speech.thoughts or speech.pieces):
        # What was hidden was thought all the same.
        yield Piece(b"{%b%b}" % (_empty_content(scene), _finish(scene, index)), speech.hidden_tokens)
        return
    yield Piece(b'{"content":{"role":"model","parts":[', speech.hidden_tokens)
    if speech.thoughts:
        yield Piece(THOUGHT.before, 0)
        yield from speech.thoughts if in_pieces else (joined(speech.thoughts),)
        yield Piece(THOUGHT.after + (b"," if speech.pieces else b""), 0)
    if speech.pieces:
        yield Piece(frame.before, speech.name_tokens)
        yield from speech.pieces if in_pieces else (speech.joined,)
        yield Piece(frame.after, 0)
    yield Piece(b"]},%b}" % _finish(scene, index), 0)


class ContentChunks:
    """One streamed answer; the `Telling` of Gemini. Every chunk says what was used so far."""

    def __init__(self, scene: Scene, frame: PartFrame | None = None) -> None:
        self._scene = scene
        self._frame = frame
        self._spoken = 0
        self._thought = scene.speech.hidden_tokens * scene.choices

    def opening(self) -> Iterator[Event]:
        if self._scene.speech.finish_reason == "blocked":
            yield Event(b"{%b%b%b}" % (BLOCK, self._usage(), _heading(self._scene)))

    def content(self) -> Iterator[Passage]:
        speech = self._scene.speech
        if speech.thoughts:
            frames = [THOUGHT] * self._scene.choices
            yield self._passage(speech.thoughts, frames, are_thoughts=True)
        if speech.pieces:
            frames = [self._frame or _frame(self._scene, index) for index in range(self._scene.choices)]
            first, *others = speech.pieces
            named = first._replace(tokens=first.tokens + speech.name_tokens)
            passage = self._passage([named, *others], frames, are_thoughts=False)
            # What was hidden was thought before the first piece, and is sent with it.
            told, *rest = passage.pieces
            yield passage._replace(pieces=[told._replace(tokens=told.tokens + speech.hidden_tokens), *rest])

    def finish(self) -> Iterator[Event]:
        scene = self._scene
        if scene.speech.finish_reason == "blocked":
            return
        content = b'"content":{"role":"model","parts":[{"text":""}]},' if scene.speech.pieces else _empty_content(scene)
        candidates = b",".join(b"{%b%b}" % (content, _finish(scene, index)) for index in range(scene.choices))
        hidden = 0 if scene.speech.pieces else scene.speech.hidden_tokens * scene.choices
        told = _all_usage(scene) if scene.times_usage_is_told else b""
        yield Event(b'{"candidates":[%b]%b%b}' % (candidates, told, _heading(scene)), hidden)
        if scene.times_usage_is_told > 1:
            yield Event(b"{%b%b}" % (told[1:], _heading(scene)))

    def done(self) -> None:
        """The end of the body is the end."""

    def malformed(self) -> Event:
        return Event(b'{"candidates":[{"content":{"role":"model","parts":[{"te')

    def padding(self) -> tuple[Event, bytes]:
        return Event(b'{"padding":"'), b'"%b}' % _heading(self._scene)

    def _passage(self, pieces: Sequence[Piece], frames: Sequence[PartFrame], *, are_thoughts: bool) -> Passage:
        """Chunks that differ in their piece and in what was used so far: both are in what counts as the piece."""
        around = [
            (
                b'{"candidates":[{"index":%d,"content":{"role":"model","parts":[%b' % (index, frame.before),
                b"%b}" % _heading(self._scene),
            )
            for index, frame in enumerate(frames)
        ]
        after = frames[0].after + b"]}}]"
        told = []
        for piece in pieces:
            # With the first of its candidates the rest of them is yet to come: no report runs ahead of what was sent.
            self._count(piece.tokens, is_thought=are_thoughts)
            told.append(piece._replace(escaped=piece.escaped + after + self._usage()))
            self._count(piece.tokens * (self._scene.choices - 1), is_thought=are_thoughts)
        return Passage(told, around)

    def _count(self, tokens: int, *, is_thought: bool) -> None:
        if is_thought:
            self._thought += tokens
        else:
            self._spoken += tokens

    def _usage(self) -> bytes:
        return _usage(self._scene, self._spoken, self._thought) if self._scene.times_usage_is_told else b""


def _all_usage(scene: Scene) -> bytes:
    figures = scene.figures
    return _usage(scene, figures.output_tokens - figures.thinking_tokens, figures.thinking_tokens)


def _usage(scene: Scene, spoken: int, thought: int) -> bytes:
    """The usage member: right, or wrong in the way that was asked for. What is nothing is not told."""
    asked, told = scene.misstated(scene.figures.input_tokens, spoken)
    fields: dict[str, object] = {"promptTokenCount": asked, "totalTokenCount": asked + told + thought}
    optional = {
        "candidatesTokenCount": told,
        "cachedContentTokenCount": scene.figures.cached_tokens,
        "thoughtsTokenCount": thought,
    }
    fields |= {name: value for name, value in optional.items() if value}
    if scene.directions.usage == "zero":
        fields |= {"candidatesTokenCount": 0, "totalTokenCount": 0}
    if scene.directions.usage == "string":
        fields = {name: str(value) for name, value in fields.items()}
    else:
        fields |= _by_modality(scene, asked, told)
    return b',"usageMetadata":' + msgspec.json.encode(fields)


def _by_modality(scene: Scene, asked: int, told: int) -> dict[str, object]:
    """What of the input, and of an answer that has more than text, is of which kind."""
    figures = scene.figures
    of_input = {"IMAGE": figures.image_input_tokens, "AUDIO": figures.audio_input_tokens}
    # On the way pictures come first, then sounds, then words.
    images = min(told, figures.image_output_tokens)
    of_output = {"IMAGE": images, "AUDIO": min(told - images, figures.audio_output_tokens)}
    details: dict[str, object] = {"promptTokensDetails": _details(asked, of_input)}
    return details | {"candidatesTokensDetails": _details(told, of_output)} if any(of_output.values()) else details


def _details(total: int, counts: dict[str, int]) -> list[dict[str, object]]:
    every = {"TEXT": total - sum(counts.values()), **counts}
    return [{"modality": kind, "tokenCount": count} for kind, count in every.items() if count or kind == "TEXT"]


def _heading(scene: Scene) -> bytes:
    return b',"modelVersion":"%b","responseId":"%b"' % (scene.heading.model, scene.heading.id)


def _finish(scene: Scene, index: int) -> bytes:
    reason = FINISH_REASONS[scene.speech.finish_reason]
    ratings = RATINGS if reason == b"SAFETY" else b""
    return b'"finishReason":"%b","index":%d%b' % (reason, index, ratings)


def _empty_content(scene: Scene) -> bytes:
    """An answer without words; one that was withheld is not even the model's."""
    return b"" if scene.speech.finish_reason == "content_filter" else b'"content":{"role":"model"},'


def _frame(scene: Scene, index: int) -> PartFrame:
    """Around the pieces of the answer: text, or the arguments of a call."""
    name = scene.speech.tool_name
    if name is None:
        return TEXT
    call = b'{"functionCall":{"id":"%b","name":"%b","args":' % (scene.heading.call_id(index, b""), escape(name))
    is_signed = scene.speech.thinking_tokens or scene.heading.model.startswith(INSISTS.encode())
    return PartFrame(call, b'},"thoughtSignature":"%b"}' % signature_text(name) if is_signed else b"}}")
