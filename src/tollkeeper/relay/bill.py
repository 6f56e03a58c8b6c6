"""The bill of one call: a hold before anything is sent, more of it while a stream grows, and one settlement.

Rules of this file
1. Everything goes to the ledger that took the hold, even where its life was ended meanwhile.
2. A settlement is handed over without waiting: it is the ledger's from then on, and the caller's last byte is not kept
   back for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import msgspec

from tollkeeper.core.catalog.models import Offer, unit_of
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Charge, ChargeTerms, Ending, Readings, UsageSource, charge, needs_report
from tollkeeper.core.money.prices import MILLIONTHS, Rate, Usage
from tollkeeper.core.money.quote import Ask, expected, most_more_tokens, quote, quote_more, with_slack
from tollkeeper.metrics.calls import SettledAttempt, SettledCall
from tollkeeper.ports import CallClaim, Extension, HoldOrder, HoldOutcome, HoldVerdict, Ledger, Progress, Settlement
from tollkeeper.relay.by_bound import AskedInput
from tollkeeper.relay.call import Call
from tollkeeper.relay.checkpoints import Checkpoints
from tollkeeper.relay.dispatch.attempt import Attempt, seconds_of
from tollkeeper.relay.patience import patiently
from tollkeeper.relay.payment import PaymentTerms
from tollkeeper.relay.short_of_quota import refusal_of, what_would_fit

# How long the caller of a call that cost nothing waits for the books to know: the same key may be sent again at once.
KNOWN_WITHIN_SECONDS = 2.0
# Where what was held for by a bound may do, once it is counted.
SHORT = frozenset({HoldOutcome.ACCOUNT_SHORT, HoldOutcome.KEY_SHORT, HoldOutcome.BUDGET})


class Bill:
    def __init__(
        self, call: Call, payment: PaymentTerms, asked: AskedInput, offer: Offer, ledger: Ledger, *, hold_seconds: int
    ) -> None:
        self.asked = asked
        self._call = call
        self._payment = payment
        self._hold_seconds = hold_seconds
        self._caller = asked.caller
        self._model = offer.model
        self._caps = offer.model.token_caps
        self._rate = offer.rate
        self._ledger = ledger
        self._held = self._quote()
        self._covered_tokens = expected(asked.ask, self._caps).output_units
        self._extensions = 0
        self._checkpoints = Checkpoints(call, asked, self._write_checkpoint)
        # Of an answer that was complete: asked for by those who tell its price, and by those who book it.
        self._last_word: Charge | None = None
        self._freed: asyncio.Future[bool] | None = None
        # Whether who answers was sent the order as its caller wrote it.
        self._is_native = False

    @property
    def covered_tokens(self) -> int:
        """The output up to which no more has to be held."""
        caps = self._caps
        capped = self.asked.ask.max_output_tokens is not None
        if capped or self._covered_tokens >= caps.max_output_tokens * self.asked.ask.n:
            return with_slack(self._covered_tokens)
        return self._covered_tokens

    @property
    def input_units(self) -> int:
        """The input as it was counted, of what was sent to who answers."""
        ask = self.asked.counted()
        return ask.input_units + (ask.untranslated_tokens if self._is_native else 0)

    @property
    def max_output_tokens(self) -> int:
        """What the model can say."""
        return self._caps.max_output_tokens

    @property
    def most_tokens(self) -> int | None:
        """The output beyond which the call costs more than the caller allowed."""
        return self._payment.most_tokens

    def note_answering(self, *, is_native: bool) -> None:
        """An account answers. `is_native`: it was sent the order as its caller wrote it, and not our translation."""
        self._is_native = is_native

    def needs_report(self, meter: Readings) -> bool:
        """Whether only the provider's report says what was used."""
        return needs_report(ChargeTerms(self.asked.ask, self._caps, self._rate), meter)

    async def hold(self) -> None:
        """Hold quota for what is asked. Raise what stands against that."""
        if not self.asked.take(self._held):
            await self._count()
        verdict = await self._hold()
        if verdict.outcome in SHORT and self.asked.ask.is_bound:
            # There is not enough for the bound. For the count there may be.
            await self._count()
            verdict = await self._hold()
        if not verdict.granted:
            need = f"this call needs {usd_exact(self._held)} USD"
            raise refusal_of(verdict, need + what_would_fit(verdict, self.asked.ask, self._caps, self._rate))
        self.asked.note_left(verdict.available)
        self._checkpoints.begin()

    async def _count(self) -> None:
        """Hold by the count."""
        await self.asked.count()
        self.asked.give_back()
        self._held = self._quote()

    def _quote(self) -> Quota:
        ask = self.asked.ask
        return self._payment.bounded(ask.quoted or quote(ask, self._caps, self._rate))

    async def _hold(self) -> HoldVerdict:
        ask = self.asked.ask
        order = HoldOrder(
            request_id=self._call.request.request_id,
            account_id=self._caller.account_id,
            key_id=self._caller.key_id,
            amount=self._held,
            rate=self._rate,
            # A bound is nothing that a call could be charged by, should this process die.
            input_units=0 if ask.is_bound else ask.input_units,
            seconds=self._hold_seconds,
            claim=self._payment.claim,
        )
        begun = time.monotonic()
        try:
            return await self._ledger.hold(order)
        finally:
            self._call.request.note_hold(time.monotonic() - begun)

    async def extend(self, output_tokens: int) -> None:
        """Hold for what has come already, and as much more as a call of this model is expected to need, or as there is
        quota for."""
        if self.asked.is_held_by_bound and await self._covers(output_tokens):
            return
        owed_tokens = max(0, output_tokens - self._covered_tokens)
        step_tokens = self._caps.hold_output_tokens * self.asked.ask.n
        verdict = await self._extend_by(owed_tokens + step_tokens)
        if not verdict.granted and verdict.outcome is not HoldOutcome.DEBT:
            fits = most_more_tokens(verdict.available, self.asked.ask, self._rate) or 0
            if fits > owed_tokens:
                verdict = await self._extend_by(min(fits, owed_tokens + step_tokens))
        if not verdict.granted:
            more = usd_exact(quote_more(step_tokens, self.asked.ask, self._rate))
            raise refusal_of(verdict, f"this answer would need {more} USD more to go on")

    async def _covers(self, output_tokens: int) -> bool:
        """Whether what the bound holds beyond the count is enough: it is held already, and pays for output as well."""
        await self.asked.count()
        beyond = Quota(self._held - self._quote())
        self._covered_tokens += most_more_tokens(beyond, self.asked.ask, self._rate) or 0
        self.asked.give_back()
        return output_tokens < self._covered_tokens

    async def _extend_by(self, more_tokens: int) -> HoldVerdict:
        amount = quote_more(more_tokens, self.asked.ask, self._rate)
        amount = Quota(self._payment.bounded(Quota(self._held + amount)) - self._held)
        extension = Extension(
            request_id=self._call.request.request_id,
            sequence=self._extensions + 1,
            account_id=self._caller.account_id,
            key_id=self._caller.key_id,
            amount=amount,
            seconds=self._hold_seconds,
        )
        verdict = await patiently(partial(self._ledger.extend, extension))
        if verdict.granted:
            self._extensions += 1
            self._held = Quota(self._held + amount)
            self._covered_tokens += more_tokens
        return verdict

    def note_sending(self) -> None:
        """The order is about to be sent to a provider."""
        self._checkpoints.is_sent = True
        self._ledger.note_sending(self._call.request.request_id)

    def note_complete(self, meter: Readings) -> None:
        """Its last words are about to go out: should this process die with them, the journal knows what it came to."""
        if self.asked.ask.is_bound and not self._is_known_without(Ending.COMPLETED, meter, complete=True):
            return
        due = self.charge(Ending.COMPLETED, meter, complete=True)
        within = Charge(min(due.amount, self._held), due.usage, due.source)
        self._ledger.note(self._settlement(within, Ending.COMPLETED, ()))
        self._checkpoints.end()

    def note_progress(self, output_tokens: Callable[[], int]) -> None:
        """From now on, every few seconds: write to ledger and journal how far the call has come (a checkpoint)."""
        self._checkpoints.output_tokens = output_tokens

    def _write_checkpoint(self, output_tokens: int) -> Awaitable[bool]:
        usage = Usage(self.input_units, output_tokens)
        due = Charge(min(self._rate.charge(usage), self._held), usage, UsageSource.JOURNAL)
        self._ledger.note(self._settlement(due, Ending.OWNER_DIED, ()))
        progress = Progress(request_id=self._call.request.request_id, usage=usage, seconds=self._hold_seconds)
        return self._ledger.checkpoint(progress)

    def charge(self, ending: Ending, meter: Readings, *, complete: bool) -> Charge:
        """What the call costs if it ends like this. `complete`: whether the answer was."""
        if self._last_word is not None and complete and ending is Ending.COMPLETED:
            return self._last_word
        due = self._charge(ending, meter, complete=complete)
        if complete and ending is Ending.COMPLETED:
            self._last_word = due
        return due

    def expected_charge(self, meter: Readings) -> Quota:
        """What the answer costs if nothing more comes of it, and it is complete."""
        return self._charge(Ending.COMPLETED, meter, complete=True).amount

    @property
    def known_charge(self) -> Quota | None:
        """What the answer costs if all of it comes, where that was known before."""
        ask = self.asked.ask
        return self._payment.bounded(self._rate.charge(Usage(ask.input_units))) if ask.measured else None

    def is_count_due(
        self, ending: Ending, meter: Readings, *, complete: bool, attempts: Sequence[Attempt] = ()
    ) -> bool:
        """Whether what was held for by a bound must be counted: no report says what it came to, or a failed attempt may
        have cost."""
        if not self.asked.ask.is_bound:
            return False
        is_known = self._is_known_without(ending, meter, complete=complete)
        return not is_known or any(attempt.outcome and attempt.may_have_cost for attempt in attempts)

    def _is_known_without(self, ending: Ending, meter: Readings, *, complete: bool) -> bool:
        """Whether the charge does not depend on what the input comes to. That of an answer that is complete stands."""
        is_last = complete and ending is Ending.COMPLETED
        if is_last and self._last_word is not None:
            return True
        due = self._charge_for(self.asked.ask, ending, meter, complete=complete)
        if due.goes_by_input_of(self.asked.ask):
            return False
        if is_last:
            self._last_word = self._payment.bounded_charge(due)
        return True

    def _charge(self, ending: Ending, meter: Readings, *, complete: bool) -> Charge:
        due = self._charge_for(self.asked.ask, ending, meter, complete=complete)
        if self.asked.ask.is_bound and due.goes_by_input_of(self.asked.ask):
            due = self._charge_for(self.asked.counted(), ending, meter, complete=complete)
        return self._payment.bounded_charge(due)

    def _charge_for(self, ask: Ask, ending: Ending, meter: Readings, *, complete: bool) -> Charge:
        if self._is_native and ask.untranslated_tokens:
            ask = msgspec.structs.replace(ask, input_units=self.input_units)
        terms, covered_tokens = ChargeTerms(ask, self._caps, self._rate), self._covered_tokens
        return charge(ending, terms, meter, complete=complete, covered_tokens=covered_tokens, held=self._held)

    def settle(self, due: Charge, ending: Ending, attempts: Sequence[Attempt]) -> SettledCall:
        """Hand the settlement over. Return what the call came to."""
        told = [(attempt, self._cost(attempt, due)) for attempt in attempts]
        receipts = [attempt.as_receipt(ending, cost) for attempt, cost in told]
        settled = self._ledger.settle(self._settlement(due, ending, receipts))
        self._checkpoints.end()
        if self._payment.claim is not None and not due.amount:
            self._freed = asyncio.ensure_future(settled)
        provider_seconds = seconds_of(attempts)
        return SettledCall(
            model=self._model.id,
            kind=unit_of(self._model.kind, self._rate.price),
            ending=ending,
            charge=due,
            attempts=tuple(SettledAttempt(attempt.account, attempt.outcome or ending, cost) for attempt, cost in told),
            own_seconds=self._call.own_seconds(provider_seconds),
            provider_seconds=provider_seconds,
        )

    async def close(self) -> None:
        """Wait, after a call that cost nothing, until the ledger has freed its idempotency key."""
        if self._freed is not None:
            await asyncio.wait({self._freed}, timeout=KNOWN_WITHIN_SECONDS)

    async def note_cut(self, claim: CallClaim) -> None:
        """The caller is about to be told that the call goes on alone: let the same call be known again."""
        note = partial(self._ledger.note_cut, self._call.request.request_id, self._caller.account_id, claim)
        await patiently(note)

    def _cost(self, attempt: Attempt, due: Charge) -> Quota:
        """What an attempt costs us, at its account's share of the list price: what it delivered, or the input alone."""
        if not attempt.may_have_cost:
            return Quota(0)
        usage = Usage(self.asked.counted().input_units) if attempt.outcome else due.usage
        return Quota(Rate(self._rate.price, MILLIONTHS).charge(usage) * attempt.cost_share // MILLIONTHS)

    def _settlement(self, due: Charge, ending: Ending, attempts: Sequence[Mapping[str, object]]) -> Settlement:
        return Settlement(
            request_id=self._call.request.request_id,
            account_id=self._caller.account_id,
            charge=due,
            ending=ending,
            attempts=tuple(attempts),
        )
