"""Which windows a call must pass, and what its caller is told of them."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import (
    LOOKUPS,
    Measure,
    Rates,
    Window,
    WindowStanding,
    is_restricted,
    refusal,
    tightest,
    whole_seconds,
    windows_of,
)

NOW = datetime(2026, 11, 15, tzinfo=UTC)
CALLER = KeyRecord(
    key_id=7,
    account_id=3,
    group="standard",
    only_models=None,
    expires_at=None,
    revoked=False,
    account_disabled=False,
)
OWN = Rates(key_rate=100, standard_rate=50, peak_percent=150, kind_rates={"image": 5}, model_rates={"slow": 2})


@pytest.mark.rule("L2.2", "L2.3")
@pytest.mark.parametrize(
    ("rates", "kind", "model", "expected"),
    [
        (Rates(), "chat", "m", [Window("key:7", 60), Window("chat", 120, 60)]),
        (Rates(), LOOKUPS, "", [Window("key:7", 60), Window(LOOKUPS, 120)]),
        (OWN, "chat", "m", [Window("key:7", 100), Window("chat", 75, 50)]),
        (OWN, "image", "m", [Window("key:7", 100), Window("image", 7, 5)]),
        (OWN, "chat", "slow", [Window("key:7", 100), Window("model:slow", 3, 2)]),
        (Rates(key_rate=None), "chat", "m", [Window("chat", 120, 60)]),
        (Rates(key_rate=None, standard_rate=None), "chat", "m", []),
        (Rates(key_rate=None, standard_rate=None, kind_rates={"chat": 4}), "chat", "m", [Window("chat", 8, 4)]),
        (
            Rates(key_rate=None, standard_rate=None, tokens_per_minute=9, concurrency=2),
            "chat",
            "m",
            [Window("tokens", 9, measure=Measure.TOKENS), Window("running", 2, measure=Measure.RUNNING)],
        ),
        (Rates(key_rate=None, standard_rate=None, tokens_per_minute=9, concurrency=2), LOOKUPS, "", []),
    ],
)
def test_the_windows_of_a_call(rates: Rates, kind: str, model: str, expected: list[Window]) -> None:
    windows = windows_of(CALLER, rates, kind, model)
    assert windows.whose == "3"
    assert list(windows.each) == expected


@pytest.mark.parametrize(("standard", "limit"), [(60, 30), (61, 30), (2, 1), (1, 1)])
def test_a_restricted_account_has_part_of_its_standard_rate_and_no_peak(standard: int, limit: int) -> None:
    windows = windows_of(CALLER, Rates(standard_rate=standard), "chat", "m", restricted_percent=50)
    assert windows.each == (Window("key:7", 60), Window("chat", limit))


@pytest.mark.parametrize(("of_group", "most", "limit"), [(None, 4, 4), (9, 4, 4), (2, 4, 2), (2, None, 2)])
def test_calls_at_once_are_as_few_as_group_and_standing_say(of_group: int | None, most: int | None, limit: int) -> None:
    rates = Rates(key_rate=None, standard_rate=None, concurrency=of_group)
    windows = windows_of(CALLER, rates, "chat", "m", running_most=most)
    assert windows.each == (Window("running", limit, measure=Measure.RUNNING),)


def test_a_restriction_ends_by_itself() -> None:
    restricted = msgspec.structs.replace(CALLER, restricted_until=NOW)
    assert is_restricted(restricted, NOW - timedelta(microseconds=1))
    assert not is_restricted(restricted, NOW)
    assert not is_restricted(CALLER, NOW)


def test_the_caller_is_told_of_the_window_with_the_fewest_places() -> None:
    key = WindowStanding(Window("key:7", 60), 10, 5_000_000)
    account = WindowStanding(Window("chat", 120, 60), 71, 1)
    assert tightest([key, account]) is account
    assert tightest([key, WindowStanding(Window("chat", 60, 60), 10, 1)]) is key
    assert tightest([WindowStanding(Window("tokens", 5, measure=Measure.TOKENS), 5, 1)]) is None
    assert tightest([]) is None


@pytest.mark.parametrize(("microseconds", "seconds"), [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)])
def test_times_are_rounded_up_so_that_they_are_true(microseconds: int, seconds: int) -> None:
    assert whole_seconds(microseconds) == seconds


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (Window("key:7", 60), "This key has made 60 calls within 60 s"),
        (Window("chat", 120, 60), "Your account has made 120 chat calls within 60 s, its limit over all its keys"),
        (Window("model:slow", 3, 2), "Your account has made 3 slow calls"),
        (Window(LOOKUPS, 120), "120 model list and balance calls"),
        (Window("tokens", 5_000, measure=Measure.TOKENS), "may use 5,000 tokens in any 60 s"),
        (Window("running", 4, measure=Measure.RUNNING), "has 4 running at once"),
    ],
)
def test_a_refusal_says_whose_limit_it_was_and_when_to_come_back(window: Window, said: str) -> None:
    told = refusal(window, 12_300_000)
    assert said in told.message
    assert "was not counted" in told.message
    assert told.message.endswith("Try again in 13 s.")
    assert told.retry_after_seconds == 13
    assert refusal(window, 0).retry_after_seconds == 1
    assert "restricted until 2026-11-15 00:00 UTC" in refusal(window, 1, NOW).message
