"""Responses over real sockets: any vendor's account answers as OpenAI would, and the books are the vendor's truth."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from openai import BadRequestError, NotFoundError, OpenAI, PermissionDeniedError

from tests.chat import listening, read_until, request_id_in
from tests.client import Answer, ask
from tests.customers import ACTOR, DEAR_OUTPUT, a_model_id
from tests.market import KEY, THEIRS, UNITS, Line, Market, price_of
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.ports import NewProviderAccount
from tollkeeper_simulator.speech import text_of, thoughts_of
from tools.services.process import wait_until
from tools.simulator import Simulator

PATH = "/v1/responses"
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
EVERY_VENDOR = pytest.mark.parametrize("vendor", VENDORS)
# Whose bytes pass, and two whose are translated.
EACH_WAY = pytest.mark.parametrize("vendor", ["openai", "anthropic", "gemini"])
BOTH_WAYS = pytest.mark.parametrize("vendor", ["openai", "anthropic"])
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
SPACE = {"type": "namespace", "name": "weather", "description": "Of places.", "tools": [TOOL]}
# Natively a namespace passes as it came, and the simulated vendor has none.
CALLED = [*((vendor, [TOOL]) for vendor in VENDORS), *((vendor, [SPACE]) for vendor in VENDORS if vendor != "openai")]
WEB = {"type": "web_search", "external_web_access": False}
Sdk = Callable[[Line], OpenAI]


@pytest.fixture
def sdk(market: Market) -> Iterator[Sdk]:
    """The official client of a line's caller."""
    with ExitStack() as clients:

        def client(line: Line) -> OpenAI:
            base = f"http://127.0.0.1:{market.node.port}/v1"
            return clients.enter_context(OpenAI(api_key=line.customer.key, base_url=base, max_retries=0))

        yield client


def order(line: Line, text: str, **fields: Any) -> dict[str, Any]:
    return {"model": line.model, "input": text} | fields


def send(market: Market, line: Line, body: object) -> Answer:
    return ask(market.node, PATH, method="POST", key=line.customer.key, body=body)


def events(answer: Answer) -> list[dict[str, Any]]:
    """The data of every event, each of which says its kind twice and has the next number."""
    told = []
    for block in answer.text.decode().split("\n\n")[:-1]:
        name, _, data = block.partition("\n")
        if name.startswith("event: "):
            told.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {told[-1]['type']}"
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    return told


def asked_for(client: OpenAI, *, streamed: bool, **asked: Any) -> tuple[Any, str]:
    """The response, and the id of the request."""
    if not streamed:
        raw = client.responses.with_raw_response.create(**asked)
        return raw.parse(), raw.headers["x-request-id"]
    with client.responses.stream(**asked) as stream:
        final = stream.get_final_response()
        return final, stream._response.headers["x-request-id"]


@STREAMED
@pytest.mark.parametrize("directions", ["tokens=20", "tokens=20 cached=5", "tokens=7 thinking=30"])
@EVERY_VENDOR
async def test_any_vendors_model_answers_the_official_client_at_the_vendors_own_count(
    market: Market, sdk: Sdk, vendor: str, directions: str, streamed: bool
) -> None:
    line = await market.a_line(vendor)
    asked = order(line, f"A good morning to you all [[{directions}]]", instructions="Be brief.")
    answer, request_id = asked_for(sdk(line), streamed=streamed, **asked)
    truth = market.simulator.wait_for(request_id)
    assert (truth["vendor"], truth["model"], answer.model) == (vendor, THEIRS[vendor], line.model)
    # Whoever speaks the protocol is asked in it, and never to store anything.
    assert ("input" in truth["fields"], "store" in truth["fields"]) == (vendor == "openai", vendor == "openai")
    assert answer.output_text == text_of(truth["output_tokens"] - truth["thinking_tokens"])
    assert (answer.status, answer.store) == ("completed", False)
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (truth["input_tokens"], truth["output_tokens"])
    assert usage.input_tokens_details.cached_tokens == truth["cached_tokens"]
    assert usage.output_tokens_details.reasoning_tokens == truth["thinking_tokens"]
    receipt = await market.receipt(request_id)
    assert receipt.charged == price_of(truth)
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)


@STREAMED
@pytest.mark.parametrize(("vendor", "tools"), CALLED, ids=[f"{vendor} {tools[0]['type']}" for vendor, tools in CALLED])
async def test_a_tool_is_called_and_its_result_goes_back(
    market: Market, sdk: Sdk, vendor: str, tools: list[Any], streamed: bool
) -> None:
    line = await market.a_line(vendor)
    client = sdk(line)
    asked = {"role": "user", "content": "Please call the tool. [[tokens=9 thinking=5]]"}
    given: dict[str, Any] = {"model": line.model, "tools": tools, "reasoning": {"effort": "low", "summary": "auto"}}
    first, first_id = asked_for(client, streamed=streamed, input=[asked], **given)
    [call] = [item for item in first.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "river stone"})
    assert call.namespace == (None if tools == [TOOL] else "weather")
    said = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "It rains."}
    second, second_id = asked_for(client, streamed=streamed, input=[asked, *said, result], **given)
    assert second.output_text == text_of(9)
    for request_id in (first_id, second_id):
        truth = market.simulator.wait_for(request_id)
        assert (await market.receipt(request_id)).charged == price_of(truth)


@STREAMED
async def test_sealed_thoughts_pass_to_the_caller_and_back_as_the_provider_wrote_them(
    market: Market, sdk: Sdk, streamed: bool
) -> None:
    line = await market.a_line("openai")
    client = sdk(line)
    given: dict[str, Any] = {"model": line.model, "include": ["reasoning.encrypted_content"], "store": False}
    asked = {"role": "user", "content": "Hm [[tokens=4 thinking=9]]"}
    reasoning = {"effort": "low", "summary": "auto"}
    answer, _ = asked_for(client, streamed=streamed, input=[asked], reasoning=reasoning, **given)
    thoughts = answer.output[0]
    assert (thoughts.type, thoughts.summary[0].text) == ("reasoning", thoughts_of(9))
    again = [asked, thoughts.model_dump(exclude_none=True), {"role": "user", "content": "And? [[tokens=3]]"}]
    # The simulated vendor refuses thoughts that are not its own to the letter.
    assert client.responses.create(input=again, **given).output_text == text_of(3)
    again[1] = again[1] | {"encrypted_content": "gAAAAABforged"}
    with pytest.raises(BadRequestError, match="could not be verified"):
        client.responses.create(input=again, **given)


async def test_thoughts_that_one_vendor_sealed_are_left_out_at_another(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("anthropic")
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABanothers"}
    asked = {"role": "user", "content": "Hi [[tokens=3]]"}
    spoken: Any = [asked, sealed, asked]
    assert sdk(line).responses.create(model=line.model, input=spoken).output_text == text_of(3)


@EACH_WAY
async def test_thoughts_of_a_translated_vendor_stand_in_nobodys_way(market: Market, sdk: Sdk, vendor: str) -> None:
    """What was told as a summary goes back without a seal, also to an account of another vendor."""
    line = await market.a_line(vendor)
    told = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    asked = {"role": "user", "content": "Hi [[tokens=3]]"}
    spoken: Any = [asked, told, {"role": "assistant", "content": "Yes."}, asked]
    assert sdk(line).responses.create(model=line.model, input=spoken).output_text == text_of(3)


async def test_thoughts_that_a_vendor_shows_are_told_as_a_summary(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("anthropic")
    answer, _ = asked_for(
        sdk(line), streamed=True, **order(line, "Hm [[tokens=4 thinking=9]]", reasoning={"effort": "low"})
    )
    assert [item.type for item in answer.output] == ["reasoning", "message"]
    assert answer.output[0].summary[0].text


@STREAMED
@EACH_WAY
async def test_an_answer_that_is_cut_short_is_incomplete(market: Market, vendor: str, streamed: bool) -> None:
    line = await market.a_line(vendor)
    answer = send(market, line, order(line, "Hi [[tokens=40]]", max_output_tokens=16, stream=streamed))
    told = events(answer)[-1]["response"] if streamed else answer.json
    assert (told["status"], told["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert told["output"][-1]["content"][0]["text"] == text_of(16)
    assert (await market.receipt(answer)).charged == price_of(market.truth(answer))


# Who speaks it, and who does not.


def was_answered(simulator: Simulator, request_id: str) -> bool:
    return any(row["request_id"] == request_id and row["status"] == 200 for row in simulator.truth())


async def test_a_compatible_account_without_this_address_is_asked_in_chat_at_once(market: Market, sdk: Sdk) -> None:
    model, name = a_model_id(), f"compatible-{a_model_id()}"
    account = NewProviderAccount(
        name=name,
        vendor="openai",
        # The simulator knows chat under this address, and nothing else.
        base_url=f"{market.simulator.base.removesuffix('/v1')}/chat-only/v1",
        secret=KEY,
        models={model: "gpt-9"},
    )
    await market.customers.desk.providers.add(account, actor=ACTOR)
    await market.customers.a_model(model_id=model, price=DEAR_OUTPUT)
    line = Line(model, [name], await market.customers.a_customer())
    wait_until(lambda: model in ask(market.node, "/v1/models", key=line.customer.key).text.decode())
    refusals = []
    for _ in range(2):
        answer, request_id = asked_for(sdk(line), streamed=True, **order(line, "Hi [[tokens=6]]"))
        assert answer.output_text == text_of(6)
        receipt = await market.receipt(request_id)
        assert [(each["account"], each["outcome"]) for each in receipt.attempts] == [(name, "completed")]
        wait_until(partial(was_answered, market.simulator, request_id))
        rows = [row for row in market.simulator.truth() if row["request_id"] == request_id]
        refusals.append(sum(row["status"] == 404 for row in rows))
        [truth] = [row for row in rows if row["status"] == 200]
        assert receipt.charged == (truth["input_tokens"] + 4 * truth["output_tokens"]) * UNITS
    # The first call found it out, and the second did not ask again.
    assert refusals == [1, 0]


async def test_what_chat_cannot_say_goes_to_the_account_that_speaks_the_protocol(market: Market) -> None:
    line = await market.a_line("anthropic", "openai")
    answer = send(market, line, order(line, "Hi [[tokens=2]]", tools=[{"type": "local_shell"}]))
    assert (answer.status, market.truth(answer)["vendor"]) == (200, "openai")
    line = await market.a_line("anthropic")
    answer = send(market, line, order(line, "Hi [[tokens=2]]", tools=[{"type": "local_shell"}]))
    assert (answer.status, answer.error["param"]) == (400, "tools[0]")


async def test_a_tool_of_the_vendors_without_a_price_is_left_out_unless_it_is_demanded(market: Market) -> None:
    line = await market.a_line("openai")
    answer = send(market, line, order(line, "Hi [[tokens=2]]", tools=[WEB]))
    assert (answer.status, "tools" in market.truth(answer)["fields"]) == (200, False)
    demanded = send(market, line, order(line, "Hi", tools=[WEB], tool_choice={"type": "web_search_preview"}))
    assert demanded.status == 400
    assert "has no price here" in demanded.error["message"]


# What goes wrong.


@pytest.mark.parametrize("how", ["error_at=4", "cut_at=4", "no_finish=1", "malformed_at=4"])
@EACH_WAY
async def test_a_stream_that_breaks_off_fails_and_is_charged_what_came(market: Market, vendor: str, how: str) -> None:
    line = await market.a_line(vendor)
    answer = send(market, line, order(line, f"Good morning [[tokens=8 chunk_ms=20 {how}]]", stream=True))
    last = events(answer)[-1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
    assert last["response"]["error"]["code"] == "stream_broken"
    truth, receipt = market.truth(answer), await market.receipt(answer)
    assert receipt.ending is Ending.UPSTREAM_BROKE
    assert receipt.usage.input_units == truth["input_tokens"]
    assert 0 < receipt.usage.output_units <= truth["output_tokens"]


async def test_a_stream_that_breaks_off_before_its_first_word_is_tried_elsewhere(market: Market) -> None:
    line = await market.a_line("openai", "gemini")
    answer = send(market, line, order(line, "Good morning [[tokens=3 error_at=0]]", stream=True))
    # Both accounts are at the same simulator, which breaks off for each of them.
    assert (answer.status, answer.error["code"]) == (503, "provider_unavailable")
    receipt = await market.receipt(answer)
    assert (len(receipt.attempts), receipt.charged) == (2, 0)


@BOTH_WAYS
async def test_who_leaves_pays_what_came_until_then(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor)
    with listening(
        market.node, line.customer.key, order(line, "Good morning [[tokens=500 chunk_ms=20]]", stream=True), path=PATH
    ) as connection:
        request_id = request_id_in(read_until(connection, b"stone"))
    receipt, truth = await market.receipt(request_id), market.simulator.wait_for(request_id)
    assert (truth["ending"], receipt.ending) == ("client_closed", Ending.CLIENT_LEFT)
    assert receipt.usage.input_units == truth["input_tokens"]
    assert 2 <= receipt.usage.output_units <= truth["output_tokens"] < 500


@BOTH_WAYS
async def test_a_stream_whose_quota_runs_out_says_so_and_costs_no_more_than_there_was(
    market: Market, vendor: str
) -> None:
    line = await market.a_line(vendor, "gemini")
    poor = Line(line.model, line.accounts, await market.customers.a_customer(usd="0.04"))  # 20,000 quota
    answer = send(market, poor, order(line, "Good morning [[tokens=9000 per_chunk=10 chunk_ms=1]]", stream=True))
    assert answer.status == 200, answer.text
    last = events(answer)[-1]
    assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "insufficient_account_quota")
    receipt = await market.receipt(answer)
    assert receipt.ending is Ending.QUOTA_RAN_OUT
    assert 16_000 * UNITS < receipt.charged <= 20_000 * UNITS


@BOTH_WAYS
async def test_an_account_that_fails_before_the_first_word_is_passed_over(market: Market, vendor: str) -> None:
    line = await market.a_line(vendor, "gemini", key="of-last-year")
    answer = send(market, line, order(line, "Good morning [[tokens=4]]", stream=True))
    said = [event["delta"] for event in events(answer) if event["type"] == "response.output_text.delta"]
    assert "".join(said) == text_of(4)
    receipt = await market.receipt(answer)
    assert [attempt["account"] for attempt in receipt.attempts] == line.accounts
    assert receipt.charged == price_of(market.truth(answer))


async def test_refusals_have_the_form_that_the_client_knows(market: Market, sdk: Sdk) -> None:
    line = await market.a_line("openai")
    client = sdk(line)
    with pytest.raises(BadRequestError, match="No such thing"):
        client.responses.create(**order(line, 'Hi [[status=400 status_text="No such thing"]]'))
    with pytest.raises(BadRequestError, match="send the whole conversation as input"):
        client.responses.create(**order(line, "Hi", previous_response_id="resp_1"))
    with pytest.raises(NotFoundError, match="cannot be used here"):
        client.responses.create(model="no-such-model", input="Hi")
    with pytest.raises(NotFoundError, match="Responses are not stored here"):
        client.responses.retrieve("resp_1")
    with pytest.raises(NotFoundError, match="Responses are not stored here"):
        client.responses.delete("resp_1")
    poor = Line(line.model, line.accounts, await market.customers.a_customer(usd=None))
    with pytest.raises(PermissionDeniedError):
        sdk(poor).responses.create(**order(line, "Hi"))
