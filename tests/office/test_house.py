"""The house over the operator API: jobs, nodes, settings, and the verdict on the books."""

import asyncpg
import msgspec

from tests.office.staff import StaffClient, told
from tollkeeper.settings import Secret, Settings

JOB = """
insert into job (name, every_seconds, due_at, began_at, ended_at, seconds, went_well, outcome, runs, failures,
                 judged_at, judged_well)
values ($1, 60, now(), now(), now(), 1, $2, $3, 1, 0, $4, $2)
"""


async def test_jobs_and_the_last_verdict_on_the_books_are_told(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    assert told(await owner_client.get("/jobs"))["data"] == []
    assert told(await owner_client.get("/books/verdict"))["is_clean"] is None
    now = await owner.fetchval("select now()")
    await owner.execute(JOB, "check_books", False, "The books are NOT clean: balances", now)
    await owner.execute(JOB, "expire_lots", True, "3 lots closed", None)
    jobs = {job["name"]: job for job in told(await owner_client.get("/jobs"))["data"]}
    assert jobs["expire_lots"]["outcome"] == "3 lots closed"
    verdict = told(await owner_client.get("/books/verdict"))
    assert verdict["is_clean"] is False
    assert verdict["last_run"] == "The books are NOT clean: balances"


async def test_nodes_are_alive_as_long_as_they_are_heard_of(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    await owner.execute("insert into node (name, version) values ('here', '1.2.3')")
    await owner.execute(
        "insert into node (name, version, heartbeat_at) values ('gone', '1.2.2', now() - interval '20 s')"
    )
    await owner.execute("insert into worker (node, serves) values ('here', true), ('here', true), ('desk', false)")
    await owner.execute("insert into worker (node, serves, ended_at) values ('here', true, now())")
    nodes = {node["name"]: node for node in told(await owner_client.get("/nodes"))["data"]}
    assert list(nodes)[-1] == "gone"
    assert [nodes["here"][field] for field in ("version", "is_alive", "serving", "working")] == ["1.2.3", True, 2, 0]
    assert [nodes["desk"][field] for field in ("version", "is_alive", "serving", "working")] == [None, True, 0, 1]
    assert not nodes["gone"]["is_alive"]


async def test_settings_are_told_and_secrets_never(owner_client: StaffClient, settings: Settings) -> None:
    answer = await owner_client.get("/settings")
    found = {setting["variable"]: setting["value"] for setting in told(answer)["data"]}
    assert found["TOLLKEEPER_PORT"] == str(settings.port)
    secrets = [value for value in msgspec.structs.astuple(settings) if isinstance(value, Secret) and value.reveal()]
    assert secrets
    for secret in secrets:
        assert secret.reveal() not in answer.text
    assert found["TOLLKEEPER_DATABASE_URL"] == "•••"
