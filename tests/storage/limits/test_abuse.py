"""Bans, time at peak and restrictions in the database, and who learns of them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.app.database import opened
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.limits.abuse import AbuseVerdict, Policy
from tollkeeper.core.limits.windows import Rates
from tollkeeper.jobs.review_traffic import review_traffic
from tollkeeper.ports import AlreadyOnFile, Ban, NotOnFile
from tollkeeper.ports.limits import GroupTerms
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.limits import bans as bans_room
from tollkeeper.storage.limits.bans import SqlBans, ban
from tollkeeper.storage.limits.peaks import SqlPeaks, SqlTraffic
from tollkeeper.storage.postgres.changes import Change, Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole

IP, OTHER_IP = "192.0.2.7", "2001:db8::/64"
POLICY = Policy()
COUNTED = {"calls": 301, "within_seconds": 60, "codes_seen_here": {"invalid_api_key": 301}}
MINUTE_US = 60_000_000
DEADLINE_SECONDS = 10


class Time:
    """The database's time, which a test may let pass."""

    def __init__(self, owner: asyncpg.Connection) -> None:
        self._owner = owner
        self._passed = timedelta()

    async def pass_by(self, **length: float) -> None:
        self._passed += timedelta(**length)
        await self._owner.execute(
            "create or replace function ledger_now() returns timestamptz language sql stable parallel safe"
            f" return now() + interval '{self._passed.total_seconds()} s'"
        )

    async def now(self) -> datetime:
        now: datetime = await self._owner.fetchval("select ledger_now()")
        return now


@pytest.fixture
async def passing(owner: asyncpg.Connection) -> Time:
    """It begins in the middle of a minute, so that no test sees one turn by chance."""
    time = Time(owner)
    await time.pass_by(seconds=90 - (await time.now()).second)
    return time


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


async def invalid(database: Database, ip: str = IP) -> Ban:
    made = await ban(database, POLICY, ip, "invalid_calls", COUNTED)
    assert made is not None
    return made


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await holds():  # noqa: ASYNC110 (polled, as an operator would)
            await asyncio.sleep(0.02)


async def audited(owner: asyncpg.Connection) -> list[tuple[str, str, str]]:
    """Who did what to what, customers' accounts and keys aside."""
    rows = await owner.fetch("select actor, action, subject, detail from audit order by id")
    return [
        (row["actor"], row["action"], row["subject"])
        for row in rows
        if row["action"] not in {"account.create", "account.credit", "key.create", "model.add"}
    ]


# Bans -----------------------------------------------------------------------------------------------------------------
@pytest.mark.rule("S11.1")
async def test_each_ban_of_a_week_lasts_twice_as_long(database: Database, passing: Time) -> None:
    hours = []
    for _ in range(7):
        began = await passing.now()
        made = await invalid(database)
        hours.append(round((made.until - began) / timedelta(hours=1)))
        await passing.pass_by(hours=hours[-1], seconds=1)
    assert hours == [1, 2, 4, 8, 16, 24, 24]
    await passing.pass_by(days=7)
    assert (await invalid(database)).until - await passing.now() < timedelta(hours=1, seconds=1)


async def test_bans_that_were_lifted_or_were_for_peak_make_none_longer(
    database: Database, customers: Customers, passing: Time
) -> None:
    await invalid(database)
    assert await customers.desk.abuse.lift_ban(IP, "our own monitor", actor=ACTOR)
    for _ in range(2):
        peak = await ban(database, POLICY, IP, "peak", {"peak_seconds": 601})
        assert peak is not None
        assert peak.until - await passing.now() < timedelta(hours=1, seconds=1)
        await passing.pass_by(hours=1, seconds=1)
    assert (await invalid(database)).until - await passing.now() < timedelta(hours=1, seconds=1)
    await passing.pass_by(hours=1, seconds=1)
    after_invalid_calls = await ban(database, POLICY, IP, "peak", {"peak_seconds": 601})
    assert after_invalid_calls is not None
    assert after_invalid_calls.until - await passing.now() < timedelta(hours=1, seconds=1)


async def test_of_nodes_that_ban_at_once_the_first_does(database: Database, owner: asyncpg.Connection) -> None:
    made = await asyncio.gather(*(invalid(database) for _ in range(4)))
    assert len(set(made)) == 1
    assert await owner.fetchval("select count(*) from ban") == 1
    assert await audited(owner) == [("abuse control", "ip.ban", f"ip:{IP}")]


async def test_a_node_knows_of_bans_without_redis(database: Database, customers: Customers) -> None:
    changes = Changes(database)
    bans = SqlBans(database, changes)
    await invalid(database)
    assert bans.find(IP) is None
    following = asyncio.create_task(bans.follow())
    looking = asyncio.create_task(changes.follow())

    async def banned(ip: str = IP) -> bool:
        return bans.find(ip) is not None

    async def free() -> bool:
        return not await banned()

    await eventually(banned)
    await invalid(database, OTHER_IP)
    await eventually(lambda: banned(OTHER_IP))
    await customers.desk.abuse.lift_ban(IP, "a mistake", actor=ACTOR)
    await eventually(free)
    assert await banned(OTHER_IP)
    await invalid(database)
    await eventually(banned)
    for task in (following, looking):
        task.cancel()
    await asyncio.gather(following, looking, return_exceptions=True)


@pytest.fixture
async def node(database: Database) -> tuple[Changes, SqlBans]:
    """A process that has looked once, and reads when a test says so."""
    changes = Changes(database)
    bans = SqlBans(database, changes)
    await changes.look()
    await bans.read()
    return changes, bans


async def test_only_bans_that_changed_are_read(
    node: tuple[Changes, SqlBans], database: Database, customers: Customers, owner: asyncpg.Connection
) -> None:
    changes, bans = node
    await invalid(database)
    await changes.look()
    await bans.read()
    # Behind the feed's back: whoever read everything would notice.
    await owner.execute("alter table ban disable trigger user")
    await owner.execute("update ban set why = 'operator'")
    await owner.execute("alter table ban enable trigger user")
    await invalid(database, OTHER_IP)
    await customers.desk.abuse.ban("192.0.2.9", 60, "spam", actor=ACTOR)
    await changes.look()
    await bans.read()
    found = [bans.find(ip) for ip in (IP, OTHER_IP, "192.0.2.9")]
    assert [ban.why for ban in found if ban] == ["invalid_calls", "invalid_calls", "operator"]
    await owner.execute("delete from ban where ip = $1", IP)
    for _ in range(2):
        await changes.look()
        await bans.read()
    assert bans.find(IP) is None
    assert bans.find(OTHER_IP) is not None


async def test_very_many_bans_are_read_by_the_page(
    node: tuple[Changes, SqlBans], owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, bans = node
    monkeypatch.setattr(bans_room, "PAGE", 100)
    await owner.execute(
        "insert into ban (ip, until, why, counted)"
        " select 'ip-' || n, now() + interval '1 h', 'invalid_calls', '{}' from generate_series(1, 1050) n"
    )
    monkeypatch.setattr(changes, "_horizon", 2**40)
    await changes.look()
    await bans.read()
    assert len(bans._bans) == 1050


async def test_a_ban_ends_by_the_databases_time(
    node: tuple[Changes, SqlBans], database: Database, passing: Time
) -> None:
    changes, bans = node
    bans.put(await invalid(database))
    assert bans.find(IP) is not None
    await passing.pass_by(minutes=59)
    await changes.look()
    assert bans.find(IP) is not None
    await passing.pass_by(minutes=1, seconds=1)
    await changes.look()
    assert bans.find(IP) is None
    assert IP in bans._bans
    bans._drop_expired()
    assert bans._bans == {}


async def test_bans_hold_while_the_database_is_away(settings: Settings) -> None:
    away = Database(settings.database_url, DatabaseRole.GATEWAY, connections=1, patience_seconds=1)
    bans = SqlBans(away, Changes(away))
    made = Ban(ip=IP, until=datetime.fromisoformat("2001-01-01T00:00:00Z"), why="invalid_calls")
    bans.put(made)
    with pytest.raises(StoreUnavailable):
        await bans.read()
    assert bans.find(IP) == made
    # Once it is there, the copy is what the database says.
    await away.open()
    await bans.read()
    assert bans.find(IP) is None
    await away.close()


async def test_what_could_not_be_read_is_read_later(
    node: tuple[Changes, SqlBans], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, bans = node
    await invalid(database)
    await changes.look()
    with monkeypatch.context() as away:
        away.setattr(database, "_pool", None)
        with pytest.raises(StoreUnavailable):
            await bans.read()
    assert bans.find(IP) is None
    await bans.read()
    assert bans.find(IP) is not None


@pytest.mark.rule("S11.3")
async def test_support_bans_and_lifts_on_the_record(customers: Customers, owner: asyncpg.Connection) -> None:
    desk = customers.desk.abuse
    until = await desk.ban(IP, 7_200, "scraping", actor=ACTOR)
    assert until is not None
    assert await desk.ban(IP, 7_200, "scraping", actor=ACTOR) is None
    assert await desk.lift_ban(IP, "they wrote to us", actor=ACTOR)
    assert not await desk.lift_ban(IP, "they wrote to us", actor=ACTOR)
    assert await desk.bans() == []
    (record,) = await desk.bans(ip=IP, in_force_only=False)
    assert (record.until, record.why, record.counted) == (until, "operator", {"reason": "scraping"})
    assert (record.lifted_by, record.lift_reason) == (ACTOR, "they wrote to us")
    assert await desk.bans(ip=OTHER_IP, in_force_only=False) == []
    assert await audited(owner) == [(ACTOR, "ip.ban", f"ip:{IP}"), (ACTOR, "ip.lift_ban", f"ip:{IP}")]
    detail = json.loads(await owner.fetchval("select detail from audit where action = 'ip.lift_ban'"))
    assert detail == {"ban": record.id, "reason": "they wrote to us"}


@pytest.mark.parametrize("reason", ["", "x" * 501])
async def test_nothing_is_done_without_a_reason(customers: Customers, database: Database, reason: str) -> None:
    desk, customer = customers.desk.abuse, await customers.a_customer()
    await invalid(database)
    for act in (
        desk.ban(OTHER_IP, 60, reason, actor=ACTOR),
        desk.lift_ban(IP, reason, actor=ACTOR),
        desk.lift_restriction(customer.account_id, reason, actor=ACTOR),
    ):
        with pytest.raises(ValueError, match="1 to 500 characters"):
            await act
    assert [ban.ip for ban in await desk.bans()] == [IP]


# Time at peak and restrictions ----------------------------------------------------------------------------------------
class Street:
    """A customer at peak, minute by minute, and the job that reviews it."""

    def __init__(self, account_id: int, gateway: Database, worker: Database, passing: Time) -> None:
        self.account_id = account_id
        self.peaks = SqlPeaks(gateway)
        self.worker = worker
        self.passing = passing

    async def at_peak(self, minutes: int, ip: str = IP) -> None:
        for _ in range(minutes):
            self.peaks.note(self.account_id, ip, MINUTE_US)
            await self.peaks.flush()
            await self.passing.pass_by(minutes=1)

    async def review(self) -> int:
        return await review_traffic(SqlTraffic(self.worker, POLICY), POLICY)

    async def restricted_until(self) -> datetime | None:
        row = await self.worker.row("select restricted_until from account where id = $1", self.account_id)
        until: datetime | None = row[0]
        return until


@pytest.fixture
async def street(customers: Customers, database: Database, worker: Database, passing: Time) -> Street:
    customer = await customers.a_customer()
    return Street(customer.account_id, database, worker, passing)


async def test_time_at_peak_is_gathered_and_told(street: Street, customers: Customers, passing: Time) -> None:
    for _ in range(3):
        street.peaks.note(street.account_id, IP, 700)
    street.peaks.note(street.account_id, OTHER_IP, 5_000)
    street.peaks.note(street.account_id, "", 2_000)
    street.peaks.note(77, IP, 5_000)
    await street.peaks.flush()
    # The tenth of a millisecond that was left over counts now.
    street.peaks.note(street.account_id, IP, 900)
    await street.peaks.flush()
    await street.peaks.flush()
    since = await passing.now() - timedelta(minutes=1)
    found = await customers.desk.abuse.peak_minutes(street.account_id, since=since)
    by_ip: dict[str, int] = {}
    for _, ip, milliseconds in found:
        by_ip[ip] = by_ip.get(ip, 0) + milliseconds
    assert by_ip == {IP: 3, OTHER_IP: 5, "": 2}
    assert street.peaks._microseconds == {}


async def test_time_at_peak_that_was_sent_is_never_sent_again(
    street: Street, database: Database, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    street.peaks.note(street.account_id, IP, MINUTE_US)
    with monkeypatch.context() as away:
        away.setattr(database, "_pool", None)
        with pytest.raises(StoreUnavailable):
            await street.peaks.flush()
    await street.peaks.flush()
    assert await owner.fetchval("select count(*) from peak_minute") == 0


async def test_the_database_is_told_again_and_again(
    street: Street, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tollkeeper.storage.limits.peaks.FLUSH_EVERY_SECONDS", 0.01)
    following = asyncio.create_task(street.peaks.follow())

    async def told() -> bool:
        street.peaks.note(street.account_id, IP, 1_000)
        return bool(await owner.fetchval("select sum(milliseconds) > 2 from peak_minute"))

    await eventually(told)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


@pytest.mark.rule("S11.2")
async def test_too_long_at_peak_restricts_and_again_within_a_week_bans_the_ip(
    street: Street, customers: Customers, owner: asyncpg.Connection, passing: Time
) -> None:
    await street.at_peak(10)
    assert await street.review() == 0
    await street.at_peak(1, OTHER_IP)
    assert await street.review() == 1
    until = await street.restricted_until()
    assert until is not None
    assert timedelta(0) < await passing.now() + timedelta(days=1) - until < timedelta(seconds=5)
    (record,) = await customers.desk.abuse.restrictions(account_id=street.account_id)
    assert (record.peak_seconds, record.within_seconds, record.ip) == (660, 3_600, IP)
    assert await customers.desk.abuse.bans() == []
    # It is not restricted twice for the same, neither now nor when it is over.
    assert await street.review() == 0
    await passing.pass_by(hours=24, seconds=1)
    assert await street.review() == 0

    # The minute in which it ended does not count.
    await street.at_peak(10, OTHER_IP)
    await street.at_peak(3)
    assert await street.review() == 1
    (banned,) = await customers.desk.abuse.bans()
    assert (banned.ip, banned.why, banned.account_id) == (OTHER_IP, "peak", street.account_id)
    assert banned.counted == {"peak_seconds": 720, "within_seconds": 3_600}
    assert banned.until - banned.began_at == timedelta(hours=1)
    account = f"account:{street.account_id}"
    assert await audited(owner) == [
        ("abuse control", "account.restrict", account),
        ("abuse control", "ip.ban", f"ip:{OTHER_IP}"),
        ("abuse control", "account.restrict", account),
    ]
    verdicts = await check_books(street.worker)
    assert [verdict for verdict in verdicts if verdict.findings] == []


@pytest.mark.rule("S11.2")
async def test_after_a_week_a_restriction_is_a_first_one_again(
    street: Street, customers: Customers, passing: Time
) -> None:
    for _ in range(2):
        await street.at_peak(11)
        assert await street.review() == 1
        await passing.pass_by(days=7)
    assert await customers.desk.abuse.bans(in_force_only=False) == []


async def test_workers_that_review_at_once_restrict_once(
    street: Street, owner: asyncpg.Connection, passing: Time
) -> None:
    await street.at_peak(11)
    await street.review()
    await passing.pass_by(hours=25)
    await street.at_peak(11)
    assert sum(await asyncio.gather(*(street.review() for _ in range(4)))) == 1
    assert await owner.fetchval("select count(*) from restriction") == 2
    assert await owner.fetchval("select count(*) from ban") == 1


@pytest.mark.rule("S11.3")
async def test_a_restriction_that_was_lifted_does_not_come_back_at_once(
    street: Street, customers: Customers, owner: asyncpg.Connection
) -> None:
    desk, account_id = customers.desk.abuse, street.account_id
    await street.at_peak(11)
    assert await street.review() == 1
    assert await desk.lift_restriction(account_id, "a launch", actor=ACTOR)
    assert not await desk.lift_restriction(account_id, "a launch", actor=ACTOR)
    assert await street.restricted_until() is None
    assert await desk.restrictions() == []
    assert await street.review() == 0
    assert (ACTOR, "account.lift_restriction", f"account:{account_id}") in await audited(owner)
    # It counts from the next minute on; what was lifted was no abuse, so that nobody is banned.
    await street.at_peak(11)
    assert await street.review() == 0
    await street.at_peak(1)
    assert await street.review() == 1
    assert await desk.bans() == []
    lifted = (await desk.restrictions(account_id=account_id, in_force_only=False))[1]
    assert (lifted.lifted_by, lifted.lift_reason) == (ACTOR, "a launch")


async def test_a_restriction_tells_the_nodes_of_its_account(street: Street, database: Database) -> None:
    changes = Changes(database)
    heard: list[Change] = []
    await changes.look()
    changes.subscribe(heard.append)
    verdict = AbuseVerdict(peak_seconds=601, ip=IP, ban=False)
    assert await SqlTraffic(street.worker, POLICY).restrict(street.account_id, verdict)
    assert not await SqlTraffic(street.worker, POLICY).restrict(street.account_id, verdict)
    await changes.look()
    assert [(change.kind, change.subject) for change in heard] == [("account", street.account_id)]


async def test_unknown_accounts_are_named(customers: Customers) -> None:
    with pytest.raises(NotOnFile, match="account 77"):
        await customers.desk.abuse.restrictions(account_id=77)
    with pytest.raises(NotOnFile, match="account 77"):
        await customers.desk.abuse.lift_restriction(77, "why not", actor=ACTOR)


async def test_minutes_are_kept_for_eight_days(street: Street, owner: asyncpg.Connection, passing: Time) -> None:
    await street.at_peak(2)
    await passing.pass_by(days=7, hours=23)
    await street.review()
    assert await owner.fetchval("select count(*) from peak_minute") == 2
    await passing.pass_by(hours=2)
    await street.review()
    assert await owner.fetchval("select count(*) from peak_minute") == 0


# Groups ---------------------------------------------------------------------------------------------------------------
def fewer(old: GroupTerms) -> GroupTerms:
    return GroupTerms(rates=Rates(key_rate=7, kind_rates=old.rates.kind_rates), multiplier=old.multiplier)


def of_nothing(old: GroupTerms) -> GroupTerms:
    return GroupTerms(rates=Rates(model_rates={"nonesuch": 1}), multiplier=old.multiplier)


async def test_a_groups_rates_are_changed_on_the_record(customers: Customers, owner: asyncpg.Connection) -> None:
    desk, model = customers.desk.groups, await customers.a_model()
    rates = Rates(key_rate=None, standard_rate=600, kind_rates={"chat": 1_000}, model_rates={model: 5}, concurrency=9)
    await desk.add("gold", rates, actor=ACTOR)
    with pytest.raises(AlreadyOnFile, match="'gold'"):
        await desk.add("gold", rates, actor=ACTOR)
    changed = await desk.change("gold", fewer, actor=ACTOR)
    assert changed.rates == Rates(key_rate=7, kind_rates={"chat": 1_000})
    assert await desk.change("gold", lambda old: old, actor=ACTOR) == changed
    customer = await customers.a_customer()
    assert await desk.move(customer.account_id, "gold", actor=ACTOR)
    assert not await desk.move(customer.account_id, "gold", actor=ACTOR)
    found = {group.name: group for group in await desk.groups()}
    assert found["standard"].rates == Rates()
    assert found["restricted"].rates == Rates(standard_rate=30, peak_percent=100)
    assert (found["gold"].rates, found["gold"].accounts, found["standard"].accounts) == (changed.rates, 1, 0)
    assert [act for _, act, _ in await audited(owner)] == ["group.add", "group.change", "account.move"]


async def test_rates_of_what_does_not_exist_are_refused(customers: Customers) -> None:
    desk = customers.desk.groups
    with pytest.raises(NotOnFile, match="kind 'video'"):
        await desk.add("gold", Rates(kind_rates={"video": 1}), actor=ACTOR)
    with pytest.raises(NotOnFile, match="model 'nonesuch'"):
        await desk.change("standard", of_nothing, actor=ACTOR)
    with pytest.raises(NotOnFile, match="group 'gold'"):
        await desk.change("gold", lambda rates: rates, actor=ACTOR)
    with pytest.raises(NotOnFile, match="account 77"):
        await desk.move(77, "standard", actor=ACTOR)
    customer = await customers.a_customer()
    with pytest.raises(NotOnFile, match="group 'gold'"):
        await desk.move(customer.account_id, "gold", actor=ACTOR)
    with pytest.raises(asyncpg.CheckViolationError):
        await desk.add("gold", Rates(kind_rates={"chat": 0}), actor=ACTOR)


# Workers --------------------------------------------------------------------------------------------------------------
async def test_only_workers_that_serve_share_the_limits(
    database: Database, settings: Settings, owner: asyncpg.Connection
) -> None:
    lives = []
    for serves in (True, False, True):
        bookkeeper = Bookkeeper(database, "here", settings.journal, patience_seconds=5, serves=serves)
        living = asyncio.create_task(bookkeeper.live())
        lives.append((bookkeeper, living))

    async def all_ready() -> bool:
        return all(bookkeeper.ready for bookkeeper, _ in lives)

    await eventually(all_ready)
    changes = Changes(database)
    await changes.look()
    assert await owner.fetchval("select count(*) from worker") == 3
    assert changes.live_workers == 2
    for bookkeeper, living in lives:
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)
        await bookkeeper.close()
