"""Comparing two states: whose turn it is, and what their pairs tell."""

import random
import statistics

import pytest

from proofs.speed.paired import compared, in_order, interval, table


def test_whoever_is_first_in_one_round_is_last_in_the_next() -> None:
    turns = [in_order(number, ["before", "now"]) for number in range(4)]
    assert turns == [["before", "now"], ["now", "before"], ["before", "now"], ["now", "before"]]


# How many of the smallest and of the largest are left out, as tables of the sign test have it.
@pytest.mark.parametrize(("count", "left_out"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (16, 3), (20, 5), (50, 17)])
def test_an_interval_leaves_out_as_many_as_the_sign_test_allows(count: int, left_out: int) -> None:
    values = [float(number) for number in range(count)]
    assert interval(values[::-1]) == (values[left_out], values[-1 - left_out])


def test_an_interval_has_the_true_median_19_times_of_20() -> None:
    chance = random.Random(7)  # noqa: S311
    held = 0
    for _ in range(1_000):
        low, high = interval([chance.gauss(3, 1) for _ in range(20)])
        held += low <= 3 <= high
    assert held >= 950


def test_a_machine_that_changes_its_speed_moves_no_ratio() -> None:
    """It becomes twice as slow in the course of the run; now costs a tenth more all the time."""
    pace = [1 + number / 30 for number in range(31)]
    found = compared("total_us", [(500 * slow, 550 * slow) for slow in pace])
    assert found.now_to_before == pytest.approx(1.10)
    assert 1.08 < found.low < 1.10 < found.high < 1.12


def test_a_turn_that_a_stranger_spoiled_moves_no_ratio() -> None:
    pairs = [(500.0, 500.0)] * 9 + [(500.0, 5_000.0), (4_000.0, 500.0)]
    found = compared("total_us", pairs)
    assert (found.now_to_before, found.low, found.high) == (1, 1, 1)


def test_equal_states_are_found_equal() -> None:
    chance = random.Random(3)  # noqa: S311
    pairs = [(chance.gauss(500, 50), chance.gauss(500, 50)) for _ in range(50)]
    found = compared("total_us", pairs)
    assert found.before == statistics.median(then for then, _ in pairs)
    assert found.low < 1 < found.high


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = table([compared("total_us", [(500.0, 550.0)] * 6), compared("chunk_us", [(50.0, 45.0)] * 6)])
    assert [line.split() for line in lines[1:]] == [
        ["total_us", "500", "550", "1.100", "1.100", "and", "1.100"],
        ["chunk_us", "50", "45", "0.900", "0.900", "and", "0.900"],
    ]
