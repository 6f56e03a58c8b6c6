"""Prices that change: as callers are charged, as everybody reads them, and as operators enter them."""

import csv
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4
from xml.etree import ElementTree

import pytest

from tests.chat import PATH, chat, listening, order, read_until, receipt_of, request_id_in
from tests.client import Answer, ask
from tests.command_line import tollkeeper
from tests.customers import ACTOR, Customers
from tollkeeper.accounts.prices import EnteredPrice, PriceWish, enter_price_change
from tollkeeper.ports.catalog.prices import NewFigures, Withdrawn
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until, wait_until_async

MAIN = {"Host": "main.test"}
NOTICE = timedelta(hours=24)
PAGES = ("/prices", "/prices.json", "/prices.atom")
ATOM = "{http://www.w3.org/2005/Atom}"


async def a_dearer_price(folk: Customers, model: str, *, seconds: float | None = None) -> EnteredPrice:
    """Twice as dear: after its notice, or forced, so many seconds from now."""
    at = None if seconds is None else await folk.desk.prices.now() + timedelta(seconds=seconds)
    wish = PriceWish(
        model_id=model,
        figures=NewFigures(model=Decimal(2)),
        effective_from=at,
        forced_because=None if seconds is None else "a test cannot wait",
    )
    return await enter_price_change(wish, NOTICE, folk.desk.prices, actor=ACTOR)


@pytest.mark.usefixtures("simulator")
@pytest.mark.rule("S7.3", "V4.1")
async def test_a_price_changes_on_every_node_at_its_instant_and_a_call_under_way_keeps_its_own(
    node: Node, addressed_node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    nodes: list[tuple[Node, dict[str, str]]] = [(node, {}), (addressed_node, MAIN)]
    for each, headers in nodes:
        wait_until(lambda: model in ask(each, "/v1/models", key=customer.key, headers=headers).text.decode())  # noqa: B023

    async def price_ids() -> list[tuple[int, int]]:
        """By which price a call to each node was charged, and how much for each of its tokens."""
        answers = [chat(each, customer.key, model, "[[tokens=10]]", headers=headers) for each, headers in nodes]
        found = [await receipt_of(receipts, answer) for answer in answers]
        return [
            (receipt.rate.price.id, receipt.charged // (receipt.usage.input_units + receipt.usage.output_units))
            for receipt in found
        ]

    [old] = [row.price for row in await townsfolk.desk.prices.rows(model)]
    with listening(node, customer.key, order(model, "[[tokens=900 chunk_ms=20]]", stream=True)) as stream:
        begun = read_until(stream, b"data: ")
        new = await a_dearer_price(townsfolk, model, seconds=10)
        assert await price_ids() == [(old.id, 1_000_000)] * 2

        async def has_come() -> bool:
            return await townsfolk.desk.prices.now() > new.effective_from + timedelta(seconds=1)

        await wait_until_async(has_come, within_seconds=30)
        assert await price_ids() == [(new.price_id, 2_000_000)] * 2
        whole = begun + read_until(stream, b"[DONE]")
    request_id = request_id_in(begun)
    under_way = await receipt_of(receipts, request_id)
    assert under_way.settled_at > new.effective_from > under_way.started_at
    assert under_way.rate.price.id == old.id
    assert under_way.charged == under_way.rate.charge(under_way.usage)
    assert UUID(request_id) == under_way.request_id
    assert b"[DONE]" in whole


@contextmanager
def half_sent(node: Node, key: str, body: Mapping[str, object]) -> Iterator[Callable[[], str]]:
    """A call whose body the node has begun to read. The rest goes on demand; then its request id is there."""
    sent = json.dumps(body).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nExpect: 100-continue\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", node.port), timeout=30) as connection:
        connection.sendall(head.encode())
        read_until(connection, b" 100 Continue\r\n\r\n")
        connection.sendall(sent[:10])

        def send_rest() -> str:
            connection.sendall(sent[10:])
            return request_id_in(read_until(connection, b"total_tokens"))

        yield send_rest


@pytest.mark.usefixtures("simulator")
@pytest.mark.rule("S7.3", "V4.1")
async def test_a_call_that_is_slow_to_arrive_pays_by_the_book_as_it_is_when_it_is_there(
    node: Node, townsfolk: Customers, receipts: SqlReceipts
) -> None:
    customer, raised, spared = await townsfolk.a_customer(), await townsfolk.a_model(), await townsfolk.a_model()
    desk = townsfolk.desk.prices
    [kept] = [row.price for row in await desk.rows(spared)]
    announced = await a_dearer_price(townsfolk, spared, seconds=20)
    wait_until(lambda: len(models_in(ask(node, "/prices.json")).get(spared, {}).get("upcoming", [])) == 1)
    with (
        half_sent(node, customer.key, order(raised, "[[tokens=10]]")) as one,
        half_sent(node, customer.key, order(spared, "[[tokens=10]]")) as another,
    ):
        assert await desk.withdraw(announced.price_id, "a slip", actor=ACTOR) is Withdrawn.WITHDRAWN
        forced = await a_dearer_price(townsfolk, raised, seconds=8)
        last = max(forced.effective_from, announced.effective_from)

        async def have_come() -> bool:
            return await desk.now() > last + timedelta(seconds=1)

        await wait_until_async(have_come, within_seconds=40)
        receipts_found = [await receipt_of(receipts, send_rest()) for send_rest in (one, another)]
    assert [receipt.rate.price.id for receipt in receipts_found] == [forced.price_id, kept.id]


def models_in(answer: Answer) -> dict[str, Any]:
    return {model["id"]: model for model in answer.json["_models"]}


@pytest.mark.rule("V4.1")
async def test_anybody_reads_prices_of_now_to_come_and_before(node: Node, townsfolk: Customers) -> None:
    model, hidden = await townsfolk.a_model(), await townsfolk.a_model(only_groups=["restricted"])
    announced = await a_dearer_price(townsfolk, model)
    wait_until(lambda: len(models_in(ask(node, "/prices.json")).get(model, {}).get("upcoming", [])) == 1)
    told = models_in(ask(node, "/prices.json"))
    assert hidden not in told
    [current], [upcoming] = told[model]["current"], told[model]["upcoming"]
    assert (current["model_multiplier"], upcoming["model_multiplier"]) == ("1", "2")
    assert current["usd"]["million input tokens"] == "2.000"
    assert upcoming["price_id"] == announced.price_id
    assert datetime.fromisoformat(upcoming["effective_from"]) == announced.effective_from

    page = ask(node, "/prices").text.decode()
    assert hidden not in page
    section = page.partition(f"<h2>{model}</h2>")[2].partition("<h2>")[0]
    assert "<h3>Now</h3>" in section
    assert f"{announced.effective_from:%Y-%m-%d %H:%M:%S} UTC" in section.partition("<h3>Announced</h3>")[2]
    assert "<script" not in page

    feed = ElementTree.fromstring(ask(node, "/prices.atom").text)  # noqa: S314 (our own)
    titles = {entry.findtext(f"{ATOM}id"): entry.findtext(f"{ATOM}title") for entry in feed.iter(f"{ATOM}entry")}
    title = titles[f"tag:tollkeeper.local,2026:prices/{announced.price_id}"]
    assert title == f"{model}: price from {announced.effective_from:%Y-%m-%d %H:%M:%S} UTC"

    await townsfolk.desk.prices.withdraw(announced.price_id, "a slip", actor=ACTOR)
    wait_until(lambda: not models_in(ask(node, "/prices.json"))[model]["upcoming"])
    [withdrawn] = models_in(ask(node, "/prices.json"))[model]["history"]
    assert withdrawn["withdrawn_at"] is not None
    assert "slip" not in ask(node, "/prices").text.decode() + ask(node, "/prices.json").text.decode()
    assert ACTOR not in {word.strip('",:') for word in ask(node, "/prices.json").text.decode().split()}


@pytest.mark.parametrize("path", PAGES)
def test_the_pages_are_kept_by_readers_and_safe_to_show(node: Node, path: str) -> None:
    answer = ask(node, path)
    assert answer.status == 200
    # No copy outlives the five seconds after which a forced change is in force, of which a node may miss two.
    assert int(answer.headers["cache-control"].removeprefix("public, max-age=")) <= 3
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]
    again = ask(node, path, headers={"If-None-Match": f'"other", W/{answer.headers["etag"]}'})
    assert (again.status, again.text, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    assert ask(node, path, headers={"If-None-Match": '"other"'}).status == 200
    refused = ask(node, path, method="POST", body=b"")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
    head = ask(node, path, method="HEAD")
    assert (head.status, head.text, head.headers["etag"]) == (200, b"", answer.headers["etag"])
    assert head.headers["content-length"] == answer.headers["content-length"]


def costs(usd: str, *, output: str = "") -> str:
    """As it is said of a model for chat whose cached input costs as much as any."""
    each = ((usd, "input tokens"), (usd, "cached input tokens"), (output or usd, "output tokens"))
    return ", ".join(f"{amount} USD for a million {what}" for amount, what in each)


async def test_operators_preview_enter_list_and_withdraw(town: tuple[dict[str, str], Customers]) -> None:
    model = await town[1].a_model()

    def run(*arguments: str) -> str:
        done = tollkeeper(town[0], "price", *arguments)
        return done.stdout if done.returncode == 0 else f"refused: {done.stderr}"

    previewed = run("preview", model, "--multiplier", "1.5")
    assert f"old: {costs('2.000')}; model 1, completion 1, cached 1\n" in previewed
    assert f"new: {costs('3.000')}; model 1.5, completion 1, cached 1\n" in previewed
    tomorrow = f"{datetime.now(UTC) + timedelta(hours=20):%Y-%m-%dT%H:%M}"
    assert "That is too soon. The earliest is" in run("enter", model, "--multiplier", "1.5", "--from", tomorrow)
    assert "is not a time" in run("enter", model, "--multiplier", "1.5", "--from", "soon")
    entered = run("enter", model, "--multiplier", "1.5", "--from", tomorrow, "--force", "theirs [b]rose[/b]")
    assert f"of {model} entered and announced: in force from {tomorrow[:10]}" in entered
    assert f"\n{costs('3.000')}; model 1.5, completion 1, cached 1\n" in entered
    price = entered.split()[1]
    listed = run("list")
    assert "model 1.5" in listed
    assert "3.000 / 3.000 / 3.000" in listed
    later = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%dT%H:%M}"
    wish = (model, "--completion", "4", "--from", later)
    dearer = run("preview", *wish)
    assert f"old: {costs('3.000')}; model 1.5, completion 1, cached 1\n" in dearer
    assert f"new: {costs('3.000', output='12.000')}; model 1.5, completion 4, cached 1\n" in dearer
    on_top = run("enter", *wish).split()[1]
    withdrawn = run("withdraw", price, "--reason", "a slip")
    assert (
        f"price {price} is withdrawn\nlook at price {on_top}, which was entered on top of it: model 1.5, " in withdrawn
    )
    history = run("history", model)
    assert "withdrawn" in history
    assert "a slip" in history
    assert "refused: " in run("history", "no-such-model")


async def test_operators_give_a_model_parts_change_one_and_unset_another(
    town: tuple[dict[str, str], Customers],
) -> None:
    model = f"claude-{uuid4().hex[:8]}"
    added = tollkeeper(town[0], "model", "add", model, "--multiplier", "1.5", "--completion", "5").stdout
    assert "proposed and set: cached 0.1, written for 5 minutes 1.25, written for an hour 2 (Anthropic's" in added
    assert f"tollkeeper price enter {model} --cached 1 --written-5m none --written-1h none" in added

    def run(*arguments: str) -> str:
        done = tollkeeper(town[0], "price", *arguments)
        return done.stdout if done.returncode == 0 else f"refused: {done.stderr}"

    tier = ("--tier", "200000=3/4", "--tool", "web_search=0.01", "--written-5m", "none")
    previewed = run("preview", model, *tier)
    assert "model 1.5, completion 5, cached 0.1; written for 5 minutes 1.25; written for an hour 2\n" in previewed
    figures = (
        "model 1.5, completion 5, cached 0.1; written for an hour 2; each use of web_search 5000 quota tokens; "
        "above 200,000 input tokens model 3, completion 4\n"
    )
    assert f"; {figures}" in previewed
    entered = run("enter", model, *tier)
    assert f"; {figures}" in entered
    assert "0.010 USD for a use of web_search" in entered
    assert (
        "12.000 USD for a million input tokens written to a cache for an hour (above 200,000 input tokens)" in entered
    )
    history = run("history", model)
    # The cells of the table are narrow.
    for words in ("3.000 / 0.300 / 15.000", "web_search", "200,000"):
        assert words in history, words
    cheap = run(
        "enter", model, "--multiplier", "4", "--from", f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%dT%H:%M}"
    )
    assert "refused: A token would cost less above 200,000 input tokens than below." in cheap


async def test_support_lists_and_extends_lots_and_prints_statements(town: tuple[dict[str, str], Customers]) -> None:
    customer = await town[1].a_customer(usd="10")
    account, month = str(customer.account_id), f"{datetime.now(UTC):%Y-%m}"
    [lot] = await town[1].desk.lots.of_account(customer.account_id)
    until = f"{lot.expires_at + timedelta(days=30):%Y-%m-%d}"
    done = tollkeeper(town[0], "lot", "extend", str(lot.id), "--until", until, "--reason", "a gesture")
    assert done.stdout == f"lot {lot.id} expires {until} 00:00:00 UTC\n"
    back = tollkeeper(town[0], "lot", "extend", str(lot.id), "--until", "2020-01-01", "--reason", "a slip")
    assert (back.returncode, "can only be extended" in back.stderr) == (1, True)
    listed = tollkeeper(town[0], "lot", "list", account).stdout
    assert until in listed
    assert "10.000" in listed
    rows = list(csv.reader(tollkeeper(town[0], "statement", account, month, "--csv").stdout.splitlines()))
    assert rows[0] == ["what", "detail", "times", "USD", "quota tokens"]
    assert rows[1] == ["opening balance", f"{month}-01", "", "0.000", "0"]
    assert rows[2] == ["top-up", "", "1", "10.000", "5000000"]
    assert (rows[3][0], *rows[3][3:]) == ("closing balance", "10.000", "5000000")
    assert "closing balance" in tollkeeper(town[0], "statement", account, month).stdout
    assert "write one like" in tollkeeper(town[0], "statement", account, "october").stderr
