"""What is left of the calls: every sink, and what commands, pages and metrics show of them afterwards."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from proofs.privacy.canary_targets import CONSOLE, METRICS
from proofs.privacy.console_pages import console_pages
from proofs.privacy.contained import COLLECTOR, ContainedDeployment
from proofs.privacy.odd_calls import PLAIN_PATHS
from proofs.privacy.open_files import OpenFiles
from proofs.privacy.raw_http import Call, Heard, place
from proofs.privacy.sinks import Sink, dump, environment, folder, texts
from proofs.rig.database import connect
from proofs.rig.patience import wait_until
from proofs.rig.proof import say
from tools.node import tollkeeper

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


async def age(site: ContainedDeployment) -> None:
    """Let the usage log be old enough to be cleaned, and low balances be told of now."""
    connection = await connect(site.postgres.url)
    try:
        day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=PAST_DAYS)
        await connection.execute("select make_partition('usage', $1, $2)", day, day + timedelta(days=2))
        await connection.execute(INTO_THE_PAST, PAST_DAYS)
        await connection.execute("update job set due_at = now() where name in ('send_notices', 'roll_up_usage')")
    finally:
        await connection.close()


async def missing(site: ContainedDeployment) -> list[str]:
    """What did not happen and should have: a sink that nothing came to proves nothing."""
    connection = await connect(site.postgres.url)
    try:
        endings = {row["ending"] for row in await connection.fetch("select distinct ending from usage")}
        keys = int(site.redis.ask("DBSIZE")[0])
    finally:
        await connection.close()
    say(f"endings: {', '.join(sorted(endings))}; {keys} keys in Redis; {len(site.mailbox.mails)} mails")
    problems = [f"no call ended as {ending}" for ending in ENDINGS if ending not in endings]
    copies = list((site.folder / "log-site").rglob("*.csv.gz"))
    spans = len(site.collector.spans())
    say(f"{spans} spans at the collector")
    problems += [] if spans else ["the collector was told of no call"]
    return problems + ([] if copies else ["the log site has no copy"]) + ([] if keys else ["Redis has no keys"])


def gathered(
    site: ContainedDeployment, heard: Sequence[Heard], open_files: OpenFiles, plant: Callable[[], None]
) -> list[Sink]:
    """Every sink, with its control in it."""
    wait_until(lambda: bool(site.mailbox.mails), within_seconds=60)
    shown = list(_shown(site, heard))
    pages, metrics = list(_pages(site)), list(_metrics(site))
    seen = list(console_pages(site.console, site.targets, _receipts(heard)))
    plant()
    asyncio.run(_checkpoint(site))
    site.redis.ask("SAVE")
    return [
        Sink("database dump", lambda: [("pg_dump", dump(site.postgres.url))]),
        folder("PostgreSQL's files", site.postgres.folder / "data"),
        folder("log of PostgreSQL", site.postgres.folder / "log"),
        folder("Redis, what is there", site.redis.folder / "dump.rdb"),
        folder("Redis, what was done", site.redis.folder / "appendonlydir"),
        folder("log of the node", site.node.log),
        folder("log of the front", site.front.log),
        folder("log of the console", site.console.log),
        folder("log of the jobs", site.folder / "jobs.log"),
        folder("journal", site.folder / "journal"),
        folder("temporary files", site.folder / "tmp"),
        folder("core files", site.folder / "work"),
        folder("log site", site.folder / "log-site"),
        texts("files without a name", open_files.found.items()),
        texts("mails", [("mail", mail) for mail in site.mailbox.mails]),
        texts(COLLECTOR, [(sent.path, sent.body) for sent in site.collector.requests]),
        texts("commands", shown),
        texts("pages", pages),
        texts(CONSOLE, seen),
        texts(METRICS, metrics),
        texts("environment", environment(site.pids())),
    ]


def _shown(site: ContainedDeployment, heard: Sequence[Heard]) -> Iterator[tuple[str, bytes]]:
    """What every command says that reads calls, or accounts that made them."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    account, poor = str(site.targets.account_id), str(site.targets.poor_account_id)
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
        *(("call", "show", request_id) for request_id in _receipts(heard)),
    ]
    first, *others = commands
    with ThreadPoolExecutor(COMMANDS_AT_ONCE) as hands:
        for command, done in zip(
            commands,
            [tollkeeper(site.settings, *first), *hands.map(lambda words: tollkeeper(site.settings, *words), others)],
            strict=True,
        ):
            yield " ".join(command), f"{done.stdout}\n{done.stderr}".encode()


def _receipts(heard: Sequence[Heard]) -> list[str]:
    """Of calls that ended differently: their receipts differ, too."""
    answered = [one for one in heard if one.request_id and one.status]
    by_status = {one.status: one.request_id for one in answered}
    return [*by_status.values(), *(one.request_id for one in answered[-RECEIPTS_SHOWN:])]


def _metrics(site: ContainedDeployment) -> Iterator[tuple[str, bytes]]:
    for part, port in site.metrics_ports.items():
        yield f"of the {part}", place(port, Call(name=part, path="/metrics", method="GET")).text


def _pages(site: ContainedDeployment) -> Iterator[tuple[str, bytes]]:
    for path in (*PLAIN_PATHS, "/livez", "/readyz", "/"):
        for key in (site.targets.key, ""):
            yield path, place(site.node.port, Call(name=path, path=path, method="GET", key=key)).text


async def _checkpoint(site: ContainedDeployment) -> None:
    connection = await connect(site.postgres.url)
    try:
        await connection.execute("checkpoint")
    finally:
        await connection.close()
