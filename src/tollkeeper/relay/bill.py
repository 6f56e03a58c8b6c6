"""The bill of one call: a hold before anything is sent, more of it while a stream grows, and one settlement.

Rules of this file
1. Everything goes to the ledger that took the hold, even where its life was ended meanwhile.
2. A settlement is handed over without waiting: it is the ledger's from then on, and the caller's last byte is not kept
   back for it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from tollkeeper.core.catalog import Offer
from tollkeeper.core.charge import Charge, Ending, Seen, UsageSource, charge, plausible
from tollkeeper.core.errors import (
    AccountInDebt,
    AccountShort,
    GatewayError,
    InsufficientQuota,
    KeyBudgetExceeded,
    KeyShort,
    KeyUnknown,
    NodeStopping,
    Unavailable,
    WorkerFenced,
)
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money import Quota, usd_exact
from tollkeeper.core.prices import MILLIONTHS, Rate, Usage
from tollkeeper.core.quote import Ask, expected, most_output_tokens, quote
from tollkeeper.ports import Extension, HoldOrder, Ledger, Outcome, Progress, Settlement, Verdict
from tollkeeper.relay.attempt import Attempt
from tollkeeper.relay.call import Call

CHECKPOINT_SECONDS = 5.0
# How long a stream waits for a database that is away before it is ended, and how often it asks.
EXTENSION_PATIENCE_SECONDS = 60.0
EXTENSION_RETRY_SECONDS = 0.25
# A provider may count otherwise than we do: an answer within its cap is not broken off for a few tokens' difference.
CAP_SLACK_TOKENS = 64
CAP_SLACK_PART = 8

SHORT: Mapping[Outcome, type[InsufficientQuota]] = {
    Outcome.ACCOUNT_SHORT: AccountShort,
    Outcome.KEY_SHORT: KeyShort,
    Outcome.BUDGET: KeyBudgetExceeded,
    Outcome.DEBT: AccountInDebt,
}
HAS = {
    AccountShort: "The account has {available} USD",
    KeyShort: "This key has {available} USD left of its own quota",
    KeyBudgetExceeded: "This key has {available} USD left of its daily or monthly budget",
    AccountInDebt: "The account owes {available} USD and takes no new calls until that is paid",
}


def with_slack(cap_tokens: int) -> int:
    return cap_tokens + cap_tokens // CAP_SLACK_PART + CAP_SLACK_TOKENS


class AnyMeter(Protocol):
    """What a bill wants to know of an answer."""

    @property
    def reported(self) -> Usage | None: ...

    @property
    def so_far(self) -> Usage | None: ...

    @property
    def output_tokens(self) -> int: ...

    @property
    def guessed_tokens(self) -> int:
        """Of the output, what nobody could count."""
        ...

    @property
    def characters(self) -> int:
        """Of output, about: whether anything was heard."""
        ...


class Bill:
    def __init__(
        self, call: Call, caller: KeyRecord, ask: Ask, offer: Offer, ledger: Ledger, *, hold_seconds: int
    ) -> None:
        self._call = call
        self._hold_seconds = hold_seconds
        self._caller = caller
        self._ask = ask
        self._offer = offer
        self._ledger = ledger
        self._held = quote(ask, offer.model.limits, offer.rate)
        self._covered_tokens = expected(ask, offer.model.limits).output_tokens
        self._extensions = 0
        self._checkpoint_after = asyncio.get_running_loop().time() + CHECKPOINT_SECONDS
        self._checkpoint: asyncio.Future[bool] | None = None
        # Of an answer that was complete: asked for by those who tell its price, and by those who book it.
        self._last_word: Charge | None = None

    @property
    def covered_tokens(self) -> int:
        """The output up to which no more has to be held."""
        limits = self._offer.model.limits
        capped = self._ask.max_output_tokens is not None
        if capped or self._covered_tokens >= limits.max_output_tokens * self._ask.n:
            return with_slack(self._covered_tokens)
        return self._covered_tokens

    @property
    def max_output_tokens(self) -> int:
        """What the model can say."""
        return self._offer.model.limits.max_output_tokens

    def needs_report(self, meter: AnyMeter) -> bool:
        """Whether only the provider's report says what was used: thoughts without words come at the end of an answer,
        and what images, audio and files came to is said once, at the beginning or at the end."""
        thinks = self._offer.model.limits.hidden_reasoning or self._ask.thinks
        return thinks or (self._ask.has_media and meter.so_far is None and meter.reported is None)

    async def hold(self) -> None:
        """Hold quota for what is asked. Raise what stands against that."""
        order = HoldOrder(
            request_id=self._call.request_id,
            account_id=self._caller.account_id,
            key_id=self._caller.key_id,
            amount=self._held,
            rate=self._offer.rate,
            input_tokens=self._ask.input_tokens,
            seconds=self._hold_seconds,
        )
        verdict = await self._ledger.hold(order)
        if not verdict.granted:
            raise self._refusal(verdict, f"this call needs {usd_exact(self._held)} USD{self._advice(verdict)}")

    async def extend(self, output_tokens: int) -> None:
        """Hold for what has come already, and as much more as a call of this model is expected to need, or as there is
        quota for."""
        owed_tokens = max(0, output_tokens - self._covered_tokens)
        step_tokens = self._offer.model.limits.hold_output_tokens * self._ask.n
        verdict = await self._extend_by(owed_tokens + step_tokens)
        if not verdict.granted and verdict.outcome is not Outcome.DEBT:
            fits = most_output_tokens(verdict.available, Ask(input_tokens=0), self._offer.rate) or 0
            if fits > owed_tokens:
                verdict = await self._extend_by(min(fits, owed_tokens + step_tokens))
        if not verdict.granted:
            more = usd_exact(self._offer.rate.ceiling(Usage(0, step_tokens)))
            raise self._refusal(verdict, f"this answer would need {more} USD more to go on")

    async def _extend_by(self, more_tokens: int) -> Verdict:
        amount = self._offer.rate.ceiling(Usage(0, more_tokens))
        extension = Extension(
            request_id=self._call.request_id,
            sequence=self._extensions + 1,
            account_id=self._caller.account_id,
            key_id=self._caller.key_id,
            amount=amount,
            seconds=self._hold_seconds,
        )
        verdict = await self._extend_patiently(extension)
        if verdict.granted:
            self._extensions += 1
            self._held = Quota(self._held + amount)
            self._covered_tokens += more_tokens
        return verdict

    def note_progress(self, output_tokens: Callable[[], int]) -> None:
        """Every few seconds, tell ledger and journal how far the call has come."""
        now = asyncio.get_running_loop().time()
        if now < self._checkpoint_after or self._checkpoint is not None:
            return
        self._checkpoint_after = now + CHECKPOINT_SECONDS
        usage = Usage(self._ask.input_tokens, output_tokens())
        due = Charge(min(self._offer.rate.charge(usage), self._held), usage, UsageSource.JOURNAL)
        self._ledger.note(self._settlement(due, Ending.OWNER_DIED, ()))
        progress = Progress(request_id=self._call.request_id, usage=usage, seconds=self._hold_seconds)
        self._checkpoint = asyncio.ensure_future(self._ledger.checkpoint(progress))
        self._checkpoint.add_done_callback(self._hear_of_checkpoint)

    def charge(self, ending: Ending, meter: AnyMeter, *, complete: bool) -> Charge:
        """What the call costs if it ends like this. A report is the last word on an answer that is `complete`; on any
        other it may be an early one, and what was counted since is not given away."""
        if not (complete and ending is Ending.COMPLETED):
            return self._charge(ending, meter, complete=complete)
        if self._last_word is None:
            self._last_word = self._charge(ending, meter, complete=True)
        return self._last_word

    def _is_plausible(self, report: Usage) -> bool:
        """A report is of what a model can read and say; and not of more than the caller's cap, but for thoughts, which
        some vendors do not count toward it."""
        limits, cap = self._offer.model.limits, self._ask.max_output_tokens
        most_tokens = limits.context_tokens * self._ask.n
        if cap is None:
            return plausible(report, most_tokens)
        if limits.hidden_reasoning or self._ask.thinks:
            cap = max(cap, limits.max_output_tokens)
        return plausible(report, most_tokens) and report.output_tokens <= with_slack(cap * self._ask.n)

    def _counted_tokens(self, meter: AnyMeter) -> int:
        """The output as it was counted. A guess is charged as far as it was held for, and no further."""
        guessed_tokens = meter.guessed_tokens
        known_tokens = meter.output_tokens - guessed_tokens
        return known_tokens + min(guessed_tokens, max(0, self._covered_tokens - known_tokens))

    def _charge(self, ending: Ending, meter: AnyMeter, *, complete: bool) -> Charge:
        most_tokens = self._offer.model.limits.context_tokens * self._ask.n
        reported = meter.reported if meter.reported and self._is_plausible(meter.reported) else None
        if reported and self._ask.measured:
            # Whoever sends more images than were asked for gives them away.
            reported = Usage(min(reported.input_tokens, self._ask.input_tokens))
        output_tokens = 0 if reported and complete else min(self._counted_tokens(meter), most_tokens)
        if reported and reported.output_tokens < output_tokens:
            seen = Seen(counted=Usage(reported.input_tokens, output_tokens, reported.cached_tokens))
        else:
            so_far = meter.so_far
            told = so_far if so_far and self._is_plausible(so_far) else Usage(self._ask.input_tokens)
            # What was thought before it was spoken is known from such reports alone.
            counted = Usage(told.input_tokens, max(output_tokens, told.output_tokens), told.cached_tokens)
            seen = Seen(reported=reported, counted=counted, measured=self._ask.measured)
        due = charge(ending, seen, self._offer.rate, most_tokens=most_tokens)
        if ending is Ending.QUOTA_RAN_OUT:
            # Who was told that the quota is at its end owes nothing beyond it.
            return msgspec.structs.replace(due, amount=min(due.amount, self._held))
        return due

    def settle(self, due: Charge, ending: Ending, attempts: Sequence[Attempt]) -> None:
        told = [attempt.told(ending, self._cost(attempt, due)) for attempt in attempts]
        self._ledger.settle(self._settlement(due, ending, told))

    def _cost(self, attempt: Attempt, due: Charge) -> Quota:
        """What an attempt costs us, at its account's share of the list price: what it delivered, or the input alone."""
        if not attempt.may_have_cost:
            return Quota(0)
        usage = Usage(self._ask.input_tokens) if attempt.outcome else due.usage
        return Quota(Rate(self._offer.rate.price, MILLIONTHS).charge(usage) * attempt.cost_share // MILLIONTHS)

    async def _extend_patiently(self, extension: Extension) -> Verdict:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + EXTENSION_PATIENCE_SECONDS
        while True:
            try:
                return await self._ledger.extend(extension)
            except WorkerFenced:
                raise
            except Unavailable:
                if loop.time() > give_up_at:
                    raise
                await asyncio.sleep(EXTENSION_RETRY_SECONDS)

    def _hear_of_checkpoint(self, done: "asyncio.Future[bool]") -> None:
        self._checkpoint = None
        # One that did not arrive is no harm: the stream goes on, and so will the next.
        arrived = not done.cancelled() and done.exception() is None
        if arrived and not done.result():
            self._call.end(NodeStopping(), Ending.NODE_STOPPED)

    def _settlement(self, due: Charge, ending: Ending, attempts: Sequence[Mapping[str, object]]) -> Settlement:
        return Settlement(
            request_id=self._call.request_id,
            account_id=self._caller.account_id,
            charge=due,
            ending=ending,
            attempts=tuple(attempts),
        )

    def _advice(self, verdict: Verdict) -> str:
        """The largest answer that could be asked for, where there is one."""
        fits = most_output_tokens(verdict.available, self._ask, self._offer.rate)
        if not fits or self._ask.measured or verdict.outcome is Outcome.DEBT:
            return ""
        return f" (with max_tokens of {min(fits, self._offer.model.limits.max_output_tokens)} or less it would fit)"

    def _refusal(self, verdict: Verdict, need: str) -> GatewayError:
        refusal = SHORT.get(verdict.outcome)
        if refusal is None:
            return KeyUnknown() if verdict.outcome is Outcome.UNKNOWN_KEY else WorkerFenced()
        has = HAS[refusal].format(available=usd_exact(verdict.available))
        return refusal(f"{has}; {need}. Sending it again will not help: top up or ask for less.")
