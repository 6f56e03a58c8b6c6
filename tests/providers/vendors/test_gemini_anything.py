"""Whatever callers ask and whatever the vendor answers: the wire files of Gemini with any part replaced by anything."""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.calls.test_chat import json_values
from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, an_account, an_order, events_in, told_by
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.errors import BadRequest
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.gemini import Gemini
from tollkeeper.providers.vendors.gemini_to_chat import ContentStream, whole_answer

GOLDEN = Path(__file__).parent / "golden" / "gemini"
GEMINI = Gemini()
HEADING = Heading("", 0, "m")
# As deep as can be read, and as can be written: nowhere between the two does anything break.
DEPTHS = (1, *range(800, 1_000), 10_000)


def files(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob(f"*/{name}"))]


ASKED = [json.loads(file) for file in files("asked.json")]
ANSWERS = [json.loads(file) for file in files("heard.json")]
STREAMS = [[json.loads(data) for data in events_in(file)] for file in files("heard.sse")]


@st.composite
def mutated(draw: st.DrawFn, values: Sequence[Any]) -> Any:
    """One of the values, in which up to three parts, or the whole, are something else."""
    value = [copy.deepcopy(draw(st.sampled_from(values)))]
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(value))))
        holder[key] = draw(json_values)
    return value[0]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def is_sent(asked: object) -> bool:
    """Whether an order goes out; otherwise it is the caller's to correct."""
    try:
        GEMINI.chat(read_chat(encoded(asked)), an_account(), most_output_tokens=MOST_OUTPUT_TOKENS)
    except BadRequest:
        return False
    return True


def is_told(answer: bytes) -> bool:
    """Whether an answer is one, which the meter then takes for one as well."""
    try:
        told = whole_answer(answer, HEADING, one_tool_call=False)
    except NotAnAnswer:
        return False
    WholeMeter().read(told)
    return True


def seen_in(answers: Iterable[bytes], *, one_tool_call: bool = False) -> set[Event]:
    """What the meter sees in a stream of answers."""
    stream, meter = ContentStream(HEADING, one_tool_call=one_tool_call), Meter()
    return {meter.read_event(data) for answer in answers for data in events_in(stream.read(answer))}


@given(asked=mutated(ASKED))
@settings(max_examples=400)
def test_any_order_is_sent_or_refused(asked: object) -> None:
    is_sent(asked)


def test_the_orders_of_the_wire_files_are_sent() -> None:
    assert all(map(is_sent, ASKED))


def test_arguments_of_any_depth_are_sent_or_refused() -> None:
    outcomes = []
    for depth in DEPTHS:
        function = {"name": "f", "arguments": '{"a":' + "[" * depth + "]" * depth + "}"}
        message = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
        outcomes.append(is_sent({"model": "m", "messages": [message]}))
    assert outcomes[0] is True
    assert outcomes[-1] is False


@given(answer=mutated(ANSWERS) | json_values)
@settings(max_examples=300)
def test_any_whole_answer_is_told_or_is_none(answer: object) -> None:
    is_told(encoded(answer))


def test_the_answers_of_the_wire_files_are_told() -> None:
    assert all(is_told(encoded(answer)) for answer in ANSWERS)


@given(events=mutated(STREAMS) | st.lists(mutated(ANSWERS), max_size=3), one_tool_call=st.booleans())
@settings(max_examples=300)
def test_any_stream_of_json_is_told_as_the_protocol_has_it(events: object, *, one_tool_call: bool) -> None:
    answers = map(encoded, events if isinstance(events, list) else [events])
    assert Event.MALFORMED not in seen_in(answers, one_tool_call=one_tool_call)


@given(answer=st.binary())
def test_any_bytes_are_told_or_are_none(answer: bytes) -> None:
    assert is_told(answer) is False
    seen_in([answer])


def test_calls_of_any_depth_are_told_or_are_none() -> None:
    outcomes = []
    for depth in DEPTHS:
        nested = b"[" * depth + b"]" * depth
        answer = b'{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"a":' + nested + b"}}}]}}]}"
        outcomes.append((is_told(answer), Event.PASSES in seen_in([answer])))
    assert outcomes[0] == (True, True)
    assert outcomes[-1] == (False, False)


@given(data=st.data(), events=st.sampled_from(STREAMS))
async def test_a_stream_is_told_the_same_however_it_is_cut(data: st.DataObject, events: list[Any]) -> None:
    stream = b"".join(b"data: " + encoded(event) + b"\r\n\r\n" for event in events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert await told_in(filter(None, pieces)) == await told_in([stream])


async def told_in(pieces: Iterable[bytes]) -> list[Any]:
    told = events_in(await told_by(GEMINI, pieces, an_order(stream=True)))
    return [data if data == b"[DONE]" else json.loads(data) | {"created": 0} for data in told]
