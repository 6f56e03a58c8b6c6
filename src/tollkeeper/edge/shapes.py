"""The bodies that the endpoints send, as the specification writes them."""

from collections.abc import Iterable
from datetime import UTC, datetime, time
from itertools import groupby

import msgspec

from tollkeeper.core.catalog.models import Model
from tollkeeper.core.errors import GatewayError, InsufficientQuota, KeyMissing, MadeBefore
from tollkeeper.core.money.amounts import Quota, mills_remaining, mills_used, usd_exact, usd_text
from tollkeeper.core.money.balance import Balance
from tollkeeper.core.usage.log import UsagePart

# What Anthropic calls a refusal of that status.
MESSAGES_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    524: "timeout_error",
}
# Of a key, where its SDKs put it.
OR_ALONE = "Or send the key alone in the header 'x-api-key'."

encode = msgspec.json.Encoder().encode


def model_list(models: Iterable[Model], owned_by: str) -> bytes:
    return encode({"object": "list", "data": [_model(model, owned_by) for model in models]})


def one_model(model: Model, owned_by: str) -> bytes:
    return encode(_model(model, owned_by))


def _model(model: Model, owned_by: str) -> dict[str, object]:
    created = int(model.introduced_at.timestamp())
    return {"id": model.id, "object": "model", "created": created, "owned_by": owned_by}


def subscription(limit: Quota, access_until: int) -> bytes:
    """As OpenAI had it: `limit` is what can be spent in all, what was spent already included."""
    limit_usd = usd(mills_remaining(limit))
    return encode(
        {
            "object": "billing_subscription",
            "has_payment_method": True,
            "canceled": False,
            "access_until": access_until,
            "soft_limit_usd": limit_usd,
            "hard_limit_usd": limit_usd,
            "system_hard_limit_usd": limit_usd,
        }
    )


def billed_usage(charged: Quota, parts: Iterable[UsagePart]) -> bytes:
    """As OpenAI had it, in cents."""
    days = [
        {
            "timestamp": int(datetime.combine(day, time(), UTC).timestamp()),
            "line_items": [{"name": part.name, "cost": cents(part.sum.charged)} for part in each],
        }
        for day, each in groupby(parts, key=lambda part: part.day)
    ]
    return encode({"object": "list", "daily_costs": days, "total_usage": cents(charged)})


def messages_model_list(models: Iterable[Model]) -> bytes:
    """The same as Anthropic has it. All of it is one page."""
    data = [_messages_model(model) for model in models]
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
    return encode({"data": data, "has_more": False, **ends})


def one_messages_model(model: Model) -> bytes:
    return encode(_messages_model(model))


def _messages_model(model: Model) -> dict[str, str]:
    created_at = f"{model.introduced_at:%Y-%m-%dT%H:%M:%SZ}"
    return {"type": "model", "id": model.id, "display_name": model.id, "created_at": created_at}


def token_count(tokens: int) -> bytes:
    return encode({"input_tokens": tokens})


def balance(kind: str, of: Balance, unix_seconds: int) -> bytes:
    cash = {
        "remained_cash": usd(mills_remaining(of.remaining)),
        "used_cash": usd(mills_used(of.used)),
        # Ours, beside what the specification names: without it, what running calls hold would look as if it were lost.
        "held_cash": usd(mills_used(of.held)),
        "currency": "USD",
    }
    return encode({"type": kind, "balance": cash, "timestamp": unix_seconds})


def deprecated_balance(of: Balance) -> bytes:
    remaining, used = mills_remaining(of.remaining), mills_used(of.used)
    return encode({"Status": 1, "Total": usd(used + remaining), "Used": usd(used), "Remaining": usd(remaining)})


def error(refusal: GatewayError) -> bytes:
    told: dict[str, object] = {
        "message": refusal.message,
        "type": refusal.type,
        "param": refusal.param,
        "code": refusal.code,
    }
    if isinstance(refusal, MadeBefore) and refusal.receipt is not None:
        told["receipt"] = refusal.receipt
    return encode({"error": told})


def messages_error(refusal: GatewayError, request_id: str) -> bytes:
    """As Anthropic has it."""
    kind = MESSAGES_ERRORS.get(refusal.status, "api_error" if refusal.status >= 500 else "invalid_request_error")
    if isinstance(refusal, InsufficientQuota):
        kind = "billing_error"
    message = f"{refusal.message} {OR_ALONE}" if isinstance(refusal, KeyMissing) else refusal.message
    told: dict[str, object] = {"type": kind, "message": message}
    if isinstance(refusal, MadeBefore) and refusal.receipt is not None:
        # Ours: by it the call that was made is found again.
        told["receipt"] = refusal.receipt
    return encode({"type": "error", "error": told, "request_id": request_id})


def deprecated_error(refusal: GatewayError) -> bytes:
    return encode({"Status": 0, "Error": refusal.message})


def cents(amount: Quota) -> msgspec.Raw:
    """A JSON number, to its last unit."""
    return msgspec.Raw(usd_exact(Quota(amount * 100)).encode())


def usd(mills: int) -> msgspec.Raw:
    """A JSON number with three decimals, written from integers: no float is involved."""
    return msgspec.Raw(usd_text(mills).encode())
