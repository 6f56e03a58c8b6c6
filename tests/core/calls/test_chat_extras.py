"""What an order asks for beside text, and what of it must have a price."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.errors import BadRequest, InvalidParameter, UnsupportedParameter
from tollkeeper.core.money.parts import Part, PriceParts
from tollkeeper.core.money.prices import MILLIONTHS, Price

EPHEMERAL = {"type": "ephemeral"}
FOR_AN_HOUR = {"type": "ephemeral", "ttl": "1h"}
FUNCTION = {"name": "f"}


def an_order(*messages: object, **fields: object) -> ChatOrder:
    body = {"model": "m", "messages": messages or [{"role": "user", "content": "Hi"}], **fields}
    return read_chat(json.dumps(body).encode())


def saying(mark: object = None, **beside: object) -> dict[str, object]:
    part = {"type": "text", "text": "Hi", **({} if mark is None else {"cache_control": mark})}
    return {"role": "user", "content": [{"type": "text", "text": "One"}, part], **beside}


def a_price(**parts: Any) -> Price:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    own = PriceParts(**parts) if parts else None
    return Price(
        id=1, model_id="m", effective_from=begun, model=MILLIONTHS, completion=MILLIONTHS, cached=MILLIONTHS, parts=own
    )


@pytest.mark.parametrize(
    ("order", "parts"),
    [
        pytest.param(an_order(), set(), id="plain"),
        pytest.param(an_order(saying()), set(), id="in parts"),
        pytest.param(an_order(saying(EPHEMERAL)), {Part.WRITTEN_5M}, id="a part"),
        pytest.param(an_order(saying(cache_control=EPHEMERAL)), {Part.WRITTEN_5M}, id="a message"),
        pytest.param(an_order(cache_control=EPHEMERAL), {Part.WRITTEN_5M}, id="all of it"),
        pytest.param(an_order(prompt_cache_key="k"), {Part.WRITTEN_5M}, id="a vendor that caches by itself"),
        pytest.param(
            an_order(tools=[{"type": "function", "function": FUNCTION, "cache_control": FOR_AN_HOUR}]),
            {Part.WRITTEN_5M, Part.WRITTEN_1H},
            id="a tool, for an hour",
        ),
        pytest.param(
            an_order(tools=[{"type": "function", "function": FUNCTION | {"cache_control": EPHEMERAL}}]),
            {Part.WRITTEN_5M},
            id="a function",
        ),
        pytest.param(an_order(modalities=["text"]), set(), id="text"),
        pytest.param(an_order(modalities=["text", "audio"]), {Part.AUDIO_OUTPUT}, id="speech"),
        pytest.param(an_order(modalities=["image", "text"]), {Part.IMAGE_OUTPUT}, id="pictures"),
    ],
)
def test_what_may_come_beside_text_is_known_from_the_order(order: ChatOrder, parts: set[Part]) -> None:
    assert order.parts == parts


@pytest.mark.parametrize(
    ("order", "place", "priced"),
    [
        pytest.param(
            an_order(saying(), saying(FOR_AN_HOUR)),
            "messages[1].content[1].cache_control.ttl",
            {"written_1h": 2 * MILLIONTHS},
            id="a cache for an hour",
        ),
        pytest.param(an_order(cache_control=FOR_AN_HOUR), "cache_control.ttl", {"written_1h": 0}, id="all of it"),
        pytest.param(an_order(modalities=["audio"]), "modalities", {"audio_output": MILLIONTHS}, id="speech"),
        pytest.param(an_order(audio={"voice": "x"}), "audio", {"audio_output": MILLIONTHS}, id="a voice"),
        pytest.param(an_order(modalities=["image"]), "modalities", {"image_output": MILLIONTHS}, id="pictures"),
        pytest.param(
            an_order(web_search_options={"search_context_size": "low"}),
            "web_search_options",
            {"tools": {"web_search": 5_000_000}},
            id="searches",
        ),
    ],
)
def test_what_costs_extra_passes_where_it_has_a_price(order: ChatOrder, place: str, priced: dict[str, Any]) -> None:
    for price in (a_price(), a_price(per_call=1), a_price(tools={"web_fetch": 1})):
        with pytest.raises(UnsupportedParameter, match=r"(has|have) no price") as refusal:
            order.check_price(price)
        assert refusal.value.param == place
        assert "leave" in str(refusal.value)
    order.check_price(a_price(**priced))


def test_what_has_no_price_of_its_own_needs_none() -> None:
    an_order(saying(EPHEMERAL), modalities=["text"], prompt_cache_key="k").check_price(a_price())


def test_a_search_is_one_use_of_a_tool() -> None:
    assert an_order(web_search_options={}).vendor_tools == {"web_search": 1}
    assert an_order(modalities=["audio"]).vendor_tools == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"modalities": ["video"]},
        {"modalities": "audio"},
        {"audio": {"voice": {"id": "voice_1"}}},
        {"audio": {"url": "https://canary.example"}},
        {"web_search_options": {"query": "x"}},
        {"web_search_options": {"user_location": {"approximate": {"city": "x" * 300}}}},
        {"cache_control": {"type": "ephemeral", "ttl": "30d"}},
    ],
)
def test_other_forms_of_them_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        an_order(**fields)


def test_a_vendors_tools_are_refused_with_a_word_on_where_they_are_to_be_had() -> None:
    with pytest.raises(InvalidParameter, match="/v1/messages and /v1/responses"):
        an_order(tools=[{"type": "web_search_20250305", "name": "web_search"}])
