"""The worked examples of "How you are charged" are what the service's own code reckons."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota, usd_exact
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.lots import Lot, draw, drawable
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, quote
from tollkeeper.core.usage.receipt import Receipt

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "guides" / "charging.md", DOCS / "zh" / "charging.md"]
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def a_rate(model: float, completion: float = 1, cached: float = 1, *, group: float = 1, variant: str = "") -> Rate:
    price = Price(
        id=1,
        model_id="m",
        effective_from=NOW,
        model=round(model * MILLIONTHS),
        completion=round(completion * MILLIONTHS),
        cached=round(cached * MILLIONTHS),
        variant=variant,
    )
    return Rate(price, round(group * MILLIONTHS))


GPT = a_rate(1.25, 4, 0.5)


def formula(rate: Rate, usage: Usage, kind: Kind = Kind.CHAT, ending: Ending = Ending.COMPLETED) -> str:
    charged = rate.charge(usage)
    return Receipt(
        request_id=UUID(int=1),
        account_id=1,
        key_id=1,
        kind=kind,
        rate=rate,
        usage=usage,
        usage_source=UsageSource.PROVIDER,
        ending=ending,
        held=charged,
        charged=charged,
        attempts=[],
        started_at=NOW,
        settled_at=NOW,
    ).formula


EXAMPLES = {
    "plain": formula(GPT, Usage(1200, 300)),
    "cached": formula(GPT, Usage(1200, 300, 1000)),
    "broken off": formula(GPT, Usage(1200, 80), ending=Ending.UPSTREAM_BROKE),
    "in a group": formula(a_rate(1.25, 4, 0.5, group=0.8), Usage(1200, 300)),
    "speech": formula(a_rate(7.5), Usage(12), Kind.SPEECH),
    "transcription": formula(a_rate(50), Usage(62), Kind.TRANSCRIPTION),
    "image": formula(a_rate(60_000, variant="1792x1024 hd"), Usage(1), Kind.IMAGE),
}


@pytest.mark.parametrize("page", PAGES, ids=["english", "chinese"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_reckoned_as_the_page_says(page: Path, name: str) -> None:
    assert f"| {EXAMPLES[name]} |" in page.read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=["english", "chinese"])
def test_what_is_held_and_what_goes_back_is_as_the_page_says(page: Path) -> None:
    held = quote(Ask(input_units=1200, max_output_tokens=500), TokenCaps(), GPT)
    back = Quota(held - GPT.charge(Usage(1200, 300)))
    text, picture = page.read_text("utf-8"), (page.parent / "hold.svg", DOCS / "concepts" / "hold.svg")
    assert f"{usd_exact(held)} USD" in text
    assert f"{usd_exact(back)} USD" in text
    shown = next(file for file in picture if file.exists()).read_text("utf-8")
    assert usd_exact(held) in shown
    assert usd_exact(back) in shown


def test_lots_are_drawn_as_the_page_says() -> None:
    gift = Lot(id=1, remaining=_quota("0.005"), expires_at=NOW + timedelta(days=10))
    top_up = Lot(id=2, remaining=_quota("10"), expires_at=NOW + timedelta(days=270))
    draws = draw(drawable([top_up, gift], None, NOW), GPT.charge(Usage(1200, 300)))
    assert [(each.lot_id, usd_exact(each.amount)) for each in draws] == [(1, "0.005"), (2, "0.001")]
    text = PAGES[0].read_text("utf-8")
    assert "| 0.005 USD | 0.000 USD |" in text
    assert f"| 0.001 USD | {usd_exact(Quota(top_up.remaining - draws[1].amount))} USD |" in text


def _quota(usd: str) -> Quota:
    return Quota(round(float(usd) * 1000) * UNITS_PER_USD // 1000)
