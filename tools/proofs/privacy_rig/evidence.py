"""What is left of the calls: every sink, and what commands and pages show of them afterwards."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from tools.node import tollkeeper
from tools.proofs import say
from tools.proofs.ledger_rig.ground import connect
from tools.proofs.privacy_rig.odd_calls import PLAIN_PATHS
from tools.proofs.privacy_rig.open_files import OpenFiles
from tools.proofs.privacy_rig.raw_http import Call, Heard, place
from tools.proofs.privacy_rig.rig import Rig
from tools.proofs.privacy_rig.sinks import Sink, dump, environment, folder, texts
from tools.services.process import wait_until

COMMANDS_AT_ONCE = 3
RECEIPTS_SHOWN = 6
PAST_DAYS = 3
ENDINGS = ("completed", "upstream_broke", "client_left", "cut", "node_stopped", "owner_died", "refused")
# The log of three days ago: today's, moved.
INTO_THE_PAST = """
insert into usage select (jsonb_populate_record(usage, jsonb_build_object('request_id', (
    lpad(to_hex((extract(epoch from started_at) * 1000)::bigint - $1::int * 86400000), 12, '0')
    || substr(replace(request_id::text, '-', ''), 13))::uuid))).* from usage
"""


async def age(rig: Rig) -> None:
    """Let the usage log be old enough to be cleaned, and low balances be told of now."""
    connection = await connect(rig.postgres.url)
    try:
        day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=PAST_DAYS)
        await connection.execute("select make_partition('usage', $1, $2)", day, day + timedelta(days=2))
        await connection.execute(INTO_THE_PAST, PAST_DAYS)
        await connection.execute("update job set due_at = now() where name in ('send_notices', 'roll_up_usage')")
    finally:
        await connection.close()


async def missing(rig: Rig) -> list[str]:
    """What did not happen and should have: a sink that nothing came to proves nothing."""
    connection = await connect(rig.postgres.url)
    try:
        endings = {row["ending"] for row in await connection.fetch("select distinct ending from usage")}
        keys = int(rig.redis.ask("DBSIZE")[0])
    finally:
        await connection.close()
    say(f"endings: {', '.join(sorted(endings))}; {keys} keys in Redis; {len(rig.mailbox.mails)} mails")
    problems = [f"no call ended as {ending}" for ending in ENDINGS if ending not in endings]
    copies = list((rig.folder / "log-site").rglob("*.csv.gz"))
    return problems + ([] if copies else ["the log site has no copy"]) + ([] if keys else ["Redis has no keys"])


def gathered(rig: Rig, heard: Sequence[Heard], open_files: OpenFiles, plant: Callable[[], None]) -> list[Sink]:
    """Every sink, with its control in it."""
    wait_until(lambda: bool(rig.mailbox.mails), within_seconds=60)
    shown = list(_shown(rig, heard))
    pages = list(_pages(rig))
    plant()
    asyncio.run(_checkpoint(rig))
    rig.redis.ask("SAVE")
    return [
        Sink("database dump", lambda: [("pg_dump", dump(rig.postgres.url))]),
        folder("PostgreSQL's files", rig.postgres.folder / "data"),
        folder("log of PostgreSQL", rig.postgres.folder / "log"),
        folder("Redis, what is there", rig.redis.folder / "dump.rdb"),
        folder("Redis, what was done", rig.redis.folder / "appendonlydir"),
        folder("log of the node", rig.node.log),
        folder("log of the front", rig.front.log),
        folder("log of the jobs", rig.folder / "jobs.log"),
        folder("journal", rig.folder / "journal"),
        folder("temporary files", rig.folder / "tmp"),
        folder("core files", rig.folder / "work"),
        folder("log site", rig.folder / "log-site"),
        texts("files without a name", open_files.found.items()),
        texts("mails", [("mail", mail) for mail in rig.mailbox.mails]),
        texts("commands", shown),
        texts("pages", pages),
        texts("environment", environment(rig.pids())),
    ]


def _shown(rig: Rig, heard: Sequence[Heard]) -> Iterator[tuple[str, bytes]]:
    """What every command says that reads calls, or accounts that made them."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    account, poor = str(rig.ground.account_id), str(rig.ground.poor_account_id)
    # Endings differ, and so do their receipts.
    answered = [one for one in heard if one.request_id and one.status]
    by_status = {one.status: one.request_id for one in answered}
    receipts = [*by_status.values(), *(one.request_id for one in answered[-RECEIPTS_SHOWN:])]
    commands = [
        ("usage", "clean", "--before", today),
        ("usage", "list", "--limit", "1000"),
        ("usage", "export"),
        ("usage", "chart"),
        ("usage", "total", account),
        ("key", "list", account),
        ("key", "list", poor),
        ("statement", account),
        ("lot", "list", account),
        ("login", "list"),
        ("jobs",),
        ("provider", "list"),
        ("price", "list"),
        ("model", "--help"),
        ("ban", "list"),
        ("restriction", "list"),
        ("books", "check"),
        ("settings",),
        *(("call", "show", request_id) for request_id in receipts),
    ]
    first, *others = commands
    with ThreadPoolExecutor(COMMANDS_AT_ONCE) as hands:
        for command, done in zip(
            commands,
            [tollkeeper(rig.settings, *first), *hands.map(lambda words: tollkeeper(rig.settings, *words), others)],
            strict=True,
        ):
            yield " ".join(command), f"{done.stdout}\n{done.stderr}".encode()


def _pages(rig: Rig) -> Iterator[tuple[str, bytes]]:
    for path in (*PLAIN_PATHS, "/livez", "/readyz", "/"):
        for key in (rig.ground.key, ""):
            yield path, place(rig.node.port, Call(name=path, path=path, method="GET", key=key)).text


async def _checkpoint(rig: Rig) -> None:
    connection = await connect(rig.postgres.url)
    try:
        await connection.execute("checkpoint")
    finally:
        await connection.close()
