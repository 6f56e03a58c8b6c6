from datetime import UTC, datetime

import pytest

from tollkeeper.accounts.money.statement import NotAMonth, bounds


@pytest.mark.parametrize(
    ("month", "until"),
    [("2026-10", datetime(2026, 11, 1, tzinfo=UTC)), ("2026-12", datetime(2027, 1, 1, tzinfo=UTC))],
)
def test_a_month_goes_from_its_first_day_to_the_next_ones(month: str, until: datetime) -> None:
    assert bounds(month) == (datetime(2026, int(month[5:]), 1, tzinfo=UTC), until)


@pytest.mark.parametrize("text", ["2026-13", "2026-00", "26-10", "2026-1", "october", "2026-10-01", "0000-01", ""])
def test_what_is_no_month_is_told_so(text: str) -> None:
    with pytest.raises(NotAMonth, match="write one like 2026-10"):
        bounds(text)
