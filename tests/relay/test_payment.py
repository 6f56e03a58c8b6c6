"""What a caller can want of the payment: once, and no more than so much."""

import asyncio
import json
from typing import Any

import pytest

from tests.relay.fakes import Reply
from tests.relay.house import DONE, FINISH, INPUT_TOKENS, UNITS, Heard, House, chat_body, report, whole, words
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.addresses import Address
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import BETA, SESSION
from tollkeeper.core.errors import (
    AccountShort,
    CallRepeated,
    CallStillRunning,
    IdempotencyKeyReused,
    InputAboveMaxCharge,
    InvalidHeader,
    MadeBefore,
    ProviderRejected,
)
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Ending
from tollkeeper.ports import Failure
from tollkeeper.relay.operations import CHAT, MESSAGES, SPEECH
from tollkeeper.storage.ledger.memory_ledger import MemoryLedger

KEY = b"idempotency-key"
MOST = b"x-max-charge-usd"
RETRY = b"x-stainless-retry-count"


def usd(quota_tokens: int) -> str:
    return usd_exact(Quota(quota_tokens * UNITS))


def receipt_in(heard: Heard) -> Any:
    assert isinstance(heard.problem, MadeBefore)
    return heard.problem.receipt


@in_virtual_time
async def test_the_same_key_is_paid_for_once_and_told_its_receipt() -> None:
    house = House(Reply(whole(3)))
    house.headers = {KEY: "a key"}
    first = await house.chat()
    again = await house.chat()
    assert first.receipt is not None
    assert (type(again.problem), again.receipt) == (CallRepeated, None)
    assert receipt_in(again) == {
        "request_id": str(first.receipt.request_id),
        "state": "settled",
        "charged_usd": usd_exact(first.receipt.charge.amount),
        "url": f"/v2/calls/{first.receipt.request_id}",
    }
    house.check()


@in_virtual_time
async def test_while_the_first_runs_the_second_is_told_so() -> None:
    house = House(Reply(30.0, whole(3)))
    house.headers = {KEY: "a key"}
    first = asyncio.create_task(house.chat())
    await asyncio.sleep(10)
    again = await house.chat()
    assert type(again.problem) is CallStillRunning
    assert (receipt_in(again)["state"], receipt_in(again)["charged_usd"]) == ("running", None)
    assert (await first).problem is None
    house.check()


@pytest.mark.parametrize("spacing", [b" ", b"\n"], ids=["a space", "a line"])
@in_virtual_time
async def test_a_body_that_differs_by_a_byte_is_another_body(spacing: bytes) -> None:
    house = House(Reply(whole(3)))
    house.headers = {KEY: "a key"}
    assert (await house.ask(CHAT, chat_body())).problem is None
    assert isinstance((await house.ask(CHAT, chat_body() + spacing)).problem, IdempotencyKeyReused)
    house.check()


@in_virtual_time
async def test_a_call_of_another_session_with_the_same_body_is_the_same_call() -> None:
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).encode()
    house = House(Reply(whole(3)))
    house.headers = {KEY: "a key"}
    assert (await house.ask(MESSAGES, Spoken(body, {SESSION: "one", BETA: "context-1m-2025-08-07"}))).problem is None
    assert isinstance((await house.ask(MESSAGES, Spoken(body, {SESSION: "two"}))).problem, CallRepeated)
    assert isinstance((await house.ask(MESSAGES, Spoken(body + b" "))).problem, IdempotencyKeyReused)
    house.check()


@in_virtual_time
async def test_a_key_whose_call_was_refused_by_the_provider_runs_again_at_once() -> None:
    refused = Reply(b'{"error":{"message":"no"}}', status=400)
    house = House(refused, Reply(whole(3)))
    house.headers = {KEY: "a key"}
    assert isinstance((await house.chat()).problem, ProviderRejected)
    assert (await house.chat()).problem is None
    house.check()


@in_virtual_time
async def test_a_call_that_cost_nothing_is_answered_when_the_books_know_that() -> None:
    house = House(Reply(b'{"error":{"message":"no"}}', status=400))
    house.headers = {KEY: "a key"}
    settle = MemoryLedger.settle

    def settle_later(settlement: Any) -> Any:
        async def later() -> bool:
            await asyncio.sleep(1.0)
            return await settle(house.ledger, settlement)

        return asyncio.ensure_future(later())

    house.ledger.settle = settle_later  # type: ignore[method-assign]
    begun = asyncio.get_running_loop().time()
    await house.chat()
    assert asyncio.get_running_loop().time() - begun >= 1.0
    house.check()


@in_virtual_time
async def test_a_key_whose_call_could_not_be_paid_for_runs_when_it_can() -> None:
    house = House(Reply(whole(3)), quota=1)
    house.headers = {KEY: "a key"}
    assert isinstance((await house.chat()).problem, AccountShort)
    house.credit(10_000)
    assert (await house.chat()).problem is None
    house.check()


@pytest.mark.parametrize("key", ["", "k" * 256, "k" * 10_240, "tab\there"], ids=["empty", "256", "10 kB", "a tab"])
@in_virtual_time
async def test_a_key_that_is_none_is_refused_before_the_body_is_read(key: str) -> None:
    async def unread() -> object:
        raise AssertionError("the body was read")

    house = House()
    house.headers = {KEY: key}
    assert isinstance((await house.ask(CHAT, unread)).problem, InvalidHeader)
    house.check()


@in_virtual_time
async def test_a_retry_of_a_call_that_was_cut_is_known_without_a_key() -> None:
    house = House(Reply(200.0, whole(3)))
    first = asyncio.create_task(house.chat())
    await asyncio.sleep(1)
    assert house.call is not None
    house.edge_cuts()
    await house.tell_of_cut()
    house.headers = {RETRY: "1"}
    again = await house.chat()
    assert type(again.problem) is CallStillRunning
    cut = (await first).receipt
    assert cut is not None
    assert cut.ending is Ending.CUT
    again = await house.chat()
    assert (type(again.problem), receipt_in(again)["request_id"]) == (CallRepeated, str(cut.request_id))
    house.check()


@in_virtual_time
async def test_a_call_is_known_again_whose_answer_came_in_the_moment_of_its_cut() -> None:
    """The 524 is on its way, and cannot be called back: the retry must not be paid for."""
    house = House(Reply(5.0, whole(3)))
    first = asyncio.create_task(house.chat())
    await asyncio.sleep(4.9)
    house.edge_cuts()
    cut = (await first).receipt
    await house.tell_of_cut()
    house.headers = {RETRY: "1"}
    again = await house.chat()
    assert cut is not None
    assert (type(again.problem), receipt_in(again)["request_id"]) == (CallRepeated, str(cut.request_id))
    house.check()


@in_virtual_time
async def test_what_is_no_retry_of_a_cut_call_runs() -> None:
    house = House(Reply(200.0, whole(3)), *[Reply(whole(1))] * 4)
    first = asyncio.create_task(house.chat())
    await asyncio.sleep(1)
    assert house.call is not None
    house.edge_cuts()
    await house.tell_of_cut()
    # The same without the mark of a retry, a retry of something else, one on the address without cuts, one of none.
    assert (await house.chat()).problem is None
    house.headers = {RETRY: "1"}
    assert (await house.chat(temperature=1)).problem is None
    assert (await house.chat(address=Address.BACKUP)).problem is None
    house.headers = {RETRY: "0"}
    assert (await house.chat()).problem is None
    await first
    house.check()


@in_virtual_time
async def test_a_retry_of_a_call_that_was_never_cut_runs_and_so_does_its_next() -> None:
    house = House(Reply(whole(1)), Reply(whole(1)))
    house.headers = {RETRY: "2"}
    assert (await house.chat()).problem is None
    assert (await house.chat()).problem is None
    house.check()


@pytest.mark.parametrize("most", ["", "abc", "-1", "+1", "0", "0.0", "1e-3", "1,5", " 1", "1.", ".5", "0.0000000000001",
                                  "0.000000000001", "NaN", "Infinity", "1_0", "9" * 12, "٣"])  # fmt: skip
@in_virtual_time
async def test_an_amount_that_is_none_is_refused(most: str) -> None:
    house = House()
    house.headers = {MOST: most}
    assert isinstance((await house.chat()).problem, InvalidHeader)
    house.check()


@in_virtual_time
async def test_a_stream_ends_politely_at_what_its_caller_allows() -> None:
    """Forty words fit. The provider ignores the cap that it was told, and is stopped."""
    house = House(Reply(*words(100), FINISH, report(INPUT_TOKENS, 100), DONE))
    house.headers = {MOST: usd(INPUT_TOKENS + 2 * 40)}
    heard = await house.chat(stream=True, stream_options={"include_usage": True})
    assert heard.problem is None
    *passed, finish, used, done = [event for event in heard.text.split(b"\n\n") if event]
    assert len(passed) == 41
    assert done + b"\n\n" == DONE
    chunk = json.loads(finish.removeprefix(b"data: "))
    assert (chunk["object"], chunk["model"]) == ("chat.completion.chunk", "m")
    assert chunk["choices"] == [{"index": 0, "delta": {}, "finish_reason": "length"}]
    usage = json.loads(used.removeprefix(b"data: "))["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (INPUT_TOKENS, 41)
    assert usage["cost"] == float(usd(INPUT_TOKENS + 2 * 40))
    assert heard.receipt is not None
    assert heard.receipt.ending is Ending.MAX_CHARGE
    assert heard.receipt.charge.amount == (INPUT_TOKENS + 2 * 40) * UNITS
    assert json.loads(house.upstream.requests[0].body)["max_tokens"] == 40
    [hold] = house.ledger.holds.values()
    assert hold.amount == (INPUT_TOKENS + 2 * 40) * UNITS
    house.upstream.replies.clear()
    house.check()


@in_virtual_time
async def test_a_stream_within_what_its_caller_allows_ends_as_the_provider_ends_it() -> None:
    house = House(Reply(*words(40), FINISH, report(INPUT_TOKENS, 40), DONE))
    house.headers = {MOST: usd(INPUT_TOKENS + 2 * 40)}
    heard = await house.chat(stream=True)
    assert heard.receipt is not None
    assert (heard.receipt.ending, heard.receipt.charge.amount) == (Ending.COMPLETED, (INPUT_TOKENS + 2 * 40) * UNITS)
    house.check()


@in_virtual_time
async def test_a_whole_answer_is_never_charged_more_and_the_rest_is_ours() -> None:
    house = House(Reply(whole(50, usage=(INPUT_TOKENS, 50))))
    house.headers = {MOST: usd(INPUT_TOKENS + 2 * 40)}
    heard = await house.chat(max_tokens=60)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == (INPUT_TOKENS + 2 * 40) * UNITS
    assert heard.receipt.charge.usage.output_units == 50
    assert json.loads(house.upstream.requests[0].body)["max_tokens"] == 40
    house.check()


@in_virtual_time
async def test_where_what_is_asked_fits_the_body_goes_as_it_came() -> None:
    house = House(Reply(whole(5, usage=(INPUT_TOKENS, 5))))
    house.headers = {MOST: usd(INPUT_TOKENS + 2 * 40)}
    assert (await house.chat(max_tokens=40)).problem is None
    assert house.upstream.requests[0].body == chat_body(max_tokens=40)
    house.check()


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"max_completion_tokens": 40}),
        ({"max_tokens": 90, "max_completion_tokens": 20}, {"max_tokens": 40, "max_completion_tokens": 20}),
    ],
    ids=["of a model that thinks", "both"],
)
@in_virtual_time
async def test_the_cap_has_the_name_that_the_model_knows(given: dict[str, Any], sent: dict[str, int]) -> None:
    house = House(Reply(whole(5, usage=(INPUT_TOKENS, 5))))
    house.headers = {MOST: usd(INPUT_TOKENS + 2 * 40)}
    assert (await house.chat(model="thinker", **given)).problem is None
    body = json.loads(house.upstream.requests[0].body)
    assert {name: value for name, value in body.items() if name.startswith("max_")} == sent
    house.check()


@in_virtual_time
async def test_an_input_that_alone_costs_more_is_refused_in_words() -> None:
    house = House()
    house.headers = {MOST: usd(INPUT_TOKENS)}
    heard = await house.chat()
    assert isinstance(heard.problem, InputAboveMaxCharge)
    assert usd(INPUT_TOKENS + 2) in heard.problem.message
    assert usd(INPUT_TOKENS) in heard.problem.message
    house.check()


@in_virtual_time
async def test_speech_that_costs_more_is_refused_and_other_speech_is_made() -> None:
    body = json.dumps({"model": "speaker", "voice": "alloy", "input": "hello"}).encode()
    house = House(Reply(b"sound", headers={"content-type": "audio/mpeg"}))
    house.headers = {MOST: usd(4)}
    assert isinstance((await house.ask(SPEECH, body)).problem, InputAboveMaxCharge)
    house.headers = {MOST: usd(5)}
    heard = await house.ask(SPEECH, body)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == 5 * UNITS
    assert house.answer is not None
    assert house.answer.known_charge == 5 * UNITS
    house.check()


@in_virtual_time
async def test_a_stream_that_breaks_off_is_not_told_a_cost() -> None:
    house = House(Reply(*words(3), report(INPUT_TOKENS, 1), Failure.BROKEN))
    heard = await house.chat(stream=True, stream_options={"include_usage": True})
    assert b'"cost"' not in heard.text
    house.check()
