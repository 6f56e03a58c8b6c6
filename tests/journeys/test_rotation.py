"""Rotation of the service's secrets while nodes serve: no call fails, limits stay whole, and nothing is lost."""

import base64
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import pytest

from tests.chat import chat
from tests.client import Answer, ask
from tests.command_line import tollkeeper
from tests.conftest import PROVIDER_KEY, Stores, variables
from tests.customers import Customer, Customers
from tests.storage.ledger.past_days import calls_on, days_ago
from tollkeeper.app.office import office
from tollkeeper.settings import load
from tools.accounts import add_accounts, without_limits
from tools.node import Node
from tools.services.process import free_port, wait_until, wait_until_async
from tools.simulator import Simulator

NEW_PROVIDER_KEY = f"{PROVIDER_KEY}-new"
LIMIT = 60
CALLS = 70


def a_secret(version: int | str) -> str:
    return f"{version}:" + base64.b64encode(os.urandom(32)).decode()


def with_second(settings: Mapping[str, str], name: str, **more: str) -> dict[str, str]:
    """The same settings where a second version of that secret is known, too."""
    return dict(settings) | {name: f"{settings[name]},{a_secret(2)}"} | more


async def a_customer(settings: Mapping[str, str]) -> Customer:
    """Made by a console, or a command, with these settings."""
    async with office(load(settings)) as desk:
        return await Customers(desk).a_customer()


def statuses(customer: Customer, *nodes: Node) -> Counter[int]:
    """Of more calls than its limit, over all nodes in turn."""
    wait_until(lambda: all(json.loads(ask(node, "/readyz").text)["redis"] == "ok" for node in nodes))
    turns = [nodes[number % len(nodes)] for number in range(CALLS)]
    with ThreadPoolExecutor(8) as callers:
        answers = callers.map(lambda node: ask(node, "/v1/models", key=customer.key), turns)
        return Counter(answer.status for answer in answers)


async def keys_under(owner: asyncpg.Connection, version: int) -> int:
    count: int = await owner.fetchval("select count(*) from api_key where pepper_version = $1", version)
    return count


async def no_key_is_under(owner: asyncpg.Connection, version: int) -> bool:
    return await keys_under(owner, version) == 0


async def a_node_is_on_record(owner: asyncpg.Connection) -> bool:
    there: bool = await owner.fetchval("select exists (select from node)")
    return there


@pytest.fixture
async def own(stores: Stores) -> AsyncIterator[dict[str, str]]:
    found = await variables(stores)
    yield found
    await stores.drop(found["TOLLKEEPER_DATABASE_URL"])


@pytest.fixture
async def owner(own: dict[str, str]) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"})
    yield connection
    await connection.close()


async def test_nodes_of_which_one_knows_a_new_pepper_share_limits_and_keys(own: dict[str, str]) -> None:
    ahead = with_second(own, "TOLLKEEPER_PEPPERS")
    of_one, of_other = await a_customer(own), await a_customer(ahead)
    with Node(own) as one, Node(ahead) as other:
        for customer in (of_one, of_other):
            assert statuses(customer, one, other) == {200: LIMIT, 429: CALLS - LIMIT}


async def test_limits_stay_whole_between_nodes_with_and_without_a_retired_pepper(
    own: dict[str, str],
) -> None:
    both = with_second(own, "TOLLKEEPER_PEPPERS", TOLLKEEPER_PEPPER_IN_USE="2")
    customer = await a_customer(both)
    told = tollkeeper(both, "pepper", "retire", "1").stdout
    mark = next(line for line in told.splitlines() if line.startswith("mark:"))
    second = both["TOLLKEEPER_PEPPERS"].partition(",")[2]
    without = both | {"TOLLKEEPER_PEPPERS": f"{mark},{second}"}
    with Node(both) as one, Node(without) as other:
        assert statuses(customer, one, other) == {200: LIMIT, 429: CALLS - LIMIT}


async def test_keys_are_digested_anew_on_use_and_the_old_pepper_can_then_be_retired(
    own: dict[str, str], owner: asyncpg.Connection
) -> None:
    customer = await a_customer(own)
    both = with_second(own, "TOLLKEEPER_PEPPERS", TOLLKEEPER_PEPPER_IN_USE="2")
    refused = tollkeeper(both, "pepper", "retire", "1")
    assert refused.returncode == 1
    assert "1 keys and 0 recovery codes stand under it" in refused.stderr
    with Node(both) as node:
        assert ask(node, "/v1/models", key=customer.key).status == 200
        await wait_until_async(lambda: no_key_is_under(owner, 1))
        assert await keys_under(owner, 2) == 1
        assert ask(node, "/v1/models", key=customer.key).status == 200
    told = tollkeeper(both, "pepper", "retire", "1")
    assert "Pepper 1 is retired" in told.stdout
    mark = next(line for line in told.stdout.splitlines() if line.startswith("mark:"))
    alone = both | {"TOLLKEEPER_PEPPERS": f"{mark},{both['TOLLKEEPER_PEPPERS'].partition(',')[2]}"}
    with Node(alone) as node:
        assert ask(node, "/v1/models", key=customer.key).status == 200


async def test_the_pepper_in_use_is_not_retired(own: dict[str, str]) -> None:
    both = with_second(own, "TOLLKEEPER_PEPPERS")
    refused = tollkeeper(both, "pepper", "retire", "1")
    assert (refused.returncode, "Pepper 1 is in use" in refused.stderr) == (1, True)


async def test_a_node_does_not_start_without_a_pepper_that_keys_need_unless_it_was_given_up(
    own: dict[str, str],
) -> None:
    customer = await a_customer(own)
    both = with_second(own, "TOLLKEEPER_PEPPERS", TOLLKEEPER_PEPPER_IN_USE="2")
    alone = both | {"TOLLKEEPER_PEPPERS": both["TOLLKEEPER_PEPPERS"].partition(",")[2]}
    refused = tollkeeper(alone | {"TOLLKEEPER_PORT": str(free_port())}, "serve")
    assert refused.returncode == 1
    assert "Keys stand under pepper 1" in refused.stderr
    assert tollkeeper(both, "pepper", "retire", "1", "--leaving", "1").returncode == 0
    with Node(alone) as node:
        assert ask(node, "/v1/models", key=customer.key).status == 401


async def test_nothing_starts_with_another_service_mark_than_nodes_had_unless_it_is_said(
    own: dict[str, str], owner: asyncpg.Connection
) -> None:
    both = with_second(own, "TOLLKEEPER_PEPPERS", TOLLKEEPER_PEPPER_IN_USE="2")
    alone = both | {"TOLLKEEPER_PEPPERS": both["TOLLKEEPER_PEPPERS"].partition(",")[2]}
    with Node(both):
        await wait_until_async(lambda: a_node_is_on_record(owner))
    for command, port in (("serve", "TOLLKEEPER_PORT"), ("console", "TOLLKEEPER_CONSOLE_PORT")):
        refused = tollkeeper(alone | {port: str(free_port())}, command)
        assert (refused.returncode, "service mark would be another" in refused.stderr) == (1, True), refused
    with Node(alone | {"TOLLKEEPER_PEPPERS": f"{a_secret('mark')},{alone['TOLLKEEPER_PEPPERS']}"}):
        pass


async def test_a_console_that_was_left_behind_makes_no_key_under_a_retired_pepper(own: dict[str, str]) -> None:
    both = with_second(own, "TOLLKEEPER_PEPPERS", TOLLKEEPER_PEPPER_IN_USE="2")
    customer = await a_customer(both)
    assert tollkeeper(both, "pepper", "retire", "1").returncode == 0
    for asked in (
        ("key", "create", str(customer.account_id), "late"),
        ("key", "rotate", str(customer.key_id), "--reason", "a test"),
    ):
        refused = tollkeeper(own, *asked)
        assert (refused.returncode, "pepper 1 was retired" in refused.stderr) == (1, True), refused
        assert tollkeeper(both, *asked).returncode == 0


async def test_the_list_tells_what_stands_under_each_pepper_and_which_nodes_lack_it(own: dict[str, str]) -> None:
    await a_customer(own)
    both = with_second(own, "TOLLKEEPER_PEPPERS")
    with Node(own | {"TOLLKEEPER_NODE_NAME": "behind"}):
        wait_until(lambda: "behind" in tollkeeper(both, "pepper", "list").stdout)
        _names, first, second = tollkeeper(both, "pepper", "list").stdout.splitlines()
    assert ("in use" in first, "behind" in first) == (True, False)
    assert ("listed" in second, "behind" in second) == (True, True)


async def test_envelopes_are_sealed_anew_and_provider_keys_replaced_while_calls_go_on(
    own: dict[str, str], owner: asyncpg.Connection
) -> None:
    both = with_second(own, "TOLLKEEPER_ENVELOPE_KEYS")
    chosen = both | {"TOLLKEEPER_ENVELOPE_KEY_IN_USE": "2"}
    await without_limits(own["TOLLKEEPER_DATABASE_URL"])
    with Simulator(key=f"{PROVIDER_KEY},{NEW_PROVIDER_KEY}") as simulator, Node(both) as node:
        await add_accounts(both, simulator.base, PROVIDER_KEY, 1)
        (name,) = await owner.fetchrow("select name from provider_account")
        async with office(load(both)) as desk:
            customers = Customers(desk)
            customer, model = await customers.a_customer(), await customers.a_model()
        with ThreadPoolExecutor(4) as callers:
            calls = [callers.submit(chat, node, customer.key, model, "Hello") for _ in range(60)]
            done = tollkeeper(chosen, "envelope", "reseal")
            turned = tollkeeper(chosen, "provider", "rotate-key", name, stdin=f"{NEW_PROVIDER_KEY}\n")
            calls += [callers.submit(chat, node, customer.key, model, "Hello") for _ in range(20)]
            statuses = Counter(call.result().status for call in calls)
        assert "1 secrets are sealed anew, under envelope key 2." in done.stdout
        assert "has a new key, sealed" in turned.stdout, turned.stderr
        assert statuses == {200: 80}
        wait_until(lambda: _key_that_came(simulator, chat(node, customer.key, model, "Hello")) == 2)
        # The vendor ends the old one. A node that went on with it would be refused.
        simulator.stop()
        simulator.options["key"] = NEW_PROVIDER_KEY
        simulator.start()
        assert [chat(node, customer.key, model, "Hello").status for _ in range(10)] == [200] * 10
        wrong = tollkeeper(chosen, "provider", "rotate-key", name, stdin="wrong\n")
        assert (wrong.returncode, "keeps the key that it has" in wrong.stderr) == (1, True)
    alone = chosen | {"TOLLKEEPER_ENVELOPE_KEYS": both["TOLLKEEPER_ENVELOPE_KEYS"].partition(",")[2]}
    with Simulator(key=NEW_PROVIDER_KEY, port=simulator.port) as simulator, Node(alone) as node:
        assert chat(node, customer.key, model, "Hello").status == 200


def _key_that_came(simulator: Simulator, answer: Answer) -> int:
    """Which of its keys the simulator was shown with this call."""
    return int(simulator.wait_for(answer.headers["x-request-id"])["key_number"])


async def test_nothing_is_sealed_under_a_key_that_a_live_node_lacks(own: dict[str, str]) -> None:
    chosen = with_second(own, "TOLLKEEPER_ENVELOPE_KEYS", TOLLKEEPER_ENVELOPE_KEY_IN_USE="2")
    with Node(own | {"TOLLKEEPER_NODE_NAME": "behind"}):
        wait_until(lambda: "behind" in tollkeeper(chosen, "envelope", "list").stdout)
        refused = tollkeeper(chosen, "envelope", "reseal")
    assert (refused.returncode, "is not known, or is another one, on behind" in refused.stderr) == (1, True)


@pytest.fixture
async def sealed_days(own: dict[str, str], owner: asyncpg.Connection) -> None:
    """Books of three closed days, found clean."""
    async with office(load(own)) as desk:
        customers = Customers(desk)
        await customers.a_model()
        customer = await customers.a_customer()
    for days in (9, 5, 3):
        await calls_on(owner, customer, days_ago(days))
    assert tollkeeper(own, "books", "check").returncode == 0


def sealed_under(settings: Mapping[str, str]) -> dict[int, int]:
    listed = json.loads(tollkeeper(settings, "envelope", "list", "--json").stdout)["data"]
    return {record["version"]: record["seals_of_books"] for record in listed}


@pytest.mark.usefixtures("sealed_days")
async def test_books_stay_clean_through_every_step_of_a_rotation_of_envelope_keys(own: dict[str, str]) -> None:
    known = with_second(own, "TOLLKEEPER_ENVELOPE_KEYS")
    chosen = known | {"TOLLKEEPER_ENVELOPE_KEY_IN_USE": "2"}
    alone = chosen | {"TOLLKEEPER_ENVELOPE_KEYS": known["TOLLKEEPER_ENVELOPE_KEYS"].partition(",")[2]}
    for settings in (known, own, chosen, known):
        checked = tollkeeper(settings, "books", "check")
        assert checked.returncode == 0, checked
    assert sealed_under(chosen) == {1: 4, 2: 0}
    done = tollkeeper(chosen, "envelope", "reseal")
    assert "4 seals of the books are made anew." in done.stdout
    assert "older versions can be taken out" in done.stdout
    assert sealed_under(alone) == {2: 4}
    assert "3 days were as sealed" in tollkeeper(alone, "books", "check").stdout


@pytest.mark.usefixtures("sealed_days")
async def test_broken_seals_are_not_renewed_and_no_envelope_key_may_go(
    own: dict[str, str], owner: asyncpg.Connection
) -> None:
    chosen = with_second(own, "TOLLKEEPER_ENVELOPE_KEYS", TOLLKEEPER_ENVELOPE_KEY_IN_USE="2")
    await owner.execute("update books_seal set contents = contents || ' ' where day = $1", days_ago(5))
    refused = tollkeeper(chosen, "envelope", "reseal")
    assert (refused.returncode, "for they are broken" in refused.stderr) == (1, True), refused
    assert "can be taken out" not in refused.stdout
    assert sealed_under(chosen) == {1: 4, 2: 0}


@pytest.mark.parametrize("options", [(), ("--untested",)], ids=["asked", "untested"])
async def test_a_provider_key_is_replaced_although_its_envelope_key_is_lost(
    own: dict[str, str], options: tuple[str, ...]
) -> None:
    lost = own | {"TOLLKEEPER_ENVELOPE_KEYS": a_secret(2)}
    with Simulator(key=PROVIDER_KEY) as simulator:
        await add_accounts(own, simulator.base, "sk-of-before", 1)
        async with office(load(own)) as desk:
            [account] = await desk.providers.standing()
        reseal = tollkeeper(lost, "envelope", "reseal")
        assert (reseal.returncode, "tollkeeper provider rotate-key" in reseal.stderr) == (1, True)
        done = tollkeeper(lost, "provider", "rotate-key", account.name, *options, stdin=f"{PROVIDER_KEY}\n")
        assert "has a new key, sealed" in done.stdout, done
        assert tollkeeper(lost, "provider", "test", account.name).returncode == 0
