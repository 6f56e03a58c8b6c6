"""The bill of one call: a hold before anything is sent, more of it while a stream grows, and one settlement.

Rules of this file
1. Everything goes to the ledger that took the hold, even where its life was ended meanwhile.
2. A settlement is handed over without waiting: it is the ledger's from then on, and the caller's last byte is not kept
   back for it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from tollkeeper.core.catalog import Offer
from tollkeeper.core.charge import Charge, Ending, Seen, UsageSource, charge, plausible
from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.errors import (
    AccountInDebt,
    AccountShort,
    GatewayError,
    InsufficientQuota,
    KeyBudgetExceeded,
    KeyShort,
    KeyUnknown,
    Unavailable,
    WorkerFenced,
)
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.meter import Meter
from tollkeeper.core.money import Quota, usd_exact
from tollkeeper.core.prices import Usage
from tollkeeper.core.quote import Ask, expected, most_output_tokens, quote
from tollkeeper.ports import Extension, HoldOrder, Ledger, Outcome, Progress, Settlement, Verdict
from tollkeeper.relay.call import Call

# A hold outlives the longest call by this much before anybody else may settle it.
GRACE_SECONDS = 60
CHECKPOINT_SECONDS = 5.0
# How long a stream waits for a database that is away before it ends for want of quota.
EXTENSION_PATIENCE_SECONDS = 60.0
# Text longer than this is counted in a thread: it takes more than half a millisecond.
COUNT_IN_THREAD_CHARACTERS = 12_000

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


async def open_bill(
    call: Call, caller: KeyRecord, order: ChatOrder, offer: Offer, ledger: Ledger, *, longest_seconds: int
) -> "Bill":
    """Count what is asked and hold quota for it. Raise what stands against that."""
    part_tokens = offer.model.limits.hold_part_tokens
    if order.characters > COUNT_IN_THREAD_CHARACTERS:
        input_tokens = await asyncio.to_thread(order.input_tokens, part_tokens=part_tokens)
    else:
        input_tokens = order.input_tokens(part_tokens=part_tokens)
    ask = Ask(input_tokens=input_tokens, max_output_tokens=order.max_output_tokens, n=order.n)
    bill = Bill(call, caller, ask, offer, ledger, longest_seconds=longest_seconds)
    await bill.hold()
    return bill


class Bill:
    def __init__(
        self, call: Call, caller: KeyRecord, ask: Ask, offer: Offer, ledger: Ledger, *, longest_seconds: int
    ) -> None:
        self._call = call
        self.longest_seconds = longest_seconds
        self._caller = caller
        self._ask = ask
        self._offer = offer
        self._ledger = ledger
        self._held = quote(ask, offer.model.limits, offer.rate)
        self._covered_tokens = expected(ask, offer.model.limits).output_tokens
        self._extensions = 0
        self._checkpoint_after = asyncio.get_running_loop().time() + CHECKPOINT_SECONDS
        self._checkpoint: asyncio.Future[bool] | None = None

    @property
    def covered_tokens(self) -> int | None:
        """The output that the hold covers; None where it covers all that the provider may send."""
        limits = self._offer.model.limits
        if self._ask.max_output_tokens is not None or self._covered_tokens >= limits.max_output_tokens * self._ask.n:
            return None
        return self._covered_tokens

    @property
    def drained_when_client_leaves(self) -> bool:
        """What a model thinks without saying is known only from the report at the end of its answer."""
        return self._offer.model.limits.hidden_reasoning

    @property
    def _hold_seconds(self) -> int:
        return self.longest_seconds + GRACE_SECONDS

    async def hold(self) -> None:
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
        """Hold for what has come already, and as much more as a call of this model is expected to need."""
        step = self._offer.model.limits.hold_output_tokens * self._ask.n
        more_tokens = output_tokens - self._covered_tokens + step
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
        if not verdict.granted:
            raise self._refusal(verdict, f"this answer would need {usd_exact(amount)} USD more to go on")
        self._extensions += 1
        self._held = Quota(self._held + amount)
        self._covered_tokens += more_tokens

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

    def charge(self, ending: Ending, meter: Meter) -> Charge:
        """What the call costs if it ends like this. Its output is counted only where nothing usable is reported."""
        most_tokens = self._offer.model.limits.context_tokens * self._ask.n
        reported = meter.reported if meter.reported and plausible(meter.reported, most_tokens) else None
        output_tokens = 0 if reported else meter.output_tokens
        seen = Seen(reported=reported, counted=Usage(self._ask.input_tokens, output_tokens))
        return charge(ending, seen, self._offer.rate, most_tokens=most_tokens)

    def settle(self, due: Charge, ending: Ending, attempts: Sequence[Mapping[str, object]]) -> None:
        self._ledger.settle(self._settlement(due, ending, attempts))

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

    def _hear_of_checkpoint(self, done: "asyncio.Future[bool]") -> None:
        self._checkpoint = None
        # One that did not arrive is no harm: the stream goes on, and so will the next.
        arrived = not done.cancelled() and done.exception() is None
        if arrived and not done.result():
            self._call.end(WorkerFenced(), Ending.NODE_STOPPED)

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
        if not fits or verdict.outcome is Outcome.DEBT:
            return ""
        return f" (with max_tokens of {min(fits, self._offer.model.limits.max_output_tokens)} or less it would fit)"

    def _refusal(self, verdict: Verdict, need: str) -> GatewayError:
        refusal = SHORT.get(verdict.outcome)
        if refusal is None:
            return KeyUnknown() if verdict.outcome is Outcome.UNKNOWN_KEY else WorkerFenced()
        has = HAS[refusal].format(available=usd_exact(verdict.available))
        return refusal(f"{has}; {need}. Sending it again will not help: top up or ask for less.")
