"""Keys and logins at the office, and what support may not do."""

from typing import Any

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.office.customers import a_customers_key, a_login, an_account, every_row
from tests.office.staff import StaffClient, a_key, refused, told
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office


async def test_a_key_is_made_changed_rotated_paused_and_revoked(owner_client: StaffClient) -> None:
    ada = await an_account(owner_client)
    wish: dict[str, Any] = {"quota_usd": "5", "only_networks": ["203.0.113.0/24"], "expires_at": "2027-12-31T00:00:00Z"}
    made = told(await owner_client.post(f"/accounts/{ada}/keys", name="laptop", reason="they asked", **wish))
    number = made["key"]
    changed = told(
        await owner_client.send(
            "PATCH", f"/keys/{number}", {"daily_usd": "1", "quota_usd": None, "reason": "they asked"}
        )
    )
    assert (changed["quota"], changed["daily_budget"]["usd"], changed["name"]) == (None, "1.000", "laptop")
    assert changed["only_networks"] == ["203.0.113.0/24"]
    rotated = told(await owner_client.post(f"/keys/{number}/rotate", keep_hours=1, reason="it leaked"))
    assert rotated["key"] == number
    assert rotated["text"] != made["text"]
    for verb, expected in (("pause", True), ("pause", False), ("resume", True), ("revoke", True), ("revoke", False)):
        assert told(await owner_client.post(f"/keys/{number}/{verb}", reason="it leaked")) == {"changed": expected}, (
            verb
        )
    listed = told(await owner_client.get(f"/accounts/{ada}/keys"))
    assert [key["key"] for key in listed["data"]] == [number]
    assert rotated["text"] not in msgspec.json.encode(listed).decode()


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"quota_usd": "-1"}, 422),
        ({"quota_usd": "1e3"}, 422),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 422),
        ({"expires_at": "9999-12-31T23:59:59-12:00"}, 422),
        ({"expires_at": "0001-01-01T00:00:00+12:00"}, 422),
        ({"expires_at": "2027-01-01T00:00:00"}, 400),
        ({"only_networks": ["here"]}, 422),
        ({"only_networks": []}, 422),
        ({"only_models": ["nobody's"]}, 404),
        ({"name": "  "}, 422),
        ({"reason": "  "}, 422),
        ({"reason": "two\nlines"}, 422),
        ({"name": "a\u202eb"}, 422),
    ],
)
async def test_a_key_that_cannot_be_is_refused(owner_client: StaffClient, wish: dict[str, Any], status: int) -> None:
    ada = await an_account(owner_client)
    answer = await owner_client.post(f"/accounts/{ada}/keys", **({"name": "laptop", "reason": "they asked"} | wish))
    assert answer.status == status, answer.text
    assert told(await owner_client.get(f"/accounts/{ada}/keys"))["data"] == []


async def test_lists_of_keys_and_logins_come_in_pages(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    accounts = [await an_account(owner_client) for _ in range(3)]
    for number in accounts:
        await a_login(owner, number, f"ada{number}@people.example", "support" if number == accounts[1] else "customer")
    keys = [await a_customers_key(owner_client, accounts[0]) for _ in range(3)]
    assert [row["key"] for row in await every_row(owner_client, f"/accounts/{accounts[0]}/keys")] == keys[::-1]
    assert [row["account"] for row in await every_row(owner_client, "/logins")] == accounts[::-1]
    assert [row["account"] for row in await every_row(owner_client, "/logins", staff_only="true")] == accounts[1:2]
    email = f"ADA{accounts[2]}@people.example"
    assert [row["account"] for row in told(await owner_client.get("/logins", email=email))["data"]] == accounts[2:]
    assert told(await owner_client.get("/logins", email="nobody@people.example"))["data"] == []
    assert refused(await owner_client.get("/logins", email="nobody")) == (422, "refused")


async def test_who_is_shown_a_customers_key_has_the_scope_of_money_and_says_why(
    api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    """A key's text spends its account's quota, whether somebody signs in to that account or not."""
    signs_in, nobodys = await an_account(owner_client), await an_account(owner_client, "A program")
    await a_login(owner, signs_in, "ada@people.example", "customer")
    staffs = await an_account(owner_client, "Ben")
    await a_login(owner, staffs, "ben@people.example", "support")
    money = StaffClient(api, await a_key(office, "money", Scope.MONEY))
    others = [scope for scope in Scope if scope not in (Scope.MONEY, Scope.EVERYTHING)]
    without = [StaffClient(api, await a_key(office, f"only-{scope.value}", scope)) for scope in others]
    for account in (signs_in, nobodys):
        key = await a_customers_key(owner_client, account)
        showing: list[tuple[str, dict[str, Any]]] = [
            (f"/accounts/{account}/keys", {"name": "theirs"}),
            (f"/keys/{key}/rotate", {}),
        ]
        for path, fields in showing:
            for client in without:
                assert refused(await client.post(path, reason="they asked", **fields)) == (403, "scope_missing")
            assert refused(await money.post(path, **fields)) == (400, "bad_request")
            assert told(await money.post(path, reason="they asked", **fields))["text"].startswith("sk-")
    assert refused(await money.post(f"/accounts/{staffs}/keys", name="k", reason="x")) == (403, "scope_missing")
    rows = "select count(*) from audit where action = $1 and actor = 'operator:money' and detail->>'reason' = $2"
    assert [await owner.fetchval(rows, f"key.{act}", "they asked") for act in ("create", "rotate")] == [2, 2]


OVER_LOGINS = (
    "/accounts/{account}/sessions/end",
    "/accounts/{account}/login/reset",
    "/accounts/{account}/login/unlock",
)
DROPS = ("/accounts/{account}/login/drop-second-factor", "/accounts/{account}/login/drop-passkeys")


async def test_support_acts_for_customers_and_never_on_what_is_staffs(
    api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    support = StaffClient(api, await a_key(office, "support", Scope.SUPPORT))
    customer, colleague, boss = [await an_account(owner_client, name) for name in ("Ada", "Ben", "Cleo")]
    for account, role in ((customer, "customer"), (colleague, "support"), (boss, "operator")):
        await a_login(owner, account, f"{role}@people.example", role)
    keys = {account: await a_customers_key(owner_client, account) for account in (customer, colleague, boss)}
    reason = {"reason": "they asked"}
    tried: list[tuple[str, str, dict[str, Any]]] = [
        *(("POST", path, reason) for path in (*OVER_LOGINS, *DROPS)),
        ("PATCH", "/keys/{key}", {"name": "mine", "reason": "a try"}),
        *(("POST", f"/keys/{{key}}/{verb}", {"reason": "a try"}) for verb in ("pause", "resume", "revoke")),
        ("POST", "/accounts/{account}/restriction", reason),
        ("POST", "/accounts/{account}/restriction/lift", reason),
        ("POST", "/accounts/{account}/disable", reason),
        ("POST", "/accounts/{account}/enable", reason),
    ]
    before = await owner.fetchval("select max(id) from audit")
    for method, path, body in tried:
        for account in (colleague, boss):
            answer = await support.send(method, path.format(account=account, key=keys[account]), body)
            assert refused(answer) == (403, "scope_missing"), (method, path)
    assert await owner.fetchval("select max(id) from audit") == before
    for method, path, body in tried:
        told(await support.send(method, path.format(account=customer, key=keys[customer]), body))
    # Prices are money: support moves nobody to cheaper ones, and opens no account there.
    moved = await support.post(f"/accounts/{customer}/group", group="standard", **reason)
    assert refused(moved) == (403, "scope_missing")
    assert refused(await support.post("/accounts", name="Eve", group="cheap")) == (403, "scope_missing")
    for account in (customer, colleague):
        path = f"/accounts/{account}/login/role"
        assert refused(await support.post(path, role="operator", **reason)) == (403, "scope_missing")
    assert refused(await support.post("/logins", email="x@people.example", password="long enough")) == (
        403,
        "scope_missing",
    )
    assert await owner.fetchval("select role from login where account_id = $1", customer) == "customer"


async def test_whoever_has_every_right_opens_logins_and_gives_roles(owner_client: StaffClient, office: Office) -> None:
    made = told(await owner_client.post("/logins", email="ben@people.example", password="correct horse battery"))
    account = made["account"]
    given = await owner_client.post(f"/accounts/{account}/login/role", role="support", reason="joined us")
    assert told(given) == {"changed": True}
    shown = told(await owner_client.get(f"/accounts/{account}/login"))
    assert (shown["role"], shown["account_state"], shown["second_factor"]) == ("support", "open", False)
    assert "password_hash" not in shown
    assert told(await owner_client.get(f"/accounts/{account}/sessions"))["data"] == []
    sent = told(await owner_client.post(f"/accounts/{account}/login/reset", reason="they asked"))
    assert sent == {"account": account, "setting_missing": office.mail_setting_missing}
    assert refused(await owner_client.get("/accounts/77/login")) == (404, "not_found")
