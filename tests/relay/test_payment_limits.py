"""What a caller allows a call to cost, where the output cannot be limited, or is more than an answer."""

import json
from typing import Any

import msgspec
import pytest

from tests.relay.fakes import Reply
from tests.relay.house import INPUT_TOKENS, UNITS, House, a_model, an_account
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.image_tokens import output_tokens_each
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.catalog.models import Kind, Model
from tollkeeper.core.errors import InputAboveMaxCharge, InvalidHeader
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.relay.operations import CHAT, EMBEDDING, IMAGE, MESSAGES, RESPONSES, Operation

MOST = b"x-max-charge-usd"
# Two images of the least quality, at two quota for a token.
IMAGES = 2 * output_tokens_each("1024x1024", "low") * 2


def usd(quota_tokens: int) -> str:
    return usd_exact(Quota(quota_tokens * UNITS))


def a_house(model: Model, *replies: Reply, most: int, vendor: str = "openai") -> House:
    """`most`: what is allowed, in quota."""
    house = House(*replies, accounts=(an_account(1, vendor=vendor),))
    shelf = house.catalog.on_offer
    house.catalog.on_offer = msgspec.structs.replace(shelf, models={**shelf.models, model.id: model})
    house.headers = {MOST: usd(most)}
    return house


def images(tokens: int) -> bytes:
    usage = {"input_tokens": 2, "output_tokens": tokens, "total_tokens": tokens + 2}
    return json.dumps({"created": 1, "data": [{"b64_json": "AAAA"}] * 2, "usage": usage}).encode()


BY_TOKEN = a_model("sketcher", Kind.IMAGE)
TWO = json.dumps({"model": "sketcher", "prompt": "a river", "n": 2, "size": "1024x1024", "quality": "low"}).encode()


@pytest.mark.parametrize("most", [10, IMAGES], ids=["the prompt alone", "nearly all"])
@in_virtual_time
async def test_images_by_token_that_may_cost_more_are_made_by_nobody(most: int) -> None:
    house = a_house(BY_TOKEN, most=most)
    heard = await house.ask(IMAGE, TWO)
    assert isinstance(heard.problem, InputAboveMaxCharge)
    assert "This call may cost" in heard.problem.message
    assert (heard.receipt, house.upstream.requests, house.ledger.holds) == (None, [], {})
    house.check()


@in_virtual_time
async def test_images_by_token_that_fit_are_made_as_they_were_asked_for() -> None:
    house = a_house(BY_TOKEN, Reply(images(500)), most=IMAGES + 10)
    heard = await house.ask(IMAGE, TWO)
    assert (heard.problem, json.loads(house.upstream.requests[0].body)["n"]) == (None, 2)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == (2 + 500 * 2) * UNITS
    house.check()


@in_virtual_time
async def test_of_embeddings_the_input_alone_is_held_for_and_must_fit() -> None:
    vectors = {"object": "list", "data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 3}}
    body = json.dumps({"model": "placer", "input": [[1, 2, 3]]}).encode()
    house = a_house(a_model("placer", Kind.EMBEDDING), Reply(json.dumps(vectors).encode()), most=3)
    heard = await house.ask(EMBEDDING, body)
    assert heard.problem is None
    assert [hold.amount for hold in house.ledger.holds.values()] == [3 * UNITS]
    house.headers = {MOST: usd(2)}
    refused = await house.ask(EMBEDDING, body)
    assert isinstance(refused.problem, InputAboveMaxCharge)
    assert "one token of an answer" not in refused.problem.message
    house.check()


HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
SEARCHES: dict[str, tuple[Operation[Any, Any], dict[str, Any]]] = {
    "chat": (CHAT, HI | {"web_search_options": {}}),
    "messages": (
        MESSAGES,
        HI | {"max_tokens": 9, "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    ),
    "responses": (RESPONSES, {"model": "m", "input": "hi", "tools": [{"type": "web_search"}]}),
}


@pytest.mark.parametrize(("operation", "asked"), SEARCHES.values(), ids=SEARCHES)
@in_virtual_time
async def test_tools_that_the_provider_may_use_often_do_not_go_with_a_most(
    operation: Operation[Any, Any], asked: dict[str, Any]
) -> None:
    model = a_model("m")
    (price,) = model.prices
    price = msgspec.structs.replace(price, parts=PriceParts(tools={"web_search": 30 * UNITS}))
    house = a_house(msgspec.structs.replace(model, prices=(price,)), most=500)
    body = json.dumps(asked).encode()
    heard = await house.ask(operation, Spoken(body) if operation is MESSAGES else body)
    assert isinstance(heard.problem, InvalidHeader)
    assert (heard.problem.status, heard.problem.param) == (400, "x-max-charge-usd")
    assert "web_search" in heard.problem.message
    assert (heard.receipt, house.upstream.requests, house.ledger.holds) == (None, [], {})
    house.check()


MESSAGE = {
    "type": "message",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 2},
}


@pytest.mark.parametrize(
    ("operation", "cap", "thinking"),
    [
        (operation, cap, thinking)
        for operation in (MESSAGES, CHAT)
        for cap, thinking in (
            # Room for a budget of half; too little for any; a budget that fits stays.
            (3_000, {"type": "enabled", "budget_tokens": 1_500}),
            (1_500, None),
            (3_500, {"type": "enabled", "budget_tokens": 3_200}),
        )
    ],
)
@in_virtual_time
async def test_a_budget_for_thoughts_stays_below_the_most_that_may_be_said(
    operation: Operation[Any, Any], cap: int, thinking: dict[str, Any] | None
) -> None:
    """A provider would refuse the order otherwise, and thoughts are output."""
    asked = HI | {"max_tokens": 4_000, "thinking": {"type": "enabled", "budget_tokens": 3_200}}
    model, body = a_model("m"), json.dumps(asked).encode()
    house = a_house(model, Reply(json.dumps(MESSAGE).encode()), most=INPUT_TOKENS + 2 * cap, vendor="anthropic")
    heard = await house.ask(operation, Spoken(body) if operation is MESSAGES else body)
    assert heard.problem is None
    sent = json.loads(house.upstream.requests[0].body)
    assert (sent["max_tokens"], sent.get("thinking")) == (cap, thinking)
    house.check()


@in_virtual_time
async def test_a_response_is_capped_by_its_own_name() -> None:
    answer = {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
        "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
    }
    house = a_house(a_model("m"), Reply(json.dumps(answer).encode()), most=INPUT_TOKENS + 2 * 40)
    asked = {"model": "m", "input": "hi", "max_output_tokens": 90, "reasoning": {"effort": "low"}}
    heard = await house.ask(RESPONSES, json.dumps(asked).encode())
    assert heard.problem is None
    assert json.loads(house.upstream.requests[0].body)["max_output_tokens"] == 40
    house.check()
