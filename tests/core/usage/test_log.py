from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.request_id import uuid7
from tollkeeper.core.usage.log import (
    CSV_HEAD,
    UnitSum,
    UsageDay,
    UsageFilter,
    UsageLine,
    UsageSum,
    csv_row,
    day_ids,
    day_of,
    every_day,
    guarded,
    id_floor,
)
from tollkeeper.core.usage.log_copy import CopiedDay, Manifest, clean_before, left_over, lines_of, read, written

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = date(2026, 3, 1)


def a_line(*, key_name: str = "laptop", unit: Unit | None = Unit.TOKEN) -> UsageLine:
    return UsageLine(
        request_id=id_floor(NOON),
        started_at=NOON,
        account_id=1,
        key_id=2,
        key_name=key_name,
        model_id="m",
        unit=unit,
        input_units=10,
        cached_units=2,
        output_units=5,
        charged=Quota(500_000_000),
        usage_source=UsageSource.PROVIDER,
        ending=Ending.COMPLETED,
        seconds=1.5,
    )


def a_day(day: date, rows: int = 3) -> CopiedDay:
    return CopiedDay(day=day, rows=rows, file=f"usage-{day}.csv.gz", size_bytes=9, sha256="")


# A call in a day's file, as the version wrote it that knew of no parts of usage and of no units. It called the counts
# `input_tokens`, `cached_tokens` and `output_tokens`.
COPIED = (
    "019ca945-0a00-7000-8000-000000000000,1,2,m,3,1000000,10,2,5,900000000,500000000,provider,completed,"
    '"[{""account"": ""one""}]",2026-03-01 12:00:00+00,2026-03-01 12:00:01.5+00'
)


@pytest.mark.parametrize("more", ["", ",", ',"{""written_1h"": 3}"'])
def test_copies_of_earlier_versions_are_read_and_what_they_do_not_tell_is_unknown(more: str) -> None:
    assert list(lines_of([COPIED + more], {2: "laptop"})) == [a_line(unit=None)]


@pytest.mark.parametrize("more", ["", ",of a later version"])
def test_copies_tell_the_unit_of_each_call(more: str) -> None:
    for unit in Unit:
        assert list(lines_of([f"{COPIED},,{unit}{more}"], {2: "laptop"})) == [a_line(unit=unit)]


def test_no_request_id_of_a_time_or_later_is_below_its_floor() -> None:
    milliseconds = int(NOON.timestamp() * 1_000)
    assert id_floor(NOON) <= uuid7(milliseconds, bytes(10))
    assert uuid7(milliseconds - 1, b"\xff" * 10) < id_floor(NOON)


def test_a_call_belongs_to_the_day_of_its_request_id() -> None:
    first, end = day_ids(DAY)
    assert day_of(first) == DAY
    assert day_of(UUID(int=end.int - (1 << 80))) == DAY
    assert day_of(end) == date(2026, 3, 2)


def test_a_filter_without_times_has_every_request_id_between_its_bounds() -> None:
    anything = UsageFilter()
    assert anything.first_id < id_floor(NOON) < anything.end_id


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_cell_that_could_be_a_formula_is_text(start: str) -> None:
    assert guarded(f"{start}1+1") == f"'{start}1+1"
    assert guarded(f"1{start}1") == f"1{start}1"


def test_a_row_has_a_cell_for_each_head_and_none_is_a_formula() -> None:
    row = dict(zip(CSV_HEAD, csv_row(a_line(key_name='=HYPERLINK("http://evil.example")')), strict=True))
    assert row["key_name"] == '\'=HYPERLINK("http://evil.example")'
    assert (row["charged_usd"], row["time"]) == ("0.001", "2026-03-01T12:00:00.000+00:00")


@pytest.mark.parametrize(("unit", "cell"), [(Unit.SECOND, "second"), (Unit.TOKEN, "token"), (None, "")])
def test_a_row_tells_in_what_unit_its_counts_are(unit: Unit | None, cell: str) -> None:
    row = dict(zip(CSV_HEAD, csv_row(a_line(unit=unit)), strict=True))
    assert [row[name] for name in ("unit", "input_units", "cached_units", "output_units")] == [cell, "10", "2", "5"]


def test_counts_of_different_units_are_never_added_up() -> None:
    spoken = UsageSum(calls=1, by_unit={Unit.SECOND: UnitSum(input_units=30)}, charged=Quota(3))
    said = UsageSum(calls=2, by_unit={Unit.TOKEN: UnitSum(input_units=10, cached_units=2, output_units=5)})
    assert spoken + said + said == UsageSum(
        calls=5,
        by_unit={
            Unit.TOKEN: UnitSum(input_units=20, cached_units=4, output_units=10),
            Unit.SECOND: UnitSum(input_units=30),
        },
        charged=Quota(3),
    )


def test_days_without_calls_are_in_a_chart_too() -> None:
    some = UsageSum(calls=1)
    assert every_day([UsageDay(date(2026, 2, 28), some)], DAY, 3) == [
        UsageDay(date(2026, 2, 27), UsageSum()),
        UsageDay(date(2026, 2, 28), some),
        UsageDay(DAY, UsageSum()),
    ]


@pytest.mark.rule("S9.1")
@pytest.mark.parametrize(
    ("oldest", "before"),
    [
        (date(2026, 1, 29), None),
        (date(2025, 12, 31), None),
        (date(2025, 12, 30), date(2026, 1, 29)),
        (date(2025, 1, 1), date(2026, 1, 29)),
    ],
    ids=["young", "not yet a month more", "a month more", "long overdue"],
)
def test_a_cleanup_comes_about_once_a_month_and_leaves_the_days_that_are_kept(
    oldest: date, before: date | None
) -> None:
    assert clean_before([oldest, DAY], DAY, keep_days=31, every_days=30) == before


def test_an_empty_log_needs_no_cleaning() -> None:
    assert clean_before([], DAY, keep_days=31, every_days=30) is None


def test_what_a_copy_has_and_the_log_too_is_left_over() -> None:
    days = [a_day(date(2026, 1, n)) for n in (3, 1, 2)]
    last = Manifest(copy="a", made_at=NOON, days=days)
    still_there = {date(2026, 1, 2), date(2026, 1, 3), DAY}
    assert left_over(last, still_there, {}) == [date(2026, 1, 2), date(2026, 1, 3)]
    assert left_over(last, {DAY}, {}) == []


def test_what_was_dropped_by_a_copy_is_not_left_over_from_it() -> None:
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    last = Manifest(copy="b", made_at=NOON, days=[a_day(day) for day in days])
    assert left_over(last, days, {days[0]: "b", days[1]: "a"}) == [days[1]]


def test_a_manifest_reads_as_it_was_written() -> None:
    manifest = Manifest(copy="a", made_at=NOON, days=[a_day(DAY)])
    assert read(written(manifest)) == manifest
