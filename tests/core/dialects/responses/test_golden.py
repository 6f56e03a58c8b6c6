"""Wire files: what a Responses order becomes in chat and natively, and what a chat answer is told as."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.json_fields import encode
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.core.dialects.answer_writer import Closing
from tollkeeper.core.dialects.responses.answer import ResponseLabel, whole_response
from tollkeeper.core.dialects.responses.events import ResponseEvents
from tollkeeper.core.dialects.responses.order import NativeResponses, read_responses
from tollkeeper.core.money.prices import Usage

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.parent.name for path in GOLDEN.glob("*/asked.json"))
STREAMS = sorted(path.parent.name for path in GOLDEN.glob("*/heard.sse"))
WHOLES = sorted(path.parent.name for path in GOLDEN.glob("*/heard.json"))

any_event: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def kept(case: str, name: str) -> bytes:
    return (GOLDEN / case / name).read_bytes()


def native_of(order: ChatOrder) -> NativeResponses:
    assert isinstance(order.native, NativeResponses)
    return order.native


@pytest.mark.parametrize("case", CASES)
def test_an_order_becomes_one_of_chat(case: str) -> None:
    order = read_responses(kept(case, "asked.json"))
    assert json.loads(order.body) == json.loads(kept(case, "chat.json"))


@pytest.mark.parametrize("case", CASES)
def test_a_native_account_gets_what_came_as_far_as_it_is_listed(case: str) -> None:
    order = read_responses(kept(case, "asked.json"))
    native_of(order).keep_tools(())
    assert json.loads(encode(native_of(order).fields)) == json.loads(kept(case, "native.json"))


def told(case: str) -> list[bytes]:
    native = native_of(read_responses(kept(case, "asked.json")))
    events = ResponseEvents("7", native.echo, native.tools.names)
    heard = [data for event in EventSplitter().feed(kept(case, "heard.sse")) if (data := data_of(event))]
    closing = Closing(usage=Usage(1, 2))
    stream = b"".join(events.end(closing) if data == b"[DONE]" else events.read(data) for data in heard)
    return EventSplitter().feed(stream)


@pytest.mark.parametrize("case", STREAMS)
def test_a_chat_stream_is_told_as_events_of_a_response(case: str) -> None:
    assert told(case) == EventSplitter().feed(kept(case, "told.sse"))


@pytest.mark.parametrize("case", STREAMS)
def test_every_event_is_one_that_the_vendors_own_package_knows(case: str) -> None:
    for number, event in enumerate(told(case)):
        data = json.loads(data_of(event) or b"")
        known = any_event.validate_python(data)
        assert (known.type, known.sequence_number) == (data["type"], number)
        assert event.startswith(b"event: %b\n" % data["type"].encode())


@pytest.mark.parametrize("case", WHOLES)
def test_a_whole_chat_answer_is_told_as_a_response(case: str) -> None:
    native = native_of(read_responses(kept(case, "asked.json")))
    body = whole_response(kept(case, "heard.json"), ResponseLabel("7", 0, native.echo), native.tools.names, Usage(1))
    assert json.loads(body) == json.loads(kept(case, "told.json"))
    Response.model_validate(json.loads(body))
