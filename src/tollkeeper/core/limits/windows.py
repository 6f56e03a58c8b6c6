"""Rate limits: which windows a call must pass, and what its caller is told of them.

Rules of this file
1. A window is "so many calls in any 60 seconds": a call leaves it exactly 60 seconds after it came in.
2. A call passes all of its windows or none. What is refused is not counted.
3. The key's window counts every call. The account's windows count by kind of model, or by model where that has a rate
   of its own; more keys never raise them. Their limit is the peak; time above the standard rate is peak time.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from tollkeeper.core.errors import RateLimited
from tollkeeper.core.keys import KeyRecord

SPAN_SECONDS = 60
SPAN_US = SPAN_SECONDS * 1_000_000
# Calls that use no model: the model list and the balances.
LOOKUPS = "lookups"
OF_KEY = "key:"


class Measure(StrEnum):
    """What a window counts."""

    CALLS = "calls"
    TOKENS = "tokens"
    RUNNING = "running"


class Window(msgspec.Struct, frozen=True, gc=False):
    """One limit that a call has to keep."""

    # Of whom, and for what: unique within the account.
    name: str
    limit: int
    # Above this an account is at peak; 0 where there is no such thing.
    standard: int = 0
    measure: Measure = Measure.CALLS
    # Whether each process has its share of it while the shared windows are away. Otherwise it has all of it to itself.
    divided: bool = True

    @property
    def is_of_key(self) -> bool:
        return self.name.startswith(OF_KEY)


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """What the accounts of a group may call, in any 60 seconds. None: no limit."""

    key_rate: int | None = 60
    standard_rate: int | None = 60
    peak_percent: int = 200
    # Where the standard rate is another one.
    kind_rates: Mapping[str, int] = {}
    model_rates: Mapping[str, int] = {}
    tokens_per_minute: int | None = None
    concurrency: int | None = None

    def standard(self, kind: str, model_id: str) -> tuple[str, int | None]:
        """The name of the account's window for such a call, and its standard rate."""
        own = self.model_rates.get(model_id)
        if own is not None:
            return f"model:{model_id}", own
        return kind, self.kind_rates.get(kind, self.standard_rate)


class WindowStanding(msgspec.Struct, frozen=True, gc=False):
    """How a window stands after a call: what its caller may still do, and when there is more."""

    window: Window
    used: int
    # Until a place that is taken now is free again; 0 where none is.
    free_in_us: int

    @property
    def remaining(self) -> int:
        return max(0, self.window.limit - self.used)

    @property
    def reset_seconds(self) -> int:
        return whole_seconds(self.free_in_us)


class Windows(msgspec.Struct, gc=False):
    """The windows that calls of one kind must pass, of one caller. They are the same for call after call."""

    # The account, by its number; or an IP.
    whose: str
    each: tuple[Window, ...]
    # How a store writes them, kept by it so that it is written once.
    written: Any = None
    # How the tightest stood when it was last heard of, and when that was, by the process's own clock.
    latest: WindowStanding | None = None
    latest_us: int = 0
    # Whether all of them count calls: then nothing is to be said when a call ends.
    only_calls: bool = True
    # Whether one of them counts calls under way.
    count_running: bool = False
    # Whether each process has its share of them while the shared ones are away.
    divided: bool = True

    def __post_init__(self) -> None:
        self.only_calls = all(window.measure is Measure.CALLS for window in self.each)
        self.count_running = any(window.measure is Measure.RUNNING for window in self.each)
        self.divided = any(window.divided for window in self.each)

    @property
    def call_names(self) -> tuple[str, ...]:
        return tuple(window.name for window in self.each if window.measure is Measure.CALLS)


class LimitOutcome(msgspec.Struct, frozen=True, gc=False):
    """What became of a call at its windows."""

    # None: it passed.
    refused: Window | None
    at_us: int
    retry_in_us: int
    # Time above the standard rate that it added.
    peak_us: int
    # How the tightest of its windows stands now: what its caller is told of.
    standing: WindowStanding | None


def windows_of(
    caller: KeyRecord,
    rates: Rates,
    kind: str,
    model_id: str = "",
    *,
    restricted_percent: int | None = None,
    running_most: int | None = None,
) -> Windows:
    """The windows that a call must pass. `restricted_percent`: what its account has of its standard rate just now.
    `running_most`: how many of its calls may be under way, whatever its group says."""
    found = []
    if rates.key_rate is not None:
        found.append(Window(f"{OF_KEY}{caller.key_id}", rates.key_rate))
    name, standard = rates.standard(kind, model_id)
    if standard is not None:
        if restricted_percent is not None:
            limit = max(1, standard * restricted_percent // 100)
            found.append(Window(name, limit))
        else:
            peak = max(1, standard * rates.peak_percent // 100)
            # What uses no model is no burden on the pool, and never peak time.
            found.append(Window(name, peak, 0 if kind == LOOKUPS else standard))
    if kind != LOOKUPS:
        if rates.tokens_per_minute is not None:
            found.append(Window("tokens", rates.tokens_per_minute, measure=Measure.TOKENS))
        running = min(filter(None, (rates.concurrency, running_most)), default=None)
        if running is not None:
            found.append(Window("running", running, measure=Measure.RUNNING))
    return Windows(str(caller.account_id), tuple(found))


def is_restricted(caller: KeyRecord, now: datetime) -> bool:
    return caller.restricted_until is not None and caller.restricted_until > now


def tightest(standings: Iterable[WindowStanding]) -> WindowStanding | None:
    """The one to tell the caller of: where the fewest calls remain; the key's own first."""
    calls = [standing for standing in standings if standing.window.measure is Measure.CALLS]
    return min(calls, key=lambda standing: standing.remaining, default=None)


def of_refused(window: Window, retry_in_us: int) -> WindowStanding | None:
    """The standing that goes into the headers of a 429: that of the window that refused the call."""
    return WindowStanding(window, window.limit, retry_in_us) if window.measure is Measure.CALLS else None


def refusal(window: Window, retry_in_us: int, restricted_until: datetime | None = None) -> RateLimited:
    """The error for a caller whom a window refused."""
    seconds = max(1, whole_seconds(retry_in_us))
    told = _in_words(window)
    if restricted_until is not None:
        told += f" It is restricted until {restricted_until:%Y-%m-%d %H:%M} UTC, for it ran at its peak for too long."
    return RateLimited(
        f"{told} This call was not counted and cost nothing. Try again in {seconds} s.", retry_after_seconds=seconds
    )


def whole_seconds(microseconds: int) -> int:
    """Rounded up: after so many seconds it is true."""
    return -(-microseconds // 1_000_000)


def _in_words(window: Window) -> str:
    if window.measure is Measure.TOKENS:
        return f"Your account may use {window.limit:,} tokens in any {SPAN_SECONDS} s; this call would be too many."
    if window.measure is Measure.RUNNING:
        return f"Your account has {window.limit} running at once, which is its limit for calls under way."
    if window.is_of_key:
        return f"This key has made {window.limit} calls within {SPAN_SECONDS} s, which is its limit."
    subject = window.name.removeprefix("model:")
    what = "model list and balance" if subject == LOOKUPS else subject
    return f"Your account has made {window.limit} {what} calls within {SPAN_SECONDS} s, its limit over all its keys."
