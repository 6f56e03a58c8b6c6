"""Bans and restrictions over the operator API."""

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.office.staff import StaffClient, a_key, refused, told
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.abuse import NewBanWish, OwnProxy, add_ban
from tollkeeper.office.desks import Office

IP = "192.0.2.7"
EVIDENCE = '{"calls": 301, "within_seconds": 60, "codes_seen_here": {"not_found": 51, "invalid_api_key": 250}}'
BAN = "insert into ban (ip, until, why, counted) values ($1, ledger_now() + $2::text::interval, 'invalid_calls', $3)"


@pytest.fixture
async def support(api: Starlette, office: Office) -> StaffClient:
    return StaffClient(api, await a_key(office, "support", Scope.SUPPORT))


async def test_bans_are_listed_in_pages_shown_with_their_evidence_and_lifted_on_the_record(
    support: StaffClient, owner: asyncpg.Connection
) -> None:
    for number in range(1, 6):
        await owner.execute(BAN, f"192.0.2.{number}", "1 h", EVIDENCE)
    await owner.execute("update ban set began_at = began_at - interval '2 h', until = began_at where id = 2")
    page = told(await support.get("/bans", limit=2))
    rest = told(await support.get("/bans", limit=2, after=page["next"]))
    assert [row["id"] for row in page["data"] + rest["data"]] == [5, 4, 3, 1]
    assert rest["next"] is None
    assert [row["id"] for row in told(await support.get("/bans", all=True))["data"]] == [5, 4, 3, 2, 1]
    assert [row["in_force"] for row in told(await support.get("/bans", all=True, ip="192.0.2.2"))["data"]] == [False]
    shown = told(await support.get("/bans/3"))
    assert shown["counted"] == msgspec.json.decode(EVIDENCE)
    lifted = told(await support.post("/bans/lift", ip="192.0.2.3", reason="they wrote to us"))
    assert lifted == {"client": "192.0.2.3", "changed": True}
    assert not told(await support.post("/bans/lift", ip="192.0.2.3", reason="again"))["changed"]
    acts = await owner.fetch("select actor, detail->>'reason' as why from audit where action = 'ip.lift_ban'")
    assert [tuple(row) for row in acts] == [("operator:support", "they wrote to us")]
    assert refused(await support.get("/bans/77")) == (404, "not_found")


async def test_a_client_is_banned_once_and_its_history_is_explained(support: StaffClient) -> None:
    made = told(await support.post("/bans", ip="2001:db8::7", hours=2, reason="scraping"))
    assert made["client"] == "2001:db8::/64"
    again = await support.post("/bans", ip="2001:db8::8", hours=2, reason="scraping")
    assert refused(again) == (409, "already_there")
    history = told(await support.get("/ban-history", ip="2001:db8::/64"))
    assert history["banned_until"] == made["until"]
    assert [ban["counted"] for ban in history["bans"]] == [{"reason": "scraping"}]
    assert (history["next_seconds"], history["bans_that_count"]) == (3_600, 0)
    assert refused(await support.get("/ban-history", ip="example.com")) == (422, "refused")
    assert refused(await support.post("/bans", ip=IP, hours=1, reason=" ")) == (422, "refused")


async def test_a_proxy_of_our_own_is_never_banned(office: Office) -> None:
    behind = msgspec.structs.replace(office, trusted_proxies=read_networks(["192.0.2.0/24"]))
    with pytest.raises(OwnProxy):
        await add_ban(behind, NewBanWish(ip=IP, hours=1, reason="a slip"), office.operator)
    assert await office.abuse.bans() == []


async def test_a_restriction_is_listed_explained_and_lifted(
    support: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    account = await office.accounts.create("Ada", "standard", actor="a test")
    await owner.execute(
        "insert into peak_minute (account_id, minute, ip, milliseconds)"
        " values ($1, date_trunc('minute', ledger_now()) - interval '5 min', $2, 60000)",
        account,
        IP,
    )
    await owner.fetchval("select restrict_account($1, 3600, 601, 3600, $2)", account, IP)
    [listed] = told(await support.get("/restrictions"))["data"]
    assert (listed["account"], listed["peak_seconds"], listed["in_force"]) == (account, 601, True)
    explained = told(await support.get(f"/accounts/{account}/restrictions"))
    assert explained["restricted_until"] == listed["until"]
    assert [(peak["ip"], peak["milliseconds"]) for peak in explained["peaks"]] == [(IP, 60_000)]
    path = f"/accounts/{account}/restriction/lift"
    assert told(await support.post(path, reason="a mistake")) == {"changed": True}
    assert told(await support.post(path, reason="a mistake")) == {"changed": False}
    assert told(await support.get("/restrictions"))["data"] == []
    [over] = told(await support.get("/restrictions", all=True))["data"]
    assert (over["lifted_by"], over["lift_reason"]) == ("operator:support", "a mistake")
    assert refused(await support.get("/accounts/77/restrictions")) == (404, "not_found")
