"""A malicious provider's account of itself: false usage, and answers that do not end where they end."""

import asyncio
import json
from typing import Any

import pytest

from tests.simulator.formats import FORMATS, OPENAI, Format
from tests.simulator.raw import A_WHILE_SECONDS, Seen
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator, TruthRow

in_every_format = pytest.mark.parametrize("speaks", FORMATS, ids=[speaks.name for speaks in FORMATS])
streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


async def call(sim: Simulator, text: str, **fields: Any) -> tuple[Seen, TruthRow]:
    """A stream of OpenAI's format that was asked for its usage, and the truth about it."""
    seen = await OPENAI.call(sim, text, stream=True, **fields)
    return seen, await asyncio.to_thread(sim.wait_for, seen.request_id)


def usages(seen: Seen) -> list[tuple[Any, Any]]:
    return [usage for told in OPENAI.told(seen) if (usage := OPENAI.usage(told)) is not None]


@streamed_or_not
@in_every_format
async def test_any_number_of_tokens_is_reported(hostile_sim: Simulator, speaks: Format, stream: bool) -> None:
    seen = await speaks.call(hostile_sim, "[[tokens=5 report_input=7 report_output=9]]", stream=stream)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    assert speaks.last_usage(seen) == (7, 9)
    assert truth["output_tokens"] == 5
    assert truth["input_tokens"] > 7


@pytest.mark.parametrize(
    ("value", "prompt", "completion"),
    [
        ("0:0", 0, 0),
        ("-5:-6:-7", -5, -6),
        ("1.5:1e3", 1.5, 1000.0),
        ("'12':null", "12", None),
        (f"{2**63}:{10**40}", 2**63, 10**40),
        ("[1]:true", [1], True),
        (":3", None, 3),
    ],
)
@streamed_or_not
async def test_usage_is_anything(
    hostile_sim: Simulator, value: str, prompt: object, completion: object, stream: bool
) -> None:
    seen = await OPENAI.call(hostile_sim, f'[[tokens=5 usage_value="{value}"]]', stream=stream)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    wanted = truth["input_tokens"] if value.startswith(":") else prompt
    assert OPENAI.last_usage(seen) == (wanted, completion)


async def test_a_cached_share_is_anything(hostile_sim: Simulator) -> None:
    seen = await OPENAI.call(hostile_sim, '[[usage_value="::999999"]]')
    assert json.loads(seen.body)["usage"]["prompt_tokens_details"]["cached_tokens"] == 999_999


async def test_usage_is_told_twice_and_differs(hostile_sim: Simulator) -> None:
    seen, _ = await call(hostile_sim, '[[usage=twice usage_value="1:2" usage_second="3:4"]]')
    assert usages(seen) == [(1, 2), (3, 4)]


async def test_usage_has_another_name(hostile_sim: Simulator) -> None:
    seen, _ = await call(hostile_sim, "[[usage_name=tally]]")
    assert usages(seen) == []
    assert '"tally":{"prompt_tokens"' in seen.events[-2]


async def test_usage_comes_before_the_words(hostile_sim: Simulator) -> None:
    seen, truth = await call(hostile_sim, "[[tokens=5 usage_place=before]]")
    assert OPENAI.usage(json.loads(seen.events[0])) == (truth["input_tokens"], 5)
    assert len(usages(seen)) == 1


async def test_usage_is_in_every_event(hostile_sim: Simulator) -> None:
    seen, truth = await call(hostile_sim, "[[tokens=5 usage_place=every]]")
    assert usages(seen) == [(truth["input_tokens"], 5)] * 7


async def test_usage_is_told_to_those_who_did_not_ask(hostile_sim: Simulator) -> None:
    seen, _ = await call(hostile_sim, "[[tokens=5 usage_unasked=1]]", stream_options=None)
    assert len(usages(seen)) == 1


@pytest.mark.parametrize(("after", "mark"), [("finish", '"stop"'), ("usage", '"prompt_tokens"'), ("done", "[DONE]")])
@pytest.mark.parametrize("hide", ["", " hide=unknown_member"])
async def test_more_words_come_after_the_end(hostile_sim: Simulator, after: str, mark: str, hide: str) -> None:
    seen, truth = await call(hostile_sim, f"[[tokens=5 more=3 more_after={after}{hide}]]")
    place = next(at for at, event in enumerate(seen.events) if mark in event)
    assert "garden" in seen.events[place + 3]
    assert truth["output_tokens"] == 8
    assert usages(seen) == [(truth["input_tokens"], 5)]


async def test_a_finish_reason_comes_before_the_words(hostile_sim: Simulator) -> None:
    seen, truth = await call(hostile_sim, "[[tokens=5 early_finish=1]]")
    assert '"finish_reason":"stop"' in seen.events[1]
    assert (seen.words, truth["output_tokens"]) == (text_of(5), 5)


async def test_an_answer_comes_twice(hostile_sim: Simulator) -> None:
    seen, truth = await call(hostile_sim, "[[tokens=5 told_twice=1]]")
    assert (seen.words, truth["output_tokens"]) == (text_of(5) * 2, 10)
    assert seen.events.count("[DONE]") == 2


async def test_words_in_the_place_of_a_finish_reason_are_none(hostile_sim: Simulator) -> None:
    text = "[[tokens=5 hide=finish_reason stall_after_finish=60000]]"
    seen, truth = await call(hostile_sim, text, quiet_seconds=A_WHILE_SECONDS)
    assert [event.count("finish_reason") for event in seen.events][1:6] == [1] * 5
    assert (seen.ended, truth["output_tokens"]) == ("open", 5)


@in_every_format
async def test_silence_follows_the_finish_reason(hostile_sim: Simulator, speaks: Format) -> None:
    text = "[[tokens=5 stall_after_finish=60000]]"
    seen = await speaks.call(hostile_sim, text, stream=True, quiet_seconds=A_WHILE_SECONDS)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    assert (truth["ending"], truth["output_tokens"]) == ("client_closed", 5)
    assert seen.ended == "open"
