"""What the end of a call adds to: a few integers, microseconds of work.

Rules of this file
1. A call is counted twice, each time once: when it is answered (by the edge), and when it is settled (by the relay).
   One that is cut is answered first and settled later, and a refused one is never settled.
2. Money is added up in micro-quota, and told in USD.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from tollkeeper.core import errors
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.charge import Charge, Ending
from tollkeeper.metrics import table
from tollkeeper.metrics.series import Distribution, Sample, distributions, each

CLIENT_LEFT = "client_left"
OTHER = "other"


class CallOutcome(StrEnum):
    ANSWERED = "answered"
    REFUSED = "refused"
    LIMITED = "limited"
    QUOTA = "quota"
    LEFT = "left"
    CUT = "cut"
    PROVIDER = "provider"
    FAILED = "failed"


# The first that fits a refusal; any other is the caller's mistake.
BY_REFUSAL: tuple[tuple[type[errors.GatewayError], CallOutcome], ...] = (
    (errors.InsufficientQuota, CallOutcome.QUOTA),
    (errors.RateLimited, CallOutcome.LIMITED),
    (errors.EdgeTimeout, CallOutcome.CUT),
    (errors.TimeLimitReached, CallOutcome.CUT),
    (errors.ProviderUnavailable, CallOutcome.PROVIDER),
    (errors.StreamBroken, CallOutcome.PROVIDER),
    (errors.InternalFailure, CallOutcome.FAILED),
    (errors.Unavailable, CallOutcome.FAILED),
)
# What is charged where it is not tokens.
UNITS: Mapping[Kind, str] = {Kind.IMAGE: "images", Kind.SPEECH: "characters", Kind.TRANSCRIPTION: "seconds"}


def _all(of: type[errors.GatewayError]) -> Iterator[type[errors.GatewayError]]:
    yield of
    for below in of.__subclasses__():
        yield from _all(below)


def _outcome(refusal: type[errors.GatewayError]) -> CallOutcome:
    return next((outcome for kind, outcome in BY_REFUSAL if issubclass(refusal, kind)), CallOutcome.REFUSED)


BY_CODE: Mapping[str | None, CallOutcome] = {
    **{refusal.code: _outcome(refusal) for refusal in _all(errors.GatewayError)},
    errors.GatewayError.code: CallOutcome.FAILED,
    CLIENT_LEFT: CallOutcome.LEFT,
    None: CallOutcome.ANSWERED,
}


class SettledAttempt(msgspec.Struct, frozen=True):
    """One sending of an order to a provider account, once its call is over."""

    provider_account: str
    outcome: str
    cost: int


class SettledCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to: for the call log, and to be counted."""

    model: str
    # What its units are, by the price that it had.
    kind: Kind
    ending: Ending
    charge: Charge
    attempts: tuple[SettledAttempt, ...]
    own_seconds: float
    provider_seconds: float


class CallFigures:
    """What one worker process has counted of its calls."""

    def __init__(self, endpoints: Iterable[str]) -> None:
        """`endpoints`: the paths of what is relayed."""
        known = tuple(endpoints)
        # What there can be is told as 0 from the beginning: Prometheus sees no increase where there was nothing.
        self._calls = {(path, outcome): 0 for path in (*known, OTHER) for outcome in CallOutcome}
        self._call_seconds = distributions(table.CALL_SECONDS, *known)
        self._first_byte_seconds = distributions(table.FIRST_BYTE_SECONDS, *known)
        self._own_seconds = distributions(table.OWN_SECONDS, *known)
        self._provider_seconds = distributions(table.PROVIDER_SECONDS, *known)
        self._endings = dict.fromkeys(Ending, 0)
        self._attempts: dict[tuple[str, str], int] = defaultdict(int)
        self._units: dict[tuple[str, str], int] = defaultdict(int)
        self._tokens: dict[str, list[int]] = {}
        self._charged: dict[str, int] = defaultdict(int)
        self._cost: dict[str, int] = defaultdict(int)

    def answered(self, endpoint: str, code: str | None, seconds: float, first_byte_seconds: float | None) -> None:
        """`code`: of the refusal, if it was one. `first_byte_seconds`: of an answer that went out in pieces."""
        seen = self._call_seconds.get(endpoint)
        outcome = BY_CODE.get(code, CallOutcome.REFUSED)
        if seen is None:
            self._calls[OTHER, outcome] += 1
            return
        self._calls[endpoint, outcome] += 1
        if code is None:
            seen.note(seconds)
        if first_byte_seconds is not None:
            self._first_byte_seconds[endpoint].note(first_byte_seconds)

    def settled(self, endpoint: str, call: SettledCall) -> None:
        self._endings[call.ending] += 1
        own = self._own_seconds.get(endpoint)
        if own is not None:
            own.note(call.own_seconds)
            self._provider_seconds[endpoint].note(call.provider_seconds)
        for attempt in call.attempts:
            self._attempts[attempt.provider_account, attempt.outcome] += 1
            self._cost[attempt.provider_account] += attempt.cost
        usage, model = call.charge.usage, call.model
        self._charged[model] += call.charge.amount
        unit = UNITS.get(call.kind)
        if unit is not None:
            self._units[model, unit] += usage.input_units
            return
        tokens = self._tokens.get(model)
        if tokens is None:
            tokens = self._tokens[model] = [0, 0, 0]
        tokens[0] += usage.input_units
        tokens[1] += usage.cached_units
        tokens[2] += usage.output_units

    def own_counts(self) -> list[int]:
        """Our own part of all calls, in the buckets of its metric."""
        return [sum(counts) for counts in zip(*(seen.counts for seen in self._own_seconds.values()), strict=True)]

    def samples(self) -> Iterator[Sample]:
        yield from ((table.CALLS, key, count) for key, count in self._calls.items())
        for metric, seen in self._histograms():
            yield from each(metric, seen.items())
        yield from each(table.ENDINGS, self._endings.items())
        yield from ((table.ATTEMPTS, key, count) for key, count in self._attempts.items())
        yield from ((table.MEDIA_UNITS, key, count) for key, count in self._units.items())
        for model, counts in self._tokens.items():
            for kind, count in zip(("input", "cached", "output"), counts, strict=True):
                yield table.TOKENS, (model, kind), count
        yield from each(table.CHARGED, _in_usd(self._charged))
        yield from each(table.COST, _in_usd(self._cost))

    def _histograms(self) -> tuple[tuple[table.Metric, dict[str, Distribution]], ...]:
        return (
            (table.CALL_SECONDS, self._call_seconds),
            (table.FIRST_BYTE_SECONDS, self._first_byte_seconds),
            (table.OWN_SECONDS, self._own_seconds),
            (table.PROVIDER_SECONDS, self._provider_seconds),
        )


def _in_usd(amounts: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    return ((name, amount / UNITS_PER_USD) for name, amount in amounts.items())
