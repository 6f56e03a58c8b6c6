"""The health of a provider account, a circuit breaker: what takes it out of the pool, and what brings it back.

Rules of this file
1. An account goes out where calls of two customers met trouble, or one customer's and our own probe. Until then it is
   left alone for the calls of that one customer only (`core/witnesses`).
2. One failure of the provider's takes no account out; several in a short time do, and then one call at a time tries
   whether it is back. What was under way before it went out says nothing of that.
3. An account that says it is busy is left alone for as long as it says.
4. Who is out can be spared a few calls a second, for those who have no other account. A refused key is not used.
5. Nothing here knows a clock: time comes in as seconds that only grow.
"""

from enum import StrEnum

from tollkeeper.core.pool import Place
from tollkeeper.core.recent_sum import Window
from tollkeeper.core.witnesses import OUT_SECONDS_FIRST, OUT_SECONDS_MOST, WINDOW_SECONDS, Witnesses

# An account that was well for so long begins anew with the shortest time.
FORGIVEN_SECONDS = 60.0
# A trial that has not told anything by then does not keep the next waiting: it may be a very long call.
TRIAL_SECONDS = 10.0
BUSY_SECONDS = 5.0
BUSY_SECONDS_MOST = 60.0
# A key that was refused is tested before it is used again; this is how long nobody even asks.
REFUSED_KEY_SECONDS = 60.0
# How often our own probe is asked about an account, at most.
PROBE_SECONDS = 5.0
# Between two calls for which an account is spared while it is out: of all customers, and of each.
SPARED_SECONDS = 0.25
SPARED_SECONDS_EACH = 1.0
# So many of those that go well bring it back before its time.
SPARED_WELL = 3
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


class Verdict(StrEnum):
    """What a failure has changed."""

    NOTHING = "nothing"
    SUSPECT = "suspect"  # One customer's calls alone say that it is in trouble: time for our own probe.
    OUT = "out"  # It is out now, or for longer, and others should know.


class Health:
    """What one process knows of one account. Each call has a ticket: results of calls that were begun before the
    account went out are ignored. `by`: the customer whose call it is."""

    __slots__ = (
        "_busy_in_a_row",
        "_failures_in_a_row",
        "_key_is_refused",
        "_measured_at",
        "_newest_old",
        "_probe_again_at",
        "_requests",
        "_spared_at",
        "_spared_well",
        "_successes",
        "_tickets",
        "_times_out",
        "_tokens",
        "_trial",
        "_trial_failed_by",
        "_trial_until",
        "_unanswered",
        "_went_out_at",
        "_witnesses",
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
        # The newest ticket of a call that was begun before the account went out.
        self._newest_old = 0
        self._unanswered: dict[int, float] = {}
        self._trial: int | None = None
        self._trial_until = 0.0
        self._trial_failed_by: int | None = None
        self._times_out = 0
        self._went_out_at = 0.0
        self._key_is_refused = False
        self._probe_again_at = 0.0
        self._spared_at = 0.0
        self._spared_well = 0
        self._failures_in_a_row = 0
        self._busy_in_a_row = 0
        self._measured_at = 0.0
        self._witnesses = Witnesses()
        self._successes = Window(WINDOW_SECONDS)
        self._requests = Window(MINUTE_SECONDS)
        self._tokens = Window(MINUTE_SECONDS)

    def takes_calls(self, place: Place, now: float, share: int = 1, *, by: int) -> bool:
        """Whether it may be given a call of this customer now. Limits are shared out among `share` processes."""
        if now < self.out_until or (self._trial is not None and now < self._trial_until):
            return False
        return not self._witnesses.avoids(by, now) and self._has_room(place, now, share)

    def spares_a_call(self, place: Place, now: float, share: int = 1, *, by: int) -> bool:
        """Whether it may be given one although it is not well: a few a second, and few of each customer's."""
        if self._key_is_refused or now - self._witnesses.spared_at(by) < SPARED_SECONDS_EACH:
            return False
        if self.trouble is not None and now - self._spared_at < SPARED_SECONDS * share:
            return False
        return self._has_room(place, now, share)

    def burden(self, now: float) -> float:
        """How long a call would have to wait: a silence that lasts counts like an answer that took as long."""
        faded: float = self.latency_seconds * 0.5 ** ((now - self._measured_at) / HALF_FORGOTTEN_SECONDS)
        waited = now - next(iter(self._unanswered.values()), now)
        seconds = max(faded, waited, LATENCY_SECONDS_LEAST)
        return (self.in_flight + 1) * seconds * (1 + 4 * self._failures_in_a_row)

    def begin(self, tokens: int, now: float, *, by: int) -> int:
        """Give it a call; the call's ticket."""
        self._tickets += 1
        self.in_flight += 1
        self._unanswered[self._tickets] = now
        self._requests.add(1, now)
        self._tokens.add(tokens, now)
        if self.trouble is not None or self._witnesses.avoids(by, now):
            self._begin_unwell(now, by)
        return self._tickets

    def end(self, ticket: int, tokens: int, now: float) -> None:
        """The call is over, and took so many more tokens. If it was the trial and told nothing, another may be."""
        self.in_flight -= 1
        self._tokens.add(tokens, now)
        self._unanswered.pop(ticket, None)
        if ticket == self._trial:
            self._trial = None

    def succeed(self, ticket: int, first_byte_seconds: float, now: float, *, by: int) -> bool:
        """Whether that was news: it is back."""
        self._unanswered.pop(ticket, None)
        before = self.latency_seconds or first_byte_seconds
        self.latency_seconds, self._measured_at = before + (first_byte_seconds - before) * NEWEST, now
        self._successes.add(1, now)
        if self._is_old(ticket):
            return False
        self._failures_in_a_row = 0
        self._witnesses.succeed(by, ticket, now, unless=Trouble.BUSY)
        self._spared_well += now < self.out_until
        if now < self.out_until and self._spared_well < SPARED_WELL:
            return False
        self._busy_in_a_row = 0
        was_in_trouble = self.trouble is not None
        if was_in_trouble:
            self.come_back()
        return was_in_trouble

    def fail(
        self, ticket: int, trouble: Trouble, now: float, retry_after_seconds: float | None = None, *, by: int
    ) -> Verdict:
        """A call of this customer met trouble."""
        self._unanswered.pop(ticket, None)
        if trouble is Trouble.SERVER:
            return self._fail(ticket, now, by)
        self._spared_well = 0
        witness = self._witnesses.of(by, now)
        if trouble is Trouble.CREDENTIAL:
            seconds = REFUSED_KEY_SECONDS
        else:
            doubled = BUSY_SECONDS * 2.0 ** max(self._busy_in_a_row, witness.times)
            seconds = min(retry_after_seconds or doubled, BUSY_SECONDS_MOST)
        if now >= witness.avoids_until or witness.kind != trouble:
            witness.avoid(trouble, seconds, now, newest_old=self._tickets)
        agreed = self._witnesses.seconds_agreed(trouble, by, now)
        if agreed is None:
            return self._suspect(now)
        self._busy_in_a_row += trouble is Trouble.BUSY and now >= self.out_until
        return self.stay_out(trouble, min(seconds, agreed), now)

    def fail_probe(self, trouble: Trouble, now: float) -> Verdict:
        """Our own probe met trouble, after calls of one customer's had."""
        self._key_is_refused = trouble is Trouble.CREDENTIAL
        if self._key_is_refused:
            return self.stay_out(trouble, REFUSED_KEY_SECONDS, now)
        if now < self.out_until:
            return Verdict.NOTHING
        return self.stay_out(trouble, BUSY_SECONDS, now) if trouble is Trouble.BUSY else self._go_out(now)

    def stay_out(self, trouble: Trouble, seconds: float, now: float) -> Verdict:
        """It is out, for so long at least. No news where it was for about as long already."""
        longer = now + seconds - max(self.out_until, now)
        self.trouble, self._trial, self._trial_failed_by = trouble, None, None
        self.out_until = max(self.out_until, now + seconds)
        self._went_out_at = self.out_until
        self._newest_old = self._tickets
        self._spared_at, self._spared_well = now, 0
        return Verdict.OUT if longer >= 1 else Verdict.NOTHING

    def come_back(self) -> None:
        """It is well, by its own answer or by what others say."""
        self.trouble, self._trial, self._trial_failed_by, self.out_until = None, None, None, 0.0
        self._failures_in_a_row = self._busy_in_a_row = 0
        self._key_is_refused = False
        self._witnesses = Witnesses()

    def _has_room(self, place: Place, now: float, share: int) -> bool:
        requests, tokens = place.requests_per_minute, place.tokens_per_minute
        return (
            _within(self.in_flight, place.concurrency, share)
            and (requests is None or _within(self._requests.turn(now), requests, share))
            and (tokens is None or _within(self._tokens.turn(now), tokens, share))
        )

    def _begin_unwell(self, now: float, by: int) -> None:
        """The newest call is spared while it is out, or tries whether it is back. Who was only busy needs no trial."""
        is_out = now < self.out_until
        if not is_out and self.trouble in {Trouble.SERVER, Trouble.CREDENTIAL}:
            self._trial, self._trial_until = self._tickets, now + TRIAL_SECONDS
        self._spared_at = now
        if is_out or self._witnesses.avoids(by, now):
            self._witnesses.of(by, now).spared_at = now

    def _fail(self, ticket: int, now: float, by: int) -> Verdict:
        if self._is_old(ticket):
            return Verdict.NOTHING
        self._failures_in_a_row += 1
        too_many = self._witnesses.fail(by, now)
        if now < self.out_until:
            return Verdict.NOTHING
        if ticket == self._trial:
            return self._fail_trial(now, by)
        if self._witnesses.agree(self._successes.turn(now), now):
            return self._go_out(now)
        return self._leave_alone(now, by) if too_many else Verdict.NOTHING

    def _fail_trial(self, now: float, by: int) -> Verdict:
        """Two customers' trials must fail: one who makes them fail would keep it out for everybody."""
        self._trial = None
        if self._trial_failed_by not in {None, by}:
            return self._go_out(now)
        self._trial_failed_by = by
        return self._leave_alone(now, by)

    def _leave_alone(self, now: float, by: int) -> Verdict:
        witness = self._witnesses.of(by, now)
        seconds = min(OUT_SECONDS_FIRST * 2.0**witness.times, OUT_SECONDS_MOST)
        witness.avoid(Trouble.SERVER, seconds, now, newest_old=self._tickets)
        return self._suspect(now)

    def _suspect(self, now: float) -> Verdict:
        if now < self._probe_again_at:
            return Verdict.NOTHING
        self._probe_again_at = now + PROBE_SECONDS
        return Verdict.SUSPECT

    def _go_out(self, now: float) -> Verdict:
        self._times_out = 1 if now - self._went_out_at > FORGIVEN_SECONDS else self._times_out + 1
        seconds = min(OUT_SECONDS_FIRST * 2.0 ** (self._times_out - 1), OUT_SECONDS_MOST)
        return self.stay_out(Trouble.SERVER, seconds, now)

    def _is_old(self, ticket: int) -> bool:
        """Whether a call was under way before the account went out: it says nothing of how it is now."""
        return ticket <= self._newest_old


def _within(used: int, limit: int | None, share: int) -> bool:
    """At least one for each process, so that a small limit does not shut an account out."""
    return limit is None or used < max(1, limit // share)
