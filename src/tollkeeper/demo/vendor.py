"""The vendor's JSON: completions, chunks, usage, errors, models, field for field as the vendor sends them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from tollkeeper.demo.directions import UsageSaid
from tollkeeper.demo.speech import Piece, Speech, escape

FINGERPRINT = b"fp_44709d6fcb"
MODELS = ("demo-small", "demo-large")

_TEXT_OPENING = b'{"role":"assistant","content":"","refusal":null}'
_ERROR_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}
_ERROR_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_ERROR_TEXTS = {
    429: "Rate limit reached for requests. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The engine is currently overloaded, please try again later.",
}


class Figures(NamedTuple):
    """The tokens of an answer, as they are."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int


class Heading(NamedTuple):
    """What every JSON object of one answer repeats."""

    id: bytes
    created: int
    model: bytes

    def call_id(self, index: int) -> bytes:
        return b"call_%b%02d" % (self.id[-22:], index)


def usage(figures: Figures, said: UsageSaid) -> bytes:
    """The usage object: right, or wrong in the way that was asked for."""
    asked, told = figures.input_tokens, figures.output_tokens
    wrong = {
        "absurd": (asked + 10**9, told + 10**9),
        "negative": (-asked, -told),
        "zero": (0, 0),
        "huge": (2**63, 2**63),
    }
    asked, told = wrong.get(said, (asked, told))
    text = (
        b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,'
        b'"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,'
        b'"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}'
    ) % (asked, told, asked + told, figures.cached_tokens)
    if said == "string":
        as_text = {name: str(value) for name, value in msgspec.json.decode(text).items()}
        return msgspec.json.encode(as_text)
    return text


def completion(
    heading: Heading, speech: Speech, choices: int, usages: Sequence[bytes], *, in_pieces: bool
) -> Iterator[Piece]:
    """The whole answer as one JSON object, part by part; with two usages the member is there twice."""
    yield Piece(b'{"id":"%b","object":"chat.completion","created":%d,"model":"%b","choices":[' % heading, 0)
    for index in range(choices):
        before, after = _message(heading, index, speech)
        comma = b"," if index else b""
        yield Piece(b'%b{"index":%d,"message":%b' % (comma, index, before), speech.opening_tokens)
        yield from speech.pieces if in_pieces else (speech.joined,)
        yield Piece(b'%b,"logprobs":null,"finish_reason":"%b"}' % (after, speech.finish_reason.encode()), 0)
    told = b"".join(b',"usage":%b' % usage for usage in usages)
    yield Piece(b']%b,"service_tier":"default","system_fingerprint":"%b"}' % (told, FINGERPRINT), 0)


class Chunks:
    """The chunks of one streamed answer, each a JSON object."""

    def __init__(self, heading: Heading, *, with_usage: bool) -> None:
        self._heading = heading
        self._start = (
            b'{"id":"%b","object":"chat.completion.chunk","created":%d,"model":"%b","service_tier":"default",'
            b'"system_fingerprint":"%b","choices":['
        ) % (*heading, FINGERPRINT)
        # Whoever asked for usage gets the member in every chunk, null until the last.
        self._end = b'],"usage":null}' if with_usage else b"]}"

    def opening(self, index: int, speech: Speech) -> bytes:
        if speech.tool_name is None:
            return self._choice(index, _TEXT_OPENING)
        call = b'{"index":0,"id":"%b","type":"function","function":{"name":"%b","arguments":""}}'
        call %= (self._heading.call_id(index), escape(speech.tool_name))
        return self._choice(index, b'{"role":"assistant","content":null,"tool_calls":[%b],"refusal":null}' % call)

    def content(self, index: int, speech: Speech) -> tuple[bytes, bytes]:
        """What stands before and after a piece: a stream repeats them in every chunk."""
        middle = b'{"content":"' if speech.tool_name is None else b'{"tool_calls":[{"index":0,"function":{"arguments":"'
        closing = b'"}' if speech.tool_name is None else b'"}}]}'
        before = b'%b{"index":%d,"delta":%b' % (self._start, index, middle)
        return before, b'%b,"logprobs":null,"finish_reason":null}%b' % (closing, self._end)

    def finish(self, index: int, speech: Speech) -> bytes:
        return self._choice(index, b"{}", b'"%b"' % speech.finish_reason.encode())

    def padding(self) -> tuple[bytes, bytes]:
        """What stands around the padding of a chunk that says nothing, at length."""
        return b'%b],"obfuscation":"' % self._start, b'"}'

    def usage(self, told: bytes) -> bytes:
        return b'%b],"usage":%b}' % (self._start, told)

    def _choice(self, index: int, delta: bytes, reason: bytes = b"null") -> bytes:
        choice = b'{"index":%d,"delta":%b,"logprobs":null,"finish_reason":%b}' % (index, delta, reason)
        return self._start + choice + self._end


class Problem(NamedTuple):
    """An error as the vendor tells it; what is not given is as usual for its status."""

    status: int
    message: str | None = None
    type: str | None = None
    code: str | None = None

    def body(self) -> bytes:
        error = {
            "message": self.message or _ERROR_TEXTS.get(self.status, f"The provider answers with {self.status}."),
            "type": self.type or _ERROR_TYPES.get(self.status, "invalid_request_error"),
            "param": None,
            "code": self.code or _ERROR_CODES.get(self.status),
        }
        return msgspec.json.encode({"error": error})


def wrong_key(sent: str) -> Problem:
    """The vendor quotes the key's beginning and end, which is why a gateway must not pass this on."""
    if not sent:
        return Problem(401, "You didn't provide an API key.", code="missing_api_key")
    shown = sent[:8] + "*" * max(len(sent) - 12, 4) + sent[-4:]
    return Problem(401, f"Incorrect API key provided: {shown}. You can find your API key in your account settings.")


def model_list(created: int) -> bytes:
    cards = [{"id": name, "object": "model", "created": created, "owned_by": "demo"} for name in MODELS]
    return msgspec.json.encode({"object": "list", "data": cards})


def _message(heading: Heading, index: int, speech: Speech) -> tuple[bytes, bytes]:
    """What stands before and after the pieces of a message."""
    if speech.tool_name is None:
        return b'{"role":"assistant","content":"', b'","refusal":null,"annotations":[]}'
    call = b'{"id":"%b","type":"function","function":{"name":"%b","arguments":"'
    call %= (heading.call_id(index), escape(speech.tool_name))
    return b'{"role":"assistant","content":null,"tool_calls":[' + call, b'"}}],"refusal":null,"annotations":[]}'
