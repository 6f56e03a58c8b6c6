"""Abuse: how long an IP is banned, and what becomes of an account that is at peak for too long.

Rules of this file
1. The first ban of an IP has its length; each further one within the time that bans are remembered lasts twice as
   long, up to the longest. Bans that support lifted are not remembered.
2. An account that was at peak for more than its share of any hour is restricted. Time before its last restriction
   ended, or was lifted, does not count again.
3. If an earlier restriction is still remembered, the IP that had most of the peak time is banned too, for the length of
   a first ban.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

MINUTE_MS = 60_000


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's figures."""

    ban_seconds: int = 3_600
    ban_seconds_most: int = 86_400
    # For how long a ban makes the next one longer, and a restriction brings a ban.
    ban_memory_seconds: int = 7 * 86_400
    # More than so much time at peak, within so much time, restricts an account.
    peak_seconds: int = 600
    peak_within_seconds: int = 3_600
    restricted_seconds: int = 86_400


class PeakMinute(msgspec.Struct, frozen=True):
    """Time that an account spent at peak in one minute, calling from one IP; that is empty where nobody is to blame."""

    minute: datetime
    ip: str
    milliseconds: int


class PeakTime(msgspec.Struct, frozen=True, kw_only=True):
    """An account as the review of traffic finds it."""

    account_id: int
    minutes: Sequence[PeakMinute]
    # When its last restriction ended, ends, or was lifted.
    counts_from: datetime | None = None
    # When its last restriction began that was not lifted.
    restricted_at: datetime | None = None


class AbuseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """An account is to be restricted: for how much peak time, most of it from which IP, and whether to ban that too."""

    peak_seconds: int
    ip: str
    ban: bool


def ban_seconds(policy: Policy, earlier_bans: int) -> int:
    """How long a ban lasts, after so many that are remembered."""
    # So often doubled, even a second is longer than any ban.
    return min(policy.ban_seconds_most, policy.ban_seconds << min(earlier_bans, 32))


def bans_that_count(policy: Policy, began: Iterable[datetime], now: datetime) -> int:
    """How many make the next ban longer, of those for invalid calls that began then and were not lifted."""
    memory = timedelta(seconds=policy.ban_memory_seconds)
    return sum(at > now - memory for at in began)


def judge(policy: Policy, found: PeakTime, now: datetime) -> AbuseVerdict | None:
    """None where an account did not overdo it."""
    since = now - timedelta(seconds=policy.peak_within_seconds)
    if found.counts_from is not None:
        since = max(since, found.counts_from)
    counted = [minute for minute in found.minutes if minute.minute >= since]
    total_ms = peak_ms(counted)
    if total_ms <= policy.peak_seconds * 1_000:
        return None
    ip = _most_at_peak(counted)
    memory = timedelta(seconds=policy.ban_memory_seconds)
    again = found.restricted_at is not None and found.restricted_at > now - memory
    return AbuseVerdict(peak_seconds=-(-total_ms // 1_000), ip=ip, ban=again and bool(ip))


def peak_ms(minutes: Sequence[PeakMinute]) -> int:
    """The time at peak. Several kinds of calls may be at peak at once, but a minute has no more than 60 seconds."""
    by_minute: defaultdict[datetime, int] = defaultdict(int)
    for minute in minutes:
        by_minute[minute.minute] += minute.milliseconds
    return sum(min(milliseconds, MINUTE_MS) for milliseconds in by_minute.values())


def _most_at_peak(minutes: Sequence[PeakMinute]) -> str:
    """Which IP that was; empty where none is known."""
    by_ip: Counter[str] = Counter()
    for minute in minutes:
        if minute.ip:
            by_ip[minute.ip] += minute.milliseconds
    return max(sorted(by_ip), key=lambda ip: by_ip[ip], default="")
