"""Parts of a price change: what is named is checked, and what is not is taken from the row before."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tollkeeper.accounts.price_parts import PriceRefused, merged
from tollkeeper.accounts.prices import PriceWish, enter_price_change, first_price, preview_price_change
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.parts import PriceParts, PriceTier
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import (
    Effect,
    Entered,
    NewFigures,
    NewParts,
    NewTier,
    Preview,
    PriceChange,
    PriceEntry,
    PriceQuery,
    PriceRow,
    Withdrawn,
)

NOW = datetime(2026, 7, 1, tzinfo=UTC)
NOTICE = timedelta(hours=24)
CENT = Quota(UNITS_PER_USD // 100)
LONG = PriceTier(above_tokens=200_000, model=2 * MILLIONTHS)
BEFORE = PriceParts(written_5m=1_250_000, per_call=CENT, tools={"code": 5, "web_search": CENT}, tiers=(LONG,))


def a_price(number: int = 1, at: datetime = NOW - NOTICE, parts: PriceParts | None = BEFORE) -> Price:
    return Price(
        id=number,
        model_id="m",
        effective_from=at,
        model=MILLIONTHS,
        completion=4 * MILLIONTHS,
        cached=MILLIONTHS,
        parts=parts,
    )


class Book:
    """The `PriceDesk` port: it notes what is asked of it."""

    def __init__(self, *prices: Price) -> None:
        self._prices = prices
        self.changes: list[PriceChange] = []

    async def enter(self, change: PriceChange, *, actor: str) -> PriceEntry:
        self.changes.append(change)
        return PriceEntry(Entered.ENTERED, a_price(99), NOW)

    async def withdraw(self, price_id: int, reason: str, *, actor: str) -> Withdrawn:
        raise NotImplementedError

    async def now(self) -> datetime:
        return NOW

    async def older_nodes(self) -> Sequence[str]:
        return []

    async def rows(self, model_id: str | None) -> Sequence[PriceRow]:
        told = {"entered_by": None, "forced_because": None, "withdrawn_by": None, "withdraw_reason": None}
        return [
            PriceRow(price=price, kind=Kind.CHAT, announced_at=NOW, withdrawn_at=None, **told) for price in self._prices
        ]

    async def page(self, query: PriceQuery, *, after_id: int | None, limit: int | None) -> Sequence[PriceRow]:
        raise NotImplementedError

    async def effect(self, old: Price, new: Price, since: timedelta, *, accounts_most: int) -> Preview:
        nothing = Effect(account_id=None, calls=0, charged=Quota(0), old=Quota(0), new=Quota(0))
        return Preview(
            old=old,
            new=new,
            total=nothing,
            calls_in_all=0,
            accounts=[],
            accounts_in_all=0,
            dearer_for=0,
            cheaper_for=0,
        )


class OvertakenBook(Book):
    """Somebody else is always quicker."""

    async def enter(self, change: PriceChange, *, actor: str) -> PriceEntry:
        return PriceEntry(Entered.OVERTAKEN, None, None)


def a_wish(at: datetime | None = None, *, force: str | None = None, **figures: object) -> PriceWish:
    return PriceWish(
        model_id="m",
        figures=NewFigures(**figures),  # type: ignore[arg-type]
        effective_from=at,
        forced_because=force,
    )


async def entered(book: Book, wish: PriceWish) -> PriceParts | None:
    await enter_price_change(wish, NOTICE, book, actor="test")
    return book.changes[-1].parts


@pytest.mark.parametrize(
    ("wish", "after"),
    [
        pytest.param(NewParts(), BEFORE, id="nothing"),
        pytest.param(
            NewParts(written_1h=Decimal(2)),
            PriceParts(
                written_5m=1_250_000, written_1h=2_000_000, per_call=CENT, tools=BEFORE.tools, tiers=BEFORE.tiers
            ),
            id="one more",
        ),
        pytest.param(
            NewParts(written_5m=None, per_call=None, tools={"code": None}, tiers={200_000: None}),
            PriceParts(tools={"web_search": CENT}),
            id="unset",
        ),
        pytest.param(
            NewParts(written_5m=None, tools={"a_new_one": Quota(0)}, per_call=Quota(7)),
            PriceParts(per_call=7, tools={"a_new_one": 0, "code": 5, "web_search": CENT}, tiers=BEFORE.tiers),
            id="tools one by one",
        ),
        pytest.param(
            NewParts(
                tiers={900: NewTier(model=Decimal("1.5")), 200_000: NewTier(model=Decimal(3), cached=Decimal("0.5"))}
            ),
            PriceParts(
                written_5m=1_250_000,
                per_call=CENT,
                tools=BEFORE.tools,
                tiers=(
                    PriceTier(above_tokens=900, model=1_500_000),
                    PriceTier(above_tokens=200_000, model=3 * MILLIONTHS, cached=500_000),
                ),
            ),
            id="tiers one by one, by rising length",
        ),
    ],
)
def test_what_is_named_changes_and_the_rest_stays(wish: NewParts, after: PriceParts) -> None:
    assert merged(BEFORE, wish) == after


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        pytest.param(NewParts(written_5m=Decimal(-1)), "not a multiplier", id="below zero"),
        pytest.param(NewParts(audio_output=Decimal("0.0000001")), "not a multiplier", id="seven decimals"),
        pytest.param(NewParts(image_input=Decimal(10**8)), "not a multiplier", id="too much"),
        pytest.param(NewParts(per_call=Quota(-1)), "from 0 to 1,000 USD", id="a call that pays"),
        pytest.param(NewParts(per_call=Quota(1_000 * UNITS_PER_USD + 1)), "from 0 to 1,000 USD", id="a dear call"),
        pytest.param(NewParts(tools={"web_search": Quota(-1)}), "from 0 to 1,000 USD", id="a use that pays"),
        pytest.param(NewParts(tools={"Web Search": Quota(1)}), "not the name of a tool", id="capitals"),
        pytest.param(NewParts(tools={"x" * 65: Quota(1)}), "not the name of a tool", id="a long name"),
        pytest.param(NewParts(tools={"cached": Quota(1)}), "not the name of a tool", id="a name that is taken"),
        pytest.param(NewParts(tools={f"t{n}": Quota(1) for n in range(65)}), "at most 64 tools", id="many tools"),
        pytest.param(NewParts(tiers={0: NewTier(model=Decimal(3))}), "not the length", id="above nothing"),
        pytest.param(NewParts(tiers={2**31: NewTier(model=Decimal(3))}), "not the length", id="too long"),
        pytest.param(NewParts(tiers={9: NewTier(model=Decimal("NaN"))}), "not a multiplier", id="a tier of nothing"),
        pytest.param(
            NewParts(tiers={n: NewTier(model=Decimal(n)) for n in range(1, 10)}), "at most 8 tiers", id="many tiers"
        ),
        pytest.param(NewParts(tiers={9: NewTier(model=Decimal("0.9"))}), "would cost less", id="cheaper input"),
        pytest.param(
            NewParts(tiers={9: NewTier(model=Decimal(2), completion=Decimal("1.9"))}), "cost less", id="cheaper output"
        ),
        pytest.param(
            NewParts(tiers={9: NewTier(model=Decimal(2), cached=Decimal("0.4"))}), "cost less", id="cheaper cached"
        ),
        pytest.param(
            NewParts(tiers={9: NewTier(model=Decimal(3)), 10: NewTier(model=Decimal(2))}),
            "less above 10 input",
            id="cheaper than the tier below",
        ),
    ],
)
async def test_parts_are_checked_in_changes_previews_and_new_models(parts: NewParts, told: str) -> None:
    book = Book(a_price(parts=None))
    with pytest.raises(PriceRefused, match=told):
        await entered(book, a_wish(parts=parts))
    with pytest.raises(PriceRefused, match=told):
        await preview_price_change(a_wish(parts=parts), NOTICE, book)
    with pytest.raises(PriceRefused, match=told):
        first_price(NewFigures(model=Decimal(1), completion=Decimal(4), parts=parts))
    assert book.changes == []


async def test_dearer_input_needs_tiers_that_are_no_cheaper() -> None:
    book = Book(a_price())
    with pytest.raises(PriceRefused, match="Name that tier too"):
        await entered(book, a_wish(model=Decimal(3)))
    parts = NewParts(tiers={200_000: NewTier(model=Decimal(6))})
    assert (await entered(book, a_wish(model=Decimal(3), parts=parts))) == merged(BEFORE, parts)


async def test_a_change_that_names_no_part_books_them_as_they_are() -> None:
    book = Book(a_price())
    assert await entered(book, a_wish(model=Decimal("1.5"))) == BEFORE
    [change] = book.changes
    assert change.figures == NewFigures(model=Decimal("1.5"), completion=Decimal(4), cached=Decimal(1))
    assert change.follows == 1


async def test_a_change_that_another_one_overtook_says_what_to_do() -> None:
    with pytest.raises(PriceRefused, match=r"Nothing was entered\. Look at the prices as they are now"):
        await entered(OvertakenBook(a_price()), a_wish(model=Decimal("1.5")))


async def test_a_part_alone_is_a_change() -> None:
    parts = NewParts(written_5m=None)
    assert (await entered(Book(a_price(parts=PriceParts(written_5m=1))), a_wish(parts=parts))) == PriceParts()


@pytest.mark.parametrize(
    ("at", "force", "before"),
    [
        (None, None, "announced"),
        (NOW + timedelta(hours=30), None, "announced"),
        (NOW + timedelta(hours=1), "a slip", "now"),
        (None, "a slip", "now"),
        (NOW + timedelta(hours=99), None, "later"),
    ],
    ids=["after its notice", "named", "forced", "forced, at once", "after all of them"],
)
async def test_parts_are_taken_from_the_price_that_the_change_follows(
    at: datetime | None, force: str | None, before: str
) -> None:
    rows = {
        "now": a_price(1, parts=PriceParts(written_5m=1)),
        "announced": a_price(2, NOW + timedelta(hours=2), parts=PriceParts(written_5m=2)),
        "later": a_price(3, NOW + timedelta(hours=50), parts=PriceParts(written_5m=3)),
    }
    book = Book(*rows.values())
    wish = a_wish(at, force=force, parts=NewParts(written_1h=Decimal(2)))
    expected = merged(rows[before].parts, wish.figures.parts)
    assert await entered(book, wish) == expected
    if force is None:
        preview = await preview_price_change(wish, NOTICE, book)
        assert (preview.old, preview.new.parts) == (rows[before], expected)


async def test_a_first_price_has_the_parts_that_are_named() -> None:
    wish = a_wish(model=Decimal(1), parts=NewParts(written_5m=Decimal(2)))
    assert await entered(Book(), wish) == PriceParts(written_5m=2_000_000)
    assert first_price(NewFigures(model=Decimal(1))).parts is None
