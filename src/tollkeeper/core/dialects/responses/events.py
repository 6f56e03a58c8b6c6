"""A chat stream translated into the events of a response.

Rules of this file
1. Every event has the next number. What one item says is sent in order: it is added, its parts grow, it is done.
2. An item is done when something else begins; calls of tools are done at the end, for chat may send several at once.
3. The last event has all that was said, so that much is kept; of an answer that is longer than any model's, the rest
   is sent as it comes and not again.
"""

from collections.abc import Callable

import msgspec

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode
from tollkeeper.core.calls.stream_end import cost_in_usage
from tollkeeper.core.dialects.answer_writer import Closing
from tollkeeper.core.dialects.responses.answer import (
    INCOMPLETE,
    ResponseEcho,
    ResponseLabel,
    ToolNames,
    call_item,
    calls_in,
    custom_input,
    encode,
    ended_response,
    id_start,
    message_item,
    reasoning_item,
    refusal_part,
    response,
    text_part,
    thoughts_in,
    tool_called,
    usage_in_responses,
    usage_of,
)
from tollkeeper.core.dialects.responses.tools import CalledTool

KEPT_CHARACTERS_MOST = 8 * 1024 * 1024
# Calls of one answer; those beyond are left out.
CALLS_MOST = 256


class SpokenPart(msgspec.Struct):
    """A part of a message, or a summary of thoughts, that is being sent: its kind and its pieces."""

    kind: str
    pieces: list[str] = []


class OpenCall(msgspec.Struct):
    id: str
    index: int
    call_id: str
    tool: CalledTool
    pieces: list[str] = []


class ResponseEvents:
    """One stream. It never raises: what it does not know says nothing."""

    def __init__(self, name: str, echo: ResponseEcho, tools: ToolNames) -> None:
        self._label = ResponseLabel(name, 0, echo)
        self._tools = tools
        self._number = 0
        self._has_begun = False
        self._output: list[JsonObject | None] = []
        # The item that is being sent, where it is no call: its parts, of which the last is being sent.
        self._item_index: int | None = None
        self._item_id = ""
        self._parts: list[SpokenPart] = []
        self._calls: dict[int, OpenCall] = {}
        self._finish_reason = ""
        self._usage: JsonObject | None = None
        self._kept_characters = 0

    def read(self, data: bytes) -> bytes:
        """The events that one chunk of chat is worth."""
        try:
            chunk = an_object(decode(data))
        except NOT_READ:
            return b""
        events = [] if self._has_begun else self._begin(chunk)
        self._usage = usage_of(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        choice = an_object(choices[0]) if isinstance(choices, list) and choices else {}
        delta = an_object(choice.get("delta"))
        for kind, text in (
            ("summary_text", thoughts_in(delta)),
            ("output_text", a_text(delta.get("content"))),
            ("refusal", a_text(delta.get("refusal"))),
        ):
            if text:
                events += self._say(kind, text)
        for call in calls_in(delta):
            events += self._call(call)
        self._finish_reason = a_text(choice.get("finish_reason")) or self._finish_reason
        return b"".join(events)

    def end(self, closing: Closing) -> bytes:
        """What is left to say of an answer that has come to its end. Where no report has come, it has our own usage."""
        events = [] if self._has_begun else self._begin({})
        events += self._close_item() + self._close_calls()
        if not self._output:
            # A model that said nothing has still answered.
            events += self._open_message() + self._open_part("output_text") + self._close_item()
        usage = (self._usage or usage_in_responses(closing.usage)) | cost_in_usage(closing.cost)
        final = ended_response(self._label, self._finish_reason, self._items_so_far(), usage)
        return b"".join([*events, self._event(f"response.{final['status']}", response=final)])

    def fail(self, code: str, message: str) -> bytes:
        """The event that ends the stream instead of the rest."""
        if not self._has_begun:
            return self._event("error", code=code, message=message, param=None)
        problem = {"code": code, "message": message}
        failed = response(self._label, "failed", self._items_so_far(), self._usage, error=problem)
        return self._event("response.failed", response=failed)

    def _begin(self, chunk: JsonObject) -> list[bytes]:
        self._has_begun = True
        created = chunk.get("created")
        self._label = msgspec.structs.replace(self._label, created_at=created if isinstance(created, int) else 0)
        fresh = response(self._label, "in_progress")
        return [self._event(f"response.{kind}", response=fresh) for kind in ("created", "in_progress")]

    def _say(self, kind: str, text: str) -> list[bytes]:
        events: list[bytes] = []
        is_thought = kind == "summary_text"
        if self._item_index is not None and is_thought != (self._parts[0].kind == "summary_text"):
            events += self._close_item()
        if self._item_index is None:
            events += self._open_reasoning() if is_thought else self._open_message()
        if not self._parts or self._parts[-1].kind != kind:
            events += self._close_part() + self._open_part(kind)
        self._keep(self._parts[-1].pieces, text)
        name = {"summary_text": "reasoning_summary_text", "output_text": "output_text", "refusal": "refusal"}[kind]
        more: JsonObject = {"logprobs": []} if kind == "output_text" else {}
        return [*events, self._in_part(f"response.{name}.delta", delta=text, **more)]

    def _open_reasoning(self) -> list[bytes]:
        return self._add("rs", reasoning_item)

    def _open_message(self) -> list[bytes]:
        return self._add("msg", lambda id_: message_item(id_, "in_progress"))

    def _add(self, start: str, make: Callable[[str], JsonObject]) -> list[bytes]:
        self._item_index = len(self._output)
        self._output.append(None)
        self._parts = []
        self._item_id = self._label.item_id(start, self._item_index)
        return [
            self._event("response.output_item.added", output_index=self._item_index, item=make(self._item_id)),
        ]

    def _open_part(self, kind: str) -> list[bytes]:
        self._parts.append(SpokenPart(kind))
        return [self._in_part(f"response.{_part_name(kind)}.added", part=_part(self._parts[-1]))]

    def _close_part(self) -> list[bytes]:
        if not self._parts:
            return []
        part = self._parts[-1]
        text = "".join(part.pieces)
        if part.kind == "refusal":
            done = self._in_part("response.refusal.done", refusal=text)
        elif part.kind == "output_text":
            done = self._in_part("response.output_text.done", text=text, logprobs=[])
        else:
            done = self._in_part("response.reasoning_summary_text.done", text=text)
        return [done, self._in_part(f"response.{_part_name(part.kind)}.done", part=_part(part))]

    def _close_item(self) -> list[bytes]:
        if self._item_index is None:
            return []
        events = self._close_part()
        item = self._finished_item()
        self._output[self._item_index] = item
        events.append(self._event("response.output_item.done", output_index=self._item_index, item=item))
        self._item_index = None
        return events

    def _finished_item(self) -> JsonObject:
        if self._parts and self._parts[0].kind == "summary_text":
            return reasoning_item(self._item_id, ["".join(part.pieces) for part in self._parts])
        return message_item(self._item_id, self._status, [_part(part) for part in self._parts])

    def _call(self, call: JsonObject) -> list[bytes]:
        index = call.get("index")
        place = index if isinstance(index, int) else 0
        function = an_object(call.get("function"))
        events: list[bytes] = []
        known = self._calls.get(place)
        if known is None:
            if len(self._calls) >= CALLS_MOST:
                return []
            events, known = self._open_call(place, a_text(call.get("id")), a_text(function.get("name")))
        text = a_text(function.get("arguments"))
        if not text:
            return events
        self._keep(known.pieces, text)
        # What a custom tool is given stands inside of JSON, and is sent when that is whole.
        return (
            events if known.tool.is_custom else [*events, self._of_call("function_call_arguments", known, delta=text)]
        )

    def _open_call(self, place: int, call_id: str, name: str) -> tuple[list[bytes], OpenCall]:
        events = self._close_item()
        tool, index = tool_called(name, self._tools), len(self._output)
        self._output.append(None)
        call = OpenCall(self._label.item_id(id_start(tool), index), index, call_id, tool)
        self._calls[place] = call
        item = call_item(call.id, "in_progress", call_id, tool, "")
        return [*events, self._event("response.output_item.added", output_index=index, item=item)], call

    def _close_calls(self) -> list[bytes]:
        events = []
        for call in self._calls.values():
            arguments = "".join(call.pieces)
            if call.tool.is_custom:
                given = custom_input(arguments)
                events.append(self._of_call("custom_tool_call_input", call, delta=given))
                events.append(self._of_call("custom_tool_call_input", call, input=given))
            else:
                events.append(self._of_call("function_call_arguments", call, arguments=arguments))
            item = call_item(call.id, self._status, call.call_id, call.tool, arguments)
            self._output[call.index] = item
            events.append(self._event("response.output_item.done", output_index=call.index, item=item))
        self._calls = {}
        return events

    @property
    def _status(self) -> str:
        """The status of an item that is done. An answer that was cut short says so in its last item."""
        return "incomplete" if self._finish_reason in INCOMPLETE else "completed"

    def _items_so_far(self) -> list[JsonObject]:
        return [item for item in self._output if item is not None]

    def _keep(self, pieces: list[str], text: str) -> None:
        if self._kept_characters <= KEPT_CHARACTERS_MOST:
            self._kept_characters += len(text)
            pieces.append(text)

    def _of_call(self, name: str, call: OpenCall, **members: object) -> bytes:
        kind = "delta" if "delta" in members else "done"
        return self._event(f"response.{name}.{kind}", item_id=call.id, output_index=call.index, **members)

    def _in_part(self, kind: str, **members: object) -> bytes:
        place = "summary_index" if self._parts[-1].kind == "summary_text" else "content_index"
        at = {"item_id": self._item_id, "output_index": self._item_index, place: len(self._parts) - 1}
        return self._event(kind, **at, **members)

    def _event(self, kind: str, **members: object) -> bytes:
        self._number += 1
        return event_of(kind, self._number - 1, **members)


def event_of(kind: str, number: int, **members: object) -> bytes:
    data = encode({"type": kind, "sequence_number": number, **members})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _part_name(kind: str) -> str:
    return "reasoning_summary_part" if kind == "summary_text" else "content_part"


def _part(part: SpokenPart) -> JsonObject:
    text = "".join(part.pieces)
    if part.kind == "refusal":
        return refusal_part(text)
    return text_part(text) if part.kind == "output_text" else {"type": "summary_text", "text": text}
