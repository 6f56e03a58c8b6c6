"""What the guard asks of the stores for clients that are banned."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tollkeeper.core.errors import IpBanned
from tollkeeper.core.keys import KeyRecord
from tollkeeper.edge.guard import ALL_LOOKUPS_A_SECOND, LOOKUPS_A_SECOND, Guard
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.ports import Ban
from tools.asked import Asked

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IP = "192.0.2.9"
GOOD, UNKNOWN = "sk-" + "a" * 49, "sk-" + "b" * 49
RECORD = KeyRecord(
    key_id=1, account_id=1, group="standard", only_models=None, expires_at=None, revoked=False, account_disabled=False
)


class Bans:
    def find(self, ip: str) -> Ban:
        return Ban(ip=ip, until=NOW + timedelta(hours=1), why="invalid_calls")


class InvalidCalls:
    def note(self, ip: str, code: str) -> None:
        raise AssertionError("nobody counts what is banned already")


class Keys:
    """One good key, and how often the database was asked for others."""

    def __init__(self) -> None:
        self.asked = 0

    def remembered(self, key: str) -> KeyRecord | None:
        return RECORD if key == GOOD else None

    async def find(self, key: str) -> KeyRecord | None:
        self.asked += key != GOOD
        return self.remembered(key)


class Clock:
    def now(self) -> datetime:
        return NOW

    def unix_milliseconds(self) -> int:
        return 0


def a_call(guard: Guard, authorization: str | None, ip: str = IP) -> Exchange:
    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    exchange = Exchange(Asked("GET", b"/v1/models", headers, peer=(ip, 1)), 0, uuid4())
    guard.recognise(exchange)
    return exchange


async def test_unknown_keys_of_banned_clients_reach_the_database_so_often_a_second_and_good_ones_pass() -> None:
    guard, keys = Guard(Bans(), InvalidCalls(), ()), Keys()
    for _ in range(5 * LOOKUPS_A_SECOND):
        with pytest.raises(IpBanned):
            await guard.let_pass(a_call(guard, f"Bearer {UNKNOWN}"), keys, Clock())
    # On a machine that stands still for a while, a second may begin in between.
    assert LOOKUPS_A_SECOND <= keys.asked < 5 * LOOKUPS_A_SECOND
    good = a_call(guard, f"Bearer {GOOD}")
    await guard.let_pass(good, keys, Clock())
    assert good.caller is RECORD


async def test_who_tries_keys_leaves_room_for_other_banned_clients_and_all_together_for_the_database() -> None:
    guard, keys = Guard(Bans(), InvalidCalls(), ()), Keys()

    async def try_keys(ip: str, count: int) -> int:
        """How many were looked up."""
        before = keys.asked
        for _ in range(count):
            with pytest.raises(IpBanned):
                await guard.let_pass(a_call(guard, f"Bearer {UNKNOWN}", ip), keys, Clock())
        return keys.asked - before

    await try_keys(IP, 2 * LOOKUPS_A_SECOND)
    assert await try_keys("192.0.2.10", 1) == 1
    many = 5 * ALL_LOOKUPS_A_SECOND
    looked_up = sum([await try_keys(f"198.51.{at // 250}.{at % 250}", 1) for at in range(many)])
    assert ALL_LOOKUPS_A_SECOND - LOOKUPS_A_SECOND - 1 <= looked_up < many


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer x", GOOD, f"Basic {GOOD}", f"bearer {UNKNOWN}"])
async def test_what_is_no_key_is_refused_without_asking_anybody(authorization: str | None) -> None:
    guard, keys = Guard(Bans(), InvalidCalls(), ()), Keys()
    for _ in range(2 * LOOKUPS_A_SECOND):
        with pytest.raises(IpBanned):
            await guard.let_pass(a_call(guard, authorization), keys, Clock())
    assert keys.asked == 0
    await guard.let_pass(a_call(guard, f"Bearer {GOOD}"), keys, Clock())
