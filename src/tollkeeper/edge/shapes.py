"""The bodies that the endpoints send, exactly as the specification writes them."""

from collections.abc import Iterable

import msgspec

from tollkeeper.core.balance import Balance
from tollkeeper.core.catalog import Model
from tollkeeper.core.errors import GatewayError
from tollkeeper.core.money import mills_remaining, mills_used, usd_text

encode = msgspec.json.Encoder().encode


def model_list(models: Iterable[Model], owned_by: str) -> bytes:
    data = [
        {
            "id": model.id,
            "object": "model",
            "created": int(model.introduced_at.timestamp()),
            "owned_by": owned_by,
        }
        for model in models
    ]
    return encode({"object": "list", "data": data})


def balance(kind: str, of: Balance, unix_seconds: int) -> bytes:
    cash = {
        "remained_cash": usd(mills_remaining(of.remaining)),
        "used_cash": usd(mills_used(of.used)),
        "currency": "USD",
    }
    return encode({"type": kind, "balance": cash, "timestamp": unix_seconds})


def deprecated_balance(of: Balance) -> bytes:
    remaining, used = mills_remaining(of.remaining), mills_used(of.used)
    return encode({"Status": 1, "Total": usd(used + remaining), "Used": usd(used), "Remaining": usd(remaining)})


def error(refusal: GatewayError) -> bytes:
    told = {"message": refusal.message, "type": refusal.type, "param": refusal.param, "code": refusal.code}
    return encode({"error": told})


def deprecated_error(refusal: GatewayError) -> bytes:
    return encode({"Status": 0, "Error": refusal.message})


def usd(mills: int) -> msgspec.Raw:
    """A JSON number with three decimals, written from integers: no float is involved."""
    return msgspec.Raw(usd_text(mills).encode())
