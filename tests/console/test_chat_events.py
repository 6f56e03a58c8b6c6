"""What the chat makes of a page's wish and of the gateway's events, without a gateway."""

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.console.browser import Browser
from tests.customers import Customers
from tollkeeper.console.chat.events import Listening
from tollkeeper.console.chat.order import (
    CHARACTERS_MOST,
    MESSAGES_MOST,
    PICTURE_CHARACTERS_MOST,
    PICTURES_MOST,
    read_wish,
)
from tollkeeper.core.calls.sse import DONE, KEEP_ALIVE, event
from tollkeeper.core.catalog.models import Kind
from tollkeeper.ports import NewPrice

PICTURE = "data:image/png;base64,iVBORw0KGgo="


def user(text: str = "Hello", *pictures: str) -> dict[str, object]:
    return {"role": "user", "text": text, "pictures": list(pictures)}


def wish(*messages: object, **more: object) -> str:
    return json.dumps({"model": "a-model", "messages": messages} | more)


def said(**delta: object) -> bytes:
    return event(json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode())


def heard(*events: bytes) -> tuple[Listening, list[dict[str, Any]]]:
    listening = Listening()
    lines = b"".join(line for each in events for line in listening.lines(each)).splitlines()
    return listening, [json.loads(line) for line in lines if line]


def test_thoughts_are_told_apart_from_what_is_said() -> None:
    listening, lines = heard(said(reasoning_content="Hm."), KEEP_ALIVE, said(content="Yes"), said(content=None), DONE)
    assert lines == [{"thought": "Hm."}, {"text": "Yes"}]
    assert (listening.is_over, listening.error) == (True, None)


def test_an_error_ends_an_answer_and_a_stream_without_its_last_mark_has_no_end() -> None:
    listening, _ = heard(said(content="Yes"), event(b'{"error": {"message": "no", "code": "stream_broken"}}'))
    assert listening.is_over
    assert listening.error is not None
    assert not heard(said(content="Yes"))[0].is_over


def test_a_wish_becomes_a_streamed_call_and_nothing_else() -> None:
    found = read_wish(wish(user("Hi"), {"role": "assistant", "text": "Yes?"}, user("See", PICTURE), user("", PICTURE)))
    assert found is not None
    asked = json.loads(found.body)
    assert asked.keys() == {"model", "messages", "stream", "stream_options"}
    assert asked["stream"] is True
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    assert [message["content"] for message in asked["messages"]] == [
        "Hi",
        "Yes?",
        [{"type": "text", "text": "See"}, picture],
        [picture],
    ]


NOT_TAKEN = {
    "no JSON": "{",
    "no object": "[]",
    "nothing said": wish(),
    "a system message": wish({"role": "system", "text": "Obey."}),
    "an answer at the end": wish(user(), {"role": "assistant", "text": "Yes?"}),
    "a parameter": wish(user(), temperature=2),
    "a tool": wish(user(), tools=[]),
    "a picture at an address": wish(user("See", "https://10.0.0.1/p.png")),
    "a picture of another kind": wish(user("See", "data:image/svg+xml;base64,PHN2Zz4=")),
    "a picture with more behind it": wish(user("See", PICTURE + '"')),
    "too many messages": wish(*[user()] * (MESSAGES_MOST + 1)),
    "too much text": wish(user("x" * (CHARACTERS_MOST + 1))),
    "too much text in all": wish(*[user("x" * (CHARACTERS_MOST // 2))] * 3),
    "too many pictures": wish(user("See", *[PICTURE] * (PICTURES_MOST + 1))),
    "too many pictures in all": wish(*[user("See", PICTURE)] * (PICTURES_MOST + 1)),
    "too large a picture": wish(user("See", "data:image/png;base64," + "A" * PICTURE_CHARACTERS_MOST)),
    "half a character": '{"model": "m", "messages": [{"role": "user", "text": "\\ud800"}]}',
}


@pytest.mark.parametrize("text", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_what_the_page_would_not_send_is_not_taken(text: str) -> None:
    assert read_wish(text) is None


async def test_what_is_not_taken_is_said_in_words(signed_in: Browser) -> None:
    await signed_in.get("/chat")
    answer = await signed_in.post("/chat", order="{")
    assert answer.status == 422
    assert "Begin a new chat" in json.loads(answer.text)["trouble"]["words"]


async def test_the_page_offers_the_models_for_text_that_the_account_may_use_at_its_price(
    signed_in: Browser, townsfolk: Customers
) -> None:
    talks = await townsfolk.a_model(price=NewPrice(model=Decimal("1.5"), completion=Decimal(4)))
    draws = await townsfolk.a_model(kind=Kind.IMAGE)
    of_others = await townsfolk.a_model(only_groups=["restricted"])
    page = (await signed_in.get(f"/chat?model={talks}")).text
    assert f'value="{talks}" data-price="$3.00 in · $12.00 out" selected' in page
    assert draws not in page
    assert of_others not in page
    assert "needs a script" in page
