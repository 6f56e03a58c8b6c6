"""Input that only a provider of the caller's own dialect is sent: it is charged where no report came, too."""

import json

import pytest

from tests.relay.fakes import Reply, Step
from tests.relay.house import House, an_account
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.dialects.responses.order import read_responses
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import Failure
from tollkeeper.relay.operations import RESPONSES

THOUGHTS = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so " * 3_000}], "encrypted_content": "g"}
BODY = json.dumps({"model": "m", "stream": True, "input": [{"role": "user", "content": "hi"}, THOUGHTS]}).encode()
COUNTED_TOKENS = read_responses(BODY).input_tokens(part_tokens=0)
UNTRANSLATED_TOKENS = -(-len(json.dumps(THOUGHTS)) // 5)


def event(kind: str, **members: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


CREATED = event("response.created", sequence_number=0, response={"id": "resp_1", "model": "theirs"})
WORD = event("response.output_text.delta", sequence_number=1, item_id="msg_1", delta=" word")
REPORT = {"input_tokens": 99, "output_tokens": 7}
COMPLETED = event("response.completed", sequence_number=2, response={"id": "resp_1", "output": [], "usage": REPORT})


@pytest.mark.parametrize(
    "steps", [[WORD, Failure.BROKEN], [WORD, House.client_leaves, 3_600.0]], ids=["broken", "left"]
)
@in_virtual_time
async def test_what_was_sent_natively_is_charged_where_no_report_came(steps: list[Step]) -> None:
    house = House(Reply(CREATED, *steps))
    heard = await house.ask(RESPONSES, BODY)
    assert heard.receipt is not None
    assert heard.receipt.charge.usage == Usage(COUNTED_TOKENS + UNTRANSLATED_TOKENS, 1)
    assert heard.receipt.charge.source is UsageSource.COUNTED


@in_virtual_time
async def test_a_report_of_it_is_waited_for() -> None:
    house = House(Reply(CREATED, WORD, House.client_leaves, 5.0, COMPLETED))
    heard = await house.ask(RESPONSES, BODY)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(99, 7), UsageSource.PROVIDER)


@in_virtual_time
async def test_who_was_sent_a_translation_has_not_read_it() -> None:
    start = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    word = event("content_block_delta", index=0, delta={"type": "text_delta", "text": " word"})
    house = House(Reply(start, word, Failure.BROKEN), accounts=(an_account(1, vendor="anthropic"),))
    heard = await house.ask(RESPONSES, BODY)
    assert heard.booked == (Ending.UPSTREAM_BROKE, Usage(COUNTED_TOKENS, 1), UsageSource.COUNTED)
