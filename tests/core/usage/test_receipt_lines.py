"""The lines of a receipt add up to its charge."""

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.money.parts import PriceParts, PriceTier, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.usage.receipt_lines import lines_of

PARTS = PriceParts(
    written_1h=2 * MILLIONTHS,
    per_call=700,
    tools={"search": 5_000_000_000},
    tiers=(PriceTier(above_tokens=1_000, model=3 * MILLIONTHS),),
)


def a_rate(parts: PriceParts | None = None) -> Rate:
    price = Price(
        id=1,
        model_id="m",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        model=1_250_001,
        completion=4 * MILLIONTHS,
        cached=333_333,
        parts=parts,
    )
    return Rate(price, 990_001)


def charged(rate: Rate, usage: Usage) -> Decimal:
    total = sum((Decimal(line.usd) for line in lines_of(rate, usage)), Decimal(0))
    return (total * UNITS_PER_USD).quantize(Decimal(1), ROUND_HALF_UP)


def test_every_part_has_its_line_and_their_sum_is_rounded_once() -> None:
    usage = Usage(2_007, 55, 3, UsageParts(written_1h=11, tools={"search": 2}))
    rate = a_rate(PARTS)
    lines = list(lines_of(rate, usage))
    assert [(line.name, line.units) for line in lines] == [
        ("input", 1_993),
        ("cached", 3),
        ("written_1h", 11),
        ("output", 55),
        ("call", 1),
        ("search", 2),
    ]
    assert charged(rate, usage) == rate.charge(usage)


def test_a_plain_call_has_input_and_output() -> None:
    usage = Usage(7, 5)
    assert [line.name for line in lines_of(a_rate(), usage)] == ["input", "output"]
    assert charged(a_rate(), usage) == a_rate().charge(usage)
