"""A circuit breaker: what takes a provider account, or one of its models, out of the pool, and what brings it back.

Rules of this file
1. It goes out where calls of two customers met trouble, or one customer's and our own probe. Until then it is left
   alone for the calls of that one customer only (`core/pool/witnesses`).
2. One failure of the provider's takes nothing out; several in a short time do, and then one call at a time tries
   whether it is back. What was under way before it went out says nothing of that.
3. What says it is busy is left alone for as long as it says.
4. Who is out can be spared a few calls a second, for those who have no other account. A refused key is not used.
5. Nothing here knows a clock: time comes in as seconds that only grow.
"""

from enum import StrEnum

from tollkeeper.core.pool.recent_sum import RecentSum
from tollkeeper.core.pool.witnesses import OUT_SECONDS_FIRST, OUT_SECONDS_MOST, WINDOW_SECONDS, Witnesses

# What was well for so long begins anew with the shortest time.
FORGIVEN_SECONDS = 60.0
# A trial that has not told anything by then does not keep the next waiting: it may be a very long call.
TRIAL_SECONDS = 10.0
BUSY_SECONDS = 5.0
BUSY_SECONDS_MOST = 60.0
# A key that was refused is tested before it is used again; this is how long nobody even asks.
REFUSED_KEY_SECONDS = 60.0
# How often our own probe is asked, at most.
PROBE_SECONDS = 5.0
# Between two calls for which it is spared while it is out: of all customers, and of each.
SPARED_SECONDS = 0.25
SPARED_SECONDS_EACH = 1.0
# So many of those that go well bring it back before its time.
SPARED_WELL = 3


class Trouble(StrEnum):
    """What an account's failure means for the account."""

    CREDENTIAL = "credential"  # Its key was refused, or it has nothing left: out until tested.
    BUSY = "busy"  # It said so: out for as long as it says.
    SERVER = "server"  # It failed, or nobody answered: out when it happens again and again.


class BreakerState(StrEnum):
    CLOSED = "closed"  # It is given calls as ever.
    HALF_OPEN = "half_open"  # Its time is over: a call tries whether it is back.
    OPEN = "open"  # It is given no calls, but for a few that have no other account.


class HealthVerdict(StrEnum):
    """What a failure has changed."""

    NOTHING = "nothing"
    SUSPECT = "suspect"  # One customer's calls alone say that it is in trouble: time for our own probe.
    OUT = "out"  # It is out now, or for longer, and others should know.


class Breaker:
    """Each call has a ticket, and later calls have greater ones: results of calls that were begun before it went out
    are ignored. `by`: the customer whose call it is."""

    __slots__ = (
        "_busy_in_a_row",
        "_key_is_refused",
        "_newest",
        "_newest_old",
        "_probe_again_at",
        "_spared_at",
        "_spared_well",
        "_successes",
        "_times_out",
        "_trial",
        "_trial_failed_by",
        "_trial_until",
        "_went_out_at",
        "_witnesses",
        "failures_in_a_row",
        "out_until",
        "trouble",
    )

    def __init__(self) -> None:
        self.out_until = 0.0
        # Out, or on trial: set until a call has gone well again.
        self.trouble: Trouble | None = None
        self.failures_in_a_row = 0
        self._newest = 0
        # The newest ticket of a call that was begun before it went out.
        self._newest_old = 0
        self._trial: int | None = None
        self._trial_until = 0.0
        self._trial_failed_by: int | None = None
        self._times_out = 0
        self._went_out_at = 0.0
        self._key_is_refused = False
        self._probe_again_at = 0.0
        self._spared_at = 0.0
        self._spared_well = 0
        self._busy_in_a_row = 0
        self._witnesses = Witnesses()
        self._successes = RecentSum(WINDOW_SECONDS)

    @property
    def is_in_doubt(self) -> bool:
        """Whether a call that goes well would say anything new."""
        return self.trouble is not None or bool(self._witnesses.seen)

    def state(self, now: float) -> BreakerState:
        if self.trouble is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self.out_until else BreakerState.HALF_OPEN

    def lets_in(self, now: float, *, by: int) -> bool:
        """Whether it may be given a call of this customer now."""
        if now < self.out_until or (self._trial is not None and now < self._trial_until):
            return False
        return not (self._witnesses.seen and self._witnesses.avoids(by, now))

    def spares_a_call(self, now: float, share: int, *, by: int) -> bool:
        """Whether it may be given one although it is not well: a few a second, and few of each customer's. `share`:
        the processes among which those are shared out."""
        if self._key_is_refused or now - self._witnesses.spared_at(by) < SPARED_SECONDS_EACH:
            return False
        return self.trouble is None or now - self._spared_at >= SPARED_SECONDS * share

    def begin(self, ticket: int, now: float, *, by: int) -> None:
        self._newest = ticket
        if self.trouble is not None or (self._witnesses.seen and self._witnesses.avoids(by, now)):
            self._begin_unwell(now, by)

    def end(self, ticket: int) -> None:
        """The call has ended. If it was the trial call and gave no evidence, another call may be the trial."""
        if ticket == self._trial:
            self._trial = None

    def succeed(self, ticket: int, now: float, *, by: int) -> bool:
        """Whether that was news: it is back."""
        self._successes.add(1, now)
        if self._is_old(ticket):
            return False
        self.failures_in_a_row = 0
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
    ) -> HealthVerdict:
        """A call of this customer met trouble."""
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
            witness.avoid(trouble, seconds, now, newest_old=self._newest)
        agreed = self._witnesses.seconds_agreed(trouble, by, now)
        if agreed is None:
            return self._suspect(now)
        self._busy_in_a_row += trouble is Trouble.BUSY and now >= self.out_until
        return self.stay_out(trouble, min(seconds, agreed), now)

    def fail_probe(self, trouble: Trouble, now: float) -> HealthVerdict:
        """Our own probe met trouble, after calls of customers had."""
        self._key_is_refused = trouble is Trouble.CREDENTIAL
        if self._key_is_refused:
            return self.stay_out(trouble, REFUSED_KEY_SECONDS, now)
        if now < self.out_until:
            return HealthVerdict.NOTHING
        return self.stay_out(trouble, BUSY_SECONDS, now) if trouble is Trouble.BUSY else self._go_out(now)

    def stay_out(self, trouble: Trouble, seconds: float, now: float) -> HealthVerdict:
        """It is out, for so long at least. No news where it was for about as long already."""
        longer = now + seconds - max(self.out_until, now)
        self.trouble, self._trial, self._trial_failed_by = trouble, None, None
        self.out_until = max(self.out_until, now + seconds)
        self._went_out_at = self.out_until
        self._newest_old = self._newest
        self._spared_at, self._spared_well = now, 0
        return HealthVerdict.OUT if longer >= 1 else HealthVerdict.NOTHING

    def come_back(self) -> None:
        """It is well, by its own answer or by what others say."""
        self.trouble, self._trial, self._trial_failed_by, self.out_until = None, None, None, 0.0
        self.failures_in_a_row = self._busy_in_a_row = 0
        self._key_is_refused = False
        self._witnesses = Witnesses()

    def _begin_unwell(self, now: float, by: int) -> None:
        """The newest call is spared while it is out, or tries whether it is back. Who was only busy needs no trial."""
        is_out = now < self.out_until
        if not is_out and self.trouble in {Trouble.SERVER, Trouble.CREDENTIAL}:
            self._trial, self._trial_until = self._newest, now + TRIAL_SECONDS
        self._spared_at = now
        if is_out or self._witnesses.avoids(by, now):
            self._witnesses.of(by, now).spared_at = now

    def _fail(self, ticket: int, now: float, by: int) -> HealthVerdict:
        if self._is_old(ticket):
            return HealthVerdict.NOTHING
        self.failures_in_a_row += 1
        too_many = self._witnesses.fail(by, now)
        if now < self.out_until:
            return HealthVerdict.NOTHING
        if ticket == self._trial:
            return self._fail_trial(now, by)
        if self._witnesses.agree(self._successes.turn(now), now):
            return self._go_out(now)
        return self._leave_alone(now, by) if too_many else HealthVerdict.NOTHING

    def _fail_trial(self, now: float, by: int) -> HealthVerdict:
        """Two customers' trials must fail: one who makes them fail would keep it out for everybody."""
        self._trial = None
        if self._trial_failed_by not in {None, by}:
            return self._go_out(now)
        self._trial_failed_by = by
        return self._leave_alone(now, by)

    def _leave_alone(self, now: float, by: int) -> HealthVerdict:
        witness = self._witnesses.of(by, now)
        seconds = min(OUT_SECONDS_FIRST * 2.0**witness.times, OUT_SECONDS_MOST)
        witness.avoid(Trouble.SERVER, seconds, now, newest_old=self._newest)
        return self._suspect(now)

    def _suspect(self, now: float) -> HealthVerdict:
        if now < self._probe_again_at:
            return HealthVerdict.NOTHING
        self._probe_again_at = now + PROBE_SECONDS
        return HealthVerdict.SUSPECT

    def _go_out(self, now: float) -> HealthVerdict:
        self._times_out = 1 if now - self._went_out_at > FORGIVEN_SECONDS else self._times_out + 1
        seconds = min(OUT_SECONDS_FIRST * 2.0 ** (self._times_out - 1), OUT_SECONDS_MOST)
        return self.stay_out(Trouble.SERVER, seconds, now)

    def _is_old(self, ticket: int) -> bool:
        """Whether a call was under way before it went out: it says nothing of how it is now."""
        return ticket <= self._newest_old
