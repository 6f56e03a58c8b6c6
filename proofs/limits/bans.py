"""Bans: who floods is refused everywhere in time, whatever it claims to be; nobody else is; support can lift it.

Callers have IPs of their own: those of the loopback network, and behind a trusted proxy any.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

import asyncpg

from proofs.limits.findings import Findings
from proofs.limits.flood import (
    INVALID_CALLS,
    Flood,
    Headers,
    flood,
    no_headers,
    seconds_until_served,
    statuses,
)
from proofs.limits.line import HERE, Line, get
from proofs.limits.shared_stores import Wish
from proofs.limits.site import Site, lines_to_every_worker
from proofs.rig.proof import say
from tools.node import tollkeeper
from tools.services import Redis

BAN_SECONDS_MOST = 2.0
FLOODER, SPOOFER, VICTIM, BYSTANDER = "127.0.0.9", "127.0.0.10", "127.0.0.11", "127.0.0.12"
# Behind the proxy.
REMOTE_FLOODER, REMOTE_BYSTANDER = "198.51.100.23", "198.51.100.99"
STILL_BANNED_AFTER_SECONDS = 3.0
GOOD_CALLS_EVERY_SECONDS = 5.0
# One for each worker, so that nobody good comes near a limit.
WISHES = {"suspect": Wish(), "victim": Wish(), **{f"good {number}": Wish() for number in range(4)}}
BANNED = {"403 ip_banned"}
PUBLIC = "/prices.json"


class Bans:
    def __init__(self, site: Site, servers: Sequence[Redis], findings: Findings) -> None:
        self._site = site
        self._servers = servers
        self._findings = findings
        # What anybody may ask without a key; a good key passes a ban for invalid calls.
        self._asked = get(PUBLIC, "")
        self._known = get("/v1/models", site.customers["suspect"].key.text)

    async def prove(self) -> float:
        """The longest time from the first call too many until every worker refuses."""
        say(f"{self._site.name}: a flood of invalid calls, true and under false names")
        over = asyncio.Event()
        async with asyncio.TaskGroup() as acts:
            acts.create_task(self._call_well(over))
            taken = [await self._flooded(), await self._spoofed()]
            over.set()
        taken.append(await self._behind_a_proxy())
        return max(taken)

    async def _flooded(self) -> float:
        lines = await lines_to_every_worker(self._site.nodes, from_ip=FLOODER)
        seconds = await self._flood("a flooder", lines)
        for server in self._servers:
            await asyncio.to_thread(server.ask, "FLUSHALL")
        await asyncio.sleep(STILL_BANNED_AFTER_SECONDS)
        self._check("a ban survives that Redis forgets", await statuses(lines, self._asked), BANNED)
        self._check("a good key passes it", await statuses(lines, self._known), {"200"})
        await self._support(lines)
        return seconds

    async def _support(self, lines: Mapping[int, Line]) -> None:
        """What support sees, and what it can do."""
        self._findings.check("`ban list` names the flooder", FLOODER in await self._command("list"))
        told = await self._command("explain", FLOODER)
        self._findings.check("`ban explain` says what was counted", str(INVALID_CALLS + 1) in told, told)
        say(f"ban explain: {' '.join(told.split())}")
        await self._command("lift", FLOODER, "--reason", "proof")
        seconds = await seconds_until_served(lines, self._asked)
        say(f"served by every worker so many seconds after the lift: {seconds}")
        in_time = seconds is not None and seconds <= BAN_SECONDS_MOST
        self._findings.check("a lifted ban is over everywhere in time", in_time, seconds)
        self._findings.check("`ban list` names nobody any more", FLOODER not in await self._command("list"))

    async def _spoofed(self) -> float:
        def as_victim(number: int) -> Mapping[str, str]:
            claimed = VICTIM if number % 2 else f"203.0.113.{number % 250 + 1}"
            return {"X-Forwarded-For": claimed, "Forwarded": f"for={claimed}", "X-Real-IP": claimed}

        lines = await lines_to_every_worker(self._site.nodes, from_ip=SPOOFER)
        seconds = await self._flood("a flooder under false names", lines, as_victim)
        disguised = get(PUBLIC, "", as_victim(1))
        self._check("a false name does not get around a ban", await statuses(lines, disguised), BANNED)
        victims_lines = await lines_to_every_worker(self._site.nodes, from_ip=VICTIM)
        asked = get("/v1/models", self._site.customers["victim"].key.text)
        self._check("whoever was named is served", await statuses(victims_lines, asked), {"200"})
        self._check("only flooders were ever banned", await self._banned(), {FLOODER, SPOOFER})
        return seconds

    async def _behind_a_proxy(self) -> float:
        def through(number: int) -> Mapping[str, str]:
            return {"X-Forwarded-For": f"203.0.113.{number % 250 + 1}, {REMOTE_FLOODER}"}

        trusting = await asyncio.to_thread(
            lambda: self._site.more_nodes("trusting", workers=1, settings={"TOLLKEEPER_TRUSTED_PROXIES": HERE})
        )
        lines = await lines_to_every_worker(trusting)
        seconds = await self._flood("a flooder behind a trusted proxy", lines, through)
        key = self._site.customers["victim"].key.text
        for claimed, expected in {
            REMOTE_FLOODER: BANNED,
            f"{REMOTE_BYSTANDER}, {REMOTE_FLOODER}": BANNED,
            f"{REMOTE_FLOODER}, {REMOTE_BYSTANDER}": {"200"},
            "203.0.113.1": {"200"},
        }.items():
            asked = get(PUBLIC, "", {"X-Forwarded-For": claimed})
            self._check(f"behind a proxy, as {claimed}", await statuses(lines, asked), expected)
        self._check("the proxy itself is served", await statuses(lines, get("/v1/models", key)), {"200"})
        self._check("only the right-most hop was banned", await self._banned(), {FLOODER, SPOOFER, REMOTE_FLOODER})
        return seconds

    async def _flood(self, who: str, lines: Mapping[int, Line], headers: Headers = no_headers) -> float:
        found: Flood = await flood(lines, headers)
        say(f"{who}: {found.invalid_before} invalid calls, then banned by {len(lines)} workers in {found.seconds} s")
        # What is still under way when the door shuts was sent before it.
        enough = found.invalid_before > INVALID_CALLS - len(lines)
        self._findings.check(f"{who} is not banned too soon", enough, found.invalid_before)
        self._findings.check(f"{who} gets no other answers", not found.other, found.other[:5])
        in_time = found.seconds is not None and found.seconds <= BAN_SECONDS_MOST
        self._findings.check(f"{who} is banned in time", in_time, found.seconds)
        return found.seconds if found.seconds is not None else float("inf")

    async def _call_well(self, until: asyncio.Event) -> None:
        """Good callers from another IP, on every worker, for as long as it takes."""
        lines = await lines_to_every_worker(self._site.nodes, from_ip=BYSTANDER)
        keys = [self._site.customers[f"good {number}"].key.text for number in range(len(lines))]
        heard: Counter[int] = Counter()
        while not until.is_set():
            asked = (line.ask(get("/v1/models", key)) for line, key in zip(lines.values(), keys, strict=True))
            heard.update(reply.status for reply in await asyncio.gather(*asked))
            await asyncio.sleep(GOOD_CALLS_EVERY_SECONDS)
        say(f"good callers from another IP heard {dict(heard)} meanwhile")
        self._findings.check("good callers are unharmed", heard.keys() == {200}, dict(heard))

    async def _command(self, *arguments: str) -> str:
        done = await asyncio.to_thread(tollkeeper, self._site.settings, "ban", *arguments)
        self._findings.check(f"`ban {arguments[0]}` works", done.returncode == 0, done.stderr)
        return done.stdout

    async def _banned(self) -> set[str]:
        """Every IP that ever was banned, by the table itself."""
        connection = await asyncpg.connect(self._site.settings["TOLLKEEPER_DATABASE_URL"])
        try:
            return {row["ip"] for row in await connection.fetch("select ip from tollkeeper.ban")}
        finally:
            await connection.close()

    def _check(self, name: str, found: set[str], expected: set[str]) -> None:
        self._findings.check(name, found == expected, f"{found}, not {expected}")
