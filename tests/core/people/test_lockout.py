from datetime import UTC, datetime, timedelta

import pytest

from tollkeeper.core.people.lockout import Attempts, Rule, Subject, count, is_locked, take_back

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULE = Rule()


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def after_failures(*at_minutes: float) -> Attempts:
    attempts = Attempts(window_start=NOON)
    for minute in at_minutes:
        assert not is_locked(attempts, NOON + minutes(minute))
        attempts = count(attempts, RULE, NOON + minutes(minute))
    return attempts


@pytest.mark.parametrize(
    ("failed_at", "locked_for"),
    [
        ([0, 1, 2, 3], None),
        ([0, 1, 2, 3, 4], 15),
        ([0, 1, 2, 3, 14.9], 15),
        ([0, 1, 2, 3, 15], None),
        ([0, 1, 2, 3, 15, 16, 17, 18, 19], 15),
        ([0, 0, 0, 0, 0], 15),
        ([0, 0, 0, 0, 0] + [15] * 4, None),
        ([0, 0, 0, 0, 0] + [15] * 5, 30),
        ([0] * 5 + [15] * 5 + [45] * 5, 60),
        ([0] * 5 + [15] * 5 + [45] * 5 + [24 * 60 + 104] * 5, 120),
        ([0] * 5 + [15] * 5 + [45] * 5 + [24 * 60 + 105] * 5, 15),
    ],
    ids=[
        "four",
        "five",
        "five within 15 minutes",
        "the fifth too late",
        "five within a later window",
        "five at once",
        "four after a lock",
        "a second lock is twice as long",
        "a third four times",
        "a lock is remembered for a day",
        "and then forgotten",
    ],
)
def test_five_failures_within_15_minutes_lock(failed_at: list[float], locked_for: float | None) -> None:
    attempts, now = after_failures(*failed_at), NOON + minutes(failed_at[-1])
    assert is_locked(attempts, now) == (locked_for is not None)
    if locked_for is not None:
        assert attempts.locked_until == now + minutes(locked_for)
        assert not is_locked(attempts, now + minutes(locked_for))


def test_no_lock_lasts_longer_than_a_day() -> None:
    attempts, now, lengths = Attempts(window_start=NOON), NOON, []
    for _ in range(40):
        for _ in range(5):
            attempts = count(attempts, RULE, now)
        assert attempts.locked_until is not None
        lengths.append(attempts.locked_until - now)
        now = attempts.locked_until
    assert lengths[:8] == [minutes(15 * 2**n) for n in range(7)] + [timedelta(hours=24)]
    assert max(lengths) == timedelta(hours=24)


def test_an_attempt_that_succeeds_leaves_no_trace() -> None:
    for failures in range(4):
        before = after_failures(*range(failures))
        now = NOON + minutes(5)
        counted = count(before, RULE, now)
        assert take_back(counted, RULE, now).failures == failures


def test_an_attempt_that_succeeds_undoes_the_lock_that_it_brought() -> None:
    now = NOON + minutes(4)
    unlocked = take_back(after_failures(0, 1, 2, 3, 4), RULE, now)
    assert not is_locked(unlocked, now)
    assert (unlocked.failures, unlocked.locks) == (4, 0)
    assert is_locked(count(unlocked, RULE, now), now)


@pytest.mark.parametrize(
    ("kind", "failures", "lasts"),
    [("sign_in_of_email", 100, 15), ("mail_to", 5, 60), ("sign_in_from_ip", 50, 15), ("mail_from_ip", 25, 15)],
)
def test_what_anybody_can_bring_about_for_anybody_does_not_grow(kind: str, failures: int, lasts: float) -> None:
    rule, attempts, now = Subject(kind, "x").rule, Attempts(window_start=NOON), NOON
    for _ in range(4):
        for _ in range(failures):
            assert not is_locked(attempts, now)
            attempts = count(attempts, rule, now)
        assert attempts.locked_until == now + minutes(lasts)
        now = attempts.locked_until


def test_subjects_of_different_kinds_are_different_things() -> None:
    assert Subject("mail_to", "x") != Subject("password", "x")
    assert Subject.of_email("mail_to", "a@b.example", "reset") != Subject.of_email("mail_to", "a@b.example", "sign-up")
    assert Subject("sign_in_from_ip", "x").rule.failures_most == 50
    assert Subject("something else", "x").rule == RULE
