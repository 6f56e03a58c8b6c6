"""Charts: what is drawn is what was given, and nothing that was given can become markup."""

from decimal import Decimal
from xml.etree import ElementTree

import pytest

from tollkeeper.console.charts import Bar, Piece, legend, meter, round_top, sparkline, stacked_bars

EVIL = '"><script>alert(1)</script>'


def bars(*heights: str) -> list[Bar]:
    return [
        Bar(f"11/{at:02}", [Piece(Decimal(height), f"{height} USD", "/usage")]) for at, height in enumerate(heights)
    ]


@pytest.mark.parametrize(
    ("highest", "top"), [("0", "1"), ("1", "1"), ("1.01", "1.2"), ("0.0031", "0.004"), ("87", "100"), ("2.33", "2.4")]
)
def test_the_axis_ends_a_little_above_the_highest_bar(highest: str, top: str) -> None:
    assert round_top(Decimal(highest)) == Decimal(top)


def test_bars_are_as_high_as_their_values_and_say_them() -> None:
    drawn = ElementTree.fromstring(stacked_bars(bars("1", "2", "0"), title="Spend"))  # noqa: S314 (our own)
    heights = [float(rect.get("height", "0")) for rect in drawn.iter("rect")]
    assert heights == pytest.approx([94.0, 188.0])
    assert [title.text for title in drawn.iter("title")] == ["1 USD", "2 USD"]


def test_bars_that_are_links_are_a_group_and_others_a_picture() -> None:
    assert 'role="group"' in stacked_bars(bars("1"), title="Spend")
    assert 'role="img"' in stacked_bars([Bar("a", [Piece(Decimal(1), "x")])], title="Spend")


@pytest.mark.parametrize("highest", ["0.0000132", "0.5", "12345"])
def test_there_is_room_for_the_numbers_of_the_axis(highest: str) -> None:
    drawn = ElementTree.fromstring(stacked_bars(bars(highest), title="Spend"))  # noqa: S314
    ticks = [
        (float(text.get("x", "")), text.text or "") for text in drawn.iter("text") if text.get("text-anchor") == "end"
    ]
    assert len(ticks) == 5
    assert all(right >= 6.5 * len(told) for right, told in ticks)
    [bar] = drawn.iter("rect")
    assert float(bar.get("x", "")) >= max(right for right, _ in ticks)


@pytest.mark.parametrize(
    ("highest", "axis"),
    [
        ("1.8", ["$0", "$0.50", "$1", "$1.50", "$2"]),
        ("12345", ["$0", "$4,000", "$8,000", "$12,000", "$16,000"]),
        ("0.0000132", ["$0", "$0.000004", "$0.000008", "$0.000012", "$0.000016"]),
    ],
)
def test_the_axis_is_in_dollars(highest: str, axis: list[str]) -> None:
    drawn = ElementTree.fromstring(stacked_bars(bars(highest), title="Spend"))  # noqa: S314
    assert [text.text for text in drawn.iter("text") if text.get("text-anchor") == "end"] == axis


def test_pieces_stand_on_each_other() -> None:
    two = [Bar("a", [Piece(Decimal(1), "x"), Piece(Decimal(3), "y")])]
    lower, upper = ElementTree.fromstring(stacked_bars(two, title="Spend")).iter("rect")  # noqa: S314
    assert float(upper.get("y", "")) + float(upper.get("height", "")) == pytest.approx(
        float(lower.get("y", "")), abs=0.2
    )


@pytest.mark.parametrize(
    "drawn",
    [
        stacked_bars([Bar(EVIL, [Piece(Decimal(1), EVIL, EVIL)])], title=EVIL),
        legend([EVIL]),
        meter(1, 2, told=EVIL),
        sparkline([Decimal(1), Decimal(2)]),
        stacked_bars([], title="nothing"),
        sparkline([]),
        sparkline([Decimal(0), Decimal(0)]),
    ],
)
def test_nothing_that_is_drawn_becomes_markup_or_style(drawn: str) -> None:
    assert "<script" not in drawn
    assert "style=" not in drawn
    ElementTree.fromstring(f"<p>{drawn}</p>")  # noqa: S314


@pytest.mark.parametrize(
    ("part", "whole", "width"), [(1, 4, "25.00"), (9, 3, "100.00"), (-1, 3, "0.00"), (1, 0, "0.00")]
)
def test_a_meter_shows_its_share_and_never_more_than_all(part: int, whole: int, width: str) -> None:
    assert f'class="fill" width="{width}"' in meter(part, whole, told="a share")
