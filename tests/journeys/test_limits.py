"""Rate limits and bans, as callers meet them."""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from tests.chat import chat
from tests.client import Answer, ask
from tests.conftest import ACCOUNTS, PROVIDER_KEY, Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.limits.windows import Rates
from tollkeeper.settings import load
from tools.accounts import add_accounts
from tools.node import Node
from tools.services import Redis
from tools.services.process import wait_until, wait_until_async
from tools.simulator import Simulator

INVALID_CALLS = 20
LIMIT_HEADERS = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests")


class Village:
    """A node with the usual limits, a provider, and customers; each test has its own customers and IPs."""

    def __init__(self, node: Node, customers: Customers, model: str, owner: asyncpg.Connection) -> None:
        self.node = node
        self.customers = customers
        self.model = model
        self.owner = owner

    def many(self, count: int, key: str, path: str = "/v2/token/balance") -> list[Answer]:
        with ThreadPoolExecutor(8) as callers:
            return list(callers.map(lambda _: ask(self.node, path, key=key), range(count)))

    def chats(self, count: int, *keys: str, model: str | None = None) -> list[Answer]:
        orders = [keys[number % len(keys)] for number in range(count)]
        with ThreadPoolExecutor(8) as callers:
            return list(callers.map(lambda key: chat(self.node, key, model or self.model, "Hello"), orders))

    async def a_customer_of(self, rates: Rates) -> Customer:
        group = f"group-{uuid4().hex[:8]}"
        await self.customers.desk.groups.add(group, rates, actor=ACTOR)
        customer = await self.customers.a_customer(group=group)
        # Until the node knows the group.
        wait_until(lambda: ask(self.node, "/v2/token/balance", key=customer.key).status != 503, within_seconds=40)
        return customer


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with Redis() as running:
        yield running


@pytest.fixture(scope="module")
async def village(stores: Stores, redis: Redis) -> AsyncIterator[Village]:
    settings = await variables(stores) | {
        "TOLLKEEPER_INVALID_CALLS": str(INVALID_CALLS),
        "TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1",
        "TOLLKEEPER_REDIS_URL": redis.url,
    }
    owner = await asyncpg.connect(settings["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"})
    with Simulator(key=PROVIDER_KEY) as simulator:
        await add_accounts(settings, simulator.base, PROVIDER_KEY, ACCOUNTS)
        async with office(load(settings)) as desk:
            customers = Customers(desk)
            model = await customers.a_model()
            with Node(settings) as node:
                wait_until(lambda: json.loads(ask(node, "/readyz").text)["redis"] == "ok", within_seconds=40)
                yield Village(node, customers, model, owner)
    await owner.close()


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


@pytest.mark.rule("L1.1", "X1.429", "E1.2", "E2.3")
async def test_a_key_makes_60_calls_in_60_seconds_over_all_endpoints_together(village: Village) -> None:
    customer = await village.customers.a_customer()
    answers = village.many(25, customer.key, "/v1/models") + village.many(20, customer.key)
    answers += village.chats(10, customer.key) + village.many(5, customer.key, "/v2/account/balance")
    assert statuses(answers) == {200: 60}
    for path in ("/v1/models", "/v2/account/balance", "/v2/token/balance"):
        refused = ask(village.node, path, key=customer.key)
        assert refused.status == 429
        assert refused.error["code"] == "rate_limit_exceeded"
        assert refused.error["type"] == "rate_limit_error"
    assert chat(village.node, customer.key, village.model, "Hello").status == 429
    deprecated = ask(village.node, "/api/token", method="POST", body={"api_key": customer.key})
    assert deprecated.status == 429
    assert deprecated.json["Status"] == 0


async def test_a_refusal_says_when_to_come_back_and_does_not_count(village: Village) -> None:
    customer = await village.customers.a_customer()
    village.many(60, customer.key)
    first, *others = village.many(30, customer.key)
    assert 1 <= int(first.headers["retry-after"]) <= 60
    assert f"Try again in {first.headers['retry-after']} s" in first.error["message"]
    assert statuses(others) == {429: 29}
    # What was refused took no place: there are as many as before in the window.
    assert first.headers["x-ratelimit-remaining-requests"] == "0"
    assert first.headers["x-ratelimit-reset-requests"] == f"{first.headers['retry-after']}s"


async def test_every_answer_says_how_the_limit_stands(village: Village) -> None:
    customer = await village.customers.a_customer()
    whole = chat(village.node, customer.key, village.model, "Hello")
    streamed = chat(village.node, customer.key, village.model, "Hello", stream=True)
    listed = ask(village.node, "/v1/models", key=customer.key)
    wrong = ask(village.node, "/v1/models", key=customer.key, body=b"{}")
    unknown = chat(village.node, customer.key, "no-such-model", "Hello")
    assert [answer.status for answer in (whole, streamed, listed, wrong, unknown)] == [200, 200, 200, 400, 404]
    told = [[answer.headers[name] for name in LIMIT_HEADERS] for answer in (whole, streamed, listed, wrong, unknown)]
    assert [limit for limit, _, _ in told] == ["60"] * 5
    assert [remaining for _, remaining, _ in told] == ["59", "58", "57", "56", "55"]
    assert all(re.fullmatch(r"(5\d|60)s", reset) for _, _, reset in told)


async def test_who_is_not_known_has_no_limit_to_be_told_of(village: Village) -> None:
    answer = ask(village.node, "/v1/models", key="sk-" + "x" * 49)
    assert answer.status == 401
    assert not set(LIMIT_HEADERS) & answer.headers.keys()


@pytest.mark.rule("L2.1", "L2.2")
async def test_more_keys_do_not_raise_the_accounts_rate_beyond_its_peak(village: Village) -> None:
    customer = await village.customers.a_customer()
    keys = [customer.key] + [(await village.customers.a_key(customer.account_id)).key for _ in range(3)]
    answers = village.chats(140, *keys)
    assert statuses(answers) == {200: 120, 429: 20}
    refused = next(answer for answer in answers if answer.status == 429)
    assert "over all its keys" in refused.error["message"]
    assert refused.headers["x-ratelimit-limit-requests"] == "120"


@pytest.mark.rule("L2.3")
async def test_the_standard_rate_is_set_by_kind_and_by_model(village: Village) -> None:
    slow = await village.customers.a_model()
    rates = Rates(key_rate=None, peak_percent=100, kind_rates={Kind.CHAT: 7}, model_rates={slow: 3})
    customer = await village.a_customer_of(rates)
    wait_until(lambda: slow in ask(village.node, "/v1/models", key=customer.key).text.decode(), within_seconds=40)
    assert statuses(village.chats(5, customer.key, model=slow)) == {200: 3, 429: 2}
    assert statuses(village.chats(9, customer.key)) == {200: 7, 429: 2}


async def test_tokens_per_minute_and_calls_at_once_are_limited_where_a_group_says_so(village: Village) -> None:
    by_tokens = await village.a_customer_of(Rates(key_rate=None, standard_rate=None, tokens_per_minute=60))
    answers = [chat(village.node, by_tokens.key, village.model, "word " * 20) for _ in range(4)]
    assert answers[0].status == 200
    assert answers[-1].status == 429
    assert "tokens" in answers[-1].error["message"]
    alone = await village.a_customer_of(Rates(key_rate=None, standard_rate=None, concurrency=1))
    assert statuses([*village.chats(1, alone.key), *village.chats(1, alone.key)]) == {200: 2}
    with ThreadPoolExecutor(3) as callers:
        told = list(callers.map(lambda _: chat(village.node, alone.key, village.model, "[[delay_ms=3000]]"), range(3)))
    assert statuses(told) == {200: 1, 429: 2}
    refused = next(answer for answer in told if answer.status == 429)
    assert "1 running at once" in refused.error["message"]


async def test_an_account_that_never_paid_has_few_calls_at_once_until_it_pays(village: Village) -> None:
    customer = await village.a_customer_of(Rates(key_rate=None, standard_rate=None))
    await village.owner.execute("update lot set source = 'gift' where account_id = $1", customer.account_id)
    await village.owner.execute("update account set name = name where id = $1", customer.account_id)

    def at_once() -> Counter[int]:
        with ThreadPoolExecutor(8) as callers:
            calls = callers.map(
                lambda _: chat(village.node, customer.key, village.model, "[[delay_ms=3000]]"), range(8)
            )
            return statuses(list(calls))

    wait_until(lambda: at_once() == {200: 4, 429: 4}, within_seconds=60)
    await village.customers.credit(customer.account_id, "1")
    wait_until(lambda: at_once() == {200: 8}, within_seconds=60)


@pytest.mark.rule("S11.2")
async def test_a_restricted_account_has_half_its_standard_rate_and_no_peak(village: Village) -> None:
    customer = await village.customers.a_customer()
    assert chat(village.node, customer.key, village.model, "Hello").status == 200
    await village.owner.execute("select restrict_account($1, 3600, 700, 3600, '192.0.2.1')", customer.account_id)

    def limit() -> str:
        return chat(village.node, customer.key, village.model, "Hello").headers["x-ratelimit-limit-requests"]

    wait_until(lambda: limit() == "30", within_seconds=30)
    assert statuses(village.chats(40, customer.key))[429] >= 10
    assert await village.customers.desk.abuse.lift_restriction(customer.account_id, "a mistake", actor=ACTOR)
    wait_until(lambda: limit() == "60", within_seconds=30)


@pytest.mark.rule("S11.1", "S11.3")
async def test_too_many_invalid_calls_ban_the_ip_that_sent_them_until_support_lifts_it(village: Village) -> None:
    customer = await village.customers.a_customer()
    bad, good = {"X-Forwarded-For": "198.51.100.7"}, {"X-Forwarded-For": "198.51.100.8"}
    for number in range(INVALID_CALLS):
        answer = ask(village.node, "/v1/nothing" if number % 2 else "/v1/models", headers=bad)
        assert answer.status in {401, 404}
    assert ask(village.node, "/v1/models", key=customer.key, headers=bad).status == 200
    ask(village.node, "/v1/nothing", headers=bad)

    def banned() -> Answer | None:
        answer = ask(village.node, "/v1/models", headers=bad)
        return answer if answer.status == 403 else None

    wait_until(lambda: banned() is not None, within_seconds=30)
    refused = banned()
    assert refused is not None
    assert refused.error["code"] == "ip_banned"
    assert refused.headers["x-should-retry"] == "false"
    assert "198.51.100.7" in refused.error["message"]
    assert "invalid calls" in refused.error["message"]
    # Who has a good key is served all the same.
    assert ask(village.node, "/v1/models", key=customer.key, headers=bad).status == 200
    assert ask(village.node, "/v1/models", headers=good).status == 401
    [record] = await village.customers.desk.abuse.bans(ip="198.51.100.7")
    assert record.why == "invalid_calls"
    assert record.counted["calls"] == INVALID_CALLS + 1
    seen = record.counted["codes_seen_here"]
    assert isinstance(seen, dict)
    assert sum(seen.values()) <= INVALID_CALLS + 1
    assert await village.customers.desk.abuse.lift_ban("198.51.100.7", "they mended it", actor=ACTOR)
    wait_until(lambda: banned() is None, within_seconds=30)


@pytest.mark.rule("S11.1")
async def test_a_key_that_is_not_accepted_on_the_deprecated_endpoint_counts_as_well(village: Village) -> None:
    bad = {"X-Forwarded-For": "198.51.100.20"}
    for _ in range(INVALID_CALLS + 1):
        answer = ask(village.node, "/api/token", method="POST", headers=bad, body={"api_key": "sk-" + "x" * 49})
        assert answer.status == 200
    wait_until(lambda: ask(village.node, "/v1/models", headers=bad).status == 403, within_seconds=30)


async def test_what_a_client_claims_left_of_the_last_hop_changes_nothing(village: Village) -> None:
    for number in range(INVALID_CALLS + 1):
        claimed = {"X-Forwarded-For": f"203.0.113.{number}, 198.51.100.30", "X-Real-IP": f"203.0.113.{number}"}
        ask(village.node, "/v1/nothing", headers=claimed)
    dodging = {"X-Forwarded-For": "192.0.2.99, 198.51.100.30"}
    wait_until(lambda: ask(village.node, "/v1/models", headers=dodging).status == 403, within_seconds=30)
    assert ask(village.node, "/v1/models", headers={"X-Forwarded-For": "203.0.113.1"}).status == 401


async def test_who_has_a_good_key_and_a_wrong_address_is_not_banned(village: Village) -> None:
    customer, mine = await village.customers.a_customer(), {"X-Forwarded-For": "198.51.100.41"}
    for _ in range(INVALID_CALLS + 5):
        answer = ask(village.node, "/v1/v1/chat/completions", method="POST", key=customer.key, headers=mine, body={})
        assert answer.status == 404
        answer = ask(village.node, "/v1/responses/resp_1", key=customer.key, headers=mine)
        assert (answer.status, answer.error["code"]) == (404, "responses_not_stored")
    # It is a call of its key, as every other.
    answer = ask(village.node, "/v1/v1/models", key=customer.key, headers=mine)
    assert int(answer.headers["x-ratelimit-remaining-requests"]) < int(answer.headers["x-ratelimit-limit-requests"])
    assert ask(village.node, "/v1/models", headers=mine).status == 401
    theirs = {"X-Forwarded-For": "198.51.100.42"}
    for _ in range(INVALID_CALLS + 1):
        ask(village.node, "/v1/v1/models", key="sk-a" + "x" * 48, headers=theirs)
    wait_until(lambda: ask(village.node, "/v1/models", headers=theirs).status == 403, within_seconds=30)


async def test_a_good_key_where_another_protocol_has_it_is_known_at_a_wrong_address(village: Village) -> None:
    customer = await village.customers.a_customer()
    mine = {"X-Forwarded-For": "198.51.100.43", "x-api-key": customer.key, "anthropic-version": "2023-06-01"}
    for _ in range(INVALID_CALLS + 5):
        answer = ask(village.node, "/v1/v1/messages", method="POST", headers=mine, body={})
        assert (answer.status, answer.json["type"], answer.error["type"]) == (404, "error", "not_found_error")
        assert "x-ratelimit-remaining-requests" in answer.headers
    assert ask(village.node, "/v1/models", headers={"X-Forwarded-For": "198.51.100.43"}).status == 401


async def test_our_own_proxy_and_refusals_that_are_nobodys_mistake_are_not_banned(village: Village) -> None:
    poor = await village.customers.a_customer(usd=None)
    for _ in range(INVALID_CALLS + 5):
        # Without a hop the client is the proxy itself: a health check gone wrong must not close the door for all.
        assert ask(village.node, "/v1/nothing").status == 404
    mine = {"X-Forwarded-For": "198.51.100.40"}
    for _ in range(INVALID_CALLS + 5):
        assert chat(village.node, poor.key, village.model, "Hello", headers=mine).status == 403
    assert ask(village.node, "/v1/models", key=poor.key, headers=mine).status == 200


async def test_an_insufficient_balance_is_told_before_any_peak_and_not_charged(village: Village) -> None:
    poor = await village.customers.a_customer(usd=None)
    answer = chat(village.node, poor.key, village.model, "Hello")
    assert answer.error["type"] == "insufficient_quota"
    assert answer.headers["x-ratelimit-remaining-requests"] == "59"


async def test_an_admitted_call_has_its_time_in_the_log_and_a_refused_one_has_none(village: Village) -> None:
    customer = await village.customers.a_customer()
    village.many(61, customer.key)

    def lines() -> list[dict[str, object]]:
        return [line for line in village.node.call_lines() if line.get("key_id") == customer.key_id]

    wait_until(lambda: len(lines()) == 61, within_seconds=30)
    assert {line["status"] for line in lines() if "admitted_at" not in line} == {429}
    assert sum("admitted_at" in line for line in lines()) == 60


async def test_time_at_peak_is_written_down_with_who_sent(village: Village) -> None:
    customer = await village.customers.a_customer()
    other = await village.customers.a_key(customer.account_id)
    with ThreadPoolExecutor(8) as callers:
        mine = {"X-Forwarded-For": "198.51.100.50"}
        keys = [customer.key, other.key] * 40
        list(callers.map(lambda key: chat(village.node, key, village.model, "Hi", headers=mine), keys))

    rows: list[asyncpg.Record] = []

    async def seen() -> bool:
        rows[:] = await village.owner.fetch(
            "select ip, milliseconds from peak_minute where account_id = $1", customer.account_id
        )
        return bool(rows)

    await wait_until_async(seen, within_seconds=30)
    assert {row["ip"] for row in rows} == {"198.51.100.50"}
    assert 30_000 <= sum(row["milliseconds"] for row in rows) <= 60_000


async def test_without_redis_calls_go_on_within_the_nodes_share_and_redis_learns_of_them(
    village: Village, redis: Redis
) -> None:
    customer = await village.customers.a_customer()
    assert statuses(village.many(20, customer.key)) == {200: 20}
    redis.kill()
    # One process has the whole share, and begins from what it admitted itself.
    assert statuses(village.many(45, customer.key)) == {200: 40, 429: 5}
    redis.start()
    wait_until(lambda: msgspec.json.decode(ask(village.node, "/readyz").text)["redis"] == "ok", within_seconds=40)
    assert statuses(village.many(5, customer.key)) == {429: 5}
