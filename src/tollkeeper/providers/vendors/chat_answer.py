"""Chat answers as our protocol has them: what other vendors' answers are translated into."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tollkeeper.core.sse import event

encode = msgspec.json.Encoder().encode


class Heading(msgspec.Struct, frozen=True):
    """What every object of one answer repeats."""

    id: str
    created: int
    model: str


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as our protocol counts them: `cached_tokens` are part of the input, `thinking_tokens` of the output."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    thinking_tokens: int = 0

    def told(self) -> Mapping[str, object]:
        return {
            "prompt_tokens": self.input_tokens,
            "completion_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": self.thinking_tokens},
        }


class Choice(msgspec.Struct, kw_only=True):
    """One answer, put together part by part."""

    texts: list[str] = []
    thoughts: list[str] = []
    tool_calls: list[dict[str, Any]] = []
    thinking_blocks: list[dict[str, Any]] = []
    # What a vendor wants to see again.
    extra_content: dict[str, Any] | None = None
    refusal: str | None = None
    finish_reason: str = "stop"

    def told(self, index: int) -> Mapping[str, object]:
        content = "".join(self.texts)
        message: dict[str, object] = {
            "role": "assistant",
            # Who calls a tool need not say anything, and the protocol tells that from having said nothing.
            "content": content if content or not self.tool_calls else None,
            "refusal": self.refusal,
        }
        if self.thoughts:
            message["reasoning_content"] = "".join(self.thoughts)
        if self.thinking_blocks:
            message["thinking_blocks"] = self.thinking_blocks
        if self.extra_content:
            message["extra_content"] = self.extra_content
        if self.tool_calls:
            message["tool_calls"] = self.tool_calls
        return {"index": index, "message": message, "logprobs": None, "finish_reason": self.finish_reason}


def tool_call(id_: str, name: str, arguments: str, **more: object) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def completion(heading: Heading, choices: Sequence[Choice], used: Used | None) -> bytes:
    """The whole answer."""
    return encode(
        {
            "id": heading.id,
            "object": "chat.completion",
            "created": heading.created,
            "model": heading.model,
            "choices": [choice.told(index) for index, choice in enumerate(choices)],
            **({} if used is None else {"usage": used.told()}),
        }
    )


def chunk(heading: Heading, delta: Mapping[str, object], *, index: int = 0, finish_reason: str | None = None) -> bytes:
    """One event of a streamed answer."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return event(encode(_chunk(heading, [choice])))


def usage_chunk(heading: Heading, used: Used) -> bytes:
    """The report at the end of a stream."""
    return event(encode({**_chunk(heading, []), "usage": used.told()}))


def usage_so_far(heading: Heading, used: Used) -> bytes:
    """A report on the way, for our own meter: the protocol has none, and callers do not see it."""
    return event(encode({**_chunk(heading, []), "usage_so_far": used.told()}))


def error(message: str, kind: str) -> bytes:
    return event(encode({"error": {"message": message, "type": kind}}))


# JSON that cannot be read to its last number: others might read it, and differently.
UNREADABLE = error("The provider sent what cannot be read.", "unreadable")


def _chunk(heading: Heading, choices: Sequence[object]) -> dict[str, object]:
    return {
        "id": heading.id,
        "object": "chat.completion.chunk",
        "created": heading.created,
        "model": heading.model,
        "choices": choices,
    }
