"""Two months of a customer's life, written into an empty database in the order in which they happened.

Rules of this file
1. All of it is done by the service's own use-cases, jobs and ledger, at its moment of the ledger's clock: the books are
   as clean as if it had been lived. Nothing is put into a table by hand.
2. The past ends now. Its days are counted back from today, and made from a seed; the password is drawn.
"""

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from uuid import UUID

import msgspec

from tollkeeper.accounts.prices import PriceWish, enter_price_change
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.core.money.charge import Ending
from tollkeeper.demo.past.calls import PastCall, calls_of
from tollkeeper.demo.past.catalog import CHANGES, MODELS, PlannedChange
from tollkeeper.demo.past.house import DemoHouse, demo_house
from tollkeeper.demo.past.people import DESK, KEYS, PHONE, Cast
from tollkeeper.settings import Settings

SEED = 7
DAY = timedelta(days=1)
PAST = 60 * DAY
# Before the month of the last statement, so that there is something to clean from the log.
BEFORE_LAST_MONTH = 14 * DAY
# A call of just now may still be running.
RECENT = timedelta(minutes=4)
# They make tables for a week ahead.
JOBS_EVERY_DAYS = 5
NOTICE = timedelta(hours=24)
# Of a key's quota: from here on it is left alone.
NEARLY_ALL = Decimal("0.93")
PASSWORD_BYTES = 8


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to know of the story."""

    account_id: int
    # With which Ada signs in; of this story alone.
    password: str
    # Of the laptop.
    key: str
    # For topping up; not redeemed yet.
    code: str
    # A call whose receipt has something to tell.
    telling_call: UUID
    calls: int


class PastEvent(msgspec.Struct, frozen=True):
    at: datetime
    act: Callable[[datetime], Awaitable[None]]


class Story:
    def __init__(self, house: DemoHouse, now: datetime, progress: Callable[[float], None]) -> None:
        self._house = house
        self._now = now
        self._progress = progress
        # Nobody else may know it: the story may stand in a database that others reach.
        self._password = secrets.token_hex(PASSWORD_BYTES)
        self._cast = Cast(house, self._password)
        self._spent: Counter[str] = Counter()
        self._calls = 0
        self._telling_call: UUID | None = None

    async def tell(self) -> Told:
        await self._begin()
        for event in sorted(self._events(), key=lambda each: each.at):
            if isinstance(event, PastCall):
                self._call(event)
            else:
                await event.act(await self._house.go_to(event.at))
                self._progress((event.at - self._begun_at) / (self._now - self._begun_at))
        await self._house.go_to(self._now)
        await self._house.jobs.clean_before(self._last_month)
        await self._house.jobs.add_up()
        if self._telling_call is None:
            raise LookupError("No call of the story has a receipt worth looking at.")
        return Told(
            account_id=self._cast.ada,
            password=self._password,
            key=self._cast.keys["laptop"][1],
            code=await self._cast.a_code("5", months=9),
            telling_call=self._telling_call,
            calls=self._calls,
        )

    @property
    def _last_month(self) -> datetime:
        return (_midnight(self._now).replace(day=1) - DAY).replace(day=1)

    @property
    def _begun_at(self) -> datetime:
        return min(self._now - PAST, self._last_month - BEFORE_LAST_MONTH)

    async def _begin(self) -> None:
        await self._house.go_to(self._begun_at)
        await self._house.jobs.of_a_while()
        for model in MODELS:
            await self._house.desk.catalog.add_model(model, actor=self._house.desk.actor)
        await self._house.read_prices()
        await self._cast.sign_up("Grace")
        await self._cast.sign_up("Ada", invited_by="Grace")

    def _events(self) -> Iterator["PastEvent | PastCall"]:
        yield from self._money()
        yield from self._access()
        for change in CHANGES:
            yield self._days_back(change.announced_days_back, partial(self._change_price, change))
        midnight = _midnight(self._now)
        for days_back in range((self._now - self._begun_at).days + 1):
            day = midnight - days_back * DAY
            if days_back % JOBS_EVERY_DAYS == 0:
                yield PastEvent(day, lambda _: self._house.jobs.of_a_while())
            for call in calls_of(day, days_back, SEED):
                if self._begun_at < call.at and call.ended_at < self._now - RECENT:
                    yield call

    def _money(self) -> Iterator[PastEvent]:
        cast, at = self._cast, self._days_back
        yield at(58.9, lambda _: cast.top_up("Ada", "10", gift_code_of="Grace"))
        # It lapses in two weeks or so.
        yield at(44.2, lambda _: cast.top_up("Ada", "70", months=2))
        yield at(8.3, lambda _: cast.top_up("Ada", "25"))
        yield at(40.1, lambda _: cast.ask_the_faucet())
        for friend, days in (("Lin", 50.2), ("Omar", 37.1), ("Yuki", 20.4)):
            yield at(days, partial(self._invite, friend))
        yield at(49.7, lambda _: cast.top_up("Lin", "100", gift_code_of="Ada"))
        yield at(36.6, lambda _: cast.top_up("Omar", "200"))
        yield at(30.3, lambda _: cast.top_up("Lin", "300"))
        yield at(19.7, lambda _: cast.top_up("Yuki", "60"))
        yield at(9.1, lambda _: cast.top_up("Omar", "100"))
        yield at(15.2, lambda now: cast.withdraw("12.50", now))
        yield at(13.4, lambda _: cast.pay_withdrawal())

    def _access(self) -> Iterator[PastEvent]:
        cast, at = self._cast, self._days_back
        for name, key in KEYS.items():
            yield at(key.made_days_back, partial(cast.make_key, name))
        yield at(12.6, lambda _: cast.revoke("old phone"))
        yield at(5.5, lambda _: cast.pause("staging"))
        yield at(2.2, lambda _: cast.rotate("backend"))
        yield at(33.3, cast.set_up_second_factor)
        yield at(12.2, cast.give_up_second_factor)
        yield at(3.1, lambda _: cast.sign_in(DESK))
        yield at(1.3, lambda _: cast.sign_in(PHONE))

    def _days_back(self, days: float, act: Callable[[datetime], Awaitable[object]]) -> PastEvent:
        async def done(now: datetime) -> None:
            await act(now)

        return PastEvent(self._now - timedelta(days=days), done)

    async def _invite(self, friend: str, _: datetime) -> None:
        await self._cast.sign_up(friend, invited_by="Ada")

    async def _change_price(self, change: PlannedChange, _: datetime) -> None:
        effective_from = (self._now - timedelta(days=change.effective_days_back)).replace(
            minute=0, second=0, microsecond=0
        )
        wish = PriceWish(model_id=change.model, figures=change.figures, effective_from=effective_from)
        desk = self._house.desk
        await enter_price_change(wish, NOTICE, desk.prices, actor=desk.actor)
        await self._house.read_prices()

    def _call(self, call: PastCall) -> None:
        if call.key not in self._cast.keys or self._is_nearly_used_up(call.key):
            return
        settled = self._house.call(call, account_id=self._cast.ada, key_id=self._cast.keys[call.key][0])
        self._spent[call.key] += settled.charge.amount
        self._calls += 1
        if len(settled.attempts) > 1 and settled.ending is Ending.COMPLETED and settled.charge.usage.cached_units:
            self._telling_call = settled.request_id

    def _is_nearly_used_up(self, key: str) -> bool:
        quota_usd = KEYS[key].quota_usd
        return quota_usd is not None and self._spent[key] >= quota_from_usd(Decimal(quota_usd) * NEARLY_ALL)


async def tell_story(settings: Settings, progress: Callable[[float], None] = lambda _: None) -> Told:
    """Furnish an empty database: a catalog, a customer, and the customer's past. `progress` is told how far it is."""
    async with demo_house(settings) as house:
        now = datetime.now(UTC)
        return await Story(house, now, progress).tell()


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
