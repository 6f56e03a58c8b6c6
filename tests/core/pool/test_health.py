"""Whose calls take an account out: two customers', or one's and our own probe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.pool.breaker import (
    BUSY_SECONDS,
    PROBE_SECONDS,
    REFUSED_KEY_SECONDS,
    SPARED_SECONDS,
    SPARED_SECONDS_EACH,
    SPARED_WELL,
    HealthVerdict,
    Trouble,
)
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.pool.health import Health
from tollkeeper.core.pool.witnesses import OUT_SECONDS_FIRST, WITNESSES_MOST, Witnesses, believed

NOW = 1_000.0
PLACE = PoolPlace()
ONE, ANOTHER, BYSTANDER = 1, 2, 3
TROUBLES = list(Trouble)


def fail(health: Health, trouble: Trouble, *customers: int, now: float = NOW) -> list[HealthVerdict]:
    """A call of each, all under way at once."""
    tickets = [(health.begin(0, now, by=by), by) for by in customers]
    told = [health.fail(ticket, trouble, now, by=by) for ticket, by in tickets]
    for ticket, _ in tickets:
        health.end(ticket, 0, now)
    return told


def succeed(health: Health, by: int, now: float = NOW) -> bool:
    ticket = health.begin(0, now, by=by)
    news = bool(health.succeed(ticket, 0.1, now, by=by))
    health.end(ticket, 0, now)
    return news


@pytest.mark.parametrize(
    ("failures", "come_to"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([1], 1, id="one"),
        pytest.param([1_000], 2, id="one customer's, however many"),
        pytest.param([1_000, 1], 3, id="and a single one of somebody else's"),
        pytest.param([1_000, 5], 10, id="no more than the others'"),
        pytest.param([1, 1, 1], 3, id="each customer's"),
        pytest.param([40, 30, 30], 100, id="many customers'"),
    ],
)
def test_one_customers_failures_count_for_no_more_than_the_others(failures: list[int], come_to: int) -> None:
    assert believed(failures) == come_to


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_customers_calls_never_take_an_account_out(trouble: Trouble) -> None:
    health = Health()
    for number in range(500):
        now = NOW + number / 10
        assert HealthVerdict.OUT not in fail(health, trouble, ONE, now=now)
        assert health.takes_calls(PLACE, now, by=BYSTANDER)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_it_is_left_alone_for_the_customer_whose_calls_fail(trouble: Trouble) -> None:
    health = Health()
    assert fail(health, trouble, ONE, ONE, ONE).count(HealthVerdict.SUSPECT) == 1
    assert not health.takes_calls(PLACE, NOW, by=ONE)
    assert health.takes_calls(PLACE, NOW + REFUSED_KEY_SECONDS, by=ONE)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_two_customers_calls_take_it_out_for_everybody(trouble: Trouble) -> None:
    health = Health()
    assert HealthVerdict.OUT in fail(health, trouble, ONE, ANOTHER, ONE)
    assert not health.takes_calls(PLACE, NOW, by=BYSTANDER)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("found", TROUBLES)
def test_one_customers_calls_and_our_probe_take_it_out_for_everybody(trouble: Trouble, found: Trouble) -> None:
    health = Health()
    assert HealthVerdict.SUSPECT in fail(health, trouble, ONE, ONE, ONE)
    assert health.fail_probe(found, NOW) is HealthVerdict.OUT
    assert not health.takes_calls(PLACE, NOW, by=BYSTANDER)
    assert health.trouble is found


def test_a_loud_customer_and_one_stray_failure_are_no_verdict_where_others_succeed() -> None:
    health = Health()
    for _ in range(10):
        succeed(health, BYSTANDER)
    assert HealthVerdict.OUT not in fail(health, Trouble.SERVER, *[ONE] * 100, ANOTHER)


def test_the_shorter_of_two_waits_is_believed() -> None:
    health = Health()
    for by, seconds in ((ONE, 60.0), (ANOTHER, 2.0)):
        health.fail(health.begin(0, NOW, by=by), Trouble.BUSY, NOW, seconds, by=by)
    assert health.out_until == NOW + 2


def test_different_troubles_of_two_customers_are_no_agreement() -> None:
    health = Health()
    assert HealthVerdict.OUT not in fail(health, Trouble.BUSY, ONE) + fail(health, Trouble.CREDENTIAL, ANOTHER)


def test_our_probe_is_due_again_after_a_while() -> None:
    health = Health()
    told = [fail(health, Trouble.CREDENTIAL, ONE, now=NOW + number / 10)[0] for number in range(100)]
    assert told.count(HealthVerdict.SUSPECT) == round(10 / PROBE_SECONDS)


def test_one_customers_trials_do_not_keep_it_out() -> None:
    health = Health()
    fail(health, Trouble.SERVER, ONE, ANOTHER, ONE)
    back = NOW + OUT_SECONDS_FIRST
    assert fail(health, Trouble.SERVER, ONE, now=back) == [HealthVerdict.SUSPECT]
    assert not health.takes_calls(PLACE, back, by=ONE)
    assert health.takes_calls(PLACE, back, by=BYSTANDER)
    assert succeed(health, BYSTANDER, back)
    assert health.trouble is None


def test_two_customers_trials_keep_it_out_for_longer() -> None:
    health = Health()
    fail(health, Trouble.SERVER, ONE, ANOTHER, ONE)
    back = NOW + OUT_SECONDS_FIRST
    fail(health, Trouble.SERVER, ONE, now=back)
    assert fail(health, Trouble.SERVER, ANOTHER, now=back) == [HealthVerdict.OUT]
    assert health.out_until == back + 2 * OUT_SECONDS_FIRST


def test_a_probe_says_nothing_new_of_an_account_that_is_out() -> None:
    health = Health()
    assert health.fail_probe(Trouble.SERVER, NOW) is HealthVerdict.OUT
    assert health.fail_probe(Trouble.SERVER, NOW) is HealthVerdict.NOTHING
    assert health.out_until == NOW + OUT_SECONDS_FIRST


# Calls for which it is spared.


def test_who_is_out_is_spared_few_calls_and_few_of_each_customers() -> None:
    health = Health()
    fail(health, Trouble.BUSY, ONE, ANOTHER)
    now = NOW + SPARED_SECONDS
    assert not health.spares_a_call(PLACE, NOW, by=BYSTANDER)
    assert health.spares_a_call(PLACE, now, by=BYSTANDER)
    health.begin(0, now, by=BYSTANDER)
    assert not health.spares_a_call(PLACE, now, by=4), "not so soon"
    now += SPARED_SECONDS
    assert health.spares_a_call(PLACE, now, by=4)
    assert not health.spares_a_call(PLACE, now, share=4, by=4), "each process has its part"
    assert not health.spares_a_call(PLACE, now, by=BYSTANDER)
    assert health.spares_a_call(PLACE, NOW + SPARED_SECONDS + SPARED_SECONDS_EACH, by=BYSTANDER)


def test_limits_hold_for_calls_for_which_it_is_spared() -> None:
    health = Health()
    fail(health, Trouble.BUSY, ONE, ANOTHER)
    assert not health.spares_a_call(PoolPlace(requests_per_minute=2), NOW + SPARED_SECONDS, by=BYSTANDER)


def test_a_key_that_our_probe_found_refused_is_spared_for_nobody() -> None:
    health = Health()
    health.fail_probe(Trouble.CREDENTIAL, NOW)
    assert not health.spares_a_call(PLACE, NOW + 10, by=BYSTANDER)


@pytest.mark.parametrize("trouble", [Trouble.BUSY, Trouble.SERVER])
def test_several_that_go_well_bring_it_back_before_its_time(trouble: Trouble) -> None:
    health = Health()
    fail(health, trouble, ONE, ANOTHER, ONE)
    told = [succeed(health, BYSTANDER + number, NOW + 0.1 * number) for number in range(SPARED_WELL)]
    assert told == [False] * (SPARED_WELL - 1) + [True]
    assert health.takes_calls(PLACE, NOW + 1, by=ONE)


def test_being_busy_again_begins_the_count_anew() -> None:
    health = Health()
    fail(health, Trouble.BUSY, ONE, ANOTHER)
    for number in range(20):
        assert not succeed(health, BYSTANDER, NOW + 0.1 * number)
        if number % 2:
            fail(health, Trouble.BUSY, ONE, now=NOW + 0.1 * number)
    assert not health.takes_calls(PLACE, NOW + 2, by=BYSTANDER)


def test_a_call_of_the_customer_that_goes_well_ends_its_trouble_unless_it_was_told_to_wait() -> None:
    for trouble in TROUBLES:
        health = Health()
        fail(health, trouble, ONE, ONE, ONE)
        old = health.begin(0, NOW - 1, by=ONE)
        succeed(health, ONE, NOW + SPARED_SECONDS_EACH)
        assert health.takes_calls(PLACE, NOW + 2, by=ONE) == (trouble is not Trouble.BUSY)
        health.end(old, 0, NOW)


def test_a_call_that_was_under_way_before_does_not_end_it() -> None:
    health = Health()
    old = health.begin(0, NOW, by=ONE)
    fail(health, Trouble.SERVER, ONE, ONE, ONE)
    health.succeed(old, 0.1, NOW, by=ONE)
    assert not health.takes_calls(PLACE, NOW, by=ONE)


def test_waits_of_one_customer_double() -> None:
    health, now, waits = Health(), NOW, []
    for _ in range(4):
        fail(health, Trouble.BUSY, ONE, now=now)
        seconds = next(step for step in range(1, 100) if health.takes_calls(PLACE, now + step, by=ONE))
        waits.append(seconds)
        now += seconds
    assert waits == [BUSY_SECONDS, 10, 20, 40]


def test_customers_that_are_remembered_are_bounded() -> None:
    witnesses = Witnesses()
    for customer in range(10 * WITNESSES_MOST):
        witnesses.fail(customer, NOW + customer / 100)
    assert len(witnesses.seen) <= WITNESSES_MOST


calls = st.lists(st.tuples(st.sampled_from([*TROUBLES, None]), st.floats(0, 20)), max_size=60)


@given(calls)
def test_whatever_one_customers_calls_meet_others_are_served(calls: list[tuple[Trouble | None, float]]) -> None:
    health, now = Health(), NOW
    for trouble, pause in calls:
        now += pause
        if trouble is None:
            succeed(health, ONE, now)
        else:
            fail(health, trouble, ONE, now=now)
        assert health.takes_calls(PLACE, now, by=BYSTANDER)
