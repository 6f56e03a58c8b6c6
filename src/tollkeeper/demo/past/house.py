"""The demo's house while its past is written: the service's own desks and ledger, and a clock that can be set."""

import re
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal

import msgspec

from tollkeeper.accounts.people.front_desk import without_lockouts
from tollkeeper.app.database import opened
from tollkeeper.app.log_site import log_site_of
from tollkeeper.app.office import office
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.core.money.charge import ChargeTerms, charge
from tollkeeper.core.money.prices import Price, Rate, in_force, millionths
from tollkeeper.core.money.quote import expected, quote
from tollkeeper.core.people.mails import Mail
from tollkeeper.core.request_id import uuid7
from tollkeeper.demo.past.calls import PastCall
from tollkeeper.demo.past.catalog import MODELS
from tollkeeper.demo.past.moved_clock import StoryClock, story_clock
from tollkeeper.demo.past.past_ledger import LivedCall, PastLedger
from tollkeeper.jobs.clean_usage_log import clean_usage_log
from tollkeeper.jobs.expire_lots import expire_lots
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.jobs.send_mail import Postman
from tollkeeper.jobs.send_notices import send_notices
from tollkeeper.jobs.turn_partitions import turn_partitions
from tollkeeper.office.desks import Office
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.notices import SqlNotices
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.ledger.workers import end, register
from tollkeeper.storage.people.outbox import SqlOutbox
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.cleaning import SqlCleanUsage
from tollkeeper.storage.usage.rollups import SqlRollups

GROUP = "standard"
PATIENCE_SECONDS = 60.0
HOLD_SECONDS = 240
CAPS = {model.id: model.token_caps for model in MODELS}


class Letters:
    """The `Mailer` port: what people got, instead of a mail server."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    async def send(self, email: str, mail: Mail) -> None:
        self._last[email] = mail.text

    def token(self, email: str) -> str:
        """The token in the link of the last mail."""
        token: str = re.findall(r"token=(\w+)", self._last[email])[0]
        return token


class Jobs:
    """The jobs of `tollkeeper work` that leave traces in a past."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self.letters = Letters()
        outbox = SqlOutbox(database, secrets.choice)
        self.send_mail = Postman(outbox, self.letters, console_url="http://127.0.0.1").round

    async def of_a_while(self) -> None:
        treasury = SqlTreasury(self._database)
        await turn_partitions(treasury)
        await expire_lots(treasury)
        await send_notices(SqlNotices(self._database), quota_from_usd(Decimal(self._settings.low_balance_usd)))
        await self.send_mail()

    async def clean_before(self, day: datetime) -> None:
        """Where there is a log site."""
        site = log_site_of(self._settings)
        if site is not None:
            await clean_usage_log(SqlCleanUsage(self._database), site, day.date())

    async def add_up(self) -> None:
        await roll_up_usage(SqlRollups(self._database))


class DemoHouse:
    def __init__(self, desk: Office, ledger: PastLedger, jobs: Jobs, clock: StoryClock) -> None:
        self.desk = desk
        # Nobody waits a quarter of an hour in a story.
        self.front_desk = without_lockouts(desk.front_desk)
        self.jobs = jobs
        self._clock = clock
        self._ledger = ledger
        self._prices: Sequence[Price] = ()
        self._group = 0
        self._to_live: list[LivedCall] = []

    async def go_to(self, moment: datetime) -> datetime:
        """Live the calls so far, and go on to that moment, or to the end of the last call. Where it is now."""
        if self._to_live:
            await self._ledger.live(self._to_live)
            self._clock.note(self._to_live[-1].ended_at)
            self._to_live.clear()
        return await self._clock.go_to(moment)

    async def read_prices(self) -> None:
        """Anew, after a change."""
        self._prices = [row.price for row in await self.desk.prices.rows(None) if row.withdrawn_at is None]
        groups = {group.name: group for group in await self.desk.groups.groups()}
        self._group = millionths(Decimal(groups[GROUP].multiplier))

    def call(self, call: PastCall, *, account_id: int, key_id: int) -> Settlement:
        """What is held and charged for it, by the relay's own rules. It is lived with the next move of the clock."""
        terms = ChargeTerms(call.ask, CAPS[call.model], self._rate(call))
        held = quote(terms.ask, terms.token_caps, terms.rate)
        order = HoldOrder(
            request_id=uuid7(int(call.at.timestamp() * 1_000), call.chance),
            account_id=account_id,
            key_id=key_id,
            amount=held,
            rate=terms.rate,
            input_units=call.ask.input_units,
            seconds=HOLD_SECONDS,
        )
        covered_tokens = expected(terms.ask, terms.token_caps).output_units
        complete = call.reading.reported is not None
        due = charge(call.ending, terms, call.reading, complete=complete, covered_tokens=covered_tokens, held=held)
        settlement = Settlement(
            request_id=order.request_id,
            account_id=account_id,
            charge=due,
            ending=call.ending,
            attempts=tuple(
                attempt.as_receipt(call.ending, due.amount if attempt.may_have_cost else 0) for attempt in call.attempts
            ),
        )
        self._to_live.append(LivedCall(call.at, call.ended_at, order, settlement))
        return settlement

    def _rate(self, call: PastCall) -> Rate:
        of_model = [price for price in self._prices if price.model_id == call.model]
        price = in_force(of_model, call.at, call.variant)
        if price is None:
            raise LookupError(f"{call.model} has no price at {call.at}.")
        return Rate(price, self._group)


@asynccontextmanager
async def demo_house(settings: Settings) -> AsyncIterator[DemoHouse]:
    # A busy machine is not a database that is away.
    settings = msgspec.structs.replace(settings, store_patience_seconds=PATIENCE_SECONDS)
    async with (
        story_clock(settings.database_url.reveal()) as clock,
        office(settings) as desk,
        opened(settings, DatabaseRole.WORKER) as worker,
    ):
        worker_id = await register(worker, "demo", serves=False)
        ledger = PastLedger(clock.owner, worker_id)
        await ledger.open()
        yield DemoHouse(desk, ledger, Jobs(settings, worker), clock)
        await end(worker, worker_id)
