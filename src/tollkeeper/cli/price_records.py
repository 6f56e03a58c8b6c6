"""Prices in JSON."""

from typing import Any

import msgspec

from tollkeeper.cli.listing import quota_fields
from tollkeeper.office.price_views import EffectView, PriceView
from tollkeeper.office.prices import PricePreview


def price_record(row: PriceView) -> dict[str, Any]:
    """A row of the price book. What things cost in USD is for a group whose multiplier is 1."""
    return msgspec.structs.asdict(row)


def preview_record(found: PricePreview) -> dict[str, Any]:
    return {
        "old": found.old,
        "new": found.new,
        "total": _effect(found.total),
        "calls_in_all": found.calls_in_all,
        "accounts_in_all": found.accounts_in_all,
        "dearer_for": found.dearer_for,
        "cheaper_for": found.cheaper_for,
        "data": list(map(_effect, found.accounts)),
    }


def _effect(effect: EffectView) -> dict[str, Any]:
    amounts = quota_fields(charged=effect.charged.micro_quota, old=effect.old.micro_quota, new=effect.new.micro_quota)
    return {"account_id": effect.account, "calls": effect.calls} | amounts
