"""A caller's conditions of payment: charge a call once, and no more than so much. And the answer to a repeated call."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.calls.conditions import Conditions
from tollkeeper.core.calls.digests import CallDigests
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.catalog.models import Offer
from tollkeeper.core.errors import (
    CallRepeated,
    CallStillRunning,
    GatewayError,
    IdempotencyKeyReused,
    InvalidHeader,
    MadeBefore,
)
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Charge
from tollkeeper.core.money.max_charge import tokens_within
from tollkeeper.core.money.quote import Ask
from tollkeeper.ports import CallClaim, HoldOutcome, HoldVerdict
from tollkeeper.relay.aside import LARGE_BYTES, Aside, Came
from tollkeeper.relay.call import Call
from tollkeeper.relay.dispatch.dispatch import AnyOrder

ReadOrder = TypeVar("ReadOrder", bound=AnyOrder)

# What became of the call that was made before with the same key.
MADE_BEFORE: Mapping[HoldOutcome, type[MadeBefore]] = {
    HoldOutcome.REPEATED: CallRepeated,
    HoldOutcome.REPEATED_RUNNING: CallStillRunning,
}
# How often a provider uses a tool of its own, and how much it reads of what that finds, is for nobody here to limit.
WITH_TOOLS = "cannot be honoured with a tool that the provider runs ({}): leave out the tool, or the header"


class PaymentTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and how it is to be paid for."""

    ask: Ask
    # The most that a call may come to, and the output up to which that is enough.
    max_charge: Quota | None = None
    most_tokens: int | None = None
    # By what it is known again, where it must not be paid for twice.
    claim: CallClaim | None = None

    def bounded(self, amount: Quota) -> Quota:
        return amount if self.max_charge is None else min(amount, self.max_charge)

    def bounded_charge(self, due: Charge) -> Charge:
        most = self.bounded(due.amount)
        return due if most == due.amount else msgspec.structs.replace(due, amount=most)


class Claims:
    """Reads calls, and makes the claims (idempotency keys) by which they are known again."""

    def __init__(self, digests: CallDigests, aside: Aside) -> None:
        self._digests = digests
        self._aside = aside

    async def read(
        self,
        read: Callable[[Came], ReadOrder],
        came: Came,
        call: Call,
        caller: KeyRecord,
        conditions: Conditions,
    ) -> tuple[ReadOrder, CallClaim | None]:
        """The order in what came as the body of a call, and the claim that is written with its hold, if any. A call
        that may be cut knows how to make one."""
        # Headers that belong to an order are of the session that sends it: another may send the same call again.
        body = came.body if isinstance(came, Spoken) else came
        # The size of an uploaded form is not known here: take it for large.
        size_bytes = len(body) if isinstance(body, bytes) else LARGE_BYTES + 1
        order = read(came) if size_bytes <= LARGE_BYTES else await self._aside.read(read, came)
        key, path = conditions.idempotency_key, call.request.path
        may_be_cut = not order.stream and call.request.address is not Address.BACKUP
        if may_be_cut and size_bytes <= LARGE_BYTES and key is None and not conditions.is_retry:
            # Nearly no call is cut. That of a large body would have to wait for its turn in the moment of the cut.
            call.claim_when_cut = lambda: self._of_cut(caller, self._digests.of_body(path, body))
        if call.claim_when_cut is not None or not (may_be_cut or key is not None):
            return order, None
        digest = await self._aside.run(size_bytes, lambda: self._digests.of_body(path, body))
        cut = self._of_cut(caller, digest)
        if may_be_cut:
            call.claim_when_cut = lambda: cut
        if key is not None:
            return order, CallClaim(self._digests.of_key(key), digest)
        return order, msgspec.structs.replace(cut, is_taken=False) if conditions.is_retry else None

    def _of_cut(self, caller: KeyRecord, digest: bytes) -> CallClaim:
        return CallClaim(self._digests.of_cut(caller.key_id, digest), digest)


def must_count(conditions: Conditions, rates: Rates) -> bool:
    """Whether the caller's ceiling, or a window of tokens, goes by what is asked exactly."""
    return conditions.max_charge is not None or rates.tokens_per_minute is not None


def terms_of(order: AnyOrder, ask: Ask, offer: Offer, conditions: Conditions, claim: CallClaim | None) -> PaymentTerms:
    """What is asked, within what the caller allows. Raise InputAboveMaxCharge, InvalidHeader."""
    most = conditions.max_charge
    if most is None:
        return PaymentTerms(ask=ask, claim=claim)
    if ask.uses_held:
        raise InvalidHeader("x-max-charge-usd", WITH_TOOLS.format(", ".join(sorted(ask.uses_held))))
    caps = offer.model.token_caps
    fits = tokens_within(most, ask, caps, offer.rate)
    if fits is None:
        return PaymentTerms(ask=ask, max_charge=most, claim=claim)
    asked = caps.max_output_tokens if ask.max_output_tokens is None else ask.max_output_tokens
    if fits < min(asked, caps.max_output_tokens):
        order.limit_output(fits, thinks=caps.hidden_reasoning or ask.thinks)
        ask = msgspec.structs.replace(ask, max_output_tokens=fits)
    return PaymentTerms(ask=ask, max_charge=most, most_tokens=fits * ask.n, claim=claim)


def made_before(verdict: HoldVerdict) -> GatewayError | None:
    """The refusal of a call whose key was used before."""
    if verdict.outcome is HoldOutcome.OTHER_BODY:
        return IdempotencyKeyReused()
    refusal = MADE_BEFORE.get(verdict.outcome)
    return None if refusal is None else refusal(_first_call(verdict))


def _first_call(verdict: HoldVerdict) -> Mapping[str, object] | None:
    """What is told of the first, if the same API key made it."""
    if verdict.first is None:
        return None
    is_running = verdict.outcome is HoldOutcome.REPEATED_RUNNING
    return {
        "request_id": str(verdict.first),
        "state": "running" if is_running else "settled",
        "charged_usd": None if is_running else usd_exact(verdict.available),
        "url": f"/v2/calls/{verdict.first}",
    }
