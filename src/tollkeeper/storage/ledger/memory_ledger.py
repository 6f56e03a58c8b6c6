"""The ledger's twin in memory: the same rules in plain Python, for tests and for reading.

It passes the same contract suite as the ledger in PostgreSQL and is the model that the state machine compares it with.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.balance import BalanceFigures
from tollkeeper.core.money.lots import Draw, Lot, draw, drawable, split
from tollkeeper.ports import (
    AlreadyOnFile,
    BudgetPeriod,
    CallClaim,
    Credit,
    Credited,
    Extension,
    HoldOrder,
    HoldOutcome,
    HoldVerdict,
    KeyBudget,
    NotOnFile,
    Progress,
    Revoked,
    Settlement,
)
from tollkeeper.storage.ledger.calendar_months import months_later
from tollkeeper.storage.ledger.memory_budget import budget_left
from tollkeeper.storage.ledger.memory_claims import MemoryCall, MemoryClaims


class MemoryKey(msgspec.Struct):
    account_id: int
    quota: int | None = None
    daily_budget: int | None = None
    monthly_budget: int | None = None
    used: int = 0
    held: int = 0


class MemoryAccount(msgspec.Struct):
    used: int = 0
    held: int = 0
    debt: int = 0


class FiledLot(msgspec.Struct):
    account_id: int
    lot: Lot
    granted: int
    source: tuple[str, str]
    closed_as: str | None = None


class OpenHold(msgspec.Struct):
    order: HoldOrder
    amount: int
    draws: list[Draw]
    day: date
    extensions: int = 0
    charged: int | None = None


class MemoryEntry(msgspec.Struct, frozen=True):
    kind: str
    lot_id: int
    account_id: int
    amount: int


class MemoryLedger:
    """The `Ledger` and `Treasury` ports, and balances."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.accounts: dict[int, MemoryAccount] = {}
        self.keys: dict[int, MemoryKey] = {}
        self.lots: dict[int, FiledLot] = {}
        self.holds: dict[UUID, OpenHold] = {}
        self.entries: list[MemoryEntry] = []
        self._claims = MemoryClaims(now, self._call)

    async def hold(self, order: HoldOrder) -> HoldVerdict:
        earlier = self.holds.get(order.request_id)
        if earlier is not None:
            return HoldVerdict(HoldOutcome.REPLAYED if earlier.charged is None else HoldOutcome.CLOSED)
        verdict = self._claims.judge(order)
        verdict = verdict or self._judge(order.account_id, order.key_id, order.amount, self._now().date())
        if verdict.granted:
            draws = self._reserve(order.account_id, order.key_id, order.amount)
            self.holds[order.request_id] = OpenHold(order, order.amount, draws, self._now().date())
            self._claims.take(order)
        return verdict

    async def extend(self, extension: Extension) -> HoldVerdict:
        hold = self.holds.get(extension.request_id)
        if hold is not None and hold.charged is not None:
            return HoldVerdict(HoldOutcome.CLOSED)
        if hold is not None and extension.sequence <= hold.extensions:
            return HoldVerdict(HoldOutcome.REPLAYED)
        if hold is None or extension.sequence != hold.extensions + 1:
            return HoldVerdict(HoldOutcome.UNKNOWN_HOLD)
        verdict = self._judge(extension.account_id, extension.key_id, extension.amount, hold.day)
        if verdict.granted:
            hold.draws += self._reserve(extension.account_id, extension.key_id, extension.amount)
            hold.amount += extension.amount
            hold.extensions = extension.sequence
        return verdict

    def note(self, settlement: Settlement) -> None:
        """Nothing outlives this process, so there is nothing to remember."""

    def note_sending(self, request_id: UUID) -> None:
        """Who dies with it has no successor that would ask."""

    def settle(self, settlement: Settlement) -> Awaitable[bool]:
        done = asyncio.get_running_loop().create_future()
        done.set_result(self._settle(settlement))
        return done

    async def note_cut(self, request_id: UUID, account_id: int, claim: CallClaim) -> None:
        self._claims.note(request_id, account_id, claim)

    async def checkpoint(self, progress: Progress) -> bool:
        hold = self.holds.get(progress.request_id)
        return hold is not None and hold.charged is None

    async def credit(self, credit: Credit) -> Credited:
        if credit.account_id not in self.accounts:
            raise NotOnFile(f"There is no account {credit.account_id}.")
        source = (credit.source, credit.source_id)
        for filed in self.lots.values():
            if filed.source == source:
                same = (filed.account_id, filed.lot.key_id, filed.granted)
                if same != (credit.account_id, credit.key_id, credit.amount):
                    raise AlreadyOnFile(f"Nothing was credited: source id {credit.source_id} was credited before.")
                return Credited(lot_id=filed.lot.id, expires_at=filed.lot.expires_at, replayed=True)
        expires_at = months_later(self._now(), credit.months) + timedelta(days=credit.days)
        lot = Lot(id=len(self.lots) + 1, remaining=credit.amount, expires_at=expires_at, key_id=credit.key_id)
        self.lots[lot.id] = FiledLot(credit.account_id, lot, credit.amount, source)
        self._pay_debt(credit.account_id)
        return Credited(lot_id=lot.id, expires_at=expires_at, replayed=False)

    async def extend_lot(self, lot_id: int, until: datetime) -> bool:
        filed = self.lots[lot_id]
        if filed.closed_as is not None or filed.lot.expires_at >= until:
            return False
        filed.lot = msgspec.structs.replace(filed.lot, expires_at=until)
        self._pay_debt(filed.account_id)
        return True

    async def close_lots(self, grace: timedelta) -> int:
        due = [
            filed
            for filed in self.lots.values()
            if filed.closed_as is None and filed.lot.expires_at + grace <= self._now()
        ]
        for filed in due:
            self._close(filed, "expired")
        return len(due)

    async def turn_partitions(self, keep_holds: timedelta) -> None:
        """There are no tables."""

    async def revoke(self, lot_id: int, reason: str = "") -> Revoked:
        filed = self.lots[lot_id]
        if filed.closed_as is not None:
            return Revoked(Quota(0), Quota(0))
        revoked = filed.lot.remaining
        self._close(filed, "revoked")
        spent = {"charged", "overrun", "debt_paid"}
        owed = sum(entry.amount for entry in self.entries if entry.lot_id == lot_id and entry.kind in spent)
        if owed:
            self._enter("clawed", 0, filed.account_id, owed)
            self.accounts[filed.account_id].debt += owed
            self._pay_debt(filed.account_id)
        return Revoked(revoked, Quota(owed))

    async def standing(self, key_id: int) -> BalanceFigures:
        key = self.keys[key_id]
        account = self.accounts[key.account_id]
        live = [
            filed.lot
            for filed in self.lots.values()
            if filed.account_id == key.account_id and filed.lot.expires_at > self._now() and not filed.closed_as
        ]
        return BalanceFigures(
            free_lots=sum(lot.remaining for lot in live if lot.key_id is None),
            lots_bound_to_key=sum(lot.remaining for lot in live if lot.key_id == key_id),
            lots_bound_elsewhere=sum(lot.remaining for lot in live if lot.key_id not in {None, key_id}),
            debt=account.debt,
            account_used=account.used,
            account_held=account.held,
            key_quota=key.quota,
            key_used=key.used,
            key_held=key.held,
        )

    def _judge(self, account_id: int, key_id: int, amount: int, day: date) -> HoldVerdict:
        key = self.keys.get(key_id)
        if key is None or key.account_id != account_id:
            return HoldVerdict(HoldOutcome.UNKNOWN_KEY)
        debt = self.accounts[account_id].debt
        if debt > 0:
            return HoldVerdict(HoldOutcome.DEBT, Quota(debt))
        of_budget, period = self._budget_left(key_id, key, day)
        checks = [
            (HoldOutcome.KEY_SHORT, None if key.quota is None else key.quota - key.used - key.held),
            (HoldOutcome.BUDGET, of_budget),
            (HoldOutcome.ACCOUNT_SHORT, sum(lot.remaining for lot in self._drawable(account_id, key_id))),
        ]
        for outcome, available in checks:
            if available is not None and amount > available:
                budget = KeyBudget.of(period, self._now().date()) if outcome is HoldOutcome.BUDGET else None
                return HoldVerdict(outcome, Quota(max(0, available)), budget=budget)
        return HoldVerdict(HoldOutcome.ADMITTED, Quota(min(left for _, left in checks if left is not None) - amount))

    def _budget_left(self, key_id: int, key: MemoryKey, day: date) -> tuple[int | None, BudgetPeriod]:
        booked = [(hold.day, _booked(hold)) for hold in self.holds.values() if hold.order.key_id == key_id]
        return budget_left(key.monthly_budget, key.daily_budget, booked, day=day, today=self._now().date())

    def _drawable(self, account_id: int, key_id: int | None) -> list[Lot]:
        own = (filed.lot for filed in self.lots.values() if filed.account_id == account_id)
        return drawable(own, key_id, self._now())

    def _reserve(self, account_id: int, key_id: int, amount: int) -> list[Draw]:
        self.accounts[account_id].held += amount
        self.keys[key_id].held += amount
        return self._draw(account_id, key_id, amount)

    def _draw(self, account_id: int, key_id: int | None, amount: int) -> list[Draw]:
        draws = draw(self._drawable(account_id, key_id), amount)
        for taken in draws:
            self._add(taken.lot_id, -taken.amount)
        return draws

    def _settle(self, settlement: Settlement) -> bool:
        hold = self.holds.get(settlement.request_id)
        if hold is None or hold.charged is not None or hold.order.account_id != settlement.account_id:
            return False
        hold.charged = settlement.charge.amount
        account, key = self.accounts[settlement.account_id], self.keys[hold.order.key_id]
        for books in (account, key):
            books.held -= hold.amount
            books.used += hold.charged
        self._divide(hold.draws, hold.charged, settlement.account_id)
        over = hold.charged - hold.amount
        for taken in self._draw(settlement.account_id, hold.order.key_id, over):
            self._enter("overrun", taken.lot_id, settlement.account_id, taken.amount)
            over -= taken.amount
        if over > 0:
            self._enter("debt", 0, settlement.account_id, over)
            account.debt += over
        self._pay_debt(settlement.account_id)
        return True

    def _divide(self, draws: Sequence[Draw], charged: int, account_id: int) -> None:
        """Charge the draws; give back the rest, or let it share the end of its lot."""
        for taken, part in split(draws, charged):
            self._enter("charged", taken.lot_id, account_id, part)
            closed_as = self.lots[taken.lot_id].closed_as
            if closed_as == "revoked":
                self._enter("clawed", 0, account_id, part)
                self.accounts[account_id].debt += part
            if closed_as is None:
                self._add(taken.lot_id, taken.amount - part)
            else:
                self._enter(closed_as, taken.lot_id, account_id, taken.amount - part)

    def _call(self, request_id: UUID) -> MemoryCall | None:
        hold = self.holds.get(request_id)
        return None if hold is None else MemoryCall(hold.order.key_id, hold.amount, hold.charged)

    def _pay_debt(self, account_id: int) -> None:
        for taken in self._draw(account_id, None, self.accounts[account_id].debt):
            self._enter("debt_paid", taken.lot_id, account_id, taken.amount)
            self.accounts[account_id].debt -= taken.amount

    def _close(self, filed: FiledLot, how: str) -> None:
        self._enter(how, filed.lot.id, filed.account_id, filed.lot.remaining)
        filed.closed_as = how
        filed.lot = msgspec.structs.replace(filed.lot, remaining=Quota(0))

    def _add(self, lot_id: int, amount: int) -> None:
        filed = self.lots[lot_id]
        filed.lot = msgspec.structs.replace(filed.lot, remaining=Quota(filed.lot.remaining + amount))

    def _enter(self, kind: str, lot_id: int, account_id: int, amount: int) -> None:
        if amount > 0:
            self.entries.append(MemoryEntry(kind, lot_id, account_id, amount))


def _booked(hold: OpenHold) -> int:
    return hold.amount if hold.charged is None else hold.charged
