"""What a call comes to whose price has parts: held for at the dearest, charged as reported."""

import json
from typing import Any

import msgspec
import pytest

from tests.relay.fakes import Reply
from tests.relay.house import FINISH, INPUT_TOKENS, UNITS, House, an_account, events, words
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_messages
from tollkeeper.core.errors import ContextLengthExceeded, PromptTooLong, ProviderUnavailable, UnsupportedParameter
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import PriceParts, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Usage
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.relay.operations import MESSAGES, RESPONSES

PARTS = PriceParts(
    written_5m=1_250_000,
    written_1h=2 * MILLIONTHS,
    audio_output=20 * MILLIONTHS,
    tools={"web_search": 30 * UNITS},
)
FOR_AN_HOUR = {"type": "ephemeral", "ttl": "1h"}
WRITTEN = {
    "prompt_tokens": 100,
    "completion_tokens": 5,
    "prompt_tokens_details": {
        "cached_tokens": 20,
        "cache_write_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 10},
    },
}
# Plain ones, five minutes', an hour's; two quota for a word of the answer.
WRITTEN_COST = (30 + 20 + 50 + 20 + 10) * UNITS
WRITTEN_USAGE = Usage(100, 5, 20, UsageParts(written_5m=40, written_1h=10))


def a_house(
    *replies: Reply, parts: PriceParts | None = PARTS, caps: TokenCaps | None = None, vendor: str = "openai"
) -> House:
    vendors = enumerate(vendor.split(), 1)
    house = House(*replies, accounts=[an_account(number, vendor=each) for number, each in vendors])
    shelf = house.catalog.on_offer
    model = shelf.models["m"]
    (price,) = model.prices
    model = msgspec.structs.replace(model, prices=(msgspec.structs.replace(price, parts=parts),))
    if caps is not None:
        model = msgspec.structs.replace(model, token_caps=caps)
    house.catalog.on_offer = msgspec.structs.replace(shelf, models={**shelf.models, "m": model})
    return house


def whole(usage: object) -> bytes:
    message = {"index": 0, "message": {"content": " river" * 5}, "finish_reason": "stop"}
    return json.dumps({"choices": [message], "usage": usage}).encode()


@in_virtual_time
async def test_parts_are_charged_as_they_are_reported() -> None:
    house = a_house(Reply(whole(WRITTEN)))
    heard = await house.chat(cache_control=FOR_AN_HOUR)
    assert heard.booked == (Ending.COMPLETED, WRITTEN_USAGE, UsageSource.PROVIDER)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == WRITTEN_COST
    house.check()


@in_virtual_time
async def test_parts_of_a_stream_are_charged_alike() -> None:
    house = a_house(Reply(*words(5), FINISH, events(usage=WRITTEN), b"data: [DONE]\n\n"))
    heard = await house.chat(stream=True, cache_control=FOR_AN_HOUR)
    assert heard.booked == (Ending.COMPLETED, WRITTEN_USAGE, UsageSource.PROVIDER)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == WRITTEN_COST


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, INPUT_TOKENS + 200),
        # Five quarters of a quota for a token.
        ({"cache_control": {"type": "ephemeral"}}, INPUT_TOKENS * 1.25 + 200),
        ({"cache_control": FOR_AN_HOUR}, INPUT_TOKENS * 2 + 200),
        ({"modalities": ["audio"]}, INPUT_TOKENS + 2_000),
        ({"web_search_options": {}}, INPUT_TOKENS + 200 + 30),
    ],
    ids=["plain", "five minutes", "an hour", "speech", "a search"],
)
@in_virtual_time
async def test_what_may_cost_more_is_held_for(fields: dict[str, Any], held: float) -> None:
    house = a_house(Reply(whole({"prompt_tokens": 10, "completion_tokens": 5})))
    heard = await house.chat(**fields)
    assert heard.problem is None
    assert [hold.amount for hold in house.ledger.holds.values()] == [held * UNITS]


@in_virtual_time
async def test_a_search_is_charged_although_the_provider_does_not_report_it() -> None:
    house = a_house(Reply(whole({"prompt_tokens": 10, "completion_tokens": 5})))
    heard = await house.chat(web_search_options={})
    assert heard.receipt is not None
    assert heard.receipt.charge.usage == Usage(10, 5, 0, UsageParts(tools={"web_search": 1}))
    assert heard.receipt.charge.amount == (10 + 10 + 30) * UNITS


def may_search(*, stream: bool) -> Spoken:
    tool = {"type": "web_search_20250305", "name": "web_search"}
    turn = {"role": "user", "content": "hi"}
    return Spoken(
        json.dumps({"model": "m", "max_tokens": 50, "messages": [turn], "tools": [tool], "stream": stream}).encode()
    )


@pytest.mark.parametrize("uses", [0, 1, 3])
@in_virtual_time
async def test_a_search_that_may_be_made_is_held_for_and_charged_where_it_was_made(uses: int) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5} | (
        {"server_tool_use": {"web_search_requests": uses}} if uses else {}
    )
    message = {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    house = a_house(Reply(json.dumps(message | {"usage": usage}).encode()), vendor="anthropic")
    heard = await house.ask(MESSAGES, may_search(stream=False))
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == (10 + 10 + 30 * uses) * UNITS
    [hold] = house.ledger.holds.values()
    input_tokens = read_messages(may_search(stream=False)).input_tokens(part_tokens=0)
    assert hold.amount == (input_tokens + 2 * 50 + 30) * UNITS


@in_virtual_time
async def test_a_search_that_nobody_ordered_costs_nothing() -> None:
    house = a_house(
        Reply(whole({"prompt_tokens": 10, "completion_tokens": 5, "server_tool_use": {"web_search_requests": 900}}))
    )
    heard = await house.chat()
    assert heard.booked == (Ending.COMPLETED, Usage(10, 5), UsageSource.PROVIDER)


@in_virtual_time
async def test_who_let_the_model_search_and_leaves_pays_the_searches_that_are_reported() -> None:
    def event(kind: str, **members: object) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()

    word = event("content_block_delta", index=0, delta={"type": "text_delta", "text": " word"})
    searched = {"output_tokens": 5, "server_tool_use": {"web_search_requests": 2}}
    reply = Reply(
        event("message_start", message={"usage": {"input_tokens": 10, "output_tokens": 1}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        word,
        House.client_leaves,
        50.0,
        word,
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage=searched),
        event("message_stop"),
    )
    house = a_house(reply, vendor="anthropic")
    heard = await house.ask(MESSAGES, may_search(stream=True))
    usage = Usage(10, 5, 0, UsageParts(tools={"web_search": 2}))
    assert heard.booked == (Ending.CLIENT_LEFT, usage, UsageSource.PROVIDER)


@in_virtual_time
async def test_what_has_no_price_is_sent_to_nobody() -> None:
    for parts in (None, PriceParts(written_5m=MILLIONTHS)):
        house = a_house(parts=parts)
        heard = await house.chat(cache_control=FOR_AN_HOUR)
        assert isinstance(heard.problem, UnsupportedParameter)
        assert (heard.problem.param, heard.receipt, house.upstream.requests) == ("cache_control.ttl", None, [])
        house.check()


def marked_for_an_hour() -> Spoken:
    """As an agent marks its prompt in each of its calls."""
    turn = {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": FOR_AN_HOUR}]}
    return Spoken(json.dumps({"model": "m", "max_tokens": 50, "messages": [turn]}).encode())


@in_virtual_time
async def test_marks_need_no_price_where_they_are_left_out() -> None:
    house = a_house(Reply(whole({"prompt_tokens": 10, "completion_tokens": 5})), parts=None, vendor="anthropic openai")
    heard = await house.ask(MESSAGES, marked_for_an_hour())
    assert heard.booked == (Ending.COMPLETED, Usage(10, 5), UsageSource.PROVIDER)
    [request] = house.upstream.requests
    assert "provider-2" in request.url
    assert b"cache_control" not in request.body
    [hold] = house.ledger.holds.values()
    assert hold.amount == (read_messages(marked_for_an_hour()).input_tokens(part_tokens=0) + 2 * 50) * UNITS
    house.check()


@in_virtual_time
async def test_marks_without_a_price_are_refused_where_only_their_vendor_serves() -> None:
    house = a_house(parts=PriceParts(written_5m=MILLIONTHS), vendor="anthropic anthropic")
    heard = await house.ask(MESSAGES, marked_for_an_hour())
    assert isinstance(heard.problem, UnsupportedParameter)
    assert "an hour has no price at this model" in heard.problem.message
    assert heard.receipt is not None
    assert (heard.receipt.charge.amount, house.upstream.requests) == (0, [])
    house.check()


@in_virtual_time
async def test_marks_without_a_price_wait_for_a_vendor_that_needs_none() -> None:
    house = a_house(parts=None, vendor="anthropic openai")
    house.pool.out.add(2)
    heard = await house.ask(MESSAGES, marked_for_an_hour())
    assert isinstance(heard.problem, ProviderUnavailable)
    house.check()


@pytest.mark.parametrize(
    ("context_tokens", "is_refused"),
    # A little more than the context is for the provider to judge: it counts otherwise than we do.
    [(INPUT_TOKENS - 4, True), (INPUT_TOKENS, False), (800, False)],
)
@in_virtual_time
async def test_a_prompt_that_the_model_cannot_read_is_neither_held_for_nor_sent(
    context_tokens: int, is_refused: bool
) -> None:
    house = a_house(parts=None, caps=TokenCaps(context_tokens=context_tokens))
    if not is_refused:
        house.upstream.replies.append(Reply(whole({"prompt_tokens": 1, "completion_tokens": 5})))
    heard = await house.chat()
    if is_refused:
        assert isinstance(heard.problem, ContextLengthExceeded)
        assert (heard.problem.code, heard.problem.param) == ("context_length_exceeded", "messages")
        assert f"maximum context length is {context_tokens} tokens" in str(heard.problem)
        assert f"resulted in {INPUT_TOKENS} tokens" in str(heard.problem)
        assert (heard.receipt, house.upstream.requests, house.ledger.holds) == (None, [], {})
    else:
        assert heard.problem is None
    house.check()


@in_virtual_time
async def test_a_prompt_that_is_too_long_is_refused_in_the_words_of_its_protocol() -> None:
    """Claude Code looks for these, and offers to make the conversation shorter."""
    house = a_house(parts=None, caps=TokenCaps(context_tokens=4))
    tokens = read_messages(marked_for_an_hour()).input_tokens(part_tokens=0)
    heard = await house.ask(MESSAGES, marked_for_an_hour())
    assert isinstance(heard.problem, PromptTooLong)
    assert heard.problem.message.startswith(f"prompt is too long: {tokens} tokens > 4 maximum. ")
    heard = await house.ask(RESPONSES, json.dumps({"model": "m", "input": "hi"}).encode())
    assert isinstance(heard.problem, ContextLengthExceeded)
    assert heard.problem.param == "input"
    house.check()


@in_virtual_time
async def test_images_are_no_reason_to_refuse_a_prompt_as_too_long() -> None:
    """What they come to is known from the provider's report alone."""
    house = a_house(
        Reply(whole({"prompt_tokens": 10, "completion_tokens": 5})), parts=None, caps=TokenCaps(context_tokens=500)
    )
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    heard = await house.chat(messages=[{"role": "user", "content": [picture]}], max_tokens=5)
    assert heard.problem is None
