"""Counting what is asked: what was counted before is remembered, by account, without its text."""

import msgspec
import pytest

from tollkeeper.core.calls import tokens
from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.relay import count_input
from tollkeeper.relay.count_input import InputCounter

LONG = "The quick brown fox jumps over the lazy dog, and nobody asks why. " * 40
VERY_LONG = LONG * 20


def an_order(*texts: str) -> ChatOrder:
    messages = [{"role": "user", "content": text} for text in texts]
    return read_chat(msgspec.json.encode({"model": "m", "messages": messages}))


# A count that no text of these tests has: where it appears, it was remembered.
REMEMBERED = 1_000_000


def mark_what_is_remembered(counter: InputCounter) -> None:
    for place in counter._known:
        counter._known[place] = REMEMBERED


@pytest.mark.parametrize("text", ["short", LONG, VERY_LONG], ids=["short", "long", "very long"])
async def test_what_is_counted_twice_is_the_same_as_what_is_counted_once(text: str) -> None:
    counter, order = InputCounter(), an_order(text, "and more")
    wanted = order.input_tokens(part_tokens=7)
    assert [await counter.count(order, owner=1, part_tokens=7) for _ in range(3)] == [wanted] * 3


async def test_many_texts_count_as_much_as_each_of_them() -> None:
    order = an_order(*(f"{number} {LONG[:300]}" for number in range(100)))
    assert await InputCounter().count(order, owner=1, part_tokens=0) == order.input_tokens(part_tokens=0)


async def test_of_a_conversation_only_what_is_new_is_counted() -> None:
    counter = InputCounter()
    await counter.count(an_order(VERY_LONG, LONG), owner=1, part_tokens=0)
    mark_what_is_remembered(counter)
    further = an_order(VERY_LONG, LONG, "what is new")
    found = await counter.count(further, owner=1, part_tokens=0)
    assert found == further.framing_tokens + 2 * REMEMBERED + tokens.count("what is new")


async def test_what_others_have_sent_is_counted_as_if_nobody_had() -> None:
    counter, order = InputCounter(), an_order(LONG)
    await counter.count(order, owner=1, part_tokens=0)
    mark_what_is_remembered(counter)
    assert await counter.count(order, owner=2, part_tokens=0) == order.input_tokens(part_tokens=0)


async def test_another_text_of_the_same_length_is_another() -> None:
    counter = InputCounter()
    for text in (LONG, LONG[:-2] + "!!", "—" * len(LONG)):
        order = an_order(text)
        assert await counter.count(order, owner=1, part_tokens=0) == order.input_tokens(part_tokens=0)


async def test_no_text_is_kept() -> None:
    counter = InputCounter()
    await counter.count(an_order(LONG), owner=1, part_tokens=0)
    [(place, counted)] = counter._known.items()
    assert (len(place), counted) == (16, tokens.count(LONG))


async def test_an_estimate_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    counter, order = InputCounter(), an_order(VERY_LONG)
    monkeypatch.setattr(count_input, "SECONDS_MOST", 0.0)
    estimated = await counter.count(order, owner=1, part_tokens=0)
    monkeypatch.undo()
    exact = await counter.count(order, owner=1, part_tokens=0)
    assert exact == order.input_tokens(part_tokens=0) < estimated


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_input, "REMEMBERED_MOST", 3)
    counter = InputCounter()
    for number in range(10):
        await counter.count(an_order(f"{number} {LONG}"), owner=1, part_tokens=0)
    assert len(counter._known) == 3


async def test_half_a_surrogate_pair_has_a_count() -> None:
    counter = InputCounter()
    order = an_order(LONG)
    order.texts = (LONG + "\ud83d",)
    assert await counter.count(order, owner=1, part_tokens=0) == order.input_tokens(part_tokens=0)
