"""The four wire formats, each with a request of its own and a reader of its answers, for tests that hold in all."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import msgspec

from tests.simulator.raw import PATIENCE_SECONDS, Seen, post, see
from tools.simulator import Simulator

Json = dict[str, Any]


class Format(msgspec.Struct, frozen=True):
    """How a format is spoken: addresses, headers, a body for a text, and where the answers' words and usage are."""

    name: str
    path: str
    stream_path: str
    headers: dict[str, str]
    key_header: str
    body: Callable[[str], Json]
    stream_fields: Json
    tools: Json
    # Of a whole answer, or of one event of a stream.
    words: Callable[[Json], str]
    # What was told, as (all input, all output); None where nothing was told.
    usage: Callable[[Json], tuple[Any, Any] | None]

    async def call(
        self,
        sim: Simulator,
        text: str,
        *,
        stream: bool = False,
        quiet_seconds: float = PATIENCE_SECONDS,
        **fields: object,
    ) -> Seen:
        body = self.body(text) | (self.stream_fields if stream else {}) | fields
        return await self.send(sim, body, stream=stream, quiet_seconds=quiet_seconds)

    async def send(
        self,
        sim: Simulator,
        body: object,
        *,
        stream: bool = False,
        quiet_seconds: float = PATIENCE_SECONDS,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Seen:
        request_id = uuid4().hex
        path = self.stream_path if stream else self.path
        return await see(sim, request_id, post(path, body, request_id, {**self.headers, **headers}), quiet_seconds)

    def spoken(self, seen: Seen) -> str:
        """The words of an answer, streamed or not."""
        return "".join(self.words(told) for told in self.told(seen))

    def told(self, seen: Seen) -> list[Json]:
        """Every JSON object that was sent and is whole."""
        if "text/event-stream" not in seen.head:
            return [json.loads(seen.body)]
        return [json.loads(event) for event in seen.events if event.startswith("{") and event.endswith("}")]

    def last_usage(self, seen: Seen) -> tuple[Any, Any] | None:
        found = [usage for told in self.told(seen) if (usage := self.usage(told)) is not None]
        return found[-1] if found else None


def _chat_words(told: Json) -> str:
    return "".join(
        (choice.get("delta") or choice.get("message") or {}).get("content") or "" for choice in told.get("choices", ())
    )


def _chat_usage(told: Json) -> tuple[Any, Any] | None:
    usage = told.get("usage")
    return (usage["prompt_tokens"], usage["completion_tokens"]) if usage else None


def _message_words(told: Json) -> str:
    if "delta" in told:
        return str(told["delta"].get("text", ""))
    return "".join(block.get("text", "") for block in told.get("content", ()))


def _message_usage(told: Json) -> tuple[Any, Any] | None:
    usage = told.get("usage")
    if not usage:
        return None
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    # Text that stands where numbers should be is joined, which is wrong enough for a test to see.
    asked = usage["input_tokens"] if isinstance(usage["input_tokens"], str) else sum(usage[name] for name in names)
    return asked, usage["output_tokens"]


def _content_words(told: Json) -> str:
    parts = [part for choice in told.get("candidates", ()) for part in choice.get("content", {}).get("parts", ())]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def _content_usage(told: Json) -> tuple[Any, Any] | None:
    usage = told.get("usageMetadata")
    if not usage:
        return None
    spoken, thought = usage.get("candidatesTokenCount", 0), usage.get("thoughtsTokenCount", 0)
    return usage["promptTokenCount"], spoken + thought if isinstance(spoken, int) else spoken


_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
_CHAT_TOOLS = {"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": _SCHEMA}}]}
_CHAT_STREAM: Json = {"stream": True, "stream_options": {"include_usage": True}}


def _chat_body(text: str) -> Json:
    return {"model": "demo-small", "messages": [{"role": "user", "content": text}]}


OPENAI = Format(
    "openai",
    "/v1/chat/completions",
    "/v1/chat/completions",
    {},
    "authorization",
    _chat_body,
    _CHAT_STREAM,
    _CHAT_TOOLS,
    _chat_words,
    _chat_usage,
)
AZURE = Format(
    "azure",
    "/openai/deployments/demo-small/chat/completions?api-version=2024-10-21",
    "/openai/deployments/demo-small/chat/completions?api-version=2024-10-21",
    {},
    "api-key",
    _chat_body,
    _CHAT_STREAM,
    _CHAT_TOOLS,
    _chat_words,
    _chat_usage,
)
ANTHROPIC = Format(
    "anthropic",
    "/v1/messages",
    "/v1/messages",
    {"anthropic-version": "2023-06-01"},
    "x-api-key",
    lambda text: {"model": "demo-small", "max_tokens": 4_096, "messages": [{"role": "user", "content": text}]},
    {"stream": True},
    {"tools": [{"name": "get_weather", "input_schema": _SCHEMA}]},
    _message_words,
    _message_usage,
)
GEMINI = Format(
    "gemini",
    "/v1beta/models/demo-small:generateContent",
    "/v1beta/models/demo-small:streamGenerateContent?alt=sse",
    {},
    "x-goog-api-key",
    lambda text: {"contents": [{"role": "user", "parts": [{"text": text}]}]},
    {},
    {"tools": [{"functionDeclarations": [{"name": "get_weather", "parameters": _SCHEMA}]}]},
    _content_words,
    _content_usage,
)
FORMATS = (OPENAI, AZURE, ANTHROPIC, GEMINI)
