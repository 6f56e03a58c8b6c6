"""The pool of one worker process: seats at provider accounts, and what is known of their health.

Rules of this file
1. Health is local and learned by calling (a circuit breaker for each account, and for each of its models). A process
   publishes when one goes out or comes back; processes that miss the message learn it by calling. Trouble that only one
   customer's calls met is not published: our own probe is asked, beside the calls. It is also asked when a model fails:
   perhaps the account as a whole does.
2. Limits of an account are shared out evenly among the processes that are alive.
3. Calls of one conversation go to one account (`core/pool/affinity`), all others by weight and burden.
4. Where no account is well that could take a call, one that is out may be spared for it: few calls are better than
   none.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tollkeeper.core.pool.affinity import Circle, Homes, choose_home, point_of
from tollkeeper.core.pool.breaker import BUSY_SECONDS_MOST, HealthVerdict, Trouble
from tollkeeper.core.pool.candidates import Candidates
from tollkeeper.core.pool.choice import RetryBudgets, Tier, choose, tiers
from tollkeeper.core.pool.health import AccountHealth, Health, HealthScope, scope_of
from tollkeeper.ports.providers.live import PoolReport
from tollkeeper.ports.providers.pool import PoolNews
from tollkeeper.ports.providers.upstream import Capabilities, ProviderAccount, ProviderAccounts
from tollkeeper.providers.standing import AccountStanding, report_of, standing_of

log = logging.getLogger(__name__)

# Ask a provider, at no cost, how an account is: its trouble, if any, and what came, in words.
Probe = Callable[[ProviderAccount], Awaitable[tuple[Trouble | None, str]]]
Step = Callable[[], Awaitable[object]]

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(PoolNews).decode


class _Healths(dict[int, Health]):
    """A model's health at each account, from its first call on."""

    def __init__(self, accounts: Mapping[int, AccountHealth]) -> None:
        self._accounts = accounts

    def __missing__(self, account_id: int) -> Health:
        health = self[account_id] = Health(self._accounts[account_id])
        return health


class _Serving(NamedTuple):
    """The accounts that serve a model, by tier, and the homes of conversations among them."""

    tiers: Sequence[Tier]
    homes: Sequence[Homes]
    is_a_choice: bool


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
        secret: bytes,
    ) -> None:
        """`secret`: the same in all processes, so that they agree where a conversation is at home."""
        self._accounts = accounts
        self._vendors = vendors
        self._now = now
        self._chance = chance
        self._share = share
        self._secret = secret
        self._budget = RetryBudgets()
        self._account_health: dict[int, AccountHealth] = {}
        self._health: dict[str, _Healths] = {}
        self._snapshot: Sequence[ProviderAccount] = ()
        self._by_id: dict[int, ProviderAccount] = {}
        self._serving: dict[str, _Serving] = {}
        self._circles: dict[tuple[tuple[int, int], ...], Circle] = {}
        self._probed: set[int] = set()
        # Our own probe, and who runs it beside the calls.
        self.probe: Probe = _nothing_to_say
        self.run_aside: Callable[[str, Step], None] = lambda *_: None
        # Callbacks: publish news to other processes, and suspend in the database an account whose key was refused.
        self.publish: Callable[[bytes], None] = lambda _: None
        self.suspend: Callable[[int, str], None] = lambda *_: None

    async def choose(
        self,
        model_id: str,
        *,
        by: int,
        tried: Collection[int] = (),
        unfit: Collection[Capabilities] = (),
        conversation: Callable[[], bytes] | None = None,
    ) -> ProviderAccount | None:
        snapshot = await self._accounts.all()
        if snapshot is not self._snapshot:
            self._learn(snapshot)
        if not (tried or unfit):
            self._budget.earn(by=by)
        serving = self._serving_of(model_id)

        def is_fit(account_id: int) -> bool:
            return account_id not in tried and not (unfit and self._by_id[account_id].capabilities in unfit)

        candidates = Candidates(self._healths_of(model_id), is_fit, self._now(), share=self._share(), by=by)
        if serving.is_a_choice and conversation is not None and (name := conversation()):
            point = point_of(self._secret, by, model_id, name)
            chosen = choose_home(serving.homes, point, candidates, self._chance)
        else:
            chosen = choose(serving.tiers, candidates.may_take, candidates.burden, self._chance)
        if chosen is None and not tried:
            chosen = choose(serving.tiers, candidates.is_spared, candidates.burden, self._chance)
        return None if chosen is None else self._by_id[chosen]

    def seat(self, account: ProviderAccount, *, model_id: str, by: int, tokens: int) -> "LiveSeat":
        health, now = self._healths_of(model_id)[account.id], self._now()
        for homes in self._serving_of(model_id).homes:
            homes.note_call(account.id, now)
        return LiveSeat(self, account, model_id, health, health.begin(tokens, now, by=by), by)

    def serves(self, model_id: str, *, unfit: Collection[Capabilities]) -> bool:
        return any(
            account.takes_calls and account.capabilities not in unfit and account.name_of(model_id) is not None
            for account in self._snapshot
        )

    def may_try_again(self, *, by: int) -> bool:
        return self._budget.spend(by=by)

    def seconds_until_seats(self, model_id: str) -> float | None:
        now = self._now()
        waits = [health.out_until - now for health in self._healths_of(model_id).values() if health.out_until > now]
        return min(waits, default=None)

    async def standings(self) -> Sequence[AccountStanding]:
        """How each account is, as far as this process knows. Raise StoreUnavailable before the first is known."""
        snapshot = await self._accounts.all()
        if snapshot is not self._snapshot:
            self._learn(snapshot)
        now, seen = self._now(), self._health.values()
        by_account = {id_: [healths[id_] for healths in seen if id_ in healths] for id_ in self._by_id}
        return [
            standing_of(account, self._account_health[id_], by_account[id_], now)
            for id_, account in self._by_id.items()
        ]

    def report(self) -> PoolReport:
        """Breakers and limits of the accounts, as far as this process knows."""
        names = {id_: account.name for id_, account in self._by_id.items()}
        return report_of(names, self._account_health, self._health, self._now())

    def on_message(self, text: bytes) -> None:
        """News of another process. A message that cannot be decoded is of a newer version, and ignored."""
        try:
            news = decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        account = self._account_health.get(news.account_id)
        if account is None:
            return
        # Also of models that this process was not asked for yet: its first call should not meet what others know.
        breaker = account.breaker if news.model is None else self._healths_of(news.model)[news.account_id].breaker
        if news.trouble is None:
            breaker.come_back()
        else:
            breaker.stay_out(news.trouble, min(max(news.seconds, 0.0), BUSY_SECONDS_MOST), self._now())

    def succeeded(self, seat: "LiveSeat", first_byte_seconds: float) -> None:
        for scope in seat.health.succeed(seat.ticket, first_byte_seconds, self._now(), by=seat.by):
            model = seat.model_id if scope is HealthScope.MODEL else None
            self.publish(encode(PoolNews(seat.account.id, 0.0, None, model)))

    def failed(self, seat: "LiveSeat", trouble: Trouble, because: str, retry_after_seconds: float | None) -> None:
        verdict = seat.health.fail(seat.ticket, trouble, self._now(), retry_after_seconds, by=seat.by)
        model = seat.model_id if scope_of(trouble) is HealthScope.MODEL else None
        self._act_on(verdict, seat.account, model, because)

    def left(self, seat: "LiveSeat", output_tokens: int) -> None:
        seat.health.end(seat.ticket, output_tokens, self._now())

    def _act_on(self, verdict: HealthVerdict, account: ProviderAccount, model: str | None, because: str) -> None:
        """`model`: None where all of the account's are meant."""
        if verdict is HealthVerdict.NOTHING:
            return
        # One event is published once, however many calls were under way.
        if verdict is HealthVerdict.OUT:
            of_account = self._account_health[account.id].breaker
            breaker = of_account if model is None else self._health[model][account.id].breaker
            seconds = breaker.out_until - self._now()
            what = f"provider account {account.name}" + (f", model {model}," if model is not None else "")
            log.warning("%s is out for %.0f s: %s", what, seconds, because)
            self.publish(encode(PoolNews(account.id, seconds, breaker.trouble, model)))
            if breaker.trouble is Trouble.BUSY:
                return
        # Whether a key is really refused, or an account as a whole away, is for the probe to say.
        if account.id not in self._probed:
            self._probed.add(account.id)
            self.run_aside("probe of a provider account", lambda: self._ask(account))

    async def _ask(self, account: ProviderAccount) -> None:
        try:
            trouble, came = await self.probe(account)
            if trouble is not None:
                verdict = self._account_health[account.id].breaker.fail_probe(trouble, self._now())
                self._act_on(verdict, account, None, came)
            if trouble is Trouble.CREDENTIAL:
                self.suspend(account.id, came)
        finally:
            self._probed.discard(account.id)

    def _healths_of(self, model_id: str) -> _Healths:
        found = self._health.get(model_id)
        if found is None:
            found = self._health[model_id] = _Healths(self._account_health)
        return found

    def _serving_of(self, model_id: str) -> _Serving:
        found = self._serving.get(model_id)
        if found is None:
            serving = [
                account
                for account in self._snapshot
                if account.vendor in self._vendors and account.name_of(model_id) is not None
            ]
            by_tier = tiers((account.id, account.place) for account in serving if account.takes_calls)
            homes = [Homes(tier, self._circle(serving, tier.number)) for tier in by_tier]
            found = self._serving[model_id] = _Serving(by_tier, homes, any(len(tier.members) > 1 for tier in by_tier))
        return found

    def _circle(self, serving: Sequence[ProviderAccount], tier: int) -> Circle:
        """Many models are served by the same accounts: they have one circle."""
        places = ((account.id, account.place) for account in serving)
        weights = tuple((id_, place.weight) for id_, place in places if place.tier == tier and place.weight > 0)
        return self._circles.get(weights) or self._circles.setdefault(weights, Circle(weights))

    def _learn(self, snapshot: Sequence[ProviderAccount]) -> None:
        came_back = {account.id for account in self._snapshot if not account.takes_calls}
        for account in snapshot:
            known = self._account_health.setdefault(account.id, AccountHealth())
            if account.takes_calls and account.id in came_back:
                # Resumed by an operator, or its key was tested: whatever was wrong with it is over.
                known.breaker.come_back()
                for healths in self._health.values():
                    healths[account.id].breaker.come_back()
        self._snapshot = snapshot
        self._by_id = {account.id: account for account in snapshot}
        self._serving, self._circles = {}, {}


class LiveSeat:
    """The `Seat` port."""

    __slots__ = ("_pool", "_taken", "account", "by", "health", "model_id", "ticket")

    def __init__(
        self, pool: LivePool, account: ProviderAccount, model_id: str, health: Health, ticket: int, by: int
    ) -> None:
        self.account = account
        self.model_id = model_id
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
