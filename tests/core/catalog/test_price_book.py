from datetime import UTC, datetime, timedelta

import pytest

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import Announced, PriceBook, PricedModel, Tag, tags
from tollkeeper.core.money.prices import MILLIONTHS, Price

NOW = datetime(2026, 7, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def a_row(
    price_id: int, days: int, *, variant: str = "", withdrawn: bool = False, model: int = MILLIONTHS
) -> Announced:
    price = Price(
        id=price_id,
        model_id="m",
        effective_from=NOW + days * DAY,
        model=model,
        completion=4 * MILLIONTHS,
        cached=MILLIONTHS // 2,
        variant=variant,
    )
    announced_at = NOW + (days - 2) * DAY
    return Announced(price=price, announced_at=announced_at, withdrawn_at=announced_at + DAY if withdrawn else None)


def a_model(*rows: Announced, kind: Kind = Kind.CHAT) -> PricedModel:
    return PricedModel(id="m", kind=kind, rows=rows)


def ids(rows: list[Announced]) -> list[int]:
    return [row.price.id for row in rows]


@pytest.mark.rule("S7.3")
def test_a_price_is_past_present_or_to_come() -> None:
    model = a_model(a_row(1, -9), a_row(2, -3), a_row(3, 0), a_row(4, 1), a_row(5, 2))
    assert ids(model.past(NOW)) == [1, 2]
    assert ids(model.current(NOW)) == [3]
    assert ids(model.upcoming(NOW)) == [4, 5]
    assert ids(model.current(NOW - timedelta(microseconds=1))) == [2]
    assert ids(model.current(NOW + DAY)) == [4]


def test_each_variant_has_its_own() -> None:
    model = a_model(a_row(1, -2, variant="a"), a_row(2, -1, variant="a"), a_row(3, -2, variant="b"))
    assert ids(model.current(NOW)) == [2, 3]


def test_what_was_withdrawn_is_told_and_never_in_force() -> None:
    model = a_model(a_row(1, -9), a_row(2, -1, withdrawn=True), a_row(3, 2, withdrawn=True))
    assert ids(model.current(NOW)) == [1]
    assert ids(model.upcoming(NOW)) == []
    assert ids(model.past(NOW)) == [2, 3]
    assert PriceBook((model,), MILLIONTHS).next_change(NOW) is None


def test_a_price_is_said_with_its_article() -> None:
    told = [Tag(what, "1").each for what in ("image", "hour", "million characters")]
    assert told == ["an image", "an hour", "a million characters"]


def test_the_next_change_and_the_news() -> None:
    models = (a_model(a_row(1, -9), a_row(4, 3)), a_model(a_row(2, -9), a_row(3, 2, withdrawn=True)))
    book = PriceBook(models, MILLIONTHS)
    assert book.next_change(NOW) == NOW + 3 * DAY
    assert [row.price.id for _, row in book.news()] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("kind", "variant", "group", "told"),
    [
        pytest.param(
            Kind.CHAT,
            "",
            MILLIONTHS,
            [
                Tag("million input tokens", "2.500"),
                Tag("million cached input tokens", "1.250"),
                Tag("million output tokens", "10.000"),
            ],
            id="tokens",
        ),
        pytest.param(
            Kind.IMAGE,
            "",
            MILLIONTHS,
            [
                Tag("million input tokens", "2.500"),
                Tag("million cached input tokens", "1.250"),
                Tag("million output tokens", "10.000"),
            ],
            id="images by token",
        ),
        pytest.param(Kind.EMBEDDING, "", MILLIONTHS, [Tag("million input tokens", "2.500")], id="embeddings"),
        pytest.param(Kind.IMAGE, "1024x1024", MILLIONTHS, [Tag("image", "0.0000025")], id="images"),
        pytest.param(Kind.SPEECH, "", MILLIONTHS, [Tag("million characters", "2.500")], id="characters"),
        pytest.param(Kind.TRANSCRIPTION, "", 2 * MILLIONTHS, [Tag("hour", "0.018")], id="a group's multiplier"),
    ],
)
def test_prices_in_usd_are_what_calls_are_charged(kind: Kind, variant: str, group: int, told: list[Tag]) -> None:
    assert list(tags(kind, a_row(1, 0, model=1_250_000, variant=variant).price, group)) == told
