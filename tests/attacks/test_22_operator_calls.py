"""Forged and replayed calls to the operator API, and staff that reach for more than their scopes."""

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from tests.attacks.operator_calls import ELSEWHERE, an_account, bearer, lots_of, say_to
from tests.conftest import Stores, variables
from tests.office.serving import Served, made_key
from tollkeeper.core.people.operator_keys import Scope, mint_operator_key

NOBODYS = mint_operator_key(lambda letters: letters[0])
TRUE_NETWORK, FORGED = "192.0.2.0/24", "192.0.2.7"
CREDIT = {"usd": "10", "reason": "paid by bank"}


def changed(key: str) -> str:
    return key[:-1] + ("a" if key[-1] != "a" else "b")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [bearer("")],
        [bearer(NOBODYS)],
        [bearer("sk-" + "a" * 48)],
        [bearer("op-" + "%00" * 16)],
        [("Authorization", "Basic b3A6b3A=")],
        [("Cookie", f"__Host-tollkeeper={NOBODYS}")],
        [("X-Operator", "operator:key-of-everything")],
        [("X-Tollkeeper-Actor", "cli:root"), ("X-Original-URL", "/admin/v1/openapi.json")],
    ],
    ids=["nothing", "empty", "nobodys", "customers", "odd", "basic", "cookie", "name", "names"],
)
def test_a_forged_key_opens_nothing(served: Served, headers: list[tuple[str, str]]) -> None:
    refused = say_to(served, "GET", "audit", headers)
    assert refused.status == 401
    assert refused.code in ("operator_key_missing", "operator_key_not_valid")


@pytest.mark.parametrize("form", ["changed", "upper", "shorter", "in the address", "as basic", "twice"])
def test_a_true_key_in_another_form_is_none(served: Served, form: str) -> None:
    key = served.keys[Scope.EVERYTHING]
    path, headers = {
        "changed": ("audit", [bearer(changed(key))]),
        "upper": ("audit", [bearer(key.swapcase())]),
        "shorter": ("audit", [bearer(key[:-1])]),
        "in the address": (f"audit?key={key}&authorization=Bearer%20{key}", []),
        "as basic": ("audit", [("Authorization", f"Basic {key}")]),
        "twice": ("audit", [bearer(f"{key}, Bearer {key}")]),
    }[form]
    assert say_to(served, "GET", path, headers).status == 401


async def test_a_key_of_another_deployment_opens_nothing(served: Served, stores: Stores) -> None:
    elsewhere = await variables(stores)
    key = await asyncio.to_thread(made_key, elsewhere, "key-of-everything", "--scope", "everything")
    assert say_to(served, "GET", "audit", [bearer(key)]).code == "operator_key_not_valid"
    await stores.drop(elsewhere["TOLLKEEPER_DATABASE_URL"])


async def test_what_was_captured_is_worth_nothing_once_its_key_is_over(
    served: Served, books: asyncpg.Connection
) -> None:
    account = an_account(served)
    for name, end in {
        "gone": "update operator_key set revoked_at = ledger_now() where name = 'gone'",
        "old": "update operator_key set expires_at = created_at where name = 'old'",
    }.items():
        key = await asyncio.to_thread(made_key, served.settings, name, "--scope", "money")
        captured = [bearer(key), ("Idempotency-Key", name)]
        before = say_to(served, "POST", f"accounts/{account}/credits", captured, CREDIT)
        await books.execute(end)
        after = say_to(served, "POST", f"accounts/{account}/credits", captured, CREDIT)
        assert (before.status, after.status, after.code) == (200, 401, "operator_key_not_valid")
    assert lots_of(served, account) == 2


def test_a_captured_request_that_is_sent_again_moves_nothing(served: Served) -> None:
    account = an_account(served)
    captured = [bearer(served.keys[Scope.MONEY]), ("Idempotency-Key", f"captured-{account}")]
    answers = [say_to(served, "POST", f"accounts/{account}/credits", captured, CREDIT) for _ in range(5)]
    assert {(each.status, each.text) for each in answers} == {(200, answers[0].text)}
    assert [each.headers.get("idempotency-replayed") for each in answers] == [None, *["true"] * 4]
    assert lots_of(served, account) == 1


@pytest.mark.parametrize("more", [{"usd": "1000"}, {"reason": "another"}, {"months": 99}])
def test_a_captured_name_does_not_do_for_another_request(served: Served, more: dict[str, object]) -> None:
    account, other = an_account(served), an_account(served)
    captured = [bearer(served.keys[Scope.MONEY]), ("Idempotency-Key", f"name-{account}")]
    say_to(served, "POST", f"accounts/{account}/credits", captured, CREDIT)
    for number, body in ((account, CREDIT | more), (other, CREDIT)):
        refused = say_to(served, "POST", f"accounts/{number}/credits", captured, body)
        assert (refused.status, refused.code) == (422, "idempotency_key_reused")
    assert (lots_of(served, account), lots_of(served, other)) == (1, 0)


def test_the_name_of_somebodys_request_does_not_give_their_answer_to_another(served: Served) -> None:
    once = ("Idempotency-Key", uuid4().hex)
    batch = {"codes": 2, "usd": "5", "months": 9, "reason": "for a fair"}
    first = say_to(served, "POST", "code-batches", [bearer(served.keys[Scope.MONEY]), once], batch)
    assert first.status == 200, first.text
    for scope in (Scope.READ, Scope.SUPPORT, Scope.CATALOG):
        assert say_to(served, "POST", "code-batches", [bearer(served.keys[scope]), once], batch).code == "scope_missing"
    second = say_to(served, "POST", "code-batches", [bearer(served.keys[Scope.EVERYTHING]), once], batch)
    assert second.status == 200
    assert second.told != first.told


@pytest.mark.parametrize("source", ["127.0.0.1", ELSEWHERE])
@pytest.mark.parametrize(
    "headers",
    [
        [("X-Forwarded-For", f"{FORGED}, 198.51.100.9")],
        [("X-Forwarded-For", FORGED), ("X-Forwarded-For", "198.51.100.9")],
        [("X-Real-IP", FORGED)],
        [("Forwarded", f"for={FORGED}")],
        [("X-Client-IP", FORGED), ("True-Client-IP", FORGED), ("CF-Connecting-IP", FORGED)],
        [("X-Forwarded-For", f"{FORGED}, nonsense")],
    ],
    ids=["in front", "two headers", "real ip", "forwarded", "of other houses", "nonsense"],
)
async def test_a_key_for_one_network_is_no_good_from_another_that_says_it_is_there(
    served: Served, headers: list[tuple[str, str]], source: str
) -> None:
    name = f"far-{uuid4().hex[:8]}"
    key = await asyncio.to_thread(made_key, served.settings, name, "--scope", "read", "--network", TRUE_NETWORK)
    refused = say_to(served, "GET", "audit", [bearer(key), *headers], source=source)
    assert (refused.status, refused.code) == (403, "operator_key_not_for_this_network")


async def test_a_network_is_believed_of_the_proxy_alone(served: Served) -> None:
    key = await asyncio.to_thread(made_key, served.settings, "near", "--scope", "read", "--network", TRUE_NETWORK)
    headers = [bearer(key), ("X-Forwarded-For", FORGED)]
    assert say_to(served, "GET", "audit", headers).status == 200
    assert say_to(served, "GET", "audit", headers, source=ELSEWHERE).status == 403


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_a_method_is_what_was_sent(served: Served, name: str) -> None:
    asked = say_to(served, "GET", "accounts", [bearer(served.keys[Scope.SUPPORT]), (name, "POST")], {"name": "Eve"})
    assert set(asked.told) == {"data", "next"}
    for method in ("HEAD", "PUT", "OPTIONS", "TRACE"):
        answer = say_to(served, method, "operator-keys", [bearer(served.keys[Scope.READ]), (name, "GET")])
        assert answer.status >= 400, method


@pytest.mark.parametrize("host", ["attacker.example", "localhost:1", "127.0.0.1@attacker.example"])
def test_the_host_that_is_named_gives_no_rights_and_is_told_to_nobody(served: Served, host: str) -> None:
    for headers in ([("Host", host)], [("Host", "127.0.0.1"), ("X-Forwarded-Host", host)]):
        answer = say_to(served, "GET", "operator-keys", [*headers, bearer(served.keys[Scope.READ])])
        assert answer.status in (400, 403, 421)
        assert "attacker" not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    "path",
    [
        "/admin/v1/operator-keys/",
        "/admin/v1//operator-keys",
        "/admin/v1/./operator-keys",
        "/admin/v1/audit/../operator-keys",
        "/admin/v1/audit/%2e%2e/operator-keys",
        "/admin/v1/operator%2Dkeys",
        "/admin/v1/operator-keys%00",
        "/admin/v1/operator-keys;a=b",
        "/ADMIN/v1/operator-keys",
        "//admin/v1/operator-keys",
    ],
)
def test_an_act_is_guarded_by_whatever_address_it_is_reached(served: Served, path: str) -> None:
    assert say_to(served, "GET", path, [bearer(served.keys[Scope.READ])]).status in (400, 403, 404, 308)


async def test_a_scope_gives_no_way_to_a_larger_one(served: Served, books: asyncpg.Connection) -> None:
    account = an_account(served)
    wanted = {"name": "mine", "scopes": ["everything"]}
    for scope in (Scope.READ, Scope.SUPPORT, Scope.MONEY, Scope.CATALOG):
        key = [bearer(served.keys[scope])]
        for path, body in (
            ("operator-keys", wanted),
            ("logins", {"account": account, "email": "mallory@example.com"}),
            (f"accounts/{account}/login/role", {"role": "operator", "reason": "mine now"}),
            ("operator-keys/key-of-everything/revoke", {"reason": "mine now"}),
        ):
            assert say_to(served, "POST", path, key, body).code == "scope_missing", (scope, path)
    assert await books.fetchval("select count(*) from operator_key where name = 'mine'") == 0
    assert await books.fetchval("select count(*) from login where role <> 'customer'") == 0


async def test_a_key_of_a_support_login_does_what_support_may_whatever_it_says(
    served: Served, books: asyncpg.Connection
) -> None:
    account = an_account(served)
    await books.execute(
        "insert into login (account_id, email, person, password, role)"
        " values ($1, 'sue@example.com', sha256('sue'), '$argon2id$', 'support')",
        account,
    )
    wanted = {"name": "sue", "scopes": ["everything", "money", "support"], "account": account}
    key = say_to(served, "POST", "operator-keys", [bearer(served.keys[Scope.EVERYTHING])], wanted).told["key"]
    once = ("Idempotency-Key", "sue")
    assert say_to(served, "POST", f"accounts/{account}/credits", [bearer(key), once], CREDIT).code == "scope_missing"
    assert say_to(served, "GET", "operator-keys", [bearer(key)]).code == "scope_missing"
    assert lots_of(served, account) == 0
