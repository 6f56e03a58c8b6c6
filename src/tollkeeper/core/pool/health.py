"""The health of a model at a provider account: what this process has seen of it, and of the account as a whole.

Rules of this file
1. A refused key, and an account that has nothing left, are the account's: no model of it is used. Failures and "busy"
   are judged by account and model, for vendors limit each model and run each on machines of its own.
2. What our own probe meets is the account's, too: it asks about no model.
3. Limits (`core/pool/room`) are the account's. How long calls wait is the model's.
"""

from enum import StrEnum

from tollkeeper.core.pool.breaker import Breaker, HealthVerdict, Trouble
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.pool.room import Room

__all__ = ["AccountHealth", "Health", "HealthScope", "HealthVerdict", "Trouble"]

# How much the newest first byte counts toward a latency, and in what time that is half forgotten.
NEWEST = 0.2
HALF_FORGOTTEN_SECONDS = 30.0
LATENCY_SECONDS_LEAST = 0.01
# Calls that wait for so long, and so many times the usual, without any answer in between: nobody is sent there to wait.
SILENT_SECONDS = 5.0
SILENT_TIMES = 4


class HealthScope(StrEnum):
    """What a piece of news is about."""

    MODEL = "model"
    ACCOUNT = "account"


NO_NEWS: tuple[HealthScope, ...] = ()


class AccountHealth:
    """What is the same for all models of an account."""

    __slots__ = ("breaker", "room")

    def __init__(self) -> None:
        self.breaker = Breaker()
        self.room = Room()


class Health:
    """What one process knows of one model at one account. `by`: the customer whose call it is."""

    __slots__ = ("_measured_at", "_unanswered", "account", "breaker", "in_flight", "latency_seconds")

    def __init__(self, account: AccountHealth | None = None) -> None:
        """`account`: what it shares with the account's other models."""
        self.account = account or AccountHealth()
        self.breaker = Breaker()
        self.in_flight = 0
        self.latency_seconds = 0.0
        self._measured_at = 0.0
        self._unanswered: dict[int, float] = {}

    @property
    def out_until(self) -> float:
        return max(self.breaker.out_until, self.account.breaker.out_until)

    @property
    def trouble(self) -> Trouble | None:
        return self.account.breaker.trouble or self.breaker.trouble

    def takes_calls(self, place: PoolPlace, now: float, share: int = 1, *, by: int) -> bool:
        """Whether it may be given a call of this customer now. Limits are shared out among `share` processes."""
        account = self.account
        return (
            self.breaker.lets_in(now, by=by)
            and account.breaker.lets_in(now, by=by)
            and account.room.is_left(place, now, share)
        )

    def spares_a_call(self, place: PoolPlace, now: float, share: int = 1, *, by: int) -> bool:
        """Whether it may be given one although it is not well."""
        account = self.account
        return (
            self.breaker.spares_a_call(now, share, by=by)
            and account.breaker.spares_a_call(now, share, by=by)
            and account.room.is_left(place, now, share)
        )

    def burden(self, now: float) -> float:
        """How long a call would have to wait: a silence that lasts counts like an answer that took as long."""
        faded: float = self.latency_seconds * 0.5 ** ((now - self._measured_at) / HALF_FORGOTTEN_SECONDS)
        waited = now - next(iter(self._unanswered.values()), now)
        seconds = max(faded, waited, LATENCY_SECONDS_LEAST)
        return (self.in_flight + 1) * seconds * (1 + 4 * self.breaker.failures_in_a_row)

    def is_silent(self, now: float) -> bool:
        """Whether calls wait, and none was answered for clearly longer than usual."""
        if not self._unanswered:
            return False
        waited = now - max(next(iter(self._unanswered.values())), self._measured_at)
        return waited > SILENT_SECONDS and waited > SILENT_TIMES * self.latency_seconds

    def begin(self, tokens: int, now: float, *, by: int) -> int:
        """Give it a call; the call's ticket."""
        ticket = self.account.room.begin(tokens, now)
        self.in_flight += 1
        self._unanswered[ticket] = now
        self.account.breaker.begin(ticket, now, by=by)
        self.breaker.begin(ticket, now, by=by)
        return ticket

    def end(self, ticket: int, tokens: int, now: float) -> None:
        """The call is over, and took so many more tokens."""
        self.in_flight -= 1
        self._unanswered.pop(ticket, None)
        self.account.room.end(tokens, now)
        self.account.breaker.end(ticket)
        self.breaker.end(ticket)

    def succeed(self, ticket: int, first_byte_seconds: float, now: float, *, by: int) -> tuple[HealthScope, ...]:
        """What is back, if that was news."""
        self._unanswered.pop(ticket, None)
        before = self.latency_seconds or first_byte_seconds
        self.latency_seconds, self._measured_at = before + (first_byte_seconds - before) * NEWEST, now
        news = (HealthScope.MODEL,) if self.breaker.succeed(ticket, now, by=by) else NO_NEWS
        whole = self.account.breaker
        if whole.is_in_doubt and whole.succeed(ticket, now, by=by):
            news += (HealthScope.ACCOUNT,)
        return news

    def fail(
        self, ticket: int, trouble: Trouble, now: float, retry_after_seconds: float | None = None, *, by: int
    ) -> HealthVerdict:
        """A call of this customer met trouble."""
        self._unanswered.pop(ticket, None)
        return self.breaker_of(scope_of(trouble)).fail(ticket, trouble, now, retry_after_seconds, by=by)

    def fail_probe(self, trouble: Trouble, now: float) -> HealthVerdict:
        """Our own probe met trouble."""
        return self.account.breaker.fail_probe(trouble, now)

    def stay_out(self, trouble: Trouble, seconds: float, now: float) -> HealthVerdict:
        return self.breaker_of(scope_of(trouble)).stay_out(trouble, seconds, now)

    def come_back(self) -> None:
        self.breaker.come_back()
        self.account.breaker.come_back()

    def breaker_of(self, scope: HealthScope) -> Breaker:
        return self.account.breaker if scope is HealthScope.ACCOUNT else self.breaker


def scope_of(trouble: Trouble) -> HealthScope:
    """What a trouble that a call met is about."""
    return HealthScope.ACCOUNT if trouble is Trouble.CREDENTIAL else HealthScope.MODEL
