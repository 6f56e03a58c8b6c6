"""The pool of one worker process: seats at provider accounts, and what is known of their health.

Rules of this file
1. Health is local and learned by calling. What takes an account out, or brings it back, is told to the other processes;
   those that hear nothing learn it by themselves.
2. Limits of an account are shared out evenly among the processes that are alive.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec

from tollkeeper.core.pool import Health, Place, RetryBudget, Tier, Trouble, choose, tiers
from tollkeeper.ports.pool import PoolNews
from tollkeeper.ports.upstream import ProviderAccount, ProviderAccounts

# What an account nobody has called yet is taken to need: less than any that is known, so that it is tried.
LATENCY_SECONDS_LEAST = 0.001

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

    async def take_seat(self, model_id: str, *, tokens: int, tried: Collection[int]) -> "LiveSeat | None":
        snapshot = await self._accounts.all()
        if snapshot is not self._snapshot:
            self._learn(snapshot)
        if not tried:
            self._budget.earn()
        now, share = self._now(), self._share()

        def may_take(account_id: int, place: Place) -> bool:
            return account_id not in tried and self._health[account_id].takes_calls(place, now, share)

        chosen = choose(self._tiers_for(model_id), may_take, self._burden, self._chance)
        if chosen is None:
            return None
        health = self._health[chosen]
        health.begin(tokens, now)
        return LiveSeat(self, self._by_id[chosen], health)

    def may_try_again(self) -> bool:
        return self._budget.spend()

    def seconds_until_seats(self) -> float | None:
        now = self._now()
        waits = [health.out_until - now for health in self._health.values() if health.out_until > now]
        return min(waits, default=None)

    def hear(self, text: bytes) -> None:
        """Another process has learned something."""
        try:
            news = decode(text)
        except msgspec.MsgspecError:
            # Of a version that knows more than this one.
            return
        health = self._health.setdefault(news.account_id, Health())
        if news.trouble is None:
            health.come_back()
        else:
            health.stay_out(news.trouble, news.seconds, self._now())

    def succeeded(self, account: ProviderAccount, health: Health, first_byte_seconds: float) -> None:
        if health.succeed(first_byte_seconds, self._now()):
            self.tell(encode(PoolNews(account.id, 0.0, None)))

    def failed(self, account: ProviderAccount, health: Health, trouble: Trouble, seconds: float | None) -> None:
        out_seconds = health.fail(trouble, self._now(), seconds)
        if out_seconds:
            self.tell(encode(PoolNews(account.id, out_seconds, trouble)))

    def left(self, health: Health, output_tokens: int) -> None:
        health.end(output_tokens, self._now())

    def _burden(self, account_id: int, place: Place) -> float:
        health = self._health[account_id]
        return (health.in_flight + 1) * max(health.latency_seconds, LATENCY_SECONDS_LEAST) / place.weight

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

    __slots__ = ("_health", "_on_trial", "_pool", "_taken", "account")

    def __init__(self, pool: LivePool, account: ProviderAccount, health: Health) -> None:
        self.account = account
        self._pool = pool
        self._health = health
        self._on_trial = health.probing
        self._taken = True

    def succeed(self, first_byte_seconds: float) -> None:
        self._pool.succeeded(self.account, self._health, first_byte_seconds)
        self._on_trial = False

    def fail(self, trouble: Trouble, because: str, retry_after_seconds: float | None = None) -> None:
        self._pool.failed(self.account, self._health, trouble, retry_after_seconds)
        if trouble is Trouble.CREDENTIAL:
            self._pool.suspend(self.account.id, because)
        # What it was tried for is known: the next trial is another's.
        self._on_trial = False
        self.leave()

    def leave(self, output_tokens: int = 0) -> None:
        if self._taken:
            self._taken = False
            self._health.forget(on_trial=self._on_trial)
            self._pool.left(self._health, output_tokens)
