"""A real model behind the gateway: its stream comes through, and what it reports is charged to the unit."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.client import ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_QUOTA_TOKEN, Quota, mills_used, quota_from_usd
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tools.node import Node, tollkeeper
from tools.real_model import RealModel

GROUP = Decimal("1.1")
PRICE = NewPrice(model=Decimal("0.123457"), completion=Decimal("3.3"), cached=Decimal("0.25"))
QUESTION = "Why does a bridge need a keeper? Answer in one sentence."
MOST_TOKENS = 48


class Town(msgspec.Struct):
    """A database, a node and one provider account, which is the real model."""

    model: RealModel
    node: Node
    customers: Customers
    books: asyncpg.Connection


@pytest.fixture(scope="module")
def real_model() -> Iterator[RealModel]:
    with RealModel() as running:
        yield running


@pytest.fixture(scope="module")
async def town(stores: Stores, real_model: RealModel) -> AsyncIterator[Town]:
    settings = await variables(stores)
    chosen = load(settings)
    books = await asyncpg.connect(chosen.database_url.reveal(), server_settings={"search_path": "tollkeeper"})
    await books.execute("insert into account_group (name, multiplier) values ('friends', $1)", GROUP)
    async with office(chosen) as desk:
        account = NewProviderAccount(name="real", vendor="openai", base_url=real_model.base, secret="none")
        await desk.providers.add(account, actor=ACTOR)
        await desk.catalog.add_model(NewModel(id=real_model.model, kind=Kind.CHAT, price=PRICE), actor=ACTOR)
        with Node(settings) as node:
            yield Town(real_model, node, Customers(desk), books)
    await books.close()


def due(usage: Usage) -> Quota:
    """The specification's formula, in decimals."""
    fresh = usage.input_units - usage.cached_units
    weighted = fresh + usage.cached_units * PRICE.cached + usage.output_units * PRICE.completion
    units = GROUP * PRICE.model * weighted * UNITS_PER_QUOTA_TOKEN
    return Quota(int(units.quantize(Decimal(1), ROUND_HALF_UP)))


async def streamed(base: str, key: str, model: str, **asked: Any) -> list[ChatCompletionChunk]:
    async with AsyncOpenAI(base_url=base, api_key=key, max_retries=0) as client:
        stream = await client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": QUESTION}],
            max_tokens=MOST_TOKENS,
            temperature=0,
            stream=True,
            **asked,
        )
        return [chunk async for chunk in stream]


def text(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def reported(chunks: list[ChatCompletionChunk]) -> Usage:
    usage = chunks[-1].usage
    assert usage is not None
    details = usage.prompt_tokens_details
    return Usage(usage.prompt_tokens, usage.completion_tokens, (details.cached_tokens or 0) if details else 0)


async def receipt(town: Town, customer: Customer) -> asyncpg.Record:
    """The only call of a customer, once it is settled: the caller's last byte does not wait for that."""
    async with asyncio.timeout(10):
        while True:
            row = await town.books.fetchrow("select * from usage where account_id = $1", customer.account_id)
            if row is not None:
                return row
            await asyncio.sleep(0.01)


async def check_books(town: Town, customer: Customer, charged: Quota) -> None:
    books = await town.books.fetchrow(
        """select held, used, debt, (select sum(remaining) from lot where lot.account_id = account_books.account_id)
           from account_books where account_id = $1""",
        customer.account_id,
    )
    assert tuple(books) == (0, charged, 0, quota_from_usd(Decimal(10)) - charged)
    shown = ask(town.node, "/v2/account/balance", key=customer.key).json["balance"]
    assert shown["used_cash"] == mills_used(charged) / 1_000


async def test_the_model_streams_its_answer_with_usage(real_model: RealModel) -> None:
    chunks = await streamed(real_model.base, "any", real_model.model, stream_options={"include_usage": True})
    assert len(text(chunks)) > 10
    assert 0 < reported(chunks).output_units <= MOST_TOKENS


@pytest.mark.rule("S1.1", "S7.1", "E3.3")
async def test_a_streamed_answer_is_charged_to_the_unit(town: Town) -> None:
    customer = await town.customers.a_customer(usd="10", group="friends")
    chunks = await streamed(
        f"{town.node.base}/v1", customer.key, town.model.model, stream_options={"include_usage": True}
    )
    assert len(chunks) > 5
    assert len(text(chunks)) > 10
    usage = reported(chunks)
    row = await receipt(town, customer)
    assert (row["input_units"], row["output_units"], row["cached_units"]) == msgspec.structs.astuple(usage)[:3]
    assert (row["usage_source"], row["charged"]) == ("provider", due(usage))
    await check_books(town, customer, due(usage))


@pytest.mark.rule("S7.1")
async def test_a_stream_whose_caller_wants_no_usage_is_charged_by_it_all_the_same(town: Town) -> None:
    customer = await town.customers.a_customer(usd="10", group="friends")
    direct = await streamed(town.model.base, "any", town.model.model, stream_options={"include_usage": True})
    chunks = await streamed(f"{town.node.base}/v1", customer.key, town.model.model)
    assert text(chunks) == text(direct)
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    row = await receipt(town, customer)
    assert (row["input_units"], row["output_units"]) == msgspec.structs.astuple(reported(direct))[:2]
    usage = Usage(row["input_units"], row["output_units"], row["cached_units"])
    assert (row["usage_source"], row["charged"]) == ("provider", due(usage))
    await check_books(town, customer, due(usage))


def test_the_model_stops_when_told_to_even_in_the_middle_of_an_answer() -> None:
    async def leave_in_the_middle(model: RealModel) -> int | None:
        async with AsyncOpenAI(base_url=model.base, api_key="any", max_retries=0) as client:
            stream = await client.chat.completions.create(
                model=model.model, messages=[{"role": "user", "content": "Tell a long story."}], stream=True
            )
            async with stream:
                async for chunk in stream:
                    if chunk.choices[0].delta.content:
                        return await asyncio.to_thread(model.stop)
        return None

    with RealModel() as model:
        assert asyncio.run(leave_in_the_middle(model)) == 0


def test_without_its_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ModuleNotFoundError('as if it were not installed')")
    ended = tollkeeper({"PYTHONPATH": str(tmp_path)}, "demo", "model")
    assert ended.returncode == 1
    assert "pip install 'tollkeeper[demo]'" in ended.stderr


def test_a_taken_port_is_told_in_a_sentence(real_model: RealModel) -> None:
    port = real_model.base.removesuffix("/v1").rpartition(":")[2]
    ended = tollkeeper({}, "demo", "model", "--port", port)
    assert ended.returncode == 1
    assert ended.stderr == f"The model's server did not start. Is port {port} of 127.0.0.1 free?\n"
