"""Answers to Messages orders: chat translated into Anthropic's message, whole or as events; or its own, passed on.

Rules of this file
1. What a model thought is shown to callers who asked for thoughts, with an empty signature: there is none.
2. Blocks of text and thoughts follow each other. Calls of tools stay open to the end, for their arguments may come by
   turns.
3. The vendor counts cached and written input beside the input; ours is part of it.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tollkeeper.core.calls.json_fields import decode_fields, encode
from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode, objects
from tollkeeper.core.calls.repeated import CALLS_MOST
from tollkeeper.core.calls.sse import event
from tollkeeper.core.calls.stream_end import cost_in_usage, with_cost
from tollkeeper.core.dialects.answer_writer import AnswerHeading, Closing
from tollkeeper.core.money.parts import NO_PARTS
from tollkeeper.core.money.prices import Usage

STOP_REASONS = {"length": "max_tokens", "content_filter": "refusal"}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
TEXT, THINKING = "text", "thinking"
# What a block of each kind begins with, and the name of what its deltas have.
EMPTY = {TEXT: {"type": TEXT, "text": ""}, THINKING: {"type": THINKING, "thinking": "", "signature": ""}}
_KIND = re.compile(r"[a-z_]{1,64}")
_NOT_OF_IDS = re.compile(r"[^a-zA-Z0-9_-]")


class _EventKind(msgspec.Struct):
    type: str = ""


decode_kind = msgspec.json.Decoder(_EventKind).decode


class MessagesWriter:
    """The `AnswerWriter` of Messages."""

    def __init__(self, heading: AnswerHeading) -> None:
        self._heading = heading
        self._has_begun = False
        self._is_native = False
        self._has_stopped = False
        self._finish_reason = ""
        # How many blocks have begun; of which kind the last is, while it is open; by their own index, calls of tools.
        self._blocks = 0
        self._open = ""
        self._calls: dict[int, int] = {}
        # Of a provider's own stream: the block that is open.
        self._passing: object = None

    def pass_event(self, data: bytes, closing: Closing | None) -> bytes:
        self._is_native = True
        try:
            kind = decode_kind(data).type
            starts = an_object(decode(data)) if kind == "content_block_start" else {}
        except NOT_READ:
            return b""
        if _KIND.fullmatch(kind) is None:
            return b""
        if kind == "message_start":
            data = self._renamed(data, "message")
        elif kind == "message_delta" and closing is not None and closing.cost is not None:
            data = with_cost(data, closing.cost)
        if kind == "content_block_start":
            self._passing = starts.get("index")
        elif kind == "content_block_stop":
            self._passing = None
        self._has_stopped = self._has_stopped or kind == "message_stop"
        return b"event: %b\n%b" % (kind.encode(), event(data))

    def pass_whole(self, body: bytes) -> bytes:
        return self._renamed(body)

    def write_chunk(self, data: bytes) -> bytes:
        try:
            chunk = an_object(decode(data))
        except NOT_READ:
            return b""
        events = [] if self._has_begun else [self._beginning()]
        self._has_begun = True
        for choice in objects(chunk.get("choices"))[:1]:
            self._finish_reason = a_text(choice.get("finish_reason")) or self._finish_reason
            events += self._deltas(an_object(choice.get("delta")))
        return b"".join(events)

    def end(self, closing: Closing) -> bytes:
        if self._is_native:
            return b"" if self._has_stopped else _event("message_stop")
        events = [_event("content_block_stop", index=index) for index in self._still_open()]
        delta = {"stop_reason": self._stop_reason(bool(self._calls)), "stop_sequence": None}
        events.append(_event("message_delta", delta=delta, usage=_usage_with_cost(closing)))
        return b"".join([*events, _event("message_stop")])

    def end_short(self, closing: Closing) -> bytes:
        still_open = self._still_open() if self._passing is None else [self._passing]
        events = [_event("content_block_stop", index=index) for index in still_open]
        delta = {"stop_reason": STOP_REASONS["length"], "stop_sequence": None}
        events.append(_event("message_delta", delta=delta, usage=_usage_with_cost(closing)))
        return b"".join([*events, _event("message_stop")])

    def write_whole(self, body: bytes, closing: Closing) -> bytes:
        try:
            answer = an_object(decode(body))
        except NOT_READ:
            answer = {}
        choice: JsonObject = next(iter(objects(answer.get("choices"))), {})
        self._finish_reason = a_text(choice.get("finish_reason"))
        content = list(self._content(an_object(choice.get("message"))))
        has_calls = any(block["type"] == "tool_use" for block in content)
        message = self._message(content, closing.usage)
        return encode(message | {"stop_reason": self._stop_reason(has_calls)})

    def _beginning(self) -> bytes:
        return _event("message_start", message=self._message([], Usage(self._heading.input_tokens)))

    def _message(self, content: list[JsonObject], usage: Usage) -> JsonObject:
        return {
            "id": f"msg_{self._heading.request_id}",
            "type": "message",
            "role": "assistant",
            "model": self._heading.model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_in_messages(usage),
        }

    def _deltas(self, delta: JsonObject) -> Iterator[bytes]:
        if thought := self._thought_in(delta):
            yield from self._go_on(THINKING, thought)
        if text := text_in(delta):
            yield from self._go_on(TEXT, text)
        for at, call in enumerate(objects(delta.get("tool_calls"))):
            yield from self._call(call, at)

    def _go_on(self, kind: str, more: str) -> Iterator[bytes]:
        if self._open != kind:
            yield from self._close()
            self._open = kind
            yield self._start(EMPTY[kind])
        yield _event("content_block_delta", index=self._blocks - 1, delta={"type": f"{kind}_delta", kind: more})

    def _call(self, call: JsonObject, at: int) -> Iterator[bytes]:
        given = call.get("index")
        place = given if isinstance(given, int) else at
        function = an_object(call.get("function"))
        if place not in self._calls:
            if len(self._calls) >= CALLS_MOST:
                return
            yield from self._close()
            self._calls[place] = self._blocks
            yield self._start(self._tool_use(call, len(self._calls) - 1))
        if arguments := a_text(function.get("arguments")):
            delta = {"type": "input_json_delta", "partial_json": arguments}
            yield _event("content_block_delta", index=self._calls[place], delta=delta)

    def _start(self, block: JsonObject) -> bytes:
        self._blocks += 1
        return _event("content_block_start", index=self._blocks - 1, content_block=block)

    def _close(self) -> Iterator[bytes]:
        """End the block of text or thoughts that is open; the last that began is it."""
        if self._open:
            self._open = ""
            yield _event("content_block_stop", index=self._blocks - 1)

    def _still_open(self) -> list[int]:
        return [*self._calls.values(), *([self._blocks - 1] if self._open else [])]

    def _content(self, message: JsonObject) -> Iterator[JsonObject]:
        if thought := self._thought_in(message):
            yield EMPTY[THINKING] | {"thinking": thought}
        if text := text_in(message):
            yield EMPTY[TEXT] | {"text": text}
        for at, call in enumerate(objects(message.get("tool_calls"))):
            arguments = a_text(an_object(call.get("function")).get("arguments"))
            yield self._tool_use(call, at) | {"input": _object_in(arguments)}

    def _tool_use(self, call: JsonObject, number: int) -> JsonObject:
        """Ids as this vendor allows them: a conversation may go on at one of its accounts."""
        given = _NOT_OF_IDS.sub("_", a_text(call.get("id")))
        name = a_text(an_object(call.get("function")).get("name"))
        return {
            "type": "tool_use",
            "id": given or f"toolu_{self._heading.request_id}_{number}",
            "name": name,
            "input": {},
        }

    def _thought_in(self, words: JsonObject) -> str:
        thought = a_text(words.get("reasoning_content")) or a_text(words.get("reasoning"))
        return thought if self._heading.asked_to_think else ""

    def _stop_reason(self, has_calls: bool) -> str:
        return STOP_REASONS.get(self._finish_reason, "tool_use" if has_calls else "end_turn")

    def _renamed(self, data: bytes, within: str = "") -> bytes:
        """The same JSON with our name of the model; what cannot be read as such stays as it is."""
        try:
            members = decode_fields(data)
            if within:
                inner = decode_fields(members[within])
                return encode({**members, within: {**inner, "model": self._heading.model}})
        except (*NOT_READ, KeyError):
            return data
        return encode({**members, "model": self._heading.model})


def text_in(words: JsonObject) -> str:
    return a_text(words.get("content")) + a_text(words.get("refusal"))


def _usage_with_cost(closing: Closing) -> JsonObject:
    return usage_in_messages(closing.usage) | cost_in_usage(closing.cost)


def usage_in_messages(usage: Usage) -> JsonObject:
    parts = usage.parts or NO_PARTS
    written = parts.written_5m + parts.written_1h
    return {
        "input_tokens": max(0, usage.input_units - usage.cached_units - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cached_units,
        "cache_creation": {
            "ephemeral_5m_input_tokens": parts.written_5m,
            "ephemeral_1h_input_tokens": parts.written_1h,
        },
        "output_tokens": usage.output_units,
    }


def _object_in(arguments: str) -> Any:
    """What a tool is given; of what is no JSON object the text, so that it is not lost."""
    try:
        given = decode(arguments) if arguments.strip() else {}
    except NOT_READ:
        return {"arguments": arguments}
    return given if isinstance(given, dict) else {"arguments": given}


def _event(kind: str, **members: object) -> bytes:
    return b"event: %b\n%b" % (kind.encode(), event(encode({"type": kind, **members})))
