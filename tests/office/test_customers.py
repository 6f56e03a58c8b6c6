"""Customers at the office: found, shown, credited, moved; their lots and statements."""

from datetime import timedelta

import asyncpg
import msgspec

from tests.office.customers import a_login, an_account, every_row, found_by
from tests.office.staff import StaffClient, refused, told
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.office.desks import Office
from tollkeeper.ports import Credit


async def test_an_account_is_found_by_all_that_a_customer_may_say(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada, other = await an_account(owner_client), await an_account(owner_client, "Grace O'Hopper")
    await a_login(owner, ada, "ada@people.example")
    key = told(await owner_client.post(f"/accounts/{ada}/keys", name="laptop", reason="a test"))["text"]
    assert await found_by(owner_client, "") == [other, ada]
    for search in ("ada", "LOVE", "lovelace ada", "ada@", "ADA@people.example", str(ada), key[-4:], f"sk-…{key[-4:]}"):
        expected = [] if search.startswith("sk-…") else [ada]
        assert await found_by(owner_client, search) == expected, search
    assert await found_by(owner_client, f"{key[:4]}…{key[-4:]}") == [ada]
    assert await found_by(owner_client, f"{key[:4]}...{key[-4:]}") == [ada]
    assert await found_by(owner_client, key) == [ada]
    assert await found_by(owner_client, "o'hop") == [other]
    for nobody in ("velace", "ada hopper", "nobody@", "…", "'", "&|!:*", "99999999999999999999", "(", "\\"):
        assert await found_by(owner_client, nobody) == [], nobody


async def test_an_account_is_found_by_the_id_of_a_call(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    ada = await an_account(owner_client)
    await an_account(owner_client)
    call = "0199c0de-0000-7000-8000-00000000abcd"
    await owner.execute(
        "insert into hold (request_id, account_id, key_id, worker_id, price_id, group_millionths, amount, lots,"
        " amounts, input_count, day, created_at, deadline_at)"
        " values ($1, $2, 1, 1, 1, 1000000, 0, '{}', '{}', 0, current_date, now(), now())",
        call,
        ada,
    )
    assert await found_by(owner_client, call) == [ada]
    assert await found_by(owner_client, call.replace("abcd", "abce")) == []


async def test_accounts_are_listed_in_pages_the_newest_first(owner_client: StaffClient) -> None:
    made = [await an_account(owner_client, f"Ada {number}") for number in range(5)]
    await an_account(owner_client, "Grace")
    rows = await every_row(owner_client, "/accounts", search="ada")
    assert [row["account"] for row in rows] == made[::-1]
    assert refused(await owner_client.get("/accounts", after="what")) == (400, "bad_request")


async def test_an_account_is_shown_with_what_is_free_bound_held_owed_and_used(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    ada = await an_account(owner_client)
    await a_login(owner, ada, "ada@people.example")
    key = told(await owner_client.post(f"/accounts/{ada}/keys", name="laptop", reason="a test"))["key"]
    for source_id, key_id, usd in (("a", None, 10), ("b", key, 5)):
        amount = Quota(usd * UNITS_PER_USD)
        order = Credit(account_id=ada, amount=amount, source="x", source_id=source_id, months=1, key_id=key_id)
        await office.accounts.credit(order, actor="a test")
    await owner.execute(
        "update account_books set held = 7, used = 9, debt = $2 where account_id = $1", ada, 2 * UNITS_PER_USD
    )
    await owner.execute("update account set restricted_until = now() + interval '1 hour' where id = $1", ada)
    await owner.execute(
        "insert into ban (ip, until, why, counted, account_id) values ('192.0.2.7', now() + interval '1 hour', 'peak',"
        " '{}', $1)",
        ada,
    )
    shown = told(await owner_client.get(f"/accounts/{ada}"))
    in_usd = {name: shown[name]["usd"] for name in ("balance", "free", "bound", "debt")}
    assert in_usd == {"balance": "13.000", "free": "10.000", "bound": "5.000", "debt": "2.000"}
    assert (shown["held"]["micro_quota"], shown["used"]["micro_quota"]) == (7, 9)
    assert (shown["email"], shown["role"], shown["state"]) == ("ada@people.example", "customer", "open")
    assert (shown["banned_ips"], shown["keys_in_use"], shown["second_factor"]) == (["192.0.2.7"], 1, False)
    assert shown["restricted_until"] is not None
    [row] = told(await owner_client.get("/accounts"))["data"]
    assert (row["balance"]["usd"], row["is_restricted"]) == ("13.000", True)
    assert refused(await owner_client.get("/accounts/77")) == (404, "not_found")


async def test_a_timeline_tells_everything_once_in_order_and_in_pages(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada, other = await an_account(owner_client), await an_account(owner_client, "Grace")
    await a_login(owner, ada, "ada@people.example")
    key = told(await owner_client.post(f"/accounts/{ada}/keys", name="laptop", reason="a test"))["key"]
    told(await owner_client.post(f"/accounts/{other}/keys", name="another's", reason="a test"))
    told(await owner_client.post(f"/keys/{key}/pause"))
    path = f"/accounts/{ada}/credits"
    lot = told(await owner_client.post(path, once="a", usd="10", reason="paid"))["lot"]
    told(await owner_client.post(path, once="b", usd="2.5", reason="a gesture"))
    told(await owner_client.post(f"/lots/{lot}/revoke", once="c", reason="the bank took it back"))
    await owner.execute(
        "insert into session (account_id, digest, expires_at, ip, agent) values ($1, sha256('a'),"
        " now() + interval '1 day', '192.0.2.7', 'a browser')",
        ada,
    )
    await owner.execute(
        "insert into entry (cause, kind, lot_id, account_id, amount, at) values (ledger_uuid(), 'expired', 2, $1, 5,"
        " now())",
        ada,
    )
    told(await owner_client.post(f"/accounts/{ada}/disable", reason="asked for it"))
    rows = await every_row(owner_client, f"/accounts/{ada}/timeline")
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert [row["what"] for row in rows] == [
        "account.disable",
        "lot.expire",
        "login.sign_in",
        "lot.revoke",
        "account.credit",
        "account.credit",
        "key.pause",
        "key.create",
        "account.create",
    ]
    by_what = {row["what"]: row for row in rows}
    assert by_what["lot.revoke"]["amount"]["usd"] == "-10.000"
    assert by_what["lot.revoke"]["detail"]["reason"] == "the bank took it back"
    assert by_what["account.credit"]["amount"]["usd"] == "10.000"
    assert by_what["lot.expire"]["amount"]["micro_quota"] == -5
    assert by_what["key.pause"]["by"].startswith("operator:owner-")
    assert refused(await owner_client.get("/accounts/77/timeline")) == (404, "not_found")


async def test_a_group_is_set_with_a_reason_on_the_record_and_nodes_learn_it(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada = await an_account(owner_client)
    path = f"/accounts/{ada}/group"
    assert told(await owner_client.post(path, group="restricted", reason="as agreed")) == {"changed": True}
    assert told(await owner_client.post(path, group="restricted", reason="as agreed")) == {"changed": False}
    assert refused(await owner_client.post(path, group="nobody", reason="a slip")) == (404, "not_found")
    assert refused(await owner_client.post(path, group="standard", reason=" ")) == (422, "refused")
    assert told(await owner_client.get(f"/accounts/{ada}"))["group"] == "restricted"
    detail = await owner.fetchval("select detail::text from audit where action = 'account.move'")
    assert msgspec.json.decode(detail) == {"group": "restricted", "before": "standard", "reason": "as agreed"}
    assert await owner.fetchval("select count(*) from change where kind = 'account' and subject = $1", ada) == 1


async def test_a_lot_is_listed_extended_and_taken_back_once_with_its_reason(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    ada = await an_account(owner_client)
    lots = [
        told(await owner_client.post(f"/accounts/{ada}/credits", once=f"{months}", usd="1", months=months, reason="x"))[
            "lot"
        ]
        for months in (3, 1, 2)
    ]
    in_order = [lots[1], lots[2], lots[0]]
    assert [row["lot"] for row in await every_row(owner_client, f"/accounts/{ada}/lots")] == in_order
    until = (office.now() + timedelta(days=200)).isoformat()
    extended = told(await owner_client.post(f"/lots/{lots[1]}/extend", once="e", until=until, reason="they were ill"))
    assert extended["lot"] == lots[1]
    again = await owner_client.post(f"/lots/{lots[1]}/extend", once="f", until=until, reason="twice")
    assert refused(again) == (422, "refused")
    await owner.execute("update lot set remaining = remaining / 4 where id = $1", lots[0])
    taken = [
        told(await owner_client.post(f"/lots/{lots[0]}/revoke", once=once, reason="charged back"))
        for once in ("r", "s")
    ]
    assert [(each["taken_back"]["usd"], each["owed"]["usd"], each["was_before"]) for each in taken] == [
        ("0.250", "0.750", False),
        ("0.250", "0.750", True),
    ]
    details = await owner.fetch("select detail::text from audit where action = 'lot.revoke'")
    assert [msgspec.json.decode(row["detail"])["reason"] for row in details] == ["charged back"]
    assert [row["lot"] for row in await every_row(owner_client, f"/accounts/{ada}/lots")][-1] == lots[0]
    assert refused(await owner_client.post("/lots/77/revoke", once="t", reason="x")) == (404, "not_found")
    await owner.execute("update lot set remaining = 0, closed_at = now(), closed_as = 'expired' where id = $1", lots[2])
    assert refused(await owner_client.post(f"/lots/{lots[2]}/revoke", once="u", reason="x")) == (422, "refused")


async def test_a_months_statement_adds_up(owner_client: StaffClient, office: Office) -> None:
    ada = await an_account(owner_client)
    told(await owner_client.post(f"/accounts/{ada}/credits", once="a", usd="2.50", reason="paid"))
    month = f"{office.now():%Y-%m}"
    found = told(await owner_client.get(f"/accounts/{ada}/statements/{month}"))
    assert (found["opening"]["usd"], found["closing"]["usd"]) == ("0.000", "2.500")
    assert [(row["what"], row["times"], row["amount"]["usd"]) for row in found["rows"]] == [("top-up", 1, "2.500")]
    assert refused(await owner_client.get(f"/accounts/{ada}/statements/october")) == (422, "refused")
    assert refused(await owner_client.get(f"/accounts/77/statements/{month}")) == (404, "not_found")
