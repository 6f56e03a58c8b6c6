"""Responses as the meter reads them: every word counted once, the report whole, failures seen."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given

from tests.core.calls.test_chat import json_values
from tests.providers.vendors.builders import Heard, an_account, events_in, metered
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.native import Dialect
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.tokens import count
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.dialects.responses.order import read_responses
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.response_words import SILENT_AGAIN, SILENT_IN, SILENT_IN_WHOLE
from tollkeeper.providers.vendors.responses_to_chat import ResponseStream, usage_in, whole_answer

HEADING = Heading("", 0, "m")
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 29,
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Good morning", "annotations": [], "logprobs": []}],
}
THOUGHTS = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAABsealed"}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"at":"it"}'}
PATCH = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** Begin"}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "why"}}


def a_response(*output: object, **more: object) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": USAGE} | more


def told(each: Iterable[dict[str, Any]]) -> bytes:
    stream = ResponseStream(HEADING)
    return b"".join(stream.read(json.dumps(event).encode()) for event in each)


def delta(kind: str, item_id: str, text: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "item_id": item_id, "delta": text}


def added(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": item | {"content": [], "arguments": "", "input": ""}}


def done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


BEGIN = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}


def end(*output: object, kind: str = "completed", **more: object) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": a_response(*output, status=kind, **more)}


def test_every_delta_is_counted_and_what_is_told_again_is_not() -> None:
    stream = told(
        [
            BEGIN,
            added(MESSAGE),
            delta("output_text", "msg_1", "Good "),
            delta("output_text", "msg_1", "morning"),
            {"type": "response.output_text.done", "item_id": "msg_1", "text": "Good morning"},
            done(MESSAGE),
            end(MESSAGE, usage=None),
        ]
    )
    meter = metered(stream)
    assert meter.finished
    assert meter.reported is None
    assert meter.output_tokens == count("Good morning")


def test_what_an_item_says_without_deltas_is_counted_when_it_is_done() -> None:
    stream = told([BEGIN, added(MESSAGE), delta("output_text", "msg_1", "Good "), done(MESSAGE), done(SEARCH)])
    assert metered(stream).output_tokens == count("Good morningwhy")


@pytest.mark.parametrize(
    "kind",
    [
        "reasoning_text",
        "reasoning_summary_text",
        "refusal",
        "code_interpreter_call_code",
        "mcp_call_arguments",
        "audio.transcript",
        "something_new",
    ],
)
def test_a_delta_of_anything_is_output(kind: str) -> None:
    assert metered(told([BEGIN, delta(kind, "x_1", "so many words")])).output_tokens == count("so many words")


def test_calls_of_the_callers_tools_are_counted_with_their_names() -> None:
    stream = told(
        [
            BEGIN,
            added(CALL),
            delta("function_call_arguments", "fc_1", CALL["arguments"]),
            done(CALL),
            added(PATCH),
            delta("custom_tool_call_input", "ctc_1", "*** "),
            done(PATCH),
            end(CALL, PATCH),
        ]
    )
    chunks = [json.loads(data) for data in events_in(stream) if data != b"[DONE]"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]][-1] == "tool_calls"
    assert metered(stream).output_tokens == sum(map(count, ("look", '{"at":"it"}', "patch", "*** Begin")))


def test_the_report_has_what_was_cached_and_written_and_how_often_tools_were_used() -> None:
    stream = told([BEGIN, done(SEARCH), done(SEARCH), end(SEARCH, SEARCH, MESSAGE)])
    report = json.loads(events_in(stream)[-2])
    assert report["usage"] == {
        "prompt_tokens": 20,
        "completion_tokens": 9,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 4},
        "server_tool_use": {"web_search_requests": 2},
    }
    reported = metered(stream).reported
    assert reported is not None
    assert (reported.input_units, reported.output_units, reported.cached_units) == (20, 9, 5)


def test_the_vendors_own_count_of_searches_is_believed() -> None:
    answer = a_response(SEARCH, SEARCH, tool_usage={"web_search": {"num_requests": 1}, "image_gen": {}})
    assert (usage_in(answer, {"web_search": 2}) or {})["server_tool_use"] == {"web_search_requests": 1}


async def test_pictures_are_no_words() -> None:
    picture = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "iVBORw0K" * 1_000}
    partial = {"type": "response.image_generation_call.partial_image", "partial_image_b64": "iVBORw0K" * 1_000}
    assert metered(told([BEGIN, partial, done(picture)])).output_tokens == 0
    meter = WholeMeter()
    meter.read(whole_answer(json.dumps(a_response(picture, MESSAGE)).encode(), HEADING))
    assert meter.output_tokens == count("Good morning")
    events = [b"data: %b\n\n" % json.dumps(event).encode() for event in (BEGIN, partial, done(picture), end(picture))]
    heard = VENDORS["openai"].read_native(Heard(events), read_responses(b'{"model":"m","input":"Hi","stream":true}'))
    while await heard.read():
        pass
    assert heard.untranslated is not None
    assert heard.untranslated.characters == 0


@pytest.mark.parametrize(
    ("reason", "finish_reason"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "length"), (None, "length")],
)
def test_an_answer_that_is_incomplete_says_why(reason: str | None, finish_reason: str) -> None:
    details = None if reason is None else {"reason": reason}
    stream = told([BEGIN, end(MESSAGE, kind="incomplete", incomplete_details=details)])
    [choice] = [json.loads(data)["choices"][0] for data in events_in(stream) if b'"finish_reason":"' in data]
    assert choice["finish_reason"] == finish_reason


@pytest.mark.parametrize(
    "failed",
    [
        {"type": "error", "code": "server_error", "message": "No more", "param": None},
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "No more"}}},
    ],
    ids=["error", "failed"],
)
def test_a_failure_is_an_error(failed: dict[str, Any]) -> None:
    meter = Meter()
    assert meter.read_event(events_in(told([failed]))[0]) is Event.ERROR


def test_a_whole_response_is_read_like_its_events() -> None:
    meter = WholeMeter()
    meter.read(whole_answer(json.dumps(a_response(THOUGHTS, MESSAGE, CALL)).encode(), HEADING))
    assert meter.output_tokens == count("Good morning") + count("look") + count('{"at":"it"}')
    assert meter.reported is not None
    assert meter.reported.output_units == 9


# As OpenAI says again what was asked for, and how it went, in every response.
ECHO: dict[str, Any] = {
    "created_at": 1_760_000_000,
    "completed_at": 1_760_000_009,
    "background": False,
    "error": None,
    "incomplete_details": {"reason": "max_output_tokens"},
    "instructions": "Be brief.",
    "max_output_tokens": 200,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": "k",
    "reasoning": {"effort": "low"},
    "service_tier": "default",
    "store": False,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": "ada",
    "metadata": {"a": "b"},
}


@pytest.mark.parametrize(
    ("more", "tokens"),
    [
        pytest.param(ECHO, 0, id="echo"),
        pytest.param({"murmur": "one two three"}, count("one two three"), id="unknown"),
        pytest.param({"murmur": {"text": {"prompt": "one two three"}}}, count("one two three"), id="deeper"),
    ],
)
def test_what_a_whole_response_says_again_of_its_order_is_no_output(more: dict[str, Any], tokens: int) -> None:
    body = json.dumps(a_response(MESSAGE, **more)).encode()
    unheard = LeftOut()
    unheard.note_whole(body, whole_answer(body, HEADING), frozenset(), SILENT_IN_WHOLE)
    assert unheard.tokens == tokens


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"status":"failed","output":[]}', b'{"error":{"message":"x"}}'])
def test_what_is_no_response_is_no_answer(body: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        whole_answer(body, HEADING)


@given(json_values)
def test_nothing_that_a_provider_could_send_is_an_exception(value: Any) -> None:
    stream = ResponseStream(HEADING)
    for kind in ("response.created", "response.output_item.added", "response.output_item.done", "response.completed"):
        stream.read(json.dumps({"type": kind, "item": value, "response": value, "delta": value}).encode())
    stream.read(json.dumps(value).encode())


async def test_an_event_passes_as_it_came_beside_what_it_says_in_chat() -> None:
    order = read_responses(b'{"model":"m","input":"Hi","stream":true}')
    events = [BEGIN, added(MESSAGE), delta("output_text", "msg_1", "Good morning"), done(MESSAGE), end(MESSAGE)]
    sent = [json.dumps(event).encode() for event in events]
    heard = VENDORS["openai"].read_native(Heard([b"data: %b\n\n" % data for data in sent]), order)
    passed = []
    while await heard.read():
        passed.append(heard.native)
    assert passed == sent
    # What was told again is no text that nobody heard of.
    assert heard.untranslated is not None
    assert heard.untranslated.characters == 0


@pytest.mark.parametrize(
    ("vendor", "base_url", "is_spoken"),
    [
        ("openai", "https://api.openai.com/v1", True),
        ("azure", "https://a.openai.azure.com/openai/v1", True),
        ("azure", "https://a.openai.azure.com", False),
        ("anthropic", "https://api.anthropic.com", False),
        ("gemini", "https://g.example", False),
    ],
)
def test_who_speaks_the_protocol_is_asked_in_it(vendor: str, base_url: str, is_spoken: bool) -> None:
    account = an_account(vendor, base_url=base_url, models={"m": "theirs"})
    assert VENDORS[vendor].speaks(Dialect.RESPONSES, account) is is_spoken
    if is_spoken:
        order = read_responses(b'{"model":"m","input":"Hi","store":true,"metadata":{}}')
        address, _, body = VENDORS[vendor].chat(order, account, most_output_tokens=9)
        assert address == f"{base_url}/responses"
        assert json.loads(body) == {"model": "theirs", "input": "Hi", "store": False}


def test_what_an_account_does_not_take_is_spared_or_refused_natively_too() -> None:
    order = read_responses(b'{"model":"m","input":"Hi","temperature":1,"parallel_tool_calls":true,"tools":[]}')
    spared = an_account(rejects=frozenset({"temperature", "store"}))
    _, _, body = VENDORS["openai"].chat(order, spared, most_output_tokens=9)
    assert json.loads(body).keys() == {"model", "input", "parallel_tool_calls", "store"}
    with pytest.raises(UnsupportedParameter, match="parallel_tool_calls"):
        VENDORS["openai"].chat(order, an_account(rejects=frozenset({"parallel_tool_calls"})), most_output_tokens=9)


def test_names_of_what_says_nothing_are_not_the_names_of_deltas() -> None:
    assert all("delta" not in names for names in (*SILENT_AGAIN.values(), *SILENT_IN.values()))


LONG = "Every word of it is counted, whatever the event is called that has it. " * 8


async def left_out(*told_events: dict[str, Any]) -> int:
    """What is charged where nothing is reported: words that were told, and those that were left out."""
    events = [b"data: %b\n\n" % json.dumps(event).encode() for event in told_events]
    heard = VENDORS["openai"].read_native(Heard(events), read_responses(b'{"model":"m","input":"Hi","stream":true}'))
    stream = b""
    while piece := await heard.read():
        stream += piece
    meter = metered(stream)
    assert heard.untranslated is not None
    meter.note_untranslated(heard.untranslated)
    return meter.output_tokens


@pytest.mark.parametrize("name", ["text", "message", "code", "result", "response", "item", "part", "arguments", "name"])
async def test_in_an_event_that_nobody_knows_every_member_is_text(name: str) -> None:
    for value in (LONG, {"deep": [{"er": LONG}]}):
        unknown = {"type": "response.murmur", "sequence_number": 7, "item_id": "x_1", name: value}
        assert await left_out(BEGIN, unknown) >= count(LONG)


@pytest.mark.parametrize(
    "hidden",
    [
        pytest.param(delta("output_text", "msg_1", "x") | {"text": LONG}, id="beside a delta"),
        pytest.param(delta("output_text", "msg_1", "x") | {"logprobs": [{"token": LONG}]}, id="logprobs of a delta"),
        pytest.param(delta("output_text", "msg_1", "x") | {"obfuscation": LONG}, id="noise"),
        pytest.param(
            {"type": "response.output_text.done", "item_id": "msg_1", "text": LONG}, id="said at the end alone"
        ),
        pytest.param({"type": "response.content_part.added", "part": {"text": LONG}}, id="part"),
        pytest.param({"type": "response.output_item.added", "item": MESSAGE | {"name": LONG}}, id="name of an item"),
        pytest.param({"type": "response.output_item.added", "item": CALL | {"arguments": LONG}}, id="arguments"),
        pytest.param({"type": "response.output_item.done", "item": MESSAGE | {"result": LONG}}, id="no picture"),
        pytest.param(end(MESSAGE | {"content": [{"text": LONG}]}, usage=None), id="in the whole response alone"),
    ],
)
async def test_text_in_an_event_that_is_known_counts_where_it_says_nothing_again(hidden: dict[str, Any]) -> None:
    assert await left_out(BEGIN, hidden) >= 60


async def test_what_is_said_again_at_the_end_of_each_thing_counts_once() -> None:
    part = {"type": "output_text", "text": "Good morning", "annotations": [], "logprobs": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "sequence_number": 9}
    counted = await left_out(
        BEGIN,
        added(MESSAGE),
        {"type": "response.content_part.added", "part": part | {"text": ""}} | place,
        delta("output_text", "msg_1", "Good ") | {"logprobs": [], "obfuscation": "x7Gh2"} | place,
        delta("output_text", "msg_1", "morning") | {"logprobs": [], "obfuscation": "x7G"} | place,
        {"type": "response.output_text.done", "text": "Good morning", "logprobs": []} | place,
        {"type": "response.content_part.done", "part": part} | place,
        done(MESSAGE),
        added(CALL),
        delta("function_call_arguments", "fc_1", CALL["arguments"]),
        {"type": "response.function_call_arguments.done", "item_id": "fc_1", "arguments": CALL["arguments"]},
        done(CALL),
        end(MESSAGE | {"id": "of another name"}, CALL, usage=None),
    )
    assert counted == count("Good morning") + count("look") + count(CALL["arguments"])
