"""The gate: a call passes its rate limits, or is refused with the time when it may pass.

Every call of a known key takes a place in its windows, whatever becomes of it; only what the gate itself refuses is not
counted. A key, or an account, that is known to be at its limit is refused before its body is read.
"""

import contextlib
import time
from typing import Protocol
from uuid import UUID

from tollkeeper.core.errors import RateLimited
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import LimitOutcome, Measure, Rates, Windows, is_restricted, refusal, windows_of
from tollkeeper.ports import Clock, Limiter, Passage


class GateVisitor(Protocol):
    """What passes the gate: a call, or a lookup."""

    @property
    def request_id(self) -> UUID: ...
    @property
    def ip(self) -> str: ...
    def note_limits(self, outcome: LimitOutcome, waited_seconds: float | None, /) -> None:
        """Take note of how the rate limits stand after it, and how long it waited to know; None where nobody was
        asked."""
        ...


WINDOWS_KEPT = 100_000
# A call of which nothing is known but its key.
KEY_ALONE = "key"


class Gate:
    def __init__(self, limiter: Limiter, clock: Clock, *, restricted_percent: int, unpaid_running_most: int) -> None:
        """`restricted_percent`: what a restricted account has of its standard rate. `unpaid_running_most`: calls under
        way of an account that never paid: one that can be thrown away must not run up a debt by many at once."""
        self._limiter = limiter
        self._clock = clock
        self._restricted_percent = restricted_percent
        self._unpaid_running_most = unpaid_running_most
        # How many calls were refused, by what the limit counts.
        self.refusals = dict.fromkeys(Measure, 0)
        # By key, what it calls, whether it is restricted and has paid: the windows, and the rates they were made from.
        self._windows: dict[tuple[int, str, str, bool, bool], tuple[Rates, Windows]] = {}

    def reject_if_known_full(self, visitor: GateVisitor, caller: KeyRecord, rates: Rates, kind: str) -> None:
        """Raise RateLimited where the call cannot pass, without asking anybody."""
        # Where models have rates of their own, the account's window depends on the model, which is not known yet.
        full = self._limiter.known_full(self._windows_of(caller, rates, KEY_ALONE if rates.model_rates else kind))
        if full is not None:
            self._raise_if_refused(visitor, caller, full)

    async def enter(
        self, visitor: GateVisitor, caller: KeyRecord, rates: Rates, kind: str, model_id: str = "", *, tokens: int = 0
    ) -> Passage:
        """Take a place in every window, until `leave`. Raise RateLimited, and take none."""
        windows = self._windows_of(caller, rates, kind, model_id)
        passage = Passage(windows, visitor.request_id, tokens, visitor.ip)
        if windows.each:
            begun = time.monotonic()
            outcome = await self._limiter.admit(passage)
            self._raise_if_refused(visitor, caller, outcome, time.monotonic() - begun)
        return passage

    def leave(self, passage: Passage, output_tokens: int) -> None:
        """A call is over that entered: give back its place among those under way, and count its output."""
        self._limiter.ended(passage, output_tokens)

    async def count(self, visitor: GateVisitor, caller: KeyRecord, rates: Rates) -> None:
        """Take a place for a call that is refused for another reason, if there is one."""
        with contextlib.suppress(RateLimited):
            await self.enter(visitor, caller, rates, KEY_ALONE)

    def _windows_of(self, caller: KeyRecord, rates: Rates, kind: str, model_id: str = "") -> Windows:
        restricted = caller.restricted_until is not None and is_restricted(caller, self._clock.now())
        place = (caller.key_id, kind, model_id if model_id in rates.model_rates else "", restricted, caller.has_paid)
        known = self._windows.get(place)
        if known is not None and known[0] is rates:
            return known[1]
        percent = self._restricted_percent if restricted else None
        running_most = None if caller.has_paid else self._unpaid_running_most
        windows = windows_of(caller, rates, kind, model_id, restricted_percent=percent, running_most=running_most)
        if kind == KEY_ALONE:
            windows = Windows(windows.whose, tuple(window for window in windows.each if window.is_of_key))
        if len(self._windows) >= WINDOWS_KEPT:
            self._windows.clear()
        self._windows[place] = (rates, windows)
        return windows

    def _raise_if_refused(
        self, visitor: GateVisitor, caller: KeyRecord, outcome: LimitOutcome, waited_seconds: float | None = None
    ) -> None:
        visitor.note_limits(outcome, waited_seconds)
        window = outcome.refused
        if window is not None:
            self.refusals[window.measure] += 1
            is_why = not window.is_of_key and is_restricted(caller, self._clock.now())
            raise refusal(window, outcome.retry_in_us, caller.restricted_until if is_why else None)
