"""The health of a provider account: what takes it out of the pool, and what brings it back.

Rules of this file
1. One failure of the provider's takes no account out; several in a short time do, and then one call at a time tries
   whether it is back. What was under way before it went out says nothing of that.
2. An account that says it is busy is left alone for as long as it says.
3. Nothing here knows a clock: time comes in as seconds that only grow.
"""

from enum import StrEnum

from tollkeeper.core.pool import Place

WINDOW_SECONDS = 4
FAILURES_LEAST = 3
# So many without a success between them are enough, however long they took.
FAILURES_IN_A_ROW = 5
OUT_SECONDS_FIRST = 2.0
OUT_SECONDS_MOST = 30.0
# An account that was well for so long begins anew with the shortest time.
FORGIVEN_SECONDS = 60.0
# A trial that has not told anything by then does not keep the next waiting: it may be a very long call.
TRIAL_SECONDS = 10.0
BUSY_SECONDS = 5.0
BUSY_SECONDS_MOST = 60.0
# A key that was refused is tested before it is used again; this is how long nobody even asks.
REFUSED_KEY_SECONDS = 60.0
MINUTE_SECONDS = 60
# How much the newest first byte counts toward an account's latency, and in what time that is half forgotten.
NEWEST = 0.2
HALF_FORGOTTEN_SECONDS = 30.0
LATENCY_SECONDS_LEAST = 0.01


class Trouble(StrEnum):
    """What an account's failure means for the account."""

    CREDENTIAL = "credential"  # Its key was refused: out until tested.
    BUSY = "busy"  # It said so: out for as long as it says.
    SERVER = "server"  # It failed, or nobody answered: out when it happens again and again.


def trouble_of(status: int, *, says_when: bool = False) -> Trouble | None:
    """What a status means for the account; None where it is about what was asked. `says_when`: with Retry-After."""
    if status in {401, 402}:
        return Trouble.CREDENTIAL
    if status == 404:
        return None
    # 403 may be about a prompt: it is believed of the account only when it comes again and again.
    return Trouble.BUSY if status == 429 or (status == 503 and says_when) else Trouble.SERVER


class Window:
    """A sum over the last so many seconds, kept by the second."""

    __slots__ = ("_at", "_buckets", "total")

    def __init__(self, seconds: int) -> None:
        self._buckets = [0] * seconds
        self._at = 0
        self.total = 0

    def add(self, amount: int, now: float) -> None:
        if int(now) != self._at:
            self.turn(now)
        self._buckets[self._at % len(self._buckets)] += amount
        self.total += amount

    def turn(self, now: float) -> int:
        """Forget what is too old; the sum of the rest."""
        second, size = int(now), len(self._buckets)
        for passed in range(max(self._at + 1, second - size + 1), second + 1):
            self.total -= self._buckets[passed % size]
            self._buckets[passed % size] = 0
        self._at = max(self._at, second)
        return self.total

    def clear(self) -> None:
        self._buckets = [0] * len(self._buckets)
        self.total = 0


class Health:
    """What one process knows of one account. Calls have tickets, so that what an old one tells is no news."""

    __slots__ = (
        "_busy_in_a_row",
        "_failures",
        "_failures_in_a_row",
        "_measured_at",
        "_requests",
        "_successes",
        "_tickets",
        "_times_out",
        "_tokens",
        "_trial",
        "_trial_until",
        "_unanswered",
        "_went_out_at",
        "in_flight",
        "latency_seconds",
        "out_until",
        "trouble",
    )

    def __init__(self) -> None:
        self.in_flight = 0
        self.latency_seconds = 0.0
        self.out_until = 0.0
        # Out, or on trial: set until a call has gone well again.
        self.trouble: Trouble | None = None
        self._tickets = 0
        self._unanswered: dict[int, float] = {}
        self._trial: int | None = None
        self._trial_until = 0.0
        self._times_out = 0
        self._went_out_at = 0.0
        self._failures_in_a_row = 0
        self._busy_in_a_row = 0
        self._measured_at = 0.0
        self._successes = Window(WINDOW_SECONDS)
        self._failures = Window(WINDOW_SECONDS)
        self._requests = Window(MINUTE_SECONDS)
        self._tokens = Window(MINUTE_SECONDS)

    def takes_calls(self, place: Place, now: float, share: int = 1) -> bool:
        """Whether it may be given a call now. Limits are shared out among `share` processes."""
        if now < self.out_until or (self._trial is not None and now < self._trial_until):
            return False
        requests, tokens = place.requests_per_minute, place.tokens_per_minute
        return (
            _within(self.in_flight, place.concurrency, share)
            and (requests is None or _within(self._requests.turn(now), requests, share))
            and (tokens is None or _within(self._tokens.turn(now), tokens, share))
        )

    def burden(self, now: float) -> float:
        """How long a call would have to wait: a silence that lasts counts like an answer that took as long."""
        faded: float = self.latency_seconds * 0.5 ** ((now - self._measured_at) / HALF_FORGOTTEN_SECONDS)
        waited = now - next(iter(self._unanswered.values()), now)
        seconds = max(faded, waited, LATENCY_SECONDS_LEAST)
        return (self.in_flight + 1) * seconds * (1 + 4 * self._failures_in_a_row)

    def begin(self, tokens: int, now: float) -> int:
        """Give it a call; the call's ticket."""
        self._tickets += 1
        self.in_flight += 1
        self._unanswered[self._tickets] = now
        self._requests.add(1, now)
        self._tokens.add(tokens, now)
        # Who was only busy is back when its time is over.
        if self.trouble in {Trouble.SERVER, Trouble.CREDENTIAL}:
            self._trial, self._trial_until = self._tickets, now + TRIAL_SECONDS
        return self._tickets

    def end(self, ticket: int, tokens: int, now: float) -> None:
        """The call is over, and took so many more tokens. If it was the trial and told nothing, another may be."""
        self.in_flight -= 1
        self._tokens.add(tokens, now)
        self._unanswered.pop(ticket, None)
        if ticket == self._trial:
            self._trial = None

    def succeed(self, ticket: int, first_byte_seconds: float, now: float) -> bool:
        """Whether that was news: it is back."""
        self._unanswered.pop(ticket, None)
        before = self.latency_seconds or first_byte_seconds
        self.latency_seconds, self._measured_at = before + (first_byte_seconds - before) * NEWEST, now
        self._successes.add(1, now)
        if self._is_old(ticket, now):
            return False
        self._failures_in_a_row = self._busy_in_a_row = 0
        was_in_trouble = self.trouble is not None
        if was_in_trouble:
            self.come_back()
        return was_in_trouble

    def fail(self, ticket: int, trouble: Trouble, now: float, retry_after_seconds: float | None = None) -> float:
        """For how much longer it is out now; 0 where one failure more makes no difference."""
        self._unanswered.pop(ticket, None)
        if trouble is Trouble.CREDENTIAL:
            return self.stay_out(trouble, REFUSED_KEY_SECONDS, now)
        if trouble is Trouble.BUSY:
            self._busy_in_a_row += now >= self.out_until
            seconds = retry_after_seconds or BUSY_SECONDS * 2 ** (self._busy_in_a_row - 1)
            return self.stay_out(trouble, min(seconds, BUSY_SECONDS_MOST), now)
        if self._is_old(ticket, now):
            return 0.0
        self._failures_in_a_row += 1
        self._failures.add(1, now)
        if ticket != self._trial and not self._is_failing(now):
            return 0.0
        self._times_out = 1 if now - self._went_out_at > FORGIVEN_SECONDS else self._times_out + 1
        return self.stay_out(trouble, min(OUT_SECONDS_FIRST * 2 ** (self._times_out - 1), OUT_SECONDS_MOST), now)

    def stay_out(self, trouble: Trouble, seconds: float, now: float) -> float:
        """For how much longer that is; 0 where it was out for about as long already."""
        longer = now + seconds - max(self.out_until, now)
        self.trouble, self._trial = trouble, None
        self.out_until = max(self.out_until, now + seconds)
        self._went_out_at = self.out_until
        return longer if longer >= 1 else 0.0

    def come_back(self) -> None:
        """It is well, by its own answer or by what others say."""
        self.trouble, self._trial, self.out_until = None, None, 0.0
        self._failures_in_a_row = self._busy_in_a_row = 0
        self._failures.clear()

    def _is_old(self, ticket: int, now: float) -> bool:
        """Whether a call was under way before the account went out: it says nothing of how it is now."""
        return now < self.out_until or (self._trial is not None and ticket != self._trial)

    def _is_failing(self, now: float) -> bool:
        failures, successes = self._failures.turn(now), self._successes.turn(now)
        return self._failures_in_a_row >= FAILURES_IN_A_ROW or failures >= max(FAILURES_LEAST, successes)


def _within(used: int, limit: int | None, share: int) -> bool:
    """At least one for each process, so that a small limit does not shut an account out."""
    return limit is None or used < max(1, limit // share)
