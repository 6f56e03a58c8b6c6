"""Streams in a caller's own protocol that end at what the caller allows: in good order, whoever answers."""

import json
from typing import Any

import pytest

from tests.relay.fakes import Reply
from tests.relay.house import UNITS, Heard, House, an_account, words
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_messages
from tollkeeper.core.dialects.responses.order import read_responses
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Ending
from tollkeeper.relay.operations import MESSAGES, RESPONSES

MOST = b"x-max-charge-usd"
MESSAGE = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}], "stream": True}
RESPONSE = {"model": "m", "input": "hi", "stream": True}
FITTING = 4


def event(kind: str, **members: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def numbered(kind: str, number: int, **members: object) -> bytes:
    return event(f"response.{kind}", sequence_number=number, **members)


def datas(stream: bytes) -> list[dict[str, Any]]:
    return [json.loads(block.partition(b"data: ")[2]) for block in stream.split(b"\n\n") if block]


def check_paid(heard: Heard, house: House, input_tokens: int) -> None:
    """All that was allowed, and the provider was stopped."""
    assert heard.problem is None
    assert heard.receipt is not None
    assert heard.receipt.ending is Ending.MAX_CHARGE
    assert heard.receipt.charge.amount == (input_tokens + 2 * FITTING) * UNITS
    assert not house.upstream.answers[0].was_heard_out
    house.check()


def allowing(house: House, input_tokens: int) -> House:
    house.headers = {MOST: usd_exact(Quota((input_tokens + 2 * FITTING) * UNITS))}
    return house


@pytest.mark.parametrize("vendor", ["anthropic", "openai"], ids=["native", "translated"])
@in_virtual_time
async def test_messages_end_politely_at_what_their_caller_allows(vendor: str) -> None:
    asked = Spoken(json.dumps(MESSAGE).encode())
    input_tokens = read_messages(asked).input_tokens(part_tokens=0)
    own = [
        event("message_start", message={"usage": {"input_tokens": input_tokens, "output_tokens": 1}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *[event("content_block_delta", index=0, delta={"type": "text_delta", "text": " river"})] * 40,
    ]
    house = House(Reply(*(own if vendor == "anthropic" else words(40))), accounts=[an_account(1, vendor=vendor)])
    heard = await allowing(house, input_tokens).ask(MESSAGES, asked)
    told = datas(heard.text)
    said = [data["type"] for data in told]
    assert said[:2] == ["message_start", "content_block_start"]
    assert said[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert said.count("content_block_delta") == FITTING + 1
    assert told[-3]["index"] == 0
    assert told[-2]["delta"]["stop_reason"] == "max_tokens"
    assert told[-2]["usage"]["output_tokens"] == FITTING + 1
    check_paid(heard, house, input_tokens)


@in_virtual_time
async def test_a_native_response_ends_politely_at_what_its_caller_allows() -> None:
    body = json.dumps(RESPONSE).encode()
    input_tokens = read_responses(body).input_tokens(part_tokens=0)
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    own = [
        numbered("created", 0, response={"id": "resp_9", "model": "theirs", "status": "in_progress", "output": []}),
        numbered("output_item.added", 1, output_index=0, item=item),
        *(
            numbered("output_text.delta", 2 + at, output_index=0, content_index=0, item_id="msg_1", delta=" river")
            for at in range(40)
        ),
    ]
    house = House(Reply(*own), accounts=[an_account(1)])
    heard = await allowing(house, input_tokens).ask(RESPONSES, body)
    told = datas(heard.text)
    assert [data["sequence_number"] for data in told] == list(range(len(told)))
    assert [data["type"].removeprefix("response.") for data in told[-4:]] == [
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "incomplete",
    ]
    final = told[-1]["response"]
    assert (final["id"], final["model"], final["status"]) == ("resp_9", "m", "incomplete")
    assert final["output"][0]["content"][0]["text"] == " river" * (FITTING + 1)
    assert final["usage"]["output_tokens"] == FITTING + 1
    check_paid(heard, house, input_tokens)


@in_virtual_time
async def test_a_translated_response_ends_politely_at_what_its_caller_allows() -> None:
    body = json.dumps(RESPONSE).encode()
    input_tokens = read_responses(body).input_tokens(part_tokens=0)
    gone = Reply(b"<html>Not Found</html>", status=404)
    house = House(gone, Reply(*words(40)), accounts=[an_account(1)])
    heard = await allowing(house, input_tokens).ask(RESPONSES, body)
    told = datas(heard.text)
    assert [data["sequence_number"] for data in told] == list(range(len(told)))
    assert told[-1]["type"] == "response.incomplete"
    final = told[-1]["response"]
    assert final["output"][0]["content"][0]["text"] == " river" * (FITTING + 1)
    assert final["incomplete_details"] == {"reason": "max_output_tokens"}
    house.upstream.answers.pop(0)
    check_paid(heard, house, input_tokens)
