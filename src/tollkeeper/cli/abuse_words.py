"""Bans and restrictions in words: whose, why, since when, until when, and what was counted."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from tollkeeper.cli.listing import fields_of
from tollkeeper.core.limits.abuse import PeakMinute, peak_ms
from tollkeeper.office.abuse import BanView, ClientBans, RestrictionView

BAR_CHARACTERS = 30
MINUTE_MS = 60_000


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def duration(length: timedelta) -> str:
    seconds = round(length.total_seconds())
    if seconds % 3_600 == 0:
        return f"{seconds // 3_600} h"
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"


def because(ban: BanView) -> str:
    """Why an IP is banned, with what was counted."""
    if ban.why == "operator":
        return f"by an operator: {ban.counted.get('reason', '')}"
    if ban.why == "peak":
        return f"its account {ban.account} was {_at_peak(ban.counted)}, again"
    return f"{ban.counted.get('calls')} invalid calls within {ban.counted.get('within_seconds')} s{_codes(ban.counted)}"


def standing(record: BanView | RestrictionView, now: datetime) -> str:
    if record.lifted_at is not None:
        return f"lifted {moment(record.lifted_at)} by {record.lifted_by}: {record.lift_reason}"
    return f"in force until {moment(record.until)}" if record.until > now else f"over since {moment(record.until)}"


def ban_history(found: ClientBans, now: datetime) -> Iterator[str]:
    """What support should know of a client, the newest ban first."""
    for ban in found.bans:
        yield f"{moment(ban.began_at)}, for {duration(ban.until - ban.began_at)}; {because(ban)}"
        yield f"    {standing(ban, now)}"
    earlier, memory = found.bans_that_count, timedelta(seconds=found.memory_seconds)
    length = duration(timedelta(seconds=found.next_seconds))
    counts = "counts" if earlier == 1 else "count"
    yield (
        f"The next ban for invalid calls would last {length}: {earlier} of the last {duration(memory)} {counts}, "
        "those that were lifted do not."
    )


def restriction_history(restrictions: Sequence[RestrictionView], now: datetime) -> Iterator[str]:
    for restriction in restrictions:
        counted = {"peak_seconds": restriction.peak_seconds, "within_seconds": restriction.within_seconds}
        most = f", most of it from {restriction.ip}" if restriction.ip else ""
        length = duration(restriction.until - restriction.began_at)
        decided = f"{restriction.began_by} decided so: {restriction.reason}"
        why = decided if restriction.began_by else f"it was {_at_peak(counted)}{most}"
        yield f"{moment(restriction.began_at)}, for {length}; {why}"
        yield f"    {standing(restriction, now)}"


def peak_picture(minutes: Sequence[PeakMinute]) -> Iterator[str]:
    """A bar for each minute with time at peak."""
    for at, found in groupby(minutes, key=lambda minute: minute.minute):
        together = list(found)
        milliseconds = peak_ms(together)
        bar = "█" * max(1, milliseconds * BAR_CHARACTERS // MINUTE_MS)
        ips = ", ".join(minute.ip or "unknown" for minute in together)
        yield f"{at:%Y-%m-%d %H:%M}  {bar:{BAR_CHARACTERS}}  {milliseconds / 1_000:4.1f} s  {ips}"


def ban_record(ban: BanView) -> dict[str, Any]:
    """A ban in JSON."""
    begun = fields_of(ban, "id", "ip", "began_at", "until", "why", "counted")
    return begun | {"account_id": ban.account} | fields_of(ban, "lifted_at", "lifted_by", "lift_reason", "in_force")


def restriction_record(restriction: RestrictionView) -> dict[str, Any]:
    """A restriction in JSON."""
    begun = {"id": restriction.id, "account_id": restriction.account}
    counted = fields_of(restriction, "began_at", "until", "peak_seconds", "within_seconds", "ip", "began_by", "reason")
    return begun | counted | fields_of(restriction, "lifted_at", "lifted_by", "lift_reason", "in_force")


def _at_peak(counted: Mapping[str, object]) -> str:
    return f"at peak for {counted.get('peak_seconds')} s within {counted.get('within_seconds')} s"


def _codes(counted: Mapping[str, object]) -> str:
    """What was wrong with the calls, as far as the process knew that banned for them."""
    seen = counted.get("codes_seen_here")
    if not isinstance(seen, dict) or not seen:
        return ""
    most_first = sorted(seen.items(), key=lambda entry: entry[1], reverse=True)
    # Other processes may have seen the rest.
    begun = ": " if sum(seen.values()) == counted.get("calls") else ", such as "
    return begun + ", ".join(f"{count} × {code}" for code, count in most_first)
