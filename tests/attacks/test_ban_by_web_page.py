"""A web page that has its visitors' browsers call this service: it keeps nobody from what is theirs."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping

import asyncpg
import pytest

from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customers
from tollkeeper.app.office import office
from tollkeeper.settings import load
from tools.node import Node
from tools.services.process import wait_until

INVALID_CALLS = 20
UNKNOWN = "sk-" + "x" * 49
IMAGE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FORM = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
OLD_BROWSER = {"Referer": "http://evil.example/"}


class Square:
    """A node that bans soon, and customers. Each test has an IP of its own."""

    def __init__(self, node: Node, customers: Customers, owner: asyncpg.Connection) -> None:
        self.node = node
        self.customers = customers
        self.owner = owner

    def ask(self, ip: str, path: str = "/v1/models", key: str | None = None, **marks: str) -> Answer:
        return ask(self.node, path, key=key, headers={"X-Forwarded-For": ip, **marks})

    def calls(self, ip: str, count: int, key: str | None, marks: Mapping[str, str]) -> Counter[int]:
        return Counter(self.ask(ip, f"/v1/{number}", key, **marks).status for number in range(count))

    async def ban(self, ip: str, *, key: str | None = None) -> None:
        for _ in range(INVALID_CALLS + 1):
            self.ask(ip, key=key)
        wait_until(lambda: self.ask(ip).status == 403, within_seconds=30)


@pytest.fixture(scope="module")
async def square(stores: Stores) -> AsyncIterator[Square]:
    settings = await variables(stores) | {
        "TOLLKEEPER_INVALID_CALLS": str(INVALID_CALLS),
        "TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1",
    }
    owner = await asyncpg.connect(settings["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"})
    async with office(load(settings)) as desk:
        with Node(settings) as node:
            yield Square(node, Customers(desk), owner)
    await owner.close()


@pytest.mark.parametrize(
    ("ip", "marks"),
    [("198.51.100.1", IMAGE), ("198.51.100.2", FORM), ("198.51.100.3", OLD_BROWSER)],
    ids=["image", "form", "old browser"],
)
async def test_what_a_page_has_a_browser_load_bans_nobody(square: Square, ip: str, marks: Mapping[str, str]) -> None:
    assert square.calls(ip, 3 * INVALID_CALLS, None, marks) == {404: 3 * INVALID_CALLS}
    # So many are counted by now that one more would be one too many, if those were counted as well.
    assert square.calls(ip, INVALID_CALLS, None, {}) == {404: INVALID_CALLS}
    assert not await square.customers.desk.abuse.bans(ip=ip)


async def test_whoever_tries_keys_is_banned_whatever_they_say_of_themselves(square: Square) -> None:
    ip = "198.51.100.4"
    for _ in range(INVALID_CALLS + 1):
        square.ask(ip, key=UNKNOWN, **IMAGE)
    wait_until(lambda: square.ask(ip, key=UNKNOWN, **IMAGE).status == 403, within_seconds=30)


async def test_a_good_key_passes_a_ban_for_invalid_calls_and_nothing_else_does(square: Square) -> None:
    ip, customer, revoked = "198.51.100.5", await square.customers.a_customer(), await square.customers.a_customer()
    await square.customers.desk.keys.revoke(revoked.key_id, account_id=revoked.account_id, actor=ACTOR)
    await square.ban(ip)
    assert square.ask(ip, key=customer.key).status == 200
    refused = [square.ask(ip), square.ask(ip, key=UNKNOWN), square.ask(ip, key="x"), square.ask(ip, key=revoked.key)]
    refused += [square.ask(ip, "/prices"), square.ask(ip, "/v1/nothing")]
    assert {(answer.status, answer.error["code"]) for answer in refused} == {(403, "ip_banned")}
    # A browser asks first whether it may send the key.
    preflight = ask(square.node, "/v1/models", method="OPTIONS", headers={"X-Forwarded-For": ip})
    assert preflight.status == 204
    older = [
        ask(square.node, "/api/token", method="POST", headers={"X-Forwarded-For": ip}, body={"api_key": key})
        for key in (customer.key, UNKNOWN)
    ]
    assert [answer.status for answer in older] == [200, 403]
    assert square.ask(ip, key=customer.key).status == 200


async def test_keys_tried_from_a_banned_ip_reach_the_database_a_few_times_a_second(square: Square) -> None:
    ip, customer = "198.51.100.6", await square.customers.a_customer()
    await square.ban(ip, key=UNKNOWN)
    # The calls that led to the ban have used up this second's lookups.
    wait_until(lambda: square.ask(ip, key=customer.key).status == 200, within_seconds=30)
    keys = [f"sk-{number:049d}" for number in range(100)]
    assert Counter(square.ask(ip, key=key).status for key in keys) == {403: 100}
    # Whoever is known is not kept by them; on a busy machine, for as long as the node has heard what changed meanwhile.
    wait_until(lambda: square.ask(ip, key=customer.key).status == 200, within_seconds=30)


async def test_a_ban_by_an_operator_holds_for_good_keys_too(square: Square) -> None:
    ip, customer = "198.51.100.7", await square.customers.a_customer()
    await square.customers.desk.abuse.ban(ip, 600, "a test", actor=ACTOR)
    wait_until(lambda: square.ask(ip, key=customer.key).status == 403, within_seconds=30)
