"""The doctor on real stores that are broken in one way each."""

import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.mailbox import Mailbox
from tollkeeper.app.doctor import diagnose, journal_room
from tollkeeper.core.diagnosis import Diagnosis
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import Secret, Settings
from tools.services import Postgres, Redis
from tools.services.process import free_port


def changed(settings: Settings, **values: object) -> Settings:
    return msgspec.structs.replace(settings, **values)


async def lines_about(settings: Settings, about: str) -> list[Diagnosis]:
    found = [line for line in await diagnose(settings) if line.about == about]
    assert found, f"nothing about {about}"
    return found


async def line_about(settings: Settings, about: str) -> Diagnosis:
    [line] = await lines_about(settings, about)
    return line


def key_text() -> Secret:
    return Secret(f"7:{base64.b64encode(os.urandom(32)).decode()}")


async def test_a_deployment_in_order_has_nothing_broken(stores: Stores) -> None:
    with Postgres(durable=True) as postgres:
        own = await variables(stores) | {"TOLLKEEPER_DATABASE_URL": postgres.url}
        assert tollkeeper(own, "migrate").returncode == 0
        told = tollkeeper(own, "doctor")
        assert "broken  " not in told.stdout + told.stderr
        assert told.returncode == 0, "nobody works, no provider takes calls: something is to do, nothing is broken"
        assert "ok      PostgreSQL durability" not in told.stdout, "there are no checksums"
        lines = msgspec.json.decode(tollkeeper(own, "doctor", "--json").stdout, type=dict[str, list[Diagnosis]])["data"]
    well = {line.about for line in lines if line.condition == "ok"}
    assert {"PostgreSQL", "PostgreSQL clock", "schema", "Redis", "Redis memory", "Redis clock", "journal"} <= well
    assert {f"role tollkeeper_{part}" for part in ("gateway", "console", "worker")} <= well
    assert all(line.remedy for line in lines if line.condition != "ok")


async def test_no_secret_is_told_and_what_is_broken_ends_with_one(stores: Stores) -> None:
    own = await variables(stores)
    told = tollkeeper(own, "doctor")
    assert told.returncode == 1
    for name in ("TOLLKEEPER_DATABASE_URL", "TOLLKEEPER_REDIS_URL", "TOLLKEEPER_PEPPERS", "TOLLKEEPER_ENVELOPE_KEYS"):
        secret = own[name].partition("://")[2].rpartition("@")[0].rpartition(":")[2] or own[name].partition(":")[2]
        assert secret not in told.stdout + told.stderr, name


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda url: url.rpartition("/")[0] + "/nowhere", "does not exist"),
        (lambda url: url.replace("tollkeeper:", "tollkeeper:not-"), "does not let this login in"),
        (lambda url: f"postgresql://a:b@127.0.0.1:{free_port()}/c", "did not answer"),
    ],
    ids=["no such database", "another password", "nobody there"],
)
async def test_a_database_that_cannot_be_had_is_told_with_the_reason(
    settings: Settings, harm: object, words: str
) -> None:
    assert callable(harm)
    line = await line_about(changed(settings, database_url=Secret(harm(settings.database_url.reveal()))), "PostgreSQL")
    assert line.condition == "broken"
    assert words in line.told


async def test_a_database_that_can_forget_is_broken(settings: Settings) -> None:
    told = [line.told for line in await lines_about(settings, "PostgreSQL durability")]
    assert [words.partition(" ")[0] for words in told] == ["fsync", "full_page_writes", "synchronous_commit"]
    assert (await line_about(settings, "PostgreSQL checksums")).condition == "to do"


async def test_a_schema_that_is_not_this_programs_is_told(
    settings: Settings, owner: asyncpg.Connection, stores: Stores
) -> None:
    assert (await line_about(settings, "schema")).condition == "ok"
    for version, words in (("0020", "this program needs"), ("9999", "newer than this program knows")):
        await owner.execute("update alembic_version set version_num = $1", version)
        line = await line_about(settings, "schema")
        assert (line.condition, words in line.told) == ("broken", True)
    empty = f"empty_{uuid4().hex}"
    await stores.admin(f'create database "{empty}"')
    url = stores.url_of(empty)
    line = await line_about(changed(settings, database_url=Secret(url)), "schema")
    assert (line.told, line.remedy) == ("there is none yet", "tollkeeper migrate")
    await stores.admin(f'drop database "{empty}" with (force)')


@pytest.fixture
async def poor_login(settings: Settings, owner: asyncpg.Connection) -> AsyncIterator[Settings]:
    """Settings with a login that has no rights."""
    name = f"poor_{uuid4().hex[:12]}"
    await owner.execute(f"create role {name} login password 'poor'")
    host = settings.database_url.reveal().rpartition("@")[2]
    yield changed(settings, database_url=Secret(f"postgresql://{name}:poor@{host}"))
    await owner.execute(f"drop owned by {name}; drop role {name}")


async def test_a_login_that_cannot_take_on_a_role_is_told_the_missing_grant(
    poor_login: Settings, owner: asyncpg.Connection
) -> None:
    line = await line_about(poor_login, "role tollkeeper_console")
    name = poor_login.database_url.reveal().partition("://")[2].partition(":")[0]
    assert (line.condition, line.remedy) == ("broken", f"As an administrator: grant tollkeeper_console to {name}")
    await owner.execute(line.remedy.partition(": ")[2])
    assert (await line_about(poor_login, "role tollkeeper_console")).condition == "ok"
    assert (await line_about(poor_login, "login")).condition == "ok"


async def test_a_role_without_its_rights_in_this_database_is_told(
    settings: Settings, owner: asyncpg.Connection
) -> None:
    await owner.execute("revoke usage on schema tollkeeper from tollkeeper_gateway")
    assert "lacks its rights" in (await line_about(settings, "role tollkeeper_gateway")).told


async def test_a_redis_that_is_away_locked_or_a_replica_is_told(settings: Settings) -> None:
    away = f"redis://127.0.0.1:{free_port()}/0"
    assert "did not answer" in (await line_about(changed(settings, redis_url=Secret(away)), "Redis")).told
    locked = settings.redis_url.reveal().replace("redis://:", "redis://:not-")
    assert "does not let us in" in (await line_about(changed(settings, redis_url=Secret(locked)), "Redis")).told
    with Redis("--replicaof", "127.0.0.1", str(free_port())) as replica:
        line = await line_about(changed(settings, redis_url=Secret(replica.url)), "Redis")
    assert "is a replica" in line.told


async def test_a_redis_that_forgets_before_its_time_is_told(settings: Settings) -> None:
    with Redis("--maxmemory-policy", "allkeys-lru") as forgetful:
        line = await line_about(changed(settings, redis_url=Secret(forgetful.url)), "Redis memory")
    assert line.condition == "to do"
    assert "allkeys-lru" in line.told


async def test_a_journal_that_others_can_write_to_is_broken(settings: Settings, tmp_path: Path) -> None:
    mine = changed(settings, journal_folder=str(tmp_path))
    assert (await line_about(mine, "journal")).condition == "ok"
    mine.journal.mkdir(mode=0o777)
    mine.journal.chmod(0o777)
    assert (await line_about(mine, "journal")).condition == "broken"


@pytest.mark.parametrize(
    ("free", "condition"),
    [(2**20, "broken"), (2**29, "to do"), (2**31, "ok")],
    ids=["a megabyte", "half a gigabyte", "two"],
)
def test_a_journal_needs_room(free: int, condition: str) -> None:
    assert journal_room(Path("/somewhere"), free).condition == condition


async def test_mail_that_cannot_be_sent_is_told(settings: Settings) -> None:
    assert (await line_about(settings, "mail")).condition == "to do"
    away = changed(settings, smtp_url=Secret(f"smtp://127.0.0.1:{free_port()}"), mail_from="a@example.com")
    line = await line_about(away, "mail")
    assert (line.condition, "ConnectionRefusedError" in line.told) == ("broken", True)
    mailbox = Mailbox()
    mailbox.start()
    try:
        there = changed(away, smtp_url=Secret(f"smtp://127.0.0.1:{mailbox.port}"))
        assert (await line_about(there, "mail")).condition == "ok"
    finally:
        mailbox.stop()
    assert mailbox.messages == []


async def test_provider_accounts_that_cannot_be_opened_or_found_are_told(
    settings: Settings, customers: Customers
) -> None:
    assert (await line_about(settings, "providers")).condition == "to do"
    for name, url in (("here", "https://127.0.0.1/v1"), ("lost", "https://nowhere.invalid/v1")):
        account = NewProviderAccount(name=name, vendor="openai", base_url=url, secret="sk-secret")
        await customers.desk.providers.add(account, actor="test")
    assert "nowhere.invalid has no address" in (await line_about(settings, "provider lost")).told
    other = changed(settings, envelope_keys=key_text())
    line = await line_about(other, "provider here")
    assert (line.condition, "cannot be opened" in line.told) == ("broken", True)
    assert line.remedy.endswith("tollkeeper provider rotate-key here")


async def test_keys_under_a_pepper_that_is_not_listed_are_told(settings: Settings, customers: Customers) -> None:
    await customers.a_customer()
    assert (await line_about(settings, "peppers")).condition == "ok"
    line = await line_about(changed(settings, peppers=key_text()), "peppers")
    assert (line.condition, "1 keys and 0 recovery codes stand under version 1" in line.told) == ("broken", True)


def with_second_pepper(settings: Settings, in_use: int) -> Settings:
    second = key_text().reveal().partition(":")[2]
    return changed(settings, peppers=Secret(f"{settings.peppers.reveal()},2:{second}"), pepper_in_use=in_use)


async def test_a_pepper_is_to_be_retired_once_nothing_stands_under_it(settings: Settings) -> None:
    assert (await line_about(with_second_pepper(settings, 1), "peppers")).condition == "ok", "it is still to come"
    line = await line_about(with_second_pepper(settings, 2), "peppers")
    assert (line.condition, line.remedy.startswith("tollkeeper pepper retire 1,")) == ("to do", True)


@pytest.mark.parametrize(
    "needs",
    [
        "update api_key set pepper_version = 1",
        "update api_key set former_digest = sha256('x'), former_pepper_version = 1, former_until = 'infinity'",
        "insert into recovery_code (account_id, digest, pepper_version) select account_id, sha256('x'), 1 from login",
        "insert into recovery_code (account_id, digest) select account_id, sha256('x') from login",
    ],
    ids=["a key", "a former text", "a recovery code", "a recovery code of any"],
)
async def test_a_pepper_under_which_anything_stands_is_left_alone(
    settings: Settings, customers: Customers, owner: asyncpg.Connection, needs: str
) -> None:
    ahead = with_second_pepper(settings, 2)
    await customers.a_customer()
    await owner.execute("update api_key set pepper_version = 2")
    await owner.execute(
        "insert into login (account_id, email, person, password) "
        "select id, 'a@example.com', sha256('a'), '$argon2id$x' from account"
    )
    assert (await line_about(ahead, "peppers")).condition == "to do"
    await owner.execute(needs)
    assert (await line_about(ahead, "peppers")).condition == "ok"


async def test_keys_that_were_given_up_with_their_pepper_are_no_trouble(
    settings: Settings, customers: Customers, owner: asyncpg.Connection
) -> None:
    await customers.a_customer()
    await owner.execute("insert into pepper_retired (version) values (1)")
    assert (await line_about(changed(settings, peppers=key_text()), "peppers")).condition == "ok"


async def test_an_oldest_pepper_that_no_node_had_is_broken(settings: Settings, owner: asyncpg.Connection) -> None:
    await owner.execute("insert into node (name, version, started_at, secrets) values ('n', '1', now(), '{mark:0}')")
    line = await line_about(settings, "peppers")
    assert (line.condition, "the service mark is another" in line.told) == ("broken", True)


async def test_a_console_without_https_is_broken(settings: Settings) -> None:
    assert (await line_about(settings, "console")).condition == "to do"
    for url, condition in (
        ("https://console.example.com", "ok"),
        ("http://localhost:8090", "ok"),
        ("http://console.example.com", "broken"),
    ):
        assert (await line_about(changed(settings, console_url=url), "console")).condition == condition


async def test_books_that_were_not_clean_are_told(settings: Settings, owner: asyncpg.Connection) -> None:
    assert (await line_about(settings, "worker")).condition == "to do"
    assert (await line_about(settings, "books")).condition == "to do"
    await owner.execute(
        "insert into job (name, every_seconds, holder, held_until, ended_at, went_well, outcome)"
        " values ('check_books', 9, 'w', now() + interval '1 hour', now(), false, 'NOT clean')"
    )
    assert (await line_about(settings, "worker")).condition == "ok"
    line = await line_about(settings, "books")
    assert (line.condition, line.told) == ("broken", "NOT clean")


def test_settings_that_cannot_be_read_are_broken() -> None:
    told = tollkeeper({}, "doctor")
    assert told.returncode == 1
    assert "settings: TOLLKEEPER_DATABASE_URL is not set" in told.stderr
