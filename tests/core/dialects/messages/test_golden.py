"""Wire files: what a Messages order becomes in chat and at a provider that speaks it, and how answers are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.messages import events
from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, an_account
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.dialects.answer_writer import AnswerHeading, Closing
from tollkeeper.core.dialects.messages.answer_writer import MessagesWriter
from tollkeeper.core.dialects.messages.order import read_messages
from tollkeeper.core.money.prices import Usage

GOLDEN = Path(__file__).parent / "golden"
COUNTED = Usage(100, 7)


def cases(kind: str) -> list[Path]:
    return sorted((GOLDEN / kind).iterdir())


def a_writer() -> MessagesWriter:
    return MessagesWriter(AnswerHeading(request_id="0123", model="our-model", input_tokens=100, asked_to_think=True))


def data_in(stream: bytes) -> list[bytes]:
    return [data for event in EventSplitter().feed(stream) if (data := data_of(event))]


@pytest.mark.parametrize("case", cases("orders"), ids=lambda case: case.name)
def test_an_order_becomes_chat_and_goes_to_who_speaks_it_as_it_came(case: Path) -> None:
    asked = (case / "asked.json").read_bytes()
    order = read_messages(Spoken(asked))
    assert json.loads(order.body) == json.loads((case / "chat.json").read_text())
    _, _, body = VENDORS["anthropic"].chat(order, an_account("anthropic"), most_output_tokens=MOST_OUTPUT_TOKENS)
    assert json.loads(body) == json.loads(asked) | {"model": json.loads(body)["model"]}


@pytest.mark.parametrize("case", cases("whole"), ids=lambda case: case.name)
def test_a_whole_chat_answer_is_told_as_a_message(case: Path) -> None:
    heard, meter = (case / "heard.json").read_bytes(), WholeMeter()
    meter.read(heard)
    told = a_writer().write_whole(heard, Closing(usage=meter.reported or COUNTED))
    assert json.loads(told) == json.loads((case / "told.json").read_text())


@pytest.mark.parametrize("case", cases("streams"), ids=lambda case: case.name)
def test_a_chat_stream_is_told_as_events(case: Path) -> None:
    writer, meter, told = a_writer(), Meter(), b""
    for data in data_in((case / "heard.sse").read_bytes()):
        meter.read_event(data)
        if data != b"[DONE]":
            told += writer.write_chunk(data)
    told += writer.end(Closing(usage=meter.reported or COUNTED))
    assert meter.finished
    assert events(told) == events((case / "told.sse").read_bytes())


@pytest.mark.parametrize("case", cases("passed"), ids=lambda case: case.name)
def test_a_providers_own_stream_passes_but_for_the_models_name(case: Path) -> None:
    writer = a_writer()
    heard = data_in((case / "heard.sse").read_bytes())
    passed = b"".join(writer.pass_event(data, None) for data in heard) + writer.end(Closing(usage=COUNTED))
    assert [renamed(data) for data in heard] == [json.loads(data) for data in data_in(passed)]
    # But for the first, to the byte.
    assert data_in(passed)[1 : len(heard)] == heard[1:]


def renamed(data: bytes) -> Any:
    told = json.loads(data)
    return told | {"message": told["message"] | {"model": "our-model"}} if "message" in told else told
