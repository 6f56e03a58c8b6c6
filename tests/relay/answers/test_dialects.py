"""Answers to callers of Messages: the endings and the books are those of chat, whichever way the answer comes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.messages import events
from tests.relay.fakes import Reply
from tests.relay.house import House, an_account
from tests.relay.house import cost as cost_of
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.errors import ProviderUnavailable, StreamBroken
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import Failure
from tollkeeper.relay.operations import MESSAGES

ANTHROPIC = (an_account(1, vendor="anthropic"), an_account(2, vendor="anthropic"))


def event(kind: str, **members: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


START = event("message_start", message={"model": "theirs", "usage": {"input_tokens": 9, "output_tokens": 1}})
BLOCK = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
WORD = event("content_block_delta", index=0, delta={"type": "text_delta", "text": " word"})
SHUT = event("content_block_stop", index=0)
LAST = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 4})
STOP = event("message_stop")
ERROR = event("error", error={"type": "overloaded_error", "message": "Overloaded by our key sk-secret"})


def asked(**fields: object) -> Spoken:
    hi: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
    return Spoken(json.dumps(hi | {"stream": True} | fields).encode())


@in_virtual_time
async def test_the_providers_own_events_pass_and_are_charged_as_reported() -> None:
    house = House(Reply(START, BLOCK, *[WORD] * 4, SHUT, LAST, STOP), accounts=ANTHROPIC)
    heard = await house.ask(MESSAGES, asked())
    first, *others = heard.pieces
    assert events(first)[0].data["message"]["model"] == "m"
    # The report of usage alone is written anew, with what the call cost.
    last = b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason": "end_turn"},"usage":%b}\n\n'
    cost = usd_exact(Quota(cost_of(Usage(9, 4)))).encode()
    told = last % (b'{"output_tokens":4,"cost":%b}' % cost)
    assert b"".join(others) == b"".join([BLOCK, *[WORD] * 4, SHUT, told, STOP])
    assert heard.booked == (Ending.COMPLETED, Usage(9, 4), UsageSource.PROVIDER)
    house.check()


@pytest.mark.parametrize(
    "rest",
    [
        [ERROR],
        [Failure.BROKEN],
        [b"event: x\ndata: {broken\n\n"],
        [],
    ],
    ids=["error", "broken", "malformed", "silent end"],
)
@in_virtual_time
async def test_what_broke_off_is_charged_what_came_and_nothing_of_the_error_passes(rest: Sequence[Any]) -> None:
    house = House(Reply(START, BLOCK, WORD, WORD, *rest, WORD), accounts=ANTHROPIC)
    heard = await house.ask(MESSAGES, asked())
    if rest == []:
        # It went on for a word, and ended without a reason.
        assert heard.booked == (Ending.UPSTREAM_BROKE, Usage(9, 3), UsageSource.COUNTED)
    else:
        assert heard.booked == (Ending.UPSTREAM_BROKE, Usage(9, 2), UsageSource.COUNTED)
    assert isinstance(heard.problem, StreamBroken)
    assert {told.name for told in events(heard.text)} <= {"message_start", "content_block_start", "content_block_delta"}
    house.check()


@in_virtual_time
async def test_a_stream_whose_reason_to_end_has_come_is_complete_and_ended_properly() -> None:
    house = House(Reply(START, BLOCK, WORD, SHUT, LAST, Failure.BROKEN), accounts=ANTHROPIC)
    heard = await house.ask(MESSAGES, asked())
    assert heard.problem is None
    assert events(heard.text)[-1].name == "message_stop"
    assert heard.booked == (Ending.COMPLETED, Usage(9, 4), UsageSource.PROVIDER)


@in_virtual_time
async def test_an_account_of_another_vendor_begins_anew_where_the_first_said_nothing() -> None:
    chunks = [
        b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":" word"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}\n\n',
        b"data: [DONE]\n\n",
    ]
    accounts = (an_account(1, vendor="anthropic"), an_account(2))
    house = House(Reply(ERROR), Reply(*chunks), accounts=accounts)
    heard = await house.ask(MESSAGES, asked())
    names = [told.name for told in events(heard.text)]
    assert names[0] == "message_start"
    assert names.count("message_start") == names.count("message_stop") == 1
    assert heard.booked == (Ending.COMPLETED, Usage(7, 1), UsageSource.PROVIDER)
    assert heard.outcomes == ["broken", "completed"]
    house.check()


@in_virtual_time
async def test_a_whole_answer_passes_but_for_the_models_name() -> None:
    body = {
        "model": "theirs",
        "type": "message",
        "content": [{"type": "text", "text": "word"}, {"type": "of_tomorrow", "x": 1}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 4},
    }
    house = House(Reply(json.dumps(body).encode()), accounts=ANTHROPIC)
    heard = await house.ask(MESSAGES, asked(stream=False))
    assert json.loads(heard.text) == body | {"model": "m"}
    assert heard.booked == (Ending.COMPLETED, Usage(9, 4), UsageSource.PROVIDER)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@in_virtual_time
async def test_what_is_no_answer_from_anybody_is_unavailable_and_free(stream: bool) -> None:
    house = House(Reply(b'{"type":"error"}\n\n'), Reply(b"data: nonsense\n\n"), accounts=ANTHROPIC)
    heard = await house.ask(MESSAGES, asked(stream=stream))
    assert isinstance(heard.problem, ProviderUnavailable)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == 0
    house.check()
