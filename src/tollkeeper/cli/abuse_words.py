"""Bans and restrictions in words: whose, why, since when, until when, and what was counted."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import IPv6Address
from itertools import groupby
from typing import Any

from tollkeeper.cli.listing import fields_of
from tollkeeper.core.client_ip import PREFIX_V6, read_ip, written
from tollkeeper.core.limits.abuse import PeakMinute, Policy, ban_seconds, peak_ms
from tollkeeper.ports import BanRecord, RestrictionRecord

BAR_CHARACTERS = 30
MINUTE_MS = 60_000


class NotAnIp(ValueError):
    """What was given is no IP; the message says so."""


def client_in(text: str) -> str:
    """An IP as bans name it. An IPv6 client is its /64, which may be written out too."""
    address, slash, prefix = text.partition("/")
    ip = read_ip(address)
    whole = str(PREFIX_V6 if isinstance(ip, IPv6Address) else 32)
    if ip is None or (slash and prefix != whole):
        raise NotAnIp(f"'{text}' is not an IP: write one like 192.0.2.7 or 2001:db8::7, or a network 2001:db8::/64.")
    return written(ip)


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def duration(length: timedelta) -> str:
    seconds = round(length.total_seconds())
    if seconds % 3_600 == 0:
        return f"{seconds // 3_600} h"
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"


def because(ban: BanRecord) -> str:
    """Why an IP is banned, with what was counted."""
    if ban.why == "operator":
        return f"by an operator: {ban.counted.get('reason', '')}"
    if ban.why == "peak":
        return f"its account {ban.account_id} was {_at_peak(ban.counted)}, again"
    return f"{ban.counted.get('calls')} invalid calls within {ban.counted.get('within_seconds')} s{_codes(ban.counted)}"


def standing(record: BanRecord | RestrictionRecord, now: datetime) -> str:
    if record.lifted_at is not None:
        return f"lifted {moment(record.lifted_at)} by {record.lifted_by}: {record.lift_reason}"
    return f"in force until {moment(record.until)}" if record.until > now else f"over since {moment(record.until)}"


def ban_history(bans: Sequence[BanRecord], policy: Policy, now: datetime) -> Iterator[str]:
    """What support should know of a client, the newest ban first."""
    for ban in bans:
        yield f"{moment(ban.began_at)}, for {duration(ban.until - ban.began_at)}; {because(ban)}"
        yield f"    {standing(ban, now)}"
    memory = timedelta(seconds=policy.ban_memory_seconds)
    earlier = sum(ban.why == "invalid_calls" and ban.lifted_at is None and ban.began_at > now - memory for ban in bans)
    length = duration(timedelta(seconds=ban_seconds(policy, earlier)))
    counts = "counts" if earlier == 1 else "count"
    yield (
        f"The next ban for invalid calls would last {length}: {earlier} of the last {duration(memory)} {counts}, "
        "those that were lifted do not."
    )


def restriction_history(restrictions: Sequence[RestrictionRecord], now: datetime) -> Iterator[str]:
    for restriction in restrictions:
        counted = {"peak_seconds": restriction.peak_seconds, "within_seconds": restriction.within_seconds}
        most = f", most of it from {restriction.ip}" if restriction.ip else ""
        length = duration(restriction.until - restriction.began_at)
        yield f"{moment(restriction.began_at)}, for {length}; it was {_at_peak(counted)}{most}"
        yield f"    {standing(restriction, now)}"


def peak_picture(minutes: Sequence[PeakMinute]) -> Iterator[str]:
    """A bar for each minute with time at peak."""
    for at, found in groupby(minutes, key=lambda minute: minute.minute):
        together = list(found)
        milliseconds = peak_ms(together)
        bar = "█" * max(1, milliseconds * BAR_CHARACTERS // MINUTE_MS)
        ips = ", ".join(minute.ip or "unknown" for minute in together)
        yield f"{at:%Y-%m-%d %H:%M}  {bar:{BAR_CHARACTERS}}  {milliseconds / 1_000:4.1f} s  {ips}"


def ban_record(ban: BanRecord, now: datetime) -> dict[str, Any]:
    """A ban in JSON."""
    names = ("id", "ip", "began_at", "until", "why", "counted", "account_id", "lifted_at", "lifted_by", "lift_reason")
    return fields_of(ban, *names) | {"in_force": ban.lifted_at is None and ban.until > now}


def restriction_record(restriction: RestrictionRecord, now: datetime) -> dict[str, Any]:
    """A restriction in JSON."""
    counted = ("id", "account_id", "began_at", "until", "peak_seconds", "within_seconds", "ip")
    told = fields_of(restriction, *counted, "lifted_at", "lifted_by", "lift_reason")
    return told | {"in_force": restriction.lifted_at is None and restriction.until > now}


def _at_peak(counted: Mapping[str, object]) -> str:
    return f"at peak for {counted.get('peak_seconds')} s within {counted.get('within_seconds')} s"


def _codes(counted: Mapping[str, object]) -> str:
    """What was wrong with the calls, as far as the process knew that banned for them."""
    seen = counted.get("codes_seen_here")
    if not isinstance(seen, dict) or not seen:
        return ""
    most_first = sorted(seen.items(), key=lambda entry: entry[1], reverse=True)
    return ", such as " + ", ".join(f"{count} × {code}" for code, count in most_first)
