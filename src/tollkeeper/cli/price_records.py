"""Prices in JSON."""

from datetime import datetime
from typing import Any

from tollkeeper.cli.listing import fields_of, quota_fields
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import tags
from tollkeeper.core.money.price_words import multiplier as written
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import Effect, Preview, PriceRow


def price_record(row: PriceRow, now: datetime) -> dict[str, Any]:
    """A row of the price book."""
    state = "announced" if row.price.effective_from > now else "has_taken_effect"
    told = fields_of(row, "announced_at", "entered_by", "forced_because")
    withdrawn = fields_of(row, "withdrawn_at", "withdrawn_by", "withdraw_reason")
    state = "withdrawn" if row.withdrawn_at is not None else state
    return {"price_id": row.price.id, "kind": row.kind, "state": state} | _price(row.kind, row.price) | told | withdrawn


def preview_record(kind: Kind, found: Preview) -> dict[str, Any]:
    return {
        "old": _price(kind, found.old),
        "new": _price(kind, found.new),
        "total": _effect(found.total),
        "accounts_in_all": found.accounts_in_all,
        "data": list(map(_effect, found.accounts)),
    }


def _price(kind: Kind, price: Price) -> dict[str, Any]:
    """Multipliers as text, exact. What things cost in USD is for a group whose multiplier is 1."""
    multipliers = {name: written(getattr(price, name)) for name in ("model", "completion", "cached")}
    usd = [{"for": tag.each, "usd": tag.usd} for tag in tags(kind, price, MILLIONTHS)]
    named = fields_of(price, "model_id", "variant", "effective_from")
    return named | {"multipliers": multipliers, "parts_millionths": price.parts, "usd": usd}


def _effect(effect: Effect) -> dict[str, Any]:
    amounts = quota_fields(charged=effect.charged, old=effect.old, new=effect.new)
    return fields_of(effect, "account_id", "calls") | amounts
