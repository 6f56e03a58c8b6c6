"""The formula on a receipt: each part a line, and models without parts as ever."""

from datetime import UTC, datetime
from uuid import uuid4

import msgspec
import pytest

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import PriceParts, PriceTier, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.usage.receipt import Receipt

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CENT = UNITS_PER_USD // 100
TIER = PriceTier(above_tokens=200_000, model=3 * MILLIONTHS, completion=4 * MILLIONTHS)
ALL = PriceParts(
    written_5m=1_250_000, written_1h=2_000_000, per_call=CENT, tools={"web_search": 2 * CENT}, tiers=(TIER,)
)


def a_receipt(usage: Usage, parts: PriceParts | None = None, *, kind: Kind = Kind.CHAT, charged: int = -1) -> Receipt:
    price = Price(
        id=1, model_id="m", effective_from=NOON, model=1_500_000, completion=5_000_000, cached=100_000, parts=parts
    )
    rate = Rate(price, 800_000)
    return Receipt(
        request_id=uuid4(),
        account_id=1,
        key_id=2,
        kind=kind,
        rate=rate,
        usage=usage,
        usage_source=UsageSource.PROVIDER,
        ending=Ending.COMPLETED,
        held=Quota(10**12),
        charged=rate.charge(usage) if charged < 0 else Quota(charged),
        attempts=[],
        started_at=NOON,
        settled_at=NOON,
    )


@pytest.mark.parametrize("parts", [None, PriceParts(), PriceParts(written_5m=1)], ids=["none", "empty", "not used"])
def test_a_call_without_parts_reads_as_it_did(parts: PriceParts | None) -> None:
    usage = Usage(1_000, 50, 400)
    assert a_receipt(usage, parts).formula == (
        "0.8 group × 1.5 model × (600 input + 400 cached × 0.1 + 50 output × 5) = 1068 quota tokens = 0.002136 USD"
    )


def test_each_part_is_a_line() -> None:
    used = UsageParts(written_5m=200, written_1h=100, audio_output=10, tools={"web_search": 2})
    assert a_receipt(Usage(1_000, 50, 400, used), ALL).formula == (
        "0.8 group × (1.5 model × (300 input + 400 cached × 0.1 + 200 written for 5 minutes × 1.25"
        " + 100 written for an hour × 2 + 40 output × 5 + 10 audio output × 5)"
        " + 1 call × 5000 + 2 web_search × 10000) = 21248 quota tokens = 0.042496 USD"
    )


def test_a_long_call_says_which_multipliers_held() -> None:
    receipt = a_receipt(Usage(200_001, 10), PriceParts(tiers=(TIER,)))
    assert receipt.formula.startswith(
        "0.8 group × 3 model (above 200,000 input tokens) × (200001 input + 10 output × 4)"
    )
    assert receipt.tier_above == 200_000
    assert a_receipt(Usage(200_000, 10), PriceParts(tiers=(TIER,))).tier_above == 0


def test_a_call_that_costs_nothing_does_not_cost_what_each_call_does() -> None:
    refused = msgspec.structs.replace(
        a_receipt(Usage(0), ALL, charged=0), ending=Ending.REFUSED, usage_source=UsageSource.NONE
    )
    assert refused.formula == "0.8 group × 1.5 model × (0 input + 0 output × 5) = 0 quota tokens = 0.000 USD"


def test_media_may_cost_by_the_call_too() -> None:
    assert a_receipt(Usage(3), PriceParts(per_call=CENT), kind=Kind.SPEECH).formula == (
        "0.8 group × (1.5 quota tokens for each character × 3 + 1 call × 5000) = 4003.6 quota tokens = 0.0080072 USD"
    )
