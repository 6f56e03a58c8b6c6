"""The operator API: keys and their scopes, one form of refusal, lists in pages, money once."""

import asyncio
from datetime import timedelta

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.office.staff import OWNER, StaffClient, a_key, refused, told
from tollkeeper.console.admin.openapi import document
from tollkeeper.core.people.operator_keys import Scope, mint_operator_key
from tollkeeper.office.accounts import CreditWish, credit_account
from tollkeeper.office.desks import Office
from tollkeeper.office.operator_keys import OperatorKeyName, revoke_operator_key
from tollkeeper.office.table import ACTS

NOBODYS = mint_operator_key(lambda letters: letters[0])


async def an_account(client: StaffClient) -> int:
    number: int = told(await client.post("/accounts", name="Ada"))["account"]
    return number


@pytest.mark.parametrize("key", ["", "sk-a-customers", NOBODYS])
async def test_without_a_known_operator_key_everything_is_refused(api: Starlette, key: str) -> None:
    status, code = refused(await StaffClient(api, key).get("/audit"))
    assert status == 401
    assert code == ("operator_key_missing" if not key else "operator_key_not_valid")


async def test_every_act_asks_for_its_scope(api: Starlette, office: Office) -> None:
    """Every scope with every row of the table: what is let through is no more than the scope's own and reading."""
    for scope in Scope:
        client = StaffClient(api, await a_key(office, scope.value, scope))
        for act in ACTS:
            path = act.path
            for name in act.in_path:
                path = path.replace(f"{{{name}}}", "4711")
            answer = await client.send(act.method, path, {} if act.has_body else None)
            is_theirs = scope in (act.scope, Scope.EVERYTHING) or act.scope is Scope.READ
            assert (answer.status == 403) is not is_theirs, (scope, act.name, answer.text)


async def test_a_key_that_expired_was_revoked_or_is_elsewhere_is_refused(
    api: Starlette, office: Office, owner: asyncpg.Connection
) -> None:
    gone, old, far = [
        StaffClient(api, await a_key(office, name, Scope.READ, only_networks=networks))
        for name, networks in (("gone", None), ("old", None), ("far", ["192.0.2.0/24"]))
    ]
    await revoke_operator_key(office, OperatorKeyName(name="gone", reason="left us"), OWNER)
    await owner.execute("update operator_key set expires_at = created_at where name = 'old'")
    assert refused(await gone.get("/audit")) == (401, "operator_key_not_valid")
    assert refused(await old.get("/audit")) == (401, "operator_key_not_valid")
    assert refused(await far.get("/audit")) == (403, "operator_key_not_for_this_network")


async def test_a_key_of_a_login_has_no_more_rights_than_the_login_has_now(
    api: Starlette, office: Office, owner: asyncpg.Connection
) -> None:
    account = await office.accounts.create("Ben", "standard", actor="a test")
    await owner.execute(
        "insert into login (account_id, email, person, password, role)"
        " values ($1, 'ben@example.com', sha256('ben'), '$argon2id$', 'operator')",
        account,
    )
    client = StaffClient(api, await a_key(office, "ben", Scope.EVERYTHING, account=account))
    assert (await client.get("/operator-keys")).status == 200
    await owner.execute("update login set role = 'customer' where account_id = $1", account)
    assert refused(await client.get("/audit")) == (401, "operator_key_not_valid")


async def test_the_same_credit_fifty_times_at_once_is_credited_once(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    account = await an_account(owner_client)

    async def credit(_: int) -> tuple[int, str]:
        path = f"/accounts/{account}/credits"
        answer = await owner_client.post(path, once="invoice 17", usd="10", reason="paid by bank")
        return answer.status, answer.text

    answers = [answer for turn in range(3) for answer in await asyncio.gather(*map(credit, range(17)))]
    assert {status for status, _ in answers} == {200}
    assert len({text for _, text in answers}) == 1
    assert await owner.fetchval("select count(*) from lot where account_id = $1", account) == 1
    detail = await owner.fetchval("select detail->>'reason' from audit where action = 'account.credit'")
    assert detail == "paid by bank"


async def test_a_credit_whose_answer_was_lost_is_not_made_twice(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    """Whoever was to answer was killed after the books had it."""
    account = await an_account(owner_client)
    name = await owner.fetchval("select 'operator:' || name from operator_key")
    wish = CreditWish(once=f"{name}:lost", reason="paid", account=account, usd="10")
    await credit_account(office, wish, OWNER)
    again = told(await owner_client.post(f"/accounts/{account}/credits", once="lost", usd="10", reason="paid"))
    assert again["was_before"]
    assert await owner.fetchval("select count(*) from lot where account_id = $1", account) == 1


async def test_money_needs_an_idempotency_key_and_a_key_belongs_to_one_request(owner_client: StaffClient) -> None:
    account = await an_account(owner_client)
    path = f"/accounts/{account}/credits"
    assert refused(await owner_client.post(path, usd="10", reason="paid")) == (400, "idempotency_key_missing")
    told(await owner_client.post(path, once="a", usd="10", reason="paid"))
    again = await owner_client.post(path, once="a", usd="20", reason="paid")
    assert refused(again) == (422, "idempotency_key_reused")


async def test_a_refused_credit_may_be_sent_again_with_the_same_key(owner_client: StaffClient) -> None:
    account = await an_account(owner_client)
    path = f"/accounts/{account}/credits"
    assert refused(await owner_client.post(path, once="b", usd="10", reason=" ")) == (422, "refused")
    assert refused(await owner_client.post(path, once="b", usd="10", reason=" ")) == (422, "refused")
    assert refused(await owner_client.post(path, once="c", usd="1e3", reason="paid")) == (422, "refused")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"name": 5}', 400),
        (b'{"name": "Ada", "colour": "red"}', 400),
        (b'{"name": "A\\u0000a"}', 400),
        (b'{"name": ""}', 400),
        (b'{"name": "A\\u202ea"}', 422),
        (b'{"name": "Ada", "group": "nobody"}', 404),
        (b"x" * 300_000, 413),
    ],
)
async def test_what_cannot_be_read_or_done_is_refused_in_one_form(
    owner_client: StaffClient, body: bytes, status: int
) -> None:
    answer = await owner_client.send("POST", "/accounts", body)
    error = msgspec.json.decode(answer.text)["error"]
    assert answer.status == status, answer.text
    assert set(error) == {"code", "message", "request_id"}
    assert error["request_id"] == answer.header("x-request-id")


async def test_an_address_or_a_method_that_is_none_is_refused_in_the_same_form(owner_client: StaffClient) -> None:
    assert refused(await owner_client.get("/nothing")) == (404, "not_found")
    assert refused(await owner_client.send("PUT", "/accounts", {})) == (405, "method_not_allowed")


async def test_the_audit_trail_is_read_in_pages_and_a_break_is_found(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    for _ in range(5):
        await an_account(owner_client)
    seen, after = [], ""
    while True:
        page = told(await owner_client.get("/audit", limit=2, after=after, action="account."))
        seen += [row["id"] for row in page["data"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)
    assert told(await owner_client.get("/audit/chain")) == {"is_whole": True, "first_break": None}
    await owner.execute("update audit set actor = 'somebody else' where id = $1", seen[2])
    assert told(await owner_client.get("/audit/chain"))["first_break"] == seen[2]
    assert refused(await owner_client.get("/audit", after="what")) == (400, "bad_request")


async def test_the_document_names_every_act_and_is_published(owner_client: StaffClient) -> None:
    published = msgspec.json.decode((await owner_client.get("/openapi.json")).text)
    told_of = {operation["operationId"] for path in published["paths"].values() for operation in path.values()}
    assert told_of == {act.name for act in ACTS}
    assert published == msgspec.json.decode(msgspec.json.encode(document(ACTS)))


def test_every_act_has_a_path_a_name_and_words_of_its_own() -> None:
    assert len({act.name for act in ACTS}) == len(ACTS)
    assert len({(act.method, act.path) for act in ACTS}) == len(ACTS)
    assert all(act.summary for act in ACTS)
    assert all(set(act.in_path) <= set(act.wish.__struct_fields__) for act in ACTS)


async def test_a_new_key_lives_as_long_as_was_asked(office: Office, api: Starlette) -> None:
    client = StaffClient(api, await a_key(office, "short", Scope.READ, days=1))
    own = told(await client.get("/operator-key"))
    assert own["name"] == "short"
    expires = msgspec.convert(own["expires_at"], type=type(office.now()))
    assert timedelta(hours=23) < expires - office.now() <= timedelta(days=1)
