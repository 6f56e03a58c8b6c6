"""Provider accounts in words: rows of a table, and records for programs."""

from collections.abc import Sequence
from typing import Any

from tollkeeper.cli.listing import fields_of
from tollkeeper.core.money.amounts import Quota, mills_used, usd_text
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.office.provider_views import ProviderDetails, ProviderRow

HEAD = (
    *("name", "tier", "weight", "limits", "models", "health"),
    *("calls 24 h", "charged USD", "cost USD", "margin USD"),
)
NAMED = ("name", "vendor", "base_url", "models", "family", "state", "suspended_at", "suspended_because")
PLACE = ("tier", "weight", "share_percent", "requests_per_minute", "tokens_per_minute", "concurrency")
LISTS = ("rejects", "passes")
COUNTED = ("attempts", "failed", "first_byte_ms", "delivered")
BREAKER = ("model", "state", "until", "because", "processes")
# Of `provider show`.
DETAILS = ("model_names", "cost_multiplier", "api_version", "created_at")


def row_line(row: ProviderRow) -> tuple[str, ...]:
    return (
        row.name,
        str(row.tier),
        str(row.weight),
        limits_in_words(row),
        models(row),
        row.health,
        str(row.delivered),
        *_amounts(row),
    )


def row_record(row: ProviderRow) -> dict[str, Any]:
    """A provider account in JSON."""
    amounts = {"charged": row.charged, "cost": row.cost, "margin": row.margin}
    told = fields_of(row, *NAMED, *PLACE, *LISTS, *COUNTED)
    for name, amount in amounts.items():
        told |= {f"{name}_micro_quota": amount.micro_quota, f"{name}_usd": amount.usd}
    used = row.in_use
    told["in_use"] = None if used is None else fields_of(used, "calls", "requests", "tokens")
    told["breakers"] = [fields_of(each, *BREAKER) for each in row.breakers]
    return told | fields_of(row, "takes_calls", "tag", "health")


def details_record(details: ProviderDetails) -> dict[str, Any]:
    return {"account": details.account} | row_record(details.standing) | fields_of(details, *DETAILS)


def details_fields(details: ProviderDetails) -> list[tuple[str, str]]:
    """A line for each of what is known about an account."""
    row = details.standing
    names = sorted((details.model_names or {}).items())
    return [
        ("name", row.name),
        ("number", str(details.account)),
        ("vendor", row.vendor),
        ("address", row.base_url),
        ("version of the interface", details.api_version or "the vendor's usual one"),
        ("state", row.state.value),
        ("health", row.health),
        ("tier", str(row.tier)),
        ("weight", f"{row.weight}, {row.share_percent:g} % of its tier"),
        ("limits", limits_in_words(row)),
        ("in use", in_use_in_words(row)),
        ("cost", f"{details.cost_multiplier} of the list price"),
        ("rejects", ", ".join(row.rejects) or "nothing"),
        ("passes", ", ".join(row.passes) or "nothing beside what is listed"),
        ("added", f"{details.created_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("calls 24 h", str(row.delivered)),
        *zip(HEAD[-3:], _amounts(row), strict=True),
        ("models", served(row)),
        *((f"  {ours}", theirs) for ours, theirs in names),
    ]


def _amounts(row: ProviderRow) -> tuple[str, str, str]:
    return usd(row.charged.micro_quota), usd(row.cost.micro_quota), usd(row.margin.micro_quota)


def limits_in_words(place: PoolPlace | ProviderRow) -> str:
    given = {
        "requests/min": place.requests_per_minute,
        "tokens/min": place.tokens_per_minute,
        "at once": place.concurrency,
    }
    return ", ".join(f"{limit} {what}" for what, limit in given.items() if limit is not None) or "none"


def in_use_in_words(row: ProviderRow) -> str:
    """What all nodes together took of its limits."""
    used = row.in_use
    if used is None:
        return "not known: no node tells"
    return f"{used.requests} requests and {used.tokens} tokens in the last minute, {used.calls} calls under way"


def models(row: ProviderRow) -> str:
    """What it serves, and what it is sent where that is not the usual."""
    given: dict[str, Sequence[str]] = {"rejects": row.rejects, "passes": row.passes}
    return "; ".join([served(row), *(f"{word} {', '.join(names)}" for word, names in given.items() if names)])


def served(row: ProviderRow) -> str:
    if row.family is not None:
        return f"all of {row.family}"
    return "all" if row.models is None else str(row.models)


def usd(amount: int) -> str:
    """With three decimals, and a minus where a margin is a loss."""
    mills = mills_used(Quota(abs(amount)))
    return f"{'-' if amount < 0 and mills else ''}{usd_text(mills)}"
