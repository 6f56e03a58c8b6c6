"""Ids of others in addresses and forms: every page of the table with an id in it, asked for by somebody whose it is
not. It looks like one that never was, and nothing of it changes. (`prove-console` compares the whole pages.)"""

import re
import secrets
from uuid import uuid4

import asyncpg

from tests.attacks.page_visits import PageVisitor, a_visitor, address, parameters
from tests.office.serving import Served
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.logins import Role

# Everybody may follow an invite, and read a model's price.
FOR_ALL = {"gift_code", "model_id"}
WITH_ID = [page for page in PAGES if set(parameters(page)) - FOR_ALL]
NONE = "123456789012345"
OWNED = ("api_key", "session", "passkey", "lot", "top_up", "withdrawal", "notice_choice", "login")
CHANGING = re.compile(r'(name="form_(?:token|id)" value|name="back" value)="[^"]*"')
A_KEY = """
insert into api_key (account_id, name, pepper_version, digest, hint)
values ($1, 'a key of the victim', 1, $2, 'sk-a…') returning id
"""
A_PASSKEY = """
insert into passkey (account_id, name, credential_id, public_key, user_handle, sign_count, transports)
values ($1, 'a phone of the victim', $2, 'none', 'none', 0, '{}') returning id
"""
A_CALL = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units, output_units,
                   held, charged, usage_source, ending, attempts, started_at, settled_at)
values ($1, $2, $3, 1, 1000000, 1, 0, 1, 1, 1, 'provider', 'completed', '[]', ledger_now(), ledger_now())
"""


async def ids_of(books: asyncpg.Connection, victim: PageVisitor) -> dict[str, str]:
    key = await books.fetchval(A_KEY, victim.account, secrets.token_bytes(32))
    request = await books.fetchval("select uuid_floor(ledger_now())")
    await books.execute(A_CALL, request, victim.account, key)
    return {
        "key_id": str(key),
        "passkey_id": str(await books.fetchval(A_PASSKEY, victim.account, secrets.token_bytes(32))),
        "session_id": str(victim.session_id),
        "request_id": str(request),
        "account": str(victim.account),
    }


async def owned(books: asyncpg.Connection, account: int) -> list[str]:
    rows = []
    for table in OWNED:
        sql = "select (to_jsonb(t) - 'last_seen_at')::text as row from {} t where account_id = $1 order by 1"
        rows += [row["row"] for row in await books.fetch(sql.format(table), account)]
    return rows


def plain(text: str, path: str) -> str:
    return CHANGING.sub("", text).replace(path, "")


async def test_anothers_id_looks_like_one_that_never_was_and_nothing_changes(
    served: Served, books: asyncpg.Connection
) -> None:
    victim, attacker = await a_visitor(served, books, name="Victoria"), await a_visitor(served, books)
    ids = await ids_of(books, victim)
    none = dict.fromkeys([*ids, "top_up_id"], NONE) | {"request_id": str(uuid4())}
    before, fields = await owned(books, victim.account), {"form_token": attacker.token(), "name": "taken over"}
    for page in WITH_ID:
        paths = [address(page, each) for each in (ids, none)]
        send = attacker.get if page.method == "GET" else lambda path: attacker.post(path, fields)
        theirs, nobodys = (send(path) for path in paths)
        assert theirs.status == nobodys.status, page.path
        assert plain(theirs.text, paths[0]) == plain(nobodys.text, paths[1]), page.path
        assert "Victoria" not in theirs.text
        assert "of the victim" not in theirs.text
    assert await owned(books, victim.account) == before


async def test_for_customers_there_is_no_page_of_staff_not_even_about_themselves(
    served: Served, books: asyncpg.Connection
) -> None:
    customer = await a_visitor(served, books)
    ids, token = await ids_of(books, customer), customer.token()
    for page in STAFF:
        path = address(page, ids)
        answer = customer.get(path) if page.method == "GET" else customer.post(path, {"form_token": token})
        assert answer.status == 404, page.path


async def test_support_does_nothing_that_is_for_operators(served: Served, books: asyncpg.Connection) -> None:
    support, operator = await a_visitor(served, books, Role.SUPPORT), await a_visitor(served, books, Role.OPERATOR)
    before = await owned(books, operator.account)
    token = support.token()
    for page in STAFF:
        if page.method == "POST":
            ids = {"account": str(operator.account)}
            assert support.post(address(page, ids), {"form_token": token, "reason": "mine now"}).status < 500
    assert await owned(books, operator.account) == before
