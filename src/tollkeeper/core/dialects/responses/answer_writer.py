"""How an answer is written for a caller who asked by the Responses API. The `AnswerWriter` protocol.

Rules of this file
1. What a native account says passes as it came, but for the model's name, which is ours.
2. That a response was created says nothing of it: those events wait for the next one, so that another account can still
   be asked where the first breaks off before it has said anything.
3. A stream that cannot go on ends in a `response.failed`, with the next number: clients take an end without one for a
   fault of the line.
"""

import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.stream_end import cost_in_usage, with_cost
from tollkeeper.core.dialects.answer_writer import AnswerHeading, Closing
from tollkeeper.core.dialects.responses.answer import (
    ResponseEcho,
    ResponseLabel,
    encode,
    usage_in_responses,
    whole_response,
)
from tollkeeper.core.dialects.responses.events import ResponseEvents, event_of
from tollkeeper.core.dialects.responses.kept_items import KeptItems
from tollkeeper.core.dialects.responses.tools import CalledTool
from tollkeeper.core.errors import GatewayError
from tollkeeper.core.money.amounts import Quota

# Events that say nothing yet, and all that have the response in them.
FORERUNNERS = frozenset({b"response.created", b"response.in_progress", b"response.queued"})
WITH_RESPONSE = FORERUNNERS | {b"response.completed", b"response.incomplete", b"response.failed"}
# Where the vendor writes an event's kind and number: at its beginning, or somewhere in it.
_KIND = re.compile(rb'\{"type":\s?"([a-z_.]+)","sequence_number":\s?(\d+)')

# A chunk that says no more than why an answer ended.
LENGTH = b'{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}'

decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


class ResponsesWriter:
    def __init__(self, heading: AnswerHeading, echo: ResponseEcho, tools: Mapping[str, CalledTool]) -> None:
        self._heading = heading
        self._echo = echo
        self._tools = tools
        self._events = ResponseEvents(heading.request_id, echo, tools)
        self._is_native = False
        # Of a native stream: events that wait, the last of each kind; the response as it was last sent; and the number
        # of the last event.
        self._waiting: dict[bytes, bytes] = {}
        self._response: JsonObject = {}
        self._number = -1
        self._kept = KeptItems() if heading.may_end_short else None

    def write_chunk(self, data: bytes) -> bytes:
        return self._events.read(data)

    def end(self, closing: Closing) -> bytes:
        return b"" if self._is_native else self._events.end(closing)

    def end_short(self, closing: Closing) -> bytes:
        if not self._is_native:
            return self._events.read(LENGTH) + self._events.end(closing)
        closed, output = ([], []) if self._kept is None else self._kept.close(self._number + 1)
        short: JsonObject = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        short |= {"output": output, "usage": usage_in_responses(closing.usage) | cost_in_usage(closing.cost)}
        last = event_of("response.incomplete", self._number + 1 + len(closed), response=self._response | short)
        return b"".join([self._take_waiting(), *closed, last])

    def write_whole(self, body: bytes, closing: Closing) -> bytes:
        return whole_response(body, ResponseLabel(self._heading.request_id, 0, self._echo), self._tools, closing.usage)

    def pass_event(self, data: bytes, closing: Closing | None) -> bytes:
        self._is_native = True
        kind = self._read_kind(data)
        if self._kept is not None:
            self._kept.note(kind, data)
        if kind in WITH_RESPONSE:
            data = self._renamed_inside(data, None if closing is None else closing.cost)
        event = b"event: %b\ndata: %b\n\n" % (kind, data.replace(b"\n", b"\ndata: "))
        if kind in FORERUNNERS:
            # Now the last of all, wherever another of its kind was.
            self._waiting.pop(kind, None)
            self._waiting[kind] = event
            return b""
        return self._take_waiting() + event

    def pass_whole(self, body: bytes) -> bytes:
        return self._renamed(body)

    def fail(self, refusal: GatewayError) -> bytes:
        """The event that a caller gets instead of the rest."""
        if not self._is_native:
            return self._events.fail(refusal.code, refusal.message)
        problem = {"code": refusal.code, "message": refusal.message}
        failed = self._response | {"status": "failed", "error": problem}
        return self._take_waiting() + event_of("response.failed", self._number + 1, response=failed)

    def _take_waiting(self) -> bytes:
        waiting, self._waiting = b"".join(self._waiting.values()), {}
        return waiting

    def _read_kind(self, data: bytes) -> bytes:
        found = _KIND.match(data)
        if found is not None:
            self._number = int(found[2][:18])
            return found[1]
        try:
            event = an_object(decode(data))
        except NOT_READ:
            return b"message"
        number = event.get("sequence_number")
        self._number = number if isinstance(number, int) else self._number + 1
        kind = a_text(event.get("type"))
        return kind.encode() if kind.isascii() and kind.isprintable() and kind else b"message"

    def _renamed_inside(self, data: bytes, cost: Quota | None) -> bytes:
        """An event with a response in it, under our own name of the model; with its cost, where that is known."""
        try:
            members = decode_members(data)
            renamed = self._renamed(members["response"])
            members["response"] = Raw(renamed if cost is None else with_cost(renamed, cost))
            self._response = an_object(decode(members["response"]))
        except (*NOT_READ, KeyError, NotAnAnswer):
            return data
        return encode(members)

    def _renamed(self, response: Raw | bytes) -> bytes:
        try:
            members = decode_members(response)
        except NOT_READ:
            return bytes(response)
        return encode(members | {"model": self._heading.model})
