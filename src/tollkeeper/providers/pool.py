"""The pool of one worker process: seats at provider accounts, and what is known of their health.

Rules of this file
1. Health is local and learned by calling. What takes an account out, or brings it back, is told to the other processes;
   those that hear nothing learn it by themselves.
2. Limits of an account are shared out evenly among the processes that are alive.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec

from tollkeeper.core.health import BUSY_SECONDS_MOST, Health, Trouble
from tollkeeper.core.pool import Place, RetryBudget, Tier, choose, tiers
from tollkeeper.ports.pool import PoolNews
from tollkeeper.ports.upstream import ProviderAccount, ProviderAccounts, Speech

# A call that ends without a byte after so long has told something of its account after all.
SILENT_SECONDS = 30.0

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(PoolNews).decode


class LivePool:
    """The `Pool` port."""

    def __init__(
        self,
        accounts: ProviderAccounts,
        vendors: Collection[str],
        *,
        now: Callable[[], float],
        chance: Callable[[], float],
        share: Callable[[], int],
    ) -> None:
        self._accounts = accounts
        self._vendors = vendors
        self._now = now
        self._chance = chance
        self._share = share
        self._budget = RetryBudget()
        self._health: dict[int, Health] = {}
        self._snapshot: Sequence[ProviderAccount] = ()
        self._by_id: dict[int, ProviderAccount] = {}
        self._tiers: dict[str, list[Tier]] = {}
        # Who is told: other processes of what is news, and the database of keys that were refused.
        self.tell: Callable[[bytes], None] = lambda _: None
        self.suspend: Callable[[int, str], None] = lambda *_: None

    async def choose(
        self, model_id: str, *, tried: Collection[int] = (), unfit: Collection[Speech] = ()
    ) -> ProviderAccount | None:
        snapshot = await self._accounts.all()
        if snapshot is not self._snapshot:
            self._learn(snapshot)
        if not (tried or unfit):
            self._budget.earn()
        now, share = self._now(), self._share()

        def may_take(account_id: int, place: Place) -> bool:
            if account_id in tried or (unfit and self._by_id[account_id].speech in unfit):
                return False
            return self._health[account_id].takes_calls(place, now, share)

        chosen = choose(self._tiers_for(model_id), may_take, lambda id_: self._health[id_].burden(now), self._chance)
        return None if chosen is None else self._by_id[chosen]

    def seat(self, account: ProviderAccount, *, tokens: int) -> "LiveSeat":
        now, health = self._now(), self._health[account.id]
        return LiveSeat(self, account, health, health.begin(tokens, now), now)

    def serves(self, model_id: str, *, unfit: Collection[Speech]) -> bool:
        return any(
            account.takes_calls and account.speech not in unfit and account.name_of(model_id) is not None
            for account in self._snapshot
        )

    def may_try_again(self) -> bool:
        return self._budget.spend()

    def seconds_until_seats(self) -> float | None:
        now = self._now()
        waits = [health.out_until - now for health in self._health.values() if health.out_until > now]
        return min(waits, default=None)

    def hear(self, text: bytes) -> None:
        """Another process has learned something. What cannot be understood is of a version that knows more."""
        try:
            news = decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        health = self._health.get(news.account_id)
        if health is None:
            return
        if news.trouble is None:
            health.come_back()
        else:
            health.stay_out(news.trouble, min(max(news.seconds, 0.0), BUSY_SECONDS_MOST), self._now())

    def succeeded(self, seat: "LiveSeat", first_byte_seconds: float) -> None:
        if seat.health.succeed(seat.ticket, first_byte_seconds, self._now()):
            self.tell(encode(PoolNews(seat.account.id, 0.0, None)))

    def failed(self, seat: "LiveSeat", trouble: Trouble, because: str, retry_after_seconds: float | None) -> None:
        now = self._now()
        # One event is told once, however many calls were under way.
        if seat.health.fail(seat.ticket, trouble, now, retry_after_seconds):
            self.tell(encode(PoolNews(seat.account.id, seat.health.out_until - now, trouble)))
            if trouble is Trouble.CREDENTIAL:
                self.suspend(seat.account.id, because)

    def left(self, seat: "LiveSeat", output_tokens: int) -> None:
        now = self._now()
        if not seat.told and now - seat.taken_at >= SILENT_SECONDS:
            self.failed(seat, Trouble.SERVER, "silent", None)
        seat.health.end(seat.ticket, output_tokens, now)

    def _tiers_for(self, model_id: str) -> list[Tier]:
        found = self._tiers.get(model_id)
        if found is None:
            serving = [
                (account.id, account.place)
                for account in self._snapshot
                if account.takes_calls and account.vendor in self._vendors and account.name_of(model_id) is not None
            ]
            found = self._tiers[model_id] = tiers(serving)
        return found

    def _learn(self, snapshot: Sequence[ProviderAccount]) -> None:
        came_back = {account.id for account in self._snapshot if not account.takes_calls}
        for account in snapshot:
            health = self._health.setdefault(account.id, Health())
            if account.takes_calls and account.id in came_back:
                # Resumed by an operator, or its key was tested: whatever was wrong with it is over.
                health.come_back()
        self._snapshot = snapshot
        self._by_id = {account.id: account for account in snapshot}
        self._tiers = {}


class LiveSeat:
    """The `Seat` port."""

    __slots__ = ("_pool", "_taken", "account", "health", "taken_at", "ticket", "told")

    def __init__(self, pool: LivePool, account: ProviderAccount, health: Health, ticket: int, taken_at: float) -> None:
        self.account = account
        self.health = health
        self.ticket = ticket
        self.taken_at = taken_at
        # Whether the account has been heard of, well or badly.
        self.told = False
        self._pool = pool
        self._taken = True

    def succeed(self, first_byte_seconds: float) -> None:
        self.told = True
        self._pool.succeeded(self, first_byte_seconds)

    def fail(self, trouble: Trouble, because: str, retry_after_seconds: float | None = None) -> None:
        self.told = True
        self._pool.failed(self, trouble, because, retry_after_seconds)
        self.leave()

    def leave(self, output_tokens: int = 0) -> None:
        if self._taken:
            self._taken = False
            self._pool.left(self, output_tokens)
