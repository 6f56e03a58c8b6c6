"""What a provider makes is paid for by whoever had it made, in whatever form it comes and whenever they leave.

The search of `make prove-attacks` tries thousands of ways; here are those by which it was once possible.
"""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.attacks.hostile_town import Town, a_hostile_town
from tests.chat import PATH, listening, order, read_until, receipt_of
from tests.client import Answer, ask
from tests.conftest import Stores
from tests.customers import Customer
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.usage.receipt import Receipt
from tools.services.process import wait_until

# So much of a PDF as makes a picture of its size, in base64.
PAPER = "data:application/pdf;base64," + base64.b64encode(b"%PDF-1.7" + bytes(400_000)).decode()


@pytest.fixture(scope="module")
async def town(stores: Stores) -> AsyncIterator[Town]:
    """Where large bodies have time to come."""
    async with a_hostile_town(stores, {}) as found:
        yield found


async def _left(town: Town, vendor: str, text: str, after: bytes, **fields: Any) -> Receipt:
    """The receipt of a stream whose caller hung up as soon as it had read `after`."""
    body = order(town.models[vendor], text, stream=True, **fields)
    with listening(town.node, town.customer.key, body) as connection:
        seen = read_until(connection, after)
    return await receipt_of(town.receipts, _request_id(seen))


def _request_id(seen: bytes) -> str:
    [line] = [line for line in seen.splitlines() if line.lower().startswith(b"x-request-id:")]
    return line.split(b":")[1].strip().decode()


@pytest.mark.parametrize(
    "form",
    [
        "custom_input",
        "content_list",
        "reasoning_details",
        "audio",
        "images",
        "unknown_member",
        "top_level",
        "text",
        "role",
    ],
)
async def test_output_in_any_form_is_charged_though_the_caller_leaves_before_the_report(town: Town, form: str) -> None:
    receipt = await _left(town, "openai", f"[[tokens=60 hide={form} stall_after_finish=700]]", b'"stop"')
    assert receipt.ending is Ending.CLIENT_LEFT
    assert (receipt.usage_source, receipt.usage.output_units) == (UsageSource.PROVIDER, 60)


@pytest.mark.parametrize("form", ["custom_input", "content_list", "unknown_member", "member_name", "unknown_number"])
async def test_output_of_unknown_form_is_charged_without_any_report(town: Town, form: str) -> None:
    answer = town.call("openai", f"[[tokens=60 hide={form} usage=no]]", stream=True)
    assert answer.status == 200
    assert (await town.receipt(answer)).usage.output_units >= 55


@pytest.mark.parametrize("form", ["usage_alone", "obfuscation", "filters", "reasoning_beside"])
async def test_output_in_place_of_a_report_or_of_what_should_be_short_is_charged_without_any_report(
    town: Town, form: str
) -> None:
    answer = town.call(
        "openai",
        f"[[tokens=60 hide={form} usage=no]]",
        stream=True,
        stream_options={"include_usage": True},
    )
    assert b" garden" in answer.text
    assert (await town.receipt(answer)).usage.output_units >= 55


@pytest.mark.parametrize("form", ["fingerprint", "call_id", "obfuscation", "filters", "reasoning_beside"])
async def test_output_in_a_whole_answer_is_charged_though_it_stands_where_only_short_things_do(
    town: Town, form: str
) -> None:
    answer = town.call("openai", f"[[tokens=60 hide={form} usage=no]]", stream=False)
    assert (await town.receipt(answer)).usage.output_units >= 55


@pytest.mark.parametrize(("vendor", "form"), [("anthropic", "unknown_block"), ("gemini", "executable_code")])
async def test_what_a_translator_leaves_out_is_charged_as_the_provider_reports_it(
    town: Town, vendor: str, form: str
) -> None:
    answer = town.call(vendor, f"[[tokens=60 hide={form}]]", stream=True)
    assert (await town.receipt(answer)).usage.output_units == 60
    silent = town.call(vendor, f"[[tokens=60 hide={form} usage=no]]", stream=False)
    assert (await town.receipt(silent)).usage.output_units >= 40


@pytest.mark.parametrize(
    "said",
    [
        {"thinking": {"type": "enabled", "note": "disabled"}},
        {"reasoning": {"exclude": True}},
        {"include_reasoning": False},
        {"reasoning_effort": "None"},
        {"reasoning_effort": "minimal"},
    ],
    ids=json.dumps,
)
async def test_thoughts_that_are_not_shown_are_charged_however_they_were_asked_for(
    town: Town, said: dict[str, Any]
) -> None:
    receipt = await _left(town, "openai", "[[tokens=40 thinking=500 chunk_ms=20]]", b'"content":"', **said)
    assert (receipt.usage_source, receipt.usage.output_units) == (UsageSource.PROVIDER, 540)


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_an_answer_that_is_too_long_is_made_once_and_charged_as_far_as_it_was_held_for(
    town: Town, vendor: str
) -> None:
    answer = town.call(vendor, "[[tokens=9 answer_mb=65]]", stream=False, max_tokens=200)
    assert (answer.status, answer.error["code"]) == (400, "answer_too_large")
    receipt = await town.receipt(answer)
    assert len(receipt.attempts) == 1
    assert 0 < receipt.charged <= receipt.held
    assert town.call(vendor, "[[tokens=5]]", stream=False).status == 200


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("letters", ["surrogate", "invalid_utf8", "control"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_answer_that_only_a_strict_reader_objects_to_is_made_once_and_charged(
    town: Town, vendor: str, letters: str, stream: bool
) -> None:
    answer = town.call(vendor, f"[[tokens=9 letters={letters}]]", stream=stream)
    assert answer.status == 200
    receipt = await town.receipt(answer)
    assert (len(receipt.attempts), receipt.usage.output_units) == (1, 9)


def test_an_answer_that_could_only_be_too_long_is_not_asked_for(town: Town) -> None:
    asked = {"n": 128, "logprobs": True, "top_logprobs": 20}
    answer = town.call("openai", "Hi", stream=False, **asked)
    assert (answer.status, answer.error["code"]) == (400, "answer_would_be_too_large")
    assert town.call("openai", "Hi", stream=False, n=2, logprobs=True, top_logprobs=20, max_tokens=9).status == 200


async def test_a_report_beyond_the_callers_cap_is_not_believed(town: Town) -> None:
    answer = town.call("openai", "[[tokens=2 report_output=100000]]", stream=False, max_tokens=5)
    receipt = await town.receipt(answer)
    assert (receipt.usage_source, receipt.usage.output_units) == (UsageSource.COUNTED, 2)


def _with_paper(text: str) -> list[dict[str, Any]]:
    return [
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"filename": "a.pdf", "file_data": PAPER}},
                {"type": "text", "text": text},
            ],
        }
    ]


def _ask_with_paper(town: Town, customer: Customer) -> Answer:
    body = {"model": town.models["openai"], "messages": _with_paper("[[tokens=2]]"), "max_tokens": 5}
    return ask(town.node, PATH, method="POST", key=customer.key, body=body)


async def test_a_file_is_held_for_by_its_size_so_that_it_cannot_become_a_debt(town: Town) -> None:
    poor = await town.customers.a_customer(usd="0.02")
    answer = _ask_with_paper(town, poor)
    assert (answer.status, answer.error["code"]) == (403, "insufficient_account_quota")
    rich = await town.customers.a_customer(usd="10")
    assert _ask_with_paper(town, rich).status == 200


async def test_what_a_file_came_to_is_charged_though_the_caller_leaves_early(town: Town) -> None:
    body = {"messages": _with_paper("[[tokens=40 chunk_ms=20 report_input=90000]]")}
    receipt = await _left(town, "openai", "", b'"content":"', **body)
    assert (receipt.usage_source, receipt.usage.input_units) == (UsageSource.PROVIDER, 90_000)


def _bystander_is_served(town: Town, times: int) -> None:
    for _ in range(times):
        assert town.call("openai", "[[tokens=3]]", stream=False).status == 200


@pytest.mark.parametrize("act", ["status=500", "cut_at=0", "answer_mb=65"])
async def test_calls_that_fail_leave_nothing_of_their_bodies_in_memory(town: Town, act: str) -> None:
    customer = await town.customers.a_customer(usd="1000")
    picture = "data:image/png;base64," + "A" * 20_000_000
    content = [{"type": "image_url", "image_url": {"url": picture}}, {"type": "text", "text": f"[[{act}]]"}]
    body = {"model": town.models["openai"], "messages": [{"role": "user", "content": content}], "max_tokens": 5}

    def fail(times: int) -> None:
        for _ in range(times):
            assert ask(town.node, PATH, method="POST", key=customer.key, body=body).status in {400, 503}

    fail(2)
    before_bytes = town.node.memory_bytes()
    fail(8)
    wait_until(lambda: town.node.memory_bytes() - before_bytes < 100_000_000, within_seconds=20)
    _bystander_is_served(town, 3)


async def test_thoughts_are_charged_though_the_key_is_revoked_while_the_answer_comes(town: Town) -> None:
    customer = await town.customers.a_customer(usd="10")
    body = order(town.models["openai"], "[[tokens=200 thinking=500 chunk_ms=30]]", stream=True, reasoning_effort="low")
    with listening(town.node, customer.key, body) as connection:
        seen = read_until(connection, b'"content":"')
        await town.customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor="test")
        read_until(connection, b"revoked")
    receipt = await receipt_of(town.receipts, _request_id(seen))
    assert receipt.ending is Ending.REVOKED
    assert (receipt.usage_source, receipt.usage.output_units) == (UsageSource.PROVIDER, 700)
