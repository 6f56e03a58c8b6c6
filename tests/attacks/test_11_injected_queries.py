"""SQL, templates and wildcards in every field and header: texts like any other."""

import re
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.attacker import Attacker
from tests.client import Answer, ask
from tests.command_line import tollkeeper
from tests.customers import ACTOR, Customers
from tollkeeper.core.catalog.models import Kind

PAYLOADS = (
    "' or '1'='1",
    "'; drop table tollkeeper.api_key; --",
    "') union select digest from tollkeeper.api_key --",
    "1; select pg_sleep(30)",
    "'||(select pg_sleep(30))||'",
    "$1",
    "\\'; select 1; --",
    "%' or 1=1 --",
    "%",
    "_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%",
    "{{7*191}}",
    "${7*191}",
    "#{7*191}",
    "<%= 7*191 %>",
    "{% for x in ().__class__.__base__.__subclasses__() %}{% endfor %}",
    "%(user)s %n %s",
    "{0.__class__.__init__.__globals__}",
    "*)(uid=*))(|(uid=*",
    "../../../../etc/passwd",
    "`id`",
    "| id",
    "__import__('os').system('id')",
)
INJECTED = pytest.mark.parametrize("payload", PAYLOADS)
# What a template would have made of it, and what a database says of a statement that was broken.
TRACES = re.compile(rb"1337|syntax error|unterminated|asyncpg|psycopg|Traceback|pg_|SELECT|uid=0")


@pytest.fixture(scope="module")
async def owner_of_town(town: tuple[dict[str, str], Customers]) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(
        town[0]["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"}
    )
    yield connection
    await connection.close()


def check(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer.text
    assert TRACES.search(answer.text) is None, answer.text


@INJECTED
def test_in_keys_and_paths_and_queries(attacker: Attacker, payload: str) -> None:
    check(ask(attacker.node, "/v1/models", key=payload), 401)
    check(ask(attacker.node, "/api/token", method="POST", body={"api_key": payload}), 200)
    quoted = re.sub(r"\W", lambda found: f"%{ord(found[0]):02x}", payload)
    check(ask(attacker.node, f"/v1/{quoted}", key=attacker.key), 404)
    check(ask(attacker.node, f"/v1/models?after={quoted}", key=attacker.key), 200, 400)
    check(ask(attacker.node, f"/prices?model={quoted}"), 200, 400, 404)


@INJECTED
def test_in_headers(attacker: Attacker, payload: str) -> None:
    names = (
        "User-Agent",
        "X-Request-Id",
        "X-Forwarded-For",
        "Origin",
        "Accept",
        "Accept-Language",
        "Cookie",
        "Referer",
    )
    check(ask(attacker.node, "/v1/models", key=attacker.key, headers=dict.fromkeys(names, payload)), 200, 400)
    check(ask(attacker.node, "/v1/models", key=attacker.key, headers={"Host": payload}), 200, 400, 404)


@INJECTED
def test_in_fields_of_orders(attacker: Attacker, payload: str) -> None:
    model = attacker.models[Kind.CHAT]
    said = [{"role": "user", "content": "Hi"}]
    refused = (
        {"model": payload, "messages": said},
        {"model": model, "messages": said, "n": payload},
        {"model": model, "messages": said, payload: payload},
        {"model": model, "messages": payload},
        {"model": model, "messages": said, "stream": payload},
        {"model": model, "messages": said, "max_tokens": payload},
    )
    for body in refused:
        answer = ask(attacker.node, "/v1/chat/completions", method="POST", key=attacker.key, body=body)
        # Of the parameter's name it is said that it is not known.
        assert answer.status in {400, 404}, answer.text
    accepted = {
        "model": model,
        "messages": [{"role": "user", "name": payload, "content": payload}],
        "user": payload,
        "stop": [payload],
        "metadata": {"a": payload},
    }
    answer = ask(attacker.node, "/v1/chat/completions", method="POST", key=attacker.witness, body=accepted)
    check(answer, 200, 400)


@INJECTED
async def test_in_names_that_are_stored(townsfolk: Customers, owner_of_town: asyncpg.Connection, payload: str) -> None:
    """What is stored is what was given, to the letter."""
    account_id = await townsfolk.desk.accounts.create(payload, "standard", actor=ACTOR)
    assert await owner_of_town.fetchval("select name from account where id = $1", account_id) == payload


async def test_everything_is_still_there(
    attacker: Attacker, town: tuple[dict[str, str], Customers], owner_of_town: asyncpg.Connection
) -> None:
    attacker.check_nothing_came_of()
    assert await owner_of_town.fetchval("select count(*) from api_key") > 0
    # Nobody sleeps in the database for longer than any statement may.
    assert await owner_of_town.fetchval("select count(*) from pg_stat_activity where query ~ 'pg_sleep.30'") <= 1
    books = tollkeeper(town[0], "books", "check")
    assert books.returncode == 0, books.stdout
