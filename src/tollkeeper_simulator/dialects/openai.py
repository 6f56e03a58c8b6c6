"""OpenAI's JSON of chat: completions, chunks, usage, errors, models, field for field as the vendor sends them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from tollkeeper_simulator.dialect import Event, Passage, ToldParts
from tollkeeper_simulator.order import Asked, read_order
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Heading, Scene
from tollkeeper_simulator.speech import Piece, Speech, escape

FINGERPRINT = b"fp_44709d6fcb"
MODELS = ("demo-small", "demo-large", "dall-e-2", "dall-e-3", "tts-1", "tts-1-hd", "whisper-1", "gpt-image-1")
NOT_JSON = "We could not parse the JSON body of your request."

_TEXT_OPENING = b'{"role":"assistant","content":"","refusal":null}'
_ERROR_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}
_ERROR_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_ERROR_TEXTS = {
    429: "Rate limit reached for requests. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The engine is currently overloaded, please try again later.",
}


class Extras(NamedTuple):
    """What differs in formats of this family: members of the whole, at the end of a choice, at the end of the whole."""

    tier: bytes = b""
    choice: bytes = b""
    empty_choice: bytes = b""
    whole: bytes = b""


EXTRAS = Extras(tier=b'"service_tier":"default",')


class OpenAI:
    """The `Dialect` of OpenAI."""

    vendor = "openai"
    id_start = "chatcmpl-"
    line_end = b"\n"
    tells = ToldParts(cache_write=True, media=True)

    def own_fields(self, request_id: bytes) -> bytes:
        return b"x-request-id: " + request_id + b"\r\nopenai-version: 2020-10-01"

    def check(self, request: Request, key: str | None) -> None:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if key is not None and sent != key:
            raise Refused(wrong_key(sent))

    def unknown_address(self, request: Request) -> Problem:
        return Problem(404, f"Invalid URL ({request.method} {request.path})", code="unknown_url")

    def read(self, request: Request) -> Asked:
        try:
            return read_order(request.body)
        except msgspec.ValidationError as problem:
            raise Refused(Problem(400, str(problem))) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Refused(Problem(400, NOT_JSON)) from None

    def error(self, problem: Problem, request_id: bytes) -> bytes:
        status = problem.status
        error = {
            "message": problem.message or _ERROR_TEXTS.get(status, f"The provider answers with {status}."),
            "type": problem.type or _ERROR_TYPES.get(status, "invalid_request_error"),
            "param": problem.param,
            "code": problem.code or _ERROR_CODES.get(status),
        }
        return msgspec.json.encode({"error": error})

    def error_fields(self, problem: Problem) -> tuple[bytes, ...]:
        return () if problem.retry_after is None else (b"retry-after: %d" % problem.retry_after,)

    def error_event(self, scene: Scene) -> Event:
        told = scene.directions
        problem = Problem(500, told.status_text, told.error_type, told.error_code)
        return Event(self.error(problem, scene.request_id))

    def models(self, created: int) -> bytes:
        cards = [{"id": name, "object": "model", "created": created, "owned_by": "demo"} for name in MODELS]
        return msgspec.json.encode({"object": "list", "data": cards})

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        return completion(scene, EXTRAS, in_pieces=in_pieces)

    def telling(self, scene: Scene) -> "Chunks":
        return Chunks(scene, EXTRAS)


def usage(scene: Scene) -> bytes:
    """The usage object: right, or wrong in the way that was asked for."""
    figures = scene.figures
    asked, told = scene.misstated(figures.input_tokens, figures.output_tokens)
    text = (
        b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,'
        b'"audio_tokens":%d%b},"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":%d,'
        b'"accepted_prediction_tokens":0,"rejected_prediction_tokens":0%b}}'
    ) % (
        *(asked, told, asked + told, figures.cached_tokens, figures.audio_input_tokens),
        more(image_tokens=figures.image_input_tokens, cache_write_tokens=figures.cache_write_tokens),
        *(figures.thinking_tokens, figures.audio_output_tokens, more(image_tokens=figures.image_output_tokens)),
    )
    return in_strings(text) if scene.directions.usage == "string" else text


def more(**counts: int) -> bytes:
    """Members that stand only where there is something to count."""
    return b"".join(b',"%b":%d' % (name.encode(), count) for name, count in counts.items() if count)


def in_strings(usage_object: bytes) -> bytes:
    """The same with text where numbers were."""
    return re.sub(rb":(-?\d+)", rb':"\1"', usage_object)


def completion(scene: Scene, extras: Extras, *, in_pieces: bool) -> Iterator[Piece]:
    """The whole answer, part by part; with two usages the member is there twice."""
    heading, speech = scene.heading, scene.speech
    yield Piece(b'{"id":"%b","object":"chat.completion","created":%d,"model":"%b","choices":[' % heading, 0)
    end = b',"logprobs":null,"finish_reason":"%b"%b}' % (speech.finish_reason.encode(), extras.choice)
    for index in range(scene.choices):
        before, after = _message(heading, index, speech)
        comma = b"," if index else b""
        yield Piece(b'%b{"index":%d,"message":%b' % (comma, index, before), speech.opening_tokens)
        yield from speech.pieces if in_pieces else (speech.joined,)
        yield Piece(after + end, 0)
    told = b',"usage":%b' % usage(scene) * scene.times_usage_is_told
    yield Piece(b']%b,%b"system_fingerprint":"%b"%b}' % (told, extras.tier, FINGERPRINT, extras.whole), 0)


class Chunks:
    """One streamed answer, each chunk a JSON object; the `Telling` of OpenAI."""

    def __init__(self, scene: Scene, extras: Extras) -> None:
        self._scene = scene
        self._extras = extras
        self._start = (
            b'{"id":"%b","object":"chat.completion.chunk","created":%d,"model":"%b",%b"system_fingerprint":"%b",'
            b'"choices":['
        ) % (*scene.heading, extras.tier, FINGERPRINT)
        # Whoever asked for usage gets the member in every chunk, null until the last.
        self._end = b'],"usage":null}' if scene.wants_usage else b"]}"

    def opening(self) -> Iterator[Event]:
        speech = self._scene.speech
        for index in range(self._scene.choices):
            yield Event(self._choice(index, self._first_delta(index)), speech.opening_tokens)

    def content(self) -> Iterator[Passage]:
        around = [self._around(index) for index in range(self._scene.choices)]
        yield Passage(self._scene.speech.pieces, around)

    def finish(self) -> Iterator[Event]:
        reason = b'"%b"' % self._scene.speech.finish_reason.encode()
        for index in range(self._scene.choices):
            yield Event(self._choice(index, b"{}", reason))
        for _ in range(self._scene.times_usage_is_told):
            yield Event(b'%b],"usage":%b}' % (self._start, usage(self._scene)))

    def done(self) -> Event:
        return Event(b"[DONE]")

    def malformed(self) -> Event:
        return Event(b'{"id":"%b","object":"chat.completion.chunk","choices":[{"index":0,' % self._scene.heading.id)

    def padding(self) -> tuple[Event, bytes]:
        return Event(b'%b],"obfuscation":"' % self._start), b'"}'

    def _first_delta(self, index: int) -> bytes:
        name = self._scene.speech.tool_name
        if name is None:
            return _TEXT_OPENING
        call = b'{"index":0,"id":"%b","type":"function","function":{"name":"%b","arguments":""}}'
        call %= (self._scene.heading.call_id(index), escape(name))
        return b'{"role":"assistant","content":null,"tool_calls":[%b],"refusal":null}' % call

    def _around(self, index: int) -> tuple[bytes, bytes]:
        """What stands before and after a piece: a stream repeats them in every chunk."""
        is_text = self._scene.speech.tool_name is None
        middle = b'{"content":"' if is_text else b'{"tool_calls":[{"index":0,"function":{"arguments":"'
        closing = b'"}' if is_text else b'"}}]}'
        before = b'%b{"index":%d,"delta":%b' % (self._start, index, middle)
        after = b'%b,"logprobs":null,"finish_reason":null%b}%b' % (closing, self._extras.choice, self._end)
        return before, after

    def _choice(self, index: int, delta: bytes, reason: bytes = b"null") -> bytes:
        choice = b'{"index":%d,"delta":%b,"logprobs":null,"finish_reason":%b%b}'
        return self._start + choice % (index, delta, reason, self._extras.empty_choice) + self._end


def wrong_key(sent: str) -> Problem:
    """The vendor quotes the key's beginning and end, which is why a gateway must not pass this on."""
    if not sent:
        return Problem(401, "You didn't provide an API key.", code="missing_api_key")
    shown = sent[:8] + "*" * max(len(sent) - 12, 4) + sent[-4:]
    return Problem(401, f"Incorrect API key provided: {shown}. You can find your API key in your account settings.")


def _message(heading: Heading, index: int, speech: Speech) -> tuple[bytes, bytes]:
    """What stands before and after the pieces of a message."""
    if speech.tool_name is None:
        return b'{"role":"assistant","content":"', b'","refusal":null,"annotations":[]}'
    call = b'{"id":"%b","type":"function","function":{"name":"%b","arguments":"'
    call %= (heading.call_id(index), escape(speech.tool_name))
    return b'{"role":"assistant","content":null,"tool_calls":[' + call, b'"}}],"refusal":null,"annotations":[]}'
