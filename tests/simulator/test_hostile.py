"""A malicious provider's output: wherever it hides it is on the wire, and the truth counts it."""

import asyncio
import json
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.simulator.formats import ANTHROPIC, FORMATS, GEMINI, OPENAI, Format
from tests.simulator.raw import Seen, look, look_and_know, request
from tollkeeper_simulator.hostile.directions import NAMES
from tollkeeper_simulator.hostile.forms import as_it_is
from tollkeeper_simulator.hostile.openai_forms import FORMS as OPENAI_FORMS
from tollkeeper_simulator.hostile.wording import FORMS
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator

# A whole answer has its usage twice then.
IN_USAGE = {"usage_text", "usage_alone"}
HIDDEN = [(speaks, name) for speaks in FORMATS for name in FORMS[speaks.name]]
hidden = pytest.mark.parametrize(("speaks", "form"), HIDDEN, ids=[f"{speaks.name}-{name}" for speaks, name in HIDDEN])
in_every_format = pytest.mark.parametrize("speaks", FORMATS, ids=[speaks.name for speaks in FORMATS])
streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def told(speaks: Format, seen: Seen) -> Iterator[str]:
    """Every text in the JSON that was sent, and every name."""
    left: list[object] = list(speaks.told(seen))
    while left:
        value = left.pop(0)
        if isinstance(value, dict):
            left = [*(part for pair in value.items() for part in pair), *left]
        elif isinstance(value, list):
            left = [*value, *left]
        elif isinstance(value, str):
            yield value


def test_no_hostile_direction_has_an_ordinary_name() -> None:
    assert "tokens" not in NAMES
    assert "hostile" not in NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
async def test_without_the_option_a_hostile_direction_is_refused_and_the_option_is_named(
    sim: Simulator, name: str
) -> None:
    seen = await look(sim, f"[[{name}=1]]")
    assert seen.status == 400
    assert "--hostile" in json.loads(seen.body)["error"]["message"]


@pytest.mark.parametrize(
    "direction", ["nonsense=1", "hide=nowhere", "hostile=1", "deep=-1", "raw_status=1000", "endless=patience"]
)
async def test_a_hostile_direction_that_cannot_be_done_is_told(hostile_sim: Simulator, direction: str) -> None:
    seen = await look(hostile_sim, f"[[{direction}]]")
    assert (seen.status, json.loads(seen.body)["error"]["code"]) == (400, "bad_direction")


@streamed_or_not
@hidden
async def test_output_is_in_the_form_that_hides_it_and_counts(
    hostile_sim: Simulator, speaks: Format, form: str, stream: bool
) -> None:
    seen = await speaks.call(hostile_sim, f"[[tokens=12 per_chunk=3 hide={form}]]", stream=stream)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    assert (seen.status, truth["output_tokens"], truth["ending"]) == (200, 12, "finished")
    assert (FORMS[speaks.name][form].before in seen.body) or (stream and speaks is ANTHROPIC)
    if FORMS[speaks.name][form].wording is as_it_is:
        assert all(word in "".join(told(speaks, seen)) for word in text_of(12).split()) or form in IN_USAGE
    assert form in IN_USAGE or speaks.last_usage(seen) == (truth["input_tokens"], 12)


@streamed_or_not
async def test_output_can_be_spread_over_all_forms(hostile_sim: Simulator, stream: bool) -> None:
    seen, truth = await look_and_know(hostile_sim, "[[tokens=40 hide=all]]", stream=stream)
    assert truth["output_tokens"] == 40
    members = ("custom", "function_call", "reasoning_details", "audio", "images", "thinking_blocks", "logprobs")
    assert all(f'"{member}":'.encode() in seen.body for member in members)
    assert sum(form.before in seen.body for form in OPENAI_FORMS.values()) > 15


async def test_the_truth_tells_by_when_how_much_was_made(hostile_sim: Simulator) -> None:
    began = time.monotonic()
    _, truth = await look_and_know(hostile_sim, "[[tokens=6 chunk_ms=5 hide=reasoning timeline=true]]", stream=True)
    moments = [moment for moment, _ in truth["made_at"]]
    assert [tokens for _, tokens in truth["made_at"]] == [1, 2, 3, 4, 5, 6]
    assert began <= moments[0]
    assert moments == sorted(moments)
    assert moments[-1] <= time.monotonic()


async def test_a_timeline_is_bounded_and_keeps_its_end(sim: Simulator) -> None:
    _, truth = await look_and_know(sim, "[[tokens=9000 chunk_ms=0.001 timeline=true]]", stream=True, max_tokens=5_000)
    assert len(truth["made_at"]) <= 4_096
    assert truth["made_at"][-1][1] == truth["output_tokens"] == 5_000


async def test_the_timeline_of_a_caller_who_left_ends_when_it_left(hostile_sim: Simulator) -> None:
    request_id = uuid4().hex
    reader, writer = await asyncio.open_connection("127.0.0.1", hostile_sim.port)
    writer.write(request("[[tokens=5000 chunk_ms=5 hide=top_level timeline=true]]", request_id, stream=True))
    await reader.readuntil(b" garden")
    writer.close()
    truth = await asyncio.to_thread(hostile_sim.wait_for, request_id)
    assert truth["ending"] == "client_closed"
    assert truth["made_at"][-1][1] == truth["output_tokens"] < 5_000


async def test_without_a_timeline_the_truth_has_none(sim: Simulator) -> None:
    _, truth = await look_and_know(sim, "hi")
    assert "made_at" not in truth


@streamed_or_not
async def test_choices_that_nobody_asked_for_count(hostile_sim: Simulator, stream: bool) -> None:
    seen, truth = await look_and_know(hostile_sim, "[[tokens=5 extra_choices=2]]", stream=stream)
    assert truth["output_tokens"] == 15
    assert b'"index":2' in seen.body


@streamed_or_not
@pytest.mark.parametrize(("given", "index"), [("-1", -1), ("1000000000", 10**9), ("0.5", 0.5), ("'x'", "x")])
async def test_a_choice_has_any_index(hostile_sim: Simulator, given: str, index: object, stream: bool) -> None:
    seen = await OPENAI.call(hostile_sim, f"[[tokens=3 index={given}]]", stream=stream)
    found = [choice["index"] for answer in OPENAI.told(seen) for choice in answer["choices"]]
    assert found
    assert all(one == index for one in found)


@streamed_or_not
async def test_a_cap_can_be_ignored_and_thoughts_are_told_in_the_usage_alone(
    hostile_sim: Simulator, stream: bool
) -> None:
    text = "[[tokens=30 thinking=500 ignore_cap=1]]"
    seen = await OPENAI.call(hostile_sim, text, stream=stream, max_tokens=10)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    assert OPENAI.spoken(seen) == text_of(30)
    assert (truth["output_tokens"], truth["thinking_tokens"]) == (530, 500)
    assert OPENAI.last_usage(seen) == (truth["input_tokens"], 530)


@in_every_format
async def test_directions_of_one_format_are_refused_in_others(hostile_sim: Simulator, speaks: Format) -> None:
    seen = await speaks.call(hostile_sim, "[[early_finish=1]]", stream=True)
    assert seen.status == (400 if speaks in (ANTHROPIC, GEMINI) else 200)
