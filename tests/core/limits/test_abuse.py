"""How long bans last, and when time at peak restricts an account."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tollkeeper.core.limits.abuse import AbuseVerdict, PeakMinute, PeakTime, Policy, ban_seconds, judge
from tollkeeper.settings import Settings

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
POLICY = Policy()
HOUR = 3_600
MINE, OTHER = "192.0.2.7", "2001:db8::/64"


def ago(*, minutes: int = 0, seconds: int = 0) -> datetime:
    return NOW - timedelta(minutes=minutes, seconds=seconds)


def a_minute(minutes_ago: int, ip: str = MINE, *, seconds: float = 60) -> PeakMinute:
    return PeakMinute(ago(minutes=minutes_ago), ip, round(seconds * 1_000))


def an_account(
    minutes: list[PeakMinute], *, counts_from: datetime | None = None, restricted_at: datetime | None = None
) -> PeakTime:
    return PeakTime(account_id=1, minutes=minutes, counts_from=counts_from, restricted_at=restricted_at)


TEN_MINUTES = [a_minute(n) for n in range(1, 11)]
A_LITTLE_MORE = [*TEN_MINUTES, a_minute(11, seconds=0.001)]


def test_the_figures_are_those_of_the_settings() -> None:
    settings = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    assert msgspec.structs.asdict(POLICY) == {name: settings[name] for name in msgspec.structs.asdict(POLICY)}


@pytest.mark.parametrize(
    ("earlier", "hours"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 24), (6, 24), (1_000_000, 24)]
)
def test_each_ban_lasts_twice_as_long_as_the_one_before_up_to_a_day(earlier: int, hours: int) -> None:
    assert ban_seconds(POLICY, earlier) == hours * HOUR


def test_no_ban_is_longer_than_the_longest() -> None:
    assert ban_seconds(Policy(ban_seconds=500, ban_seconds_most=60), 0) == 60
    assert ban_seconds(Policy(ban_seconds=1, ban_seconds_most=10**9), 64) == 10**9


@pytest.mark.parametrize(
    ("minutes", "seconds"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param(TEN_MINUTES, None, id="ten minutes are not more than ten minutes"),
        pytest.param(A_LITTLE_MORE, 601, id="a millisecond more"),
        pytest.param([a_minute(n) for n in range(50, 61)], 660, id="an hour ago to the second"),
        pytest.param([a_minute(n) for n in range(51, 62)], None, id="a part of it more than an hour ago"),
        pytest.param([a_minute(n, seconds=20) for n in range(31)], 620, id="here and there"),
        pytest.param([a_minute(1, seconds=900)], None, id="a minute is no longer than a minute"),
        pytest.param(
            [a_minute(n, ip) for n in range(10) for ip in (MINE, OTHER)], None, id="two at once are no more time"
        ),
        pytest.param(
            [a_minute(n, ip, seconds=31) for n in range(11) for ip in (MINE, OTHER)], 660, id="two that add up"
        ),
    ],
)
def test_more_than_ten_minutes_at_peak_within_an_hour_restrict(minutes: list[PeakMinute], seconds: int | None) -> None:
    verdict = judge(POLICY, an_account(minutes), NOW)
    assert (None if verdict is None else verdict.peak_seconds) == seconds


@pytest.mark.parametrize(
    ("counts_from", "restricts"),
    [
        pytest.param(ago(minutes=11), True, id="everything came after"),
        pytest.param(ago(minutes=10, seconds=59), False, id="the first minute began before"),
        pytest.param(ago(), False, id="lifted just now"),
        pytest.param(NOW + timedelta(hours=23), False, id="still in force"),
    ],
)
def test_what_came_before_a_restriction_ended_does_not_count_again(counts_from: datetime, restricts: bool) -> None:
    assert (judge(POLICY, an_account(A_LITTLE_MORE, counts_from=counts_from), NOW) is not None) is restricts


@pytest.mark.parametrize(
    ("restricted_at", "bans"),
    [
        pytest.param(None, False, id="never before"),
        pytest.param(NOW - timedelta(days=7), False, id="a week ago"),
        pytest.param(NOW - timedelta(days=7) + timedelta(seconds=1), True, id="within a week"),
    ],
)
def test_a_second_restriction_within_a_week_brings_a_ban(restricted_at: datetime | None, bans: bool) -> None:
    verdict = judge(POLICY, an_account(A_LITTLE_MORE, restricted_at=restricted_at), NOW)
    assert verdict == AbuseVerdict(peak_seconds=601, ip=MINE, ban=bans)


@pytest.mark.parametrize(
    ("minutes", "ip", "bans"),
    [
        pytest.param([*A_LITTLE_MORE, *(a_minute(n, OTHER) for n in range(20, 40))], OTHER, True, id="most"),
        pytest.param([a_minute(n, ip) for n in range(20) for ip in (OTHER, MINE)], MINE, True, id="as much as another"),
        pytest.param([*A_LITTLE_MORE, *(a_minute(n, "") for n in range(20, 40))], MINE, True, id="most is unknown"),
        pytest.param([a_minute(n, "") for n in range(20)], "", False, id="unknown"),
    ],
)
def test_the_ip_with_most_time_at_peak_is_banned(minutes: list[PeakMinute], ip: str, bans: bool) -> None:
    verdict = judge(POLICY, an_account(minutes, restricted_at=ago(minutes=2_000)), NOW)
    assert verdict is not None
    assert (verdict.ip, verdict.ban) == (ip, bans)
