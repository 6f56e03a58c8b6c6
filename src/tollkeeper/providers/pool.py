"""The pool of one worker process: seats at provider accounts, and what is known of their health.

Rules of this file
1. Health is local and learned by calling. What takes an account out, or brings it back, is told to the other processes;
   those that hear nothing learn it by themselves. What only one customer's calls say is told to nobody: our own probe
   is asked, beside the calls.
2. Limits of an account are shared out evenly among the processes that are alive.
3. Where no account is well that could take a call, one that is out may be spared for it: few calls are better than
   none.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from tollkeeper.core.health import BUSY_SECONDS_MOST, Health, Trouble, Verdict
from tollkeeper.core.pool import Place, RetryBudgets, Tier, choose, tiers
from tollkeeper.ports.pool import PoolNews
from tollkeeper.ports.upstream import ProviderAccount, ProviderAccounts, Speech

log = logging.getLogger(__name__)

# Ask a provider, at no cost, how an account is: its trouble, if any, and what came, in words.
Probe = Callable[[ProviderAccount], Awaitable[tuple[Trouble | None, str]]]
Step = Callable[[], Awaitable[object]]

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
        self._budget = RetryBudgets()
        self._health: dict[int, Health] = {}
        self._snapshot: Sequence[ProviderAccount] = ()
        self._by_id: dict[int, ProviderAccount] = {}
        self._tiers: dict[str, list[Tier]] = {}
        self._probed: set[int] = set()
        # Our own probe, and who runs it beside the calls.
        self.probe: Probe = _nothing_to_say
        self.run_aside: Callable[[str, Step], None] = lambda *_: None
        # Who is told: other processes of what is news, and the database of keys that were refused.
        self.tell: Callable[[bytes], None] = lambda _: None
        self.suspend: Callable[[int, str], None] = lambda *_: None

    async def choose(
        self, model_id: str, *, by: int, tried: Collection[int] = (), unfit: Collection[Speech] = ()
    ) -> ProviderAccount | None:
        snapshot = await self._accounts.all()
        if snapshot is not self._snapshot:
            self._learn(snapshot)
        if not (tried or unfit):
            self._budget.earn(by=by)
        now, share, healths, among = self._now(), self._share(), self._health, self._tiers_for(model_id)

        def is_fit(account_id: int) -> bool:
            return account_id not in tried and not (unfit and self._by_id[account_id].speech in unfit)

        def may_take(account_id: int, place: Place) -> bool:
            return is_fit(account_id) and healths[account_id].takes_calls(place, now, share, by=by)

        def is_spared(account_id: int, place: Place) -> bool:
            return is_fit(account_id) and healths[account_id].spares_a_call(place, now, share, by=by)

        def burden(account_id: int) -> float:
            return healths[account_id].burden(now)

        chosen = choose(among, may_take, burden, self._chance)
        if chosen is None and not tried:
            chosen = choose(among, is_spared, burden, self._chance)
        return None if chosen is None else self._by_id[chosen]

    def seat(self, account: ProviderAccount, *, by: int, tokens: int) -> "LiveSeat":
        health = self._health[account.id]
        return LiveSeat(self, account, health, health.begin(tokens, self._now(), by=by), by)

    def serves(self, model_id: str, *, unfit: Collection[Speech]) -> bool:
        return any(
            account.takes_calls and account.speech not in unfit and account.name_of(model_id) is not None
            for account in self._snapshot
        )

    def may_try_again(self, *, by: int) -> bool:
        return self._budget.spend(by=by)

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
        if seat.health.succeed(seat.ticket, first_byte_seconds, self._now(), by=seat.by):
            self.tell(encode(PoolNews(seat.account.id, 0.0, None)))

    def failed(self, seat: "LiveSeat", trouble: Trouble, because: str, retry_after_seconds: float | None) -> None:
        verdict = seat.health.fail(seat.ticket, trouble, self._now(), retry_after_seconds, by=seat.by)
        self._act_on(verdict, seat.account, because)

    def left(self, seat: "LiveSeat", output_tokens: int) -> None:
        seat.health.end(seat.ticket, output_tokens, self._now())

    def _act_on(self, verdict: Verdict, account: ProviderAccount, because: str) -> None:
        health = self._health[account.id]
        # One event is told once, however many calls were under way.
        if verdict is Verdict.OUT:
            seconds = health.out_until - self._now()
            log.warning("provider account %s is out for %.0f s: %s", account.name, seconds, because)
            self.tell(encode(PoolNews(account.id, seconds, health.trouble)))
        # Whether a key is really refused is for the probe to say: that takes the account out on every node.
        asks = verdict is Verdict.SUSPECT or (verdict is Verdict.OUT and health.trouble is Trouble.CREDENTIAL)
        if asks and account.id not in self._probed:
            self._probed.add(account.id)
            self.run_aside("probe of a provider account", lambda: self._ask(account))

    async def _ask(self, account: ProviderAccount) -> None:
        try:
            trouble, came = await self.probe(account)
            if trouble is not None:
                self._act_on(self._health[account.id].fail_probe(trouble, self._now()), account, came)
            if trouble is Trouble.CREDENTIAL:
                self.suspend(account.id, came)
        finally:
            self._probed.discard(account.id)

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

    __slots__ = ("_pool", "_taken", "account", "by", "health", "ticket")

    def __init__(self, pool: LivePool, account: ProviderAccount, health: Health, ticket: int, by: int) -> None:
        self.account = account
        self.health = health
        self.ticket = ticket
        self.by = by
        self._pool = pool
        self._taken = True

    def succeed(self, first_byte_seconds: float) -> None:
        self._pool.succeeded(self, first_byte_seconds)

    def fail(self, trouble: Trouble, because: str, retry_after_seconds: float | None = None) -> None:
        self._pool.failed(self, trouble, because, retry_after_seconds)
        self.leave()

    def leave(self, output_tokens: int = 0) -> None:
        if self._taken:
            self._taken = False
            self._pool.left(self, output_tokens)


async def _nothing_to_say(_: ProviderAccount) -> tuple[Trouble | None, str]:
    return None, ""
