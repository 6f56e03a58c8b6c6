"""Where conversations are at home: the circle, and what keeps an account from getting too many of them."""

from collections import Counter
from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.pool.affinity import (
    BOUND,
    CALLS_LEAST,
    COUNTED_SECONDS,
    MOVED_MOST,
    MOVED_SECONDS,
    Circle,
    Homes,
    Shares,
    point_of,
)
from tollkeeper.core.pool.choice import PoolPlace, Tier

NOW = 1_000.0
PLACE = PoolPlace()
SECRET = b"the same everywhere"
POINTS = [point_of(SECRET, 1, "m", b"%d" % number) for number in range(2_000)]


def everybody(_: int, __: PoolPlace) -> bool:
    return True


def circle_of(weights: dict[int, int]) -> Circle:
    return Circle(tuple(weights.items()))


def first_at(circle: Circle, point: int, out: Collection[int] = ()) -> int:
    return next(account_id for account_id in circle.accounts_from(point) if account_id not in out)


def homes_of(weights: dict[int, int], resting: Sequence[int] = ()) -> Homes:
    members = [(id_, PoolPlace(weight=weight)) for id_, weight in weights.items() if id_ not in resting]
    homes = Homes(Tier(members), circle_of(weights))
    homes.shares.count(homes.tier, everybody, NOW)
    return homes


# Points.


def test_a_point_depends_on_the_secret_the_customer_the_model_and_the_conversation() -> None:
    points = {
        point_of(SECRET, 1, "m", b"c"),
        point_of(b"another", 1, "m", b"c"),
        point_of(SECRET, 2, "m", b"c"),
        point_of(SECRET, 1, "n", b"c"),
        point_of(SECRET, 1, "m", b"d"),
    }
    assert len(points) == 5
    assert point_of(SECRET, 1, "m", b"c") == point_of(SECRET, 1, "m", b"c")


# The circle.


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(dict.fromkeys(range(1, 11), 1), id="ten alike"),
        pytest.param({1: 1, 2: 2, 3: 3, 4: 14}, id="weights"),
        pytest.param({1: 100_000, 2: 300_000}, id="large weights"),
    ],
)
def test_conversations_are_at_home_by_weight(weights: dict[int, int]) -> None:
    circle = circle_of(weights)
    homes = Counter(first_at(circle, point) for point in POINTS)
    for id_, weight in weights.items():
        due = len(POINTS) * weight / sum(weights.values())
        assert 0.75 * due < homes[id_] < 1.25 * due


def test_an_account_that_is_out_moves_its_own_conversations_alone_and_to_many() -> None:
    circle = circle_of(dict.fromkeys(range(1, 11), 1))
    before = {point: first_at(circle, point) for point in POINTS}
    after = {point: first_at(circle, point, out={4}) for point in POINTS}
    moved = [point for point in POINTS if before[point] != after[point]]
    assert {before[point] for point in moved} == {4}
    assert len({after[point] for point in moved}) == 9


@pytest.mark.parametrize("weight", [1, 3])
def test_an_account_that_is_added_takes_from_all_and_moves_nothing_else(weight: int) -> None:
    weights = dict.fromkeys(range(1, 11), 1)
    before, after = circle_of(weights), circle_of(weights | {11: weight})
    assert {first_at(after, point) for point in POINTS if first_at(before, point) != first_at(after, point)} == {11}


def test_many_accounts_and_weights_have_a_bounded_number_of_points() -> None:
    for weights in ({id_: 1 + id_ % 7 for id_ in range(1, 1_001)}, {1: 10**9, 2: 1}):
        circle = circle_of(weights)
        first_at(circle, POINTS[0])
        assert len(circle._points) <= 2**15 + len(weights)


# Shares.


def give(shares: Shares, account_id: int, calls: int, now: float = NOW) -> None:
    for _ in range(calls):
        shares.add(account_id, now)


def counted(weights: dict[int, int]) -> Shares:
    shares = Shares()
    shares.count(Tier([(id_, PoolPlace(weight=weight)) for id_, weight in weights.items()]), everybody, NOW)
    return shares


def test_an_account_is_full_at_its_bound() -> None:
    shares = counted({1: 1, 2: 3})
    give(shares, 2, 85)
    given = 0
    while shares.has_room(1, PLACE, NOW):
        shares.add(1, NOW)
        given += 1
    assert given == int(BOUND / 4 * (85 + given))
    assert given + 1 > BOUND / 4 * (85 + given + 1)


def test_few_calls_are_no_load() -> None:
    shares = counted(dict.fromkeys(range(100), 1))
    given = 0
    while shares.has_room(1, PLACE, NOW):
        shares.add(1, NOW)
        given += 1
    assert given == CALLS_LEAST


def test_a_minute_later_there_is_room_again() -> None:
    shares = counted({1: 1, 2: 1})
    give(shares, 1, 50)
    assert not shares.has_room(1, PLACE, NOW + 59)
    assert shares.has_room(1, PLACE, NOW + 60)


def test_shares_are_of_those_that_are_well() -> None:
    shares, tier = Shares(), Tier([(id_, PLACE) for id_ in range(1, 11)])
    shares.count(tier, everybody, NOW)
    for id_ in range(1, 11):
        give(shares, id_, 25)
    give(shares, 1, 10)
    assert not shares.has_room(1, PLACE, NOW)
    later = NOW + COUNTED_SECONDS
    shares.count(tier, lambda id_, _: id_ < 3, later)
    assert shares.has_room(1, PLACE, later)


# Homes.


def test_a_conversation_goes_home_again_and_again() -> None:
    homes = homes_of(dict.fromkeys(range(1, 11), 1))
    for point in POINTS[:100]:
        assert len({homes.home(point, everybody, NOW + second) for second in range(5)}) == 1


def test_an_account_that_rests_moves_only_its_own() -> None:
    weights = dict.fromkeys(range(1, 11), 1)
    all_of, without = homes_of(weights), homes_of(weights, resting=[4])
    for point in POINTS[:500]:
        before, after = all_of.home(point, everybody, NOW), without.home(point, everybody, NOW)
        assert after != 4
        assert before in {4, after}


def test_a_conversation_that_found_its_home_full_stays_where_it_went_until_that_is_forgotten() -> None:
    homes = homes_of({1: 1, 2: 1, 3: 1})
    point = POINTS[0]
    home = homes.home(point, everybody, NOW)
    assert home is not None
    give(homes.shares, home, 50)
    went = homes.home(point, everybody, NOW)
    assert went not in {None, home}
    later = NOW + MOVED_SECONDS - 1
    assert homes.home(point, everybody, later) == went
    assert homes.home(point, everybody, later + MOVED_SECONDS - 1) == went, "it was used meanwhile"
    assert homes.home(point, everybody, later + 2 * MOVED_SECONDS) == home


def test_a_conversation_that_moved_is_served_elsewhere_when_that_account_is_out_or_full() -> None:
    homes = homes_of({1: 1, 2: 1, 3: 1})
    home = homes.home(POINTS[0], everybody, NOW)
    assert home is not None
    give(homes.shares, home, 50)
    went = homes.home(POINTS[0], everybody, NOW)
    assert homes.home(POINTS[0], lambda id_, _: id_ != went, NOW) not in {None, went, home}


def test_conversations_that_moved_are_remembered_within_bounds() -> None:
    homes = homes_of({1: 1, 2: 1_000})
    give(homes.shares, 1, 50)
    for number in range(20 * MOVED_MOST):
        homes.home(point_of(SECRET, 1, "m", b"%d" % number) >> 32 << 32 | number, lambda *_: True, NOW)
    assert len(homes._moved) <= MOVED_MOST


def test_who_is_full_or_out_everywhere_has_no_home() -> None:
    homes = homes_of({1: 1, 2: 1})
    assert homes.home(POINTS[0], lambda *_: False, NOW) is None


@given(
    weights=st.dictionaries(st.integers(1, 12), st.integers(1, 5), min_size=2),
    out=st.sets(st.integers(1, 12)),
    seeds=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=200),
)
def test_whatever_comes_no_account_is_given_more_than_its_bound(
    weights: dict[int, int], out: set[int], seeds: list[int]
) -> None:
    homes = homes_of(weights)
    homes.shares.count(homes.tier, lambda id_, _: id_ not in out, NOW + COUNTED_SECONDS)
    well = sum(weight for id_, weight in weights.items() if id_ not in out)
    taken = Counter[int]()
    for number in range(300):
        home = homes.home(seeds[number % len(seeds)], lambda id_, _: id_ not in out, NOW + COUNTED_SECONDS)
        if home is None:
            continue
        homes.note_call(home, NOW + COUNTED_SECONDS)
        taken[home] += 1
        assert home not in out
        assert taken[home] <= CALLS_LEAST or taken[home] * well <= BOUND * weights[home] * taken.total()
