"""Chat answers as our protocol has them: what other vendors' answers are translated into."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tollkeeper.core.calls.reported_usage import TOOL_SUFFIX
from tollkeeper.core.calls.sse import event
from tollkeeper.core.money.parts import NO_PARTS, UsageParts

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
    parts: UsageParts = NO_PARTS
    # Of the images and audio among these, what was cached.
    cached_parts: UsageParts = NO_PARTS

    def as_json(self) -> Mapping[str, object]:
        """What most answers do not have is written only for those that have it (`core/calls/reported_usage`)."""
        of_input, of_output = {"cached_tokens": self.cached_tokens}, {"reasoning_tokens": self.thinking_tokens}
        usage: dict[str, object] = {
            "prompt_tokens": self.input_tokens,
            "completion_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
            "prompt_tokens_details": of_input,
            "completion_tokens_details": of_output,
        }
        if self.parts is not NO_PARTS:
            usage["prompt_tokens_details"] = of_input | self._asked_in_parts()
            usage["completion_tokens_details"] = of_output | _non_zero(
                image_tokens=self.parts.image_output, audio_tokens=self.parts.audio_output
            )
            if self.parts.tools:
                usage["server_tool_use"] = {f"{tool}{TOOL_SUFFIX}": uses for tool, uses in self.parts.tools.items()}
        return usage

    def _asked_in_parts(self) -> dict[str, object]:
        parts, cached = self.parts, self.cached_parts
        by_life = _non_zero(ephemeral_5m_input_tokens=parts.written_5m, ephemeral_1h_input_tokens=parts.written_1h)
        return _non_zero(
            image_tokens=parts.image_input,
            audio_tokens=parts.audio_input,
            cache_write_tokens=parts.written_5m + parts.written_1h,
            cache_creation=by_life,
            cached_tokens_details=_non_zero(image_tokens=cached.image_input, audio_tokens=cached.audio_input),
        )


def _non_zero(**counts: object) -> dict[str, object]:
    """The counts that are not 0."""
    return {name: value for name, value in counts.items() if value}


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

    def as_json(self, index: int) -> Mapping[str, object]:
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
            "choices": [choice.as_json(index) for index, choice in enumerate(choices)],
            **({} if used is None else {"usage": used.as_json()}),
        }
    )


def chunk(heading: Heading, delta: Mapping[str, object], *, index: int = 0, finish_reason: str | None = None) -> bytes:
    """One event of a streamed answer."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return event(encode(_chunk(heading, [choice])))


def usage_chunk(heading: Heading, used: Used) -> bytes:
    """The report at the end of a stream."""
    return event(encode({**_chunk(heading, []), "usage": used.as_json()}))


def usage_so_far(heading: Heading, used: Used) -> bytes:
    """A report on the way, for our own meter: the protocol has none, and callers do not see it."""
    return event(encode({**_chunk(heading, []), "usage_so_far": used.as_json()}))


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
