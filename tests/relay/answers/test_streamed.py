"""Streams event by event: what passes, in which order, and what becomes of the connection."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.relay.fakes import Reply, Step
from tests.relay.house import DONE, FINISH, INPUT_TOKENS, House, an_account, events, words
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.sse import EVENT_BYTES_MOST
from tollkeeper.core.errors import AnswerTooLarge, StreamBroken
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import Failure
from tollkeeper.relay.answers.stream_state import StreamState
from tollkeeper.relay.answers.streamed import StreamedAnswer

THREE = b"".join(words(3))


@pytest.mark.parametrize("wrong", [b"data: <p>\n\n", b'data: {"error": {"message": "oh"}}\n\n', DONE])
@in_virtual_time
async def test_what_has_come_is_delivered_before_what_went_wrong_is_told(wrong: bytes) -> None:
    house = House(Reply(words(1)[0], THREE + wrong))
    heard = await house.chat(stream=True)
    assert heard.text == words(1)[0] + THREE
    assert isinstance(heard.problem, StreamBroken)
    house.check()


AWAITED, PASSING, STOPPED = StreamState


@pytest.mark.parametrize(
    ("replies", "states"),
    [
        (
            lambda look: [Reply(look, *words(1), look, *words(1), look, FINISH, look, DONE)],
            [AWAITED, PASSING, PASSING, PASSING, STOPPED],
        ),
        (lambda look: [Reply(look, THREE + FINISH + DONE)], [AWAITED, STOPPED]),
        (lambda look: [Reply(DONE), Reply(look, *words(1), look, FINISH)], [AWAITED, PASSING, STOPPED]),
        (lambda look: [Reply(look, Failure.BROKEN), Reply(look, *words(1), FINISH)], [AWAITED, AWAITED, STOPPED]),
        (lambda look: [Reply(look, *words(1), look, Failure.BROKEN)], [AWAITED, PASSING, STOPPED]),
        (lambda look: [Reply(look, b": hello\n\n", look, *words(1), Failure.BROKEN)], [AWAITED, AWAITED, STOPPED]),
        (lambda look: [Reply(look, DONE), Reply(look, DONE)], [AWAITED, AWAITED, STOPPED]),
    ],
    ids=[
        "piece by piece",
        "all at once",
        "nothing, then another",
        "broken, then another",
        "broken",
        "a comment",
        "nothing",
    ],
)
@in_virtual_time
async def test_a_stream_is_awaited_passes_and_stops(
    replies: Callable[[Step], list[Reply]], states: list[StreamState]
) -> None:
    seen: list[StreamState] = []

    def look(house: House) -> None:
        assert isinstance(house.answer, StreamedAnswer)
        seen.append(house.answer._state)

    house = House(*replies(look))
    await house.chat(stream=True)
    look(house)
    assert seen == states
    house.check()


def said(text: str, index: int = 0) -> bytes:
    return events({"index": index, "delta": {"content": text}, "finish_reason": None})


def finish(index: int = 0) -> bytes:
    return events({"index": index, "delta": {}, "finish_reason": "stop"})


@pytest.mark.parametrize(
    ("pieces", "is_complete"),
    [
        ([said("x"), finish(), said("y", 1), finish(1)], True),
        ([said("x"), finish()], False),
        ([said("x"), finish(), DONE], True),
        ([said("x"), said("y", 1), finish(), DONE], False),
    ],
    ids=["both", "one of two", "one of two, and said to be done", "one of two that began, and said to be done"],
)
@in_virtual_time
async def test_of_several_choices_all_must_have_ended(pieces: list[bytes], is_complete: bool) -> None:
    house = House(Reply(*pieces))
    heard = await house.chat(stream=True, n=2)
    assert (heard.problem is None) is is_complete
    assert heard.booked[0] is (Ending.COMPLETED if is_complete else Ending.UPSTREAM_BROKE)
    house.check()


@pytest.mark.parametrize("size", [1, 7, 1_000])
@in_virtual_time
async def test_it_does_not_matter_how_a_stream_is_cut_into_pieces(size: int) -> None:
    text = b"".join([THREE, FINISH, DONE])
    house = House(Reply(*(text[start : start + size] for start in range(0, len(text), size))))
    heard = await house.chat(stream=True)
    assert heard.text == text
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 3), UsageSource.COUNTED)
    house.check()


def of_form(text: str, finish_reason: str | None = None, **more: object) -> bytes:
    """A chunk as vendors write them."""
    choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish_reason}
    return b"data: " + json.dumps({"id": "c-1", "model": "m", "choices": [choice]} | more).encode() + b"\n\n"


TWENTY = [of_form(f" river {number}") for number in range(20)]
REPORTED = of_form(" sea", usage={"prompt_tokens": 7, "completion_tokens": 9})


@pytest.mark.parametrize(
    ("pieces", "asked", "passes"),
    [
        (TWENTY, {}, True),
        (TWENTY, {"stream_options": {"include_usage": True}}, True),
        ([b"".join(TWENTY[:10]), b"".join(TWENTY[10:])], {}, False),
        ([of_form("a\nb") for _ in TWENTY], {}, False),
        ([half for event in TWENTY for half in (event[:40], event[40:])], {}, False),
        ([half for event in TWENTY for half in (b": a comment\n", event)], {}, False),
        ([half for event in TWENTY for half in (event[:-1] + b"i", b"d: 7\n\n")], {}, False),
        ([half for event in TWENTY for half in (event[:-1] + b"\r", b"\n")], {}, False),
        ([REPORTED, *TWENTY], {"stream_options": {"include_usage": True}}, True),
        ([REPORTED, *TWENTY], {}, True),
        ([*TWENTY, REPORTED, of_form("", "stop"), *TWENTY], {"stream_options": {"include_usage": True}}, True),
        ([*TWENTY[:10], of_form("", "stop"), DONE, *TWENTY[10:]], {}, False),
        ([event.replace(b"data: ", b"event: words\ndata: ") for event in TWENTY], {}, False),
        (TWENTY, {"n": 2}, False),
    ],
    ids=[
        *("alike", "alike, with a report", "many at once", "with escapes", "in halves", "after half an event"),
        *("before more of the event", "cut in their end", "after a report", "after a report that nobody wants"),
        *("around a report", "after the end", "not plain", "of several choices"),
    ],
)
@in_virtual_time
async def test_events_that_are_alike_pass_by_and_come_to_the_same(
    pieces: list[bytes], asked: Mapping[str, Any], passes: bool
) -> None:
    heard = []
    for may_pass in (True, False):
        house = House(Reply(*pieces, FINISH, DONE), quota=100_000_000)
        house.lets_pass = may_pass
        heard.append(await house.chat(stream=True, **asked))
        # The first is read in full, and from the second on it is known what is held for.
        assert (len(house.passed_by) > 10) is (passes and may_pass)
        house.check()
    now, in_turn = heard
    assert (now.text, now.booked, str(now.problem)) == (in_turn.text, in_turn.booked, str(in_turn.problem))


@in_virtual_time
async def test_of_a_renamed_model_nothing_passes_by() -> None:
    house = House(Reply(*TWENTY, FINISH, DONE), accounts=[an_account(1, models={"m": "deployment-7"})])
    await house.chat(stream=True)
    assert house.passed_by == []
    house.check()


@in_virtual_time
async def test_where_a_caller_said_what_it_may_cost_nothing_passes_by() -> None:
    house = House(Reply(*TWENTY, FINISH, DONE))
    house.headers = {b"x-max-charge-usd": "0.5"}
    heard = await house.chat(stream=True, max_tokens=200)
    assert (heard.problem, house.passed_by) == (None, [])
    house.check()


@pytest.mark.parametrize("happens", [House.client_leaves, House.client_is_stuck])
@in_virtual_time
async def test_nothing_passes_by_a_call_that_has_been_ended(happens: Callable[[House], None]) -> None:
    at: list[int] = []

    def look(house: House) -> None:
        happens(house)
        at.append(len(house.passed_by))

    house = House(Reply(*TWENTY[:10], look, *TWENTY[10:], FINISH, DONE))
    await house.chat(stream=True)
    assert at == [len(house.passed_by)]
    assert at[0] > 5
    house.check()


@in_virtual_time
async def test_no_more_passes_by_than_is_held_for() -> None:
    """Events pass up to the mark at which the call looks whether its hold covers what comes."""
    house = House(Reply(*(of_form(" river" * 20) for _ in range(100)), FINISH, DONE), quota=100_000)
    covered: list[bool] = []

    def note(piece: bytes) -> None:
        assert isinstance(house.answer, StreamedAnswer)
        counted = house.answer.meter.output_tokens + piece.count(b" river")
        covered.append(counted <= house.answer._bill.covered_tokens)

    house.on_passed = note
    heard = await house.chat(stream=True)
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 2_000), UsageSource.COUNTED)
    assert len(covered) > 30
    assert all(covered)
    house.check()


@pytest.mark.parametrize("last", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r\n\r\n"])
@in_virtual_time
async def test_a_last_event_need_not_have_its_blank_line(last: bytes) -> None:
    house = House(Reply(THREE, FINISH, last))
    assert (await house.chat(stream=True)).text == THREE + FINISH + DONE
    house.check()


@pytest.mark.parametrize(
    ("tail", "seconds", "is_heard_out"),
    [([], 0.0, True), ([b": bye\n\n", b"\n"], 0.0, True), ([10.0, b"\n"], 1.0, False), ([Failure.BROKEN], 0.0, True)],
    ids=["at once", "soon", "late", "broken"],
)
@in_virtual_time
async def test_the_very_end_is_waited_for_a_moment_so_that_the_connection_can_be_kept(
    tail: list[Step], seconds: float, is_heard_out: bool
) -> None:
    house = House(Reply(THREE, FINISH, DONE, *tail))
    heard = await house.chat(stream=True)
    assert heard.booked[0] is Ending.COMPLETED
    assert asyncio.get_running_loop().time() == seconds
    if is_heard_out:
        assert house.upstream.answers[0].was_heard_out
    house.check()


@in_virtual_time
async def test_an_event_that_is_as_long_as_the_caller_may_have_asked_for_is_charged_as_estimated() -> None:
    house = House(Reply(THREE, b"data: " + b"x" * EVENT_BYTES_MOST), quota=100_000_000)
    heard = await house.chat(stream=True, model="talker", max_tokens=2_000_000)
    assert isinstance(heard.problem, AnswerTooLarge)
    assert heard.booked[1].output_units > 1_000_000
    house.check()


@in_virtual_time
async def test_a_stream_that_is_read_after_its_end_has_nothing_more_to_say() -> None:
    house = House(Reply(THREE, FINISH))
    await house.chat(stream=True)
    assert house.answer is not None
    assert await house.answer.read() == b""


@in_virtual_time
async def test_of_a_stream_order_and_body_are_forgotten_as_soon_as_it_begins() -> None:
    had_body: list[bool] = []
    house = House(
        Reply(
            lambda house: had_body.append(house.has_body),
            THREE,
            House.check_that_content_is_forgotten,
            lambda house: had_body.append(house.has_body),
            FINISH,
        )
    )
    assert (await house.chat(stream=True)).problem is None
    assert had_body == [True, False]


def as_event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


BEGIN = as_event(type="message_start", message={"id": "x", "usage": {"input_tokens": 12, "output_tokens": 1}})
BLOCK = as_event(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
SAID = as_event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": " river"})
UNHEARD = as_event(type="content_block_delta", index=0, delta={"type": "murmur", "murmur": "a river and more " * 40})
ENDED = as_event(type="message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 99})
STOP = as_event(type="message_stop")


@in_virtual_time
async def test_what_a_translated_vendor_said_beside_its_answer_is_waited_for_and_charged_as_reported() -> None:
    """What was left out in translation was made all the same: only the report says what it came to."""
    script: list[Step] = [BEGIN, BLOCK, SAID, UNHEARD, House.client_leaves, 50.0, SAID, ENDED, STOP]
    house = House(Reply(*script), accounts=[an_account(1, vendor="anthropic")])
    heard = await house.chat(stream=True)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(12, 99), UsageSource.PROVIDER)
    house.check()


@in_virtual_time
async def test_what_a_translated_vendor_said_beside_its_answer_counts_where_it_is_not_reported() -> None:
    house = House(Reply(BEGIN, BLOCK, SAID, UNHEARD, Failure.BROKEN), accounts=[an_account(1, vendor="anthropic")])
    heard = await house.chat(stream=True)
    assert heard.booked[0] is Ending.UPSTREAM_BROKE
    # Its input as it was reported at the beginning; a guess at the rest, as far as it was held for.
    assert heard.booked[1] == Usage(12, 100)
    house.check()
