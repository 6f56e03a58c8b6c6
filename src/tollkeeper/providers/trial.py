"""A trial of a provider account: small live calls that show what works there, told in words.

Rules of this file
1. A trial goes the way that calls go: the same vendor, the same connections, the same meter.
2. What does not work is told with the provider's own reason, and with what to do about it where we know.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping

import msgspec

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.sse import EventSplitter, EventTooLong, data_of
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.errors import BadRequest
from tollkeeper.core.money.charge import Readings
from tollkeeper.core.pool.provider_errors import read_rejection
from tollkeeper.ports import ProviderAccount, Upstream, UpstreamAnswer, UpstreamFailed, UpstreamRequest, Vendor
from tollkeeper.ports.providers.desk import Finding

PATIENCE_SECONDS = 60.0
ANSWER_BYTES_MOST = 1024 * 1024
# Enough for a model that thinks a little before it speaks.
ANSWER_TOKENS = 512
# A red square.
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAg"
    "EAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"
)
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"name": "get_weather", "description": "The weather in a city", "parameters": CITY}

# What is tried, and what is asked for it beside the model.
TRIALS: Mapping[str, Mapping[str, object]] = {
    "a whole answer": {"messages": [{"role": "user", "content": "Say the word ready."}]},
    "a streamed answer": {"messages": [{"role": "user", "content": "Say the word ready."}], "stream": True},
    "a tool call": {
        "messages": [{"role": "user", "content": "What is the weather in Oslo? Please call the tool."}],
        "tools": [{"type": "function", "function": WEATHER}],
        "tool_choice": "required",
    },
    "an image": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Which colour is this?"},
                    {"type": "image_url", "image_url": {"url": PICTURE}},
                ],
            }
        ]
    },
    "JSON by a schema": {
        "messages": [{"role": "user", "content": "Name a city."}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": CITY}},
    },
}


class _TrialFailed(Exception):
    """A trial that did not work; the message says why."""


class _TrialMessage(msgspec.Struct):
    content: str | None = None
    tool_calls: list[object] | None = None


class _TrialChoice(msgspec.Struct):
    message: _TrialMessage


class _TrialAnswer(msgspec.Struct):
    choices: list[_TrialChoice]


class _ParsedAnswer(msgspec.Struct):
    """An answer: what is known of its usage, and what it says."""

    meter: Readings
    message: _TrialMessage


async def try_out(
    account: ProviderAccount, vendor: Vendor, upstream: Upstream, model_id: str
) -> AsyncIterator[Finding]:
    """Each finding as soon as it is made."""
    for what, asked in TRIALS.items():
        order = read_chat(msgspec.json.encode({"model": model_id, "max_completion_tokens": ANSWER_TOKENS, **asked}))
        begun = time.monotonic()
        try:
            heard = await _call(order, account, vendor, upstream)
            look = LOOKS.get(what)
            if look is not None and (problem := look(heard)):
                raise _TrialFailed(problem)
        except _TrialFailed as failed:
            yield Finding(what, False, _printable(str(failed)))
        else:
            yield Finding(what, True, _described(heard.meter, time.monotonic() - begun))


async def _call(order: ChatOrder, account: ProviderAccount, vendor: Vendor, upstream: Upstream) -> "_ParsedAnswer":
    """A good answer, heard to its end."""
    try:
        address, headers, body = vendor.chat(order, account, most_output_tokens=ANSWER_TOKENS)
        answer = await upstream.send(UpstreamRequest(address, headers, body, PATIENCE_SECONDS))
        try:
            if answer.status != 200:
                raise _TrialFailed(_refusal(answer.status, await _read(answer), account))
            said = await _read(vendor.translate(answer, order))
        finally:
            await answer.close()
    except BadRequest as problem:
        raise _TrialFailed(problem.message) from None
    except UpstreamFailed as problem:
        raise _TrialFailed(f"no answer: {problem.failure.value}") from None
    except (NotAnAnswer, EventTooLong):
        raise _TrialFailed("what came is no answer in this vendor's form") from None
    return _parsed(said, streamed=order.stream)


async def _read(answer: UpstreamAnswer) -> bytes:
    said = bytearray()
    while len(said) < ANSWER_BYTES_MOST and (piece := await answer.read()):
        said += piece
    return bytes(said)


def _parsed(said: bytes, *, streamed: bool) -> "_ParsedAnswer":
    if not streamed:
        whole = WholeMeter()
        try:
            whole.read(said)
        except NotAnAnswer:
            raise _TrialFailed("what came is no answer in this vendor's form") from None
        return _ParsedAnswer(whole, _message(said))
    meter = Meter()
    events = [data for event in EventSplitter().feed(said + b"\n\n") if (data := data_of(event))]
    if {Event.ERROR, Event.MALFORMED} & {meter.read_event(data) for data in events}:
        raise _TrialFailed("the stream began, and ended with an error")
    if not meter.finished:
        raise _TrialFailed("the stream ended without a reason to end")
    return _ParsedAnswer(meter, _TrialMessage())


def _message(said: bytes) -> _TrialMessage:
    try:
        return msgspec.json.decode(said, type=_TrialAnswer).choices[0].message
    except (msgspec.MsgspecError, IndexError):
        return _TrialMessage()


def _has_called(heard: "_ParsedAnswer") -> str | None:
    return None if heard.message.tool_calls else "an answer came, but it calls no tool"


def _has_json(heard: "_ParsedAnswer") -> str | None:
    try:
        msgspec.json.decode(heard.message.content or "", type=dict[str, object])
    except msgspec.MsgspecError:
        return "an answer came, but it is not the JSON that was asked for"
    return None


# What an answer must show beside being one; what is wrong, where something is.
LOOKS: Mapping[str, Callable[["_ParsedAnswer"], str | None]] = {
    "a tool call": _has_called,
    "JSON by a schema": _has_json,
}


def _refusal(status: int, body: bytes, account: ProviderAccount) -> str:
    rejection = read_rejection(body, account.secret.reveal())
    told = f"refused with {status}: {rejection.message}" if rejection.message else f"refused with {status}"
    if "stream_options" in (rejection.message or ""):
        told += f" (if it knows no such thing: tollkeeper provider set {account.name} --rejects stream_options)"
    return told


def _printable(told: str) -> str:
    """Without what a terminal would take for commands."""
    return "".join(letter if letter.isprintable() else " " for letter in told)


def _described(meter: Readings, seconds: float) -> str:
    reported = meter.reported
    if reported is None:
        return f"works in {seconds:.1f} s; it reports no usage, so that calls are charged by our own count"
    return f"works in {seconds:.1f} s, {reported.input_units} tokens in and {reported.output_units} out"
