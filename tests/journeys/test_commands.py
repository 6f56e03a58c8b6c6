"""The command line, as an operator types it."""

import asyncio
import json
import re
import socket
import subprocess
import sys
from uuid import uuid4

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.customers import Customer
from tests.storage.ledger.test_books import a_settled_call
from tollkeeper.app.database import opened
from tollkeeper.settings import keys_by_version, load
from tollkeeper.storage.envelope import EnvelopeKeys, unseal
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.postgres.schema import newest_revision
from tools.node import Node, clean_environment, fresh_secrets
from tools.node import tollkeeper as tollkeeper_process


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores)


def test_an_operator_sets_up_a_customer(own: dict[str, str]) -> None:
    assert tollkeeper(own, "account", "create", "Ada").stdout == "account 1\n"
    assert "10 USD credited, lot 1" in tollkeeper(own, "credit", "1", "10", "--source-id", "p1").stdout
    assert "nothing added" in tollkeeper(own, "credit", "1", "10", "--source-id", "p1").stdout
    made = tollkeeper(own, "key", "create", "1", "laptop", "--quota-usd", "2.5", "--days", "30").stdout
    assert made.startswith("key 1\nsk-a")
    for verb, first, again in (
        ("pause", "paused", "was paused before"),
        ("resume", "resumed", "was not paused"),
        ("pause", "paused", "was paused before"),
    ):
        typed = ("key", verb, "1", "--reason", "a test")
        assert [tollkeeper(own, *typed).stdout for _ in range(2)] == [f"key 1 {first}\n", f"key 1 {again}\n"]
    assert re.search(r"paused \d{4}-\d\d-\d\d, until", tollkeeper(own, "key", "list", "1").stdout)
    assert tollkeeper(own, "key", "revoke", "1", "--reason", "a test").stdout == "key 1 revoked\n"
    assert tollkeeper(own, "key", "revoke", "1", "--reason", "a test").stdout == "key 1 was revoked before\n"
    checked = tollkeeper(own, "books", "check")
    assert checked.returncode == 0
    assert checked.stdout.endswith("The books are clean.\n")


async def test_a_provider_key_is_sealed_and_never_shown(own: dict[str, str]) -> None:
    added = tollkeeper(
        own, "provider", "add", "first", "https://api.example/v1", "--all-models", stdin="provider-secret\n"
    )
    assert added.returncode == 0
    assert "provider-secret" not in added.stdout + added.stderr
    connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"])
    envelope = await connection.fetchval("select key_envelope from tollkeeper.provider_account")
    await connection.close()
    assert b"provider-secret" not in envelope
    keys = EnvelopeKeys(keys_by_version(own["TOLLKEEPER_ENVELOPE_KEYS"], least_bytes=32))
    assert unseal(envelope, keys, sealed_for="first") == "provider-secret"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["credit", "77", "1"], "There is no account 77."),
        (["credit", "1", "ten"], "'ten' is not a number of USD."),
        (["credit", "1", "--", "-5"], "not a positive amount"),
        (["key", "create", "77", "name"], "There is no account 77."),
        (["key", "create", "1", "n" * 65], "shorten it to 64"),
        (["key", "revoke", "77", "--reason", "a test"], "There is no key 77."),
        (["key", "pause", "77", "--reason", "a test"], "There is no key 77."),
        (["key", "resume", "77", "--reason", "a test"], "There is no key 77."),
        (["account", "create", "x", "--group", "gold"], "There is no group 'gold'."),
        (["key", "create", "1", "k", "--quota-usd", "abc"], "'abc' is not a number of USD. Write it like"),
        (["model", "add", "bad id"], "A model's id has 1 to 128 letters"),
        (["key", "list", "77"], "There is no account 77."),
        (["top-up", "list", "77"], "There is no account 77."),
        (["lot", "list", "77"], "There is no account 77."),
        (["credit", "1", "1e3"], "'1e3' is not a number of USD. Write it like 1000"),
        (["model", "add", "m", "--multiplier", "0.0000001"], "at most six decimals"),
        (["model", "add", "m", "--group", "gold"], "There is no group 'gold'."),
        (["model", "add", "m", "--kind", "image"], "needs its prices"),
        (["model", "add", "m", "--kind", "embedding", "--price", "1024x1024=1"], "no other has such"),
        (["model", "add", "m", "--by-token"], "Only a model for images"),
        (["model", "add", "m", "--kind", "image", "--by-token", "--price", "1024x1024=1"], "without a --price"),
        (["provider", "add", "p", "https://api.example/v1"], "No provider key was given"),
        (["provider", "add", "p", "ftp://api.example"], "base_url"),
        (["provider", "add", "P", "https://api.example/v1"], "A provider account's name has 1 to 64 small letters"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_mistakes_are_told_in_a_sentence(own: dict[str, str], arguments: list[str], told: str) -> None:
    run = tollkeeper(own, *arguments, stdin="secret\n" if {"ftp://api.example", "P"} & {*arguments} else "")
    assert run.returncode == 1
    assert told in run.stderr
    assert "Traceback" not in run.stderr


def test_a_number_out_of_range_is_a_usage_error(own: dict[str, str]) -> None:
    run = tollkeeper(own, "key", "revoke", "99999999999999999999", "--reason", "a test")
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_the_same_model_twice_is_told(own: dict[str, str]) -> None:
    assert tollkeeper(own, "model", "add", "m").returncode == 0
    again = tollkeeper(own, "model", "add", "m")
    assert again.returncode == 1
    assert "in the catalog already" in again.stderr


async def test_damage_to_the_books_is_an_exit_code(own: dict[str, str]) -> None:
    tollkeeper(own, "account", "create", "Ada")
    tollkeeper(own, "credit", "1", "10")
    connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"])
    await connection.execute("update tollkeeper.lot set remaining = 7")
    await connection.close()
    checked = tollkeeper(own, "books", "check")
    assert checked.returncode == 1
    assert "account 1: granted 5000000000000, but remaining 7" in checked.stderr


def test_settings_are_shown_without_secrets(own: dict[str, str]) -> None:
    shown = tollkeeper(own, "settings")
    assert shown.returncode == 0
    assert "TOLLKEEPER_KEY_SNAPSHOTS" in shown.stdout
    for name in ("PEPPERS", "ENVELOPE_KEYS", "DATABASE_URL"):
        assert own[f"TOLLKEEPER_{name}"] not in shown.stdout


def test_missing_settings_are_told_all_at_once() -> None:
    run = tollkeeper_process({}, "serve")
    assert run.returncode == 1
    for name in ("DATABASE_URL", "REDIS_URL", "PEPPERS", "ENVELOPE_KEYS"):
        assert f"TOLLKEEPER_{name} is not set." in run.stderr


async def test_an_empty_database_is_told_to_be_migrated(stores: Stores) -> None:
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    empty = fresh_secrets() | {
        "TOLLKEEPER_DATABASE_URL": stores.url_of(name),
        "TOLLKEEPER_REDIS_URL": stores.redis_url,
    }
    run = tollkeeper(empty, "account", "create", "Ada")
    assert run.returncode == 3
    assert "tollkeeper migrate" in run.stderr
    assert f"revision {newest_revision()}" in tollkeeper(empty, "migrate").stdout
    assert tollkeeper(empty, "account", "create", "Ada").returncode == 0


def test_a_database_out_of_reach_is_told(own: dict[str, str]) -> None:
    run = tollkeeper(own | {"TOLLKEEPER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"}, "books", "check")
    assert run.returncode == 3
    assert "Is it up" in run.stderr


async def test_an_unanswered_credit_is_repeated_safely(own: dict[str, str]) -> None:
    tollkeeper(own, "account", "create", "Ada")
    connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"])
    impatient = own | {"TOLLKEEPER_STORE_PATIENCE_SECONDS": "0.5"}
    async with connection.transaction():
        await connection.execute("select from tollkeeper.account_books for update")
        run = await asyncio.to_thread(tollkeeper, impatient, "credit", "1", "10")
    assert run.returncode == 3
    assert "is not known" in run.stderr
    source_id = run.stderr.split("--source-id ")[1].split("'")[0]
    for _ in range(2):
        assert tollkeeper(own, "credit", "1", "10", "--source-id", source_id).returncode == 0
    assert await connection.fetchval("select sum(granted) from tollkeeper.lot") == 10 * 500_000_000_000
    await connection.close()


async def test_a_statement_lists_every_movement_with_its_balance(own: dict[str, str]) -> None:
    tollkeeper(own, "account", "create", "Ada")
    tollkeeper(own, "credit", "1", "1", "--source-id", "p1")
    tollkeeper(own, "key", "create", "1", "k")
    tollkeeper(own, "model", "add", "m")
    async with opened(load(own), DatabaseRole.WORKER) as database:
        await a_settled_call(database, Customer(1, 1, ""))
    told = tollkeeper(own, "books", "statement", "1", "--csv").stdout.splitlines()
    assert told[0] == "time,what,detail,USD,balance USD,quota tokens"
    assert [line.split(",")[1] for line in told[1:]] == ["credit", "charged"]
    assert told[1].endswith(",1.000,1.000,500000")
    assert told[2].endswith(",-0.0000000008,0.9999999992,-0.0004")
    assert "charged" in tollkeeper(own, "books", "statement", "1").stdout


def test_the_worker_stops_when_told(own: dict[str, str]) -> None:
    environment = clean_environment() | own
    with subprocess.Popen(
        [sys.executable, "-m", "tollkeeper", "work"], env=environment, stderr=subprocess.PIPE
    ) as working:
        assert working.stderr is not None
        assert b"jobs of" in working.stderr.readline()
        working.terminate()
        assert working.wait(20) == 0


def test_serve_does_not_share_a_port_with_a_stranger(own: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = str(stranger.getsockname()[1])
        run = tollkeeper_process(own | {"TOLLKEEPER_PORT": port}, "serve")
    assert run.returncode == 1
    assert f"Port {port} of 127.0.0.1 is taken." in run.stderr


def test_the_log_of_a_node_is_json_without_small_talk(own: dict[str, str]) -> None:
    with Node(own) as node:
        node.stop()
        lines = [json.loads(line) for line in node.log.read_text().splitlines()]
    assert [line["message"] for line in lines if line.get("level") != "info"] == []
    assert "see ya" not in str(lines)


async def test_a_running_node_is_on_file_with_its_heartbeat(own: dict[str, str]) -> None:
    with Node(own | {"TOLLKEEPER_NODE_NAME": "north"}):
        connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"])
        row = await connection.fetchrow(
            "select *, now() - heartbeat_at < interval '10 s' as alive from tollkeeper.node"
        )
        await connection.close()
    assert (row["name"], row["alive"]) == ("north", True)


def test_prices_of_embeddings_and_of_images_by_token_read_as_what_they_are_for(own: dict[str, str]) -> None:
    assert tollkeeper(own, "model", "add", "e", "--kind", "embedding", "--multiplier", "0.5").returncode == 0
    by_token = ("--kind", "image", "--by-token", "--multiplier", "2.5", "--completion", "8")
    assert tollkeeper(own, "model", "add", "i", *by_token).returncode == 0
    embedding = tollkeeper(own, "price", "preview", "e", "--multiplier", "1").stdout
    assert "old: 1.000 USD for a million input tokens; model 0.5" in embedding
    assert "new: 2.000 USD for a million input tokens; model 1" in embedding
    image = tollkeeper(own, "price", "preview", "i", "--completion", "4").stdout
    assert "5.000 USD for a million input tokens" in image
    assert "40.000 USD for a million output tokens; model 2.5, completion 8" in image
