"""What of a report has a price of its own."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.calls.reported_usage import ReportedUsage, usage_in
from tollkeeper.core.money.charge import plausible
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage


def read(asked: object = None, told: object = None, **more: object) -> Usage:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, **more}
    if asked is not None:
        usage["prompt_tokens_details"] = asked
    if told is not None:
        usage["completion_tokens_details"] = told
    found = usage_in(msgspec.json.decode(json.dumps(usage), type=ReportedUsage))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("asked", "told", "cached", "parts"),
    [
        pytest.param({"cached_tokens": 10, "audio_tokens": 0}, {"reasoning_tokens": 5}, 10, None, id="plain"),
        pytest.param({"cache_write_tokens": 0, "cache_creation": {}}, {}, 0, None, id="all are zero"),
        pytest.param({"cache_write_tokens": 30}, {}, 0, {"written_5m": 30}, id="written, for how long is not said"),
        pytest.param(
            {"cache_write_tokens": 30, "cache_creation": {"ephemeral_1h_input_tokens": 30}},
            {},
            0,
            {"written_1h": 30},
            id="written for an hour",
        ),
        pytest.param(
            {"cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}},
            {},
            0,
            {"written_5m": 10, "written_1h": 20},
            id="written for both",
        ),
        pytest.param(
            {"cache_write_tokens": 15, "cache_creation": {"ephemeral_1h_input_tokens": 20}},
            {},
            0,
            {"written_1h": 15},
            id="no more than in all",
        ),
        pytest.param(
            {"audio_tokens": 40, "image_tokens": 9}, {}, 0, {"audio_input": 40, "image_input": 9}, id="media asked"
        ),
        pytest.param(
            {}, {"audio_tokens": 11, "image_tokens": 9}, 0, {"audio_output": 11, "image_output": 9}, id="media told"
        ),
        pytest.param(
            {"audio_tokens": 40, "cached_tokens": 80}, {}, 80, {"audio_input": 20}, id="audio that must be cached"
        ),
        pytest.param(
            {"audio_tokens": 30, "image_tokens": 60, "cached_tokens": 50},
            {},
            50,
            {"image_input": 50},
            id="audio first, then images",
        ),
        pytest.param(
            {"audio_tokens": 40, "cached_tokens": 50, "cached_tokens_details": {"audio_tokens": 35}},
            {},
            50,
            {"audio_input": 5},
            id="audio that is said to be cached",
        ),
        pytest.param({"audio_tokens": "40", "image_tokens": True}, {"audio_tokens": []}, 0, None, id="no numbers"),
    ],
)
def test_a_share_of_the_input_is_of_one_part_only(asked: Any, told: Any, cached: int, parts: Any) -> None:
    found = read(asked, told)
    assert found == Usage(100, 20, cached, None if parts is None else UsageParts(**parts))
    assert plausible(found, 1_000)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"audio_tokens": 101}, {}),
        ({"audio_tokens": -1}, {}),
        ({"image_tokens": -1, "audio_tokens": 200, "cached_tokens": 90}, {}),
        ({"cache_write_tokens": 101}, {}),
        ({"cache_write_tokens": -5}, {}),
        ({"cache_write_tokens": 60, "cached_tokens": 60}, {}),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 101}}, {}),
        ({}, {"audio_tokens": 21}),
        ({}, {"image_tokens": 10, "audio_tokens": 11}),
    ],
)
def test_what_cannot_be_is_not_believed(asked: Any, told: Any) -> None:
    assert not plausible(read(asked, told), 1_000)


def test_uses_of_a_vendors_tools_are_known_by_the_tools_name() -> None:
    found = read(server_tool_use={"web_search_requests": 3, "web_fetch_requests": 0, "code_execution": 1})
    assert found.parts == UsageParts(tools={"web_search": 3, "code_execution": 1})
    assert read(server_tool_use={"web_search_requests": 0}).parts is None


def test_a_report_carries_no_text_into_the_books() -> None:
    told = {"the caller said that": 1, "ü" * 10: 1, "a" * 41: 1, "": 1, "web_search": "often", "x": True}
    assert read(server_tool_use=told).parts is None
    assert read(server_tool_use=["web_search"]).parts is None
    many = read(server_tool_use={f"tool_{number}": 1 for number in range(1_000)}).parts
    assert many is not None
    assert len(many.tools) == 16


def test_a_tool_that_was_used_less_than_never_is_not_believed() -> None:
    assert not plausible(read(server_tool_use={"web_search_requests": -1}), 1_000)
    assert plausible(read(server_tool_use={"web_search_requests": 10**9}), 1_000)


COUNTS = st.integers(0, 100)


@given(cached=COUNTS, written=COUNTS, image=COUNTS, audio=COUNTS)
def test_of_media_and_caches_that_fit_each_by_itself_every_token_is_counted_once(
    cached: int, written: int, image: int, audio: int
) -> None:
    details = {"cached_tokens": cached, "cache_write_tokens": written, "image_tokens": image, "audio_tokens": audio}
    assert plausible(read(details), 1_000) == (cached + written <= 100 and image + audio <= 100)


@pytest.mark.parametrize(
    ("thought", "total", "output"),
    [
        pytest.param(100, 220, 120, id="beside the completion"),
        pytest.param(15, 120, 20, id="in the completion"),
        pytest.param(100, 120, 20, id="not in the total"),
        pytest.param(100, None, 20, id="without a total"),
        pytest.param("100", 220, 20, id="no number"),
        pytest.param(-5, 115, 20, id="less than nothing"),
        pytest.param(None, 120, 20, id="none"),
    ],
)
def test_thoughts_beside_the_completion_are_output(thought: object, total: object, output: int) -> None:
    assert read(told={"reasoning_tokens": thought}, total_tokens=total) == Usage(100, output, beside_units=output - 20)
