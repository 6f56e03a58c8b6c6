"""Answers as they are written for callers of a dialect: whatever a provider sends, what goes out are whole
events, or nothing.

The same bytes are taken as chat, which is translated, and as the dialect's own, which pass.
"""

import json

from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.core.dialects.answer_writer import AnswerHeading, AnswerWriter, Closing
from tollkeeper.core.dialects.messages.answer_writer import MessagesWriter
from tollkeeper.core.dialects.responses.answer import ResponseEcho
from tollkeeper.core.dialects.responses.answer_writer import ResponsesWriter
from tollkeeper.core.dialects.responses.tools import CalledTool
from tollkeeper.core.errors import StreamBroken
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.prices import Usage
from tools.fuzz.pieces import PIECE_BYTES
from tools.fuzz.target import Grown, Target
from tools.fuzz.targets import anthropic_answer, responses_answer
from tools.fuzz.vendors import ANSWER_BYTES_MOST

HEADING = AnswerHeading(request_id="7", model="m", input_tokens=9)
CLOSING = Closing(usage=Usage(9, 5), cost=Quota(1_000_000))
ECHO = ResponseEcho.of("m", {})
TOOLS = {"c": CalledTool("c", is_custom=True), "n__f": CalledTool("f", "n")}


def writers() -> tuple[AnswerWriter, ...]:
    return MessagesWriter(HEADING), ResponsesWriter(HEADING, ECHO, TOOLS)


def check(data: bytes) -> None:
    events = [told for event in EventSplitter().feed(data + b"\n\n") if (told := data_of(event))]
    for writer in writers():
        _check_events(b"".join(map(writer.write_chunk, events)) + writer.end(CLOSING))
    for writer in writers():
        _check_events(b"".join(map(writer.write_chunk, events)) + writer.end_short(CLOSING))
    for writer in writers():
        passed = b"".join(writer.pass_event(event, CLOSING) for event in events)
        _check_framing(passed + writer.end(CLOSING))
    failing = ResponsesWriter(HEADING, ECHO, TOOLS)
    for event in events:
        failing.pass_event(event, None)
    # Those before the last have waited, and are the provider's own.
    *_, (kind, last) = _check_framing(failing.fail(StreamBroken()))
    assert kind == f"event: {json.loads(last)['type']}"
    for writer in writers():
        try:
            json.loads(writer.write_whole(data, CLOSING))
        except NotAnAnswer:
            continue
        writer.pass_whole(data)


def _check_events(told: bytes) -> None:
    for kind, data in _check_framing(told):
        read = json.loads(data)
        assert kind == f"event: {read['type']}", told


def _check_framing(told: bytes) -> list[tuple[str, str]]:
    """Each event has its kind, and then its data."""
    splitter, found = EventSplitter(), []
    for event in splitter.feed(told):
        kind, _, data = event.decode(errors="replace").strip("\n").partition("\n")
        assert kind.startswith("event: "), event
        assert all(line.startswith("data: ") for line in data.split("\n")), event
        found.append((kind, data.removeprefix("data: ")))
    assert not splitter.rest
    return found


def work(data: bytes) -> None:
    # In one of both, as a call does.
    writer = writers()[len(data) % 2]
    for event in EventSplitter().feed(data[:PIECE_BYTES] + b"\n\n"):
        if told := data_of(event):
            writer.write_chunk(told)
    writer.end(CLOSING)


def _chunks(*deltas: object) -> bytes:
    told = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    told.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told) + b"data: [DONE]\n\n"


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "c", "arguments": '{"input":"x"}'}}
MESSAGE = {"role": "assistant", "content": "Hi", "reasoning_content": "hm", "tool_calls": [CALL]}
_CHUNK = b'data: {"choices":[{"delta":{"%b":"a"}}]}\n\n'

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        _chunks({"role": "assistant", "content": ""}, {"reasoning_content": "hm"}, {"content": "Hi"}),
        _chunks({"tool_calls": [CALL]}, {"tool_calls": [{**CALL, "index": 1, "function": {"name": "n__f"}}]}),
        json.dumps({"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}).encode(),
        *anthropic_answer.TARGET.seeds,
        *responses_answer.TARGET.seeds,
        b'data: {"type": "response.created", "re\x01": 1}\n\n',
    ),
    words=(
        *(b'"choices"', b'"delta"', b'"content"', b'"reasoning_content"', b'"tool_calls"', b'"index"', b'"function"'),
        *(b'"arguments"', b'"finish_reason"', b'"refusal"', b'"signature"', b'"type"', b'"response"', b"data: "),
    ),
    grown=(
        Grown(_CHUNK % b"content"),
        Grown(_CHUNK % b"content" + _CHUNK % b"reasoning_content"),
        Grown(b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"a"}}]}}]}\n\n'),
        Grown(b'{"index":1,"function":{}},', b'data: {"choices":[{"delta":{"tool_calls":[', b"{}]}}]}\n\n"),
        Grown(b"\\n", b'data: {"choices":[{"delta":{"content":"', b'"}}]}\n\n'),
    ),
    size_bytes_most=ANSWER_BYTES_MOST,
)
