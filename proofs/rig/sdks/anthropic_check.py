"""The `anthropic` package from PyPI: each check as a caller would write it, whole or streamed, with default retries."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anthropic
from anthropic import Anthropic
from anthropic.types import Message

from proofs.rig.sdks.stage import CITY, PICTURE, WEATHER, Act, Check, Usage, caught, perform, weather

MAX_TOKENS = 2_000
TOOL = {"name": "get_weather", "description": "The weather in a city", "input_schema": WEATHER}
_, _, PIXELS = PICTURE.partition("base64,")

Manner = Callable[[Act, Sequence[Any]], Message]


def client(act: Act) -> Anthropic:
    return Anthropic(base_url=act.base.removesuffix("/v1"), api_key=act.key)


def order(act: Act, messages: Sequence[Any]) -> dict[str, Any]:
    return {"model": act.model, "max_tokens": MAX_TOKENS, "messages": messages, **act.more}


def whole(act: Act, messages: Sequence[Any]) -> Message:
    answer: Message = client(act).messages.create(**order(act, messages))
    return answer


def streamed(act: Act, messages: Sequence[Any]) -> Message:
    with client(act).messages.stream(**order(act, messages)) as stream:
        words = "".join(stream.text_stream)
        answer: Message = stream.get_final_message()
    assert words == words_in(answer), (words, answer)
    return answer


def words(manner: Manner, act: Act) -> Usage:
    return usage_of(spoken(manner(act, [{"role": "user", "content": act.prompt}]), ["text"]))


def thoughts(manner: Manner, act: Act) -> Usage:
    answer = manner(act, [{"role": "user", "content": act.prompt}])
    assert getattr(answer.content[0], "thinking", "")
    return usage_of(spoken(answer, ["thinking", "text"]))


def picture(manner: Manner, act: Act) -> Usage:
    source = {"type": "base64", "media_type": "image/png", "data": PIXELS}
    parts = [{"type": "image", "source": source}, {"type": "text", "text": act.prompt}]
    return usage_of(spoken(manner(act, [{"role": "user", "content": parts}]), ["text"]))


def tool_round_trip(manner: Manner, act: Act) -> Usage:
    act.more["tools"] = [TOOL]
    messages: list[Any] = [{"role": "user", "content": act.prompt}]
    first = manner(act, messages)
    assert first.stop_reason == "tool_use", first
    (call,) = [block for block in first.content if block.type == "tool_use"]
    assert (call.name, call.input) == ("get_weather", {"city": CITY}), call
    result = {"type": "tool_result", "tool_use_id": call.id, "content": weather(CITY)}
    said = [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in first.content]
    messages += [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
    return usage_of(first) + usage_of(spoken(manner(act, messages), ["text"]))


def refused(manner: Manner, act: Act) -> object:
    refusal = caught(anthropic.BadRequestError, lambda: words(manner, act))
    assert refusal.status_code == act.status, refusal
    assert isinstance(refusal.body, dict)
    error = refusal.body["error"]
    assert (refusal.body["type"], error["type"]) == ("error", act.type), refusal.body
    assert error["message"].startswith(act.message), refusal
    assert refusal.request_id
    return refusal


def spoken(answer: Message, blocks: Sequence[str]) -> Message:
    """The answer, whose words have come to their end and stand in blocks of these types."""
    assert words_in(answer), answer
    assert [block.type for block in answer.content] == blocks, answer
    assert answer.stop_reason == "end_turn", answer
    return answer


def words_in(answer: Message) -> str:
    return "".join(block.text for block in answer.content if block.type == "text")


def usage_of(answer: Message) -> Usage:
    """In this protocol the input is without what was cached or written."""
    usage = answer.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return Usage(usage.input_tokens + cached + written, usage.output_tokens, (cached, None))


MANNERS: dict[str, Manner] = {"whole": whole, "streamed": streamed}
CHECKS: dict[str, Callable[[Manner, Act], object]] = {
    "words": words,
    "thoughts": thoughts,
    "picture": picture,
    "tool round trip": tool_round_trip,
    "refused": refused,
}

if __name__ == "__main__":
    checks: dict[str, Check] = {
        f"messages: {name}: {manner}": partial(check, hearing)
        for name, check in CHECKS.items()
        for manner, hearing in MANNERS.items()
    }
    perform(checks)
