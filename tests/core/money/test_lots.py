from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.lots import Draw, Lot, draw, drawable, split

NOW = datetime(2026, 7, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
KEY = 7
OTHER_KEY = 8


def a_lot(id_: int, *, remaining: int = 10, lasts: timedelta = timedelta(days=30), key_id: int | None = None) -> Lot:
    return Lot(id=id_, remaining=Quota(remaining), expires_at=NOW + lasts, key_id=key_id)


@pytest.mark.parametrize(
    ("lots", "key_id", "order"),
    [
        pytest.param(
            [a_lot(1, lasts=timedelta(days=2)), a_lot(2, lasts=timedelta(days=1)), a_lot(3, lasts=timedelta(days=3))],
            KEY,
            [2, 1, 3],
            id="what expires first is drawn first",
        ),
        pytest.param(
            [a_lot(1, lasts=timedelta(days=1)), a_lot(2, lasts=timedelta(days=9), key_id=KEY)],
            KEY,
            [2, 1],
            id="its own lot first, though it lasts longer",
        ),
        pytest.param(
            [a_lot(1, lasts=timedelta(days=2), key_id=KEY), a_lot(2, lasts=timedelta(days=1), key_id=KEY), a_lot(3)],
            KEY,
            [2, 1, 3],
            id="its own lots by expiry too",
        ),
        pytest.param([a_lot(3), a_lot(1), a_lot(2)], KEY, [1, 2, 3], id="together expiring, by id"),
        pytest.param([a_lot(1, key_id=OTHER_KEY), a_lot(2)], KEY, [2], id="not what is bound to another key"),
        pytest.param([a_lot(1, key_id=KEY), a_lot(2)], None, [2], id="without a key nothing that is bound"),
        pytest.param([a_lot(1, lasts=-INSTANT), a_lot(2)], KEY, [2], id="not what has expired"),
        pytest.param([a_lot(1, lasts=timedelta(0)), a_lot(2)], KEY, [2], id="not what expires at this instant"),
        pytest.param([a_lot(1, lasts=INSTANT), a_lot(2)], KEY, [1, 2], id="what expires an instant later"),
        pytest.param([a_lot(1, lasts=timedelta(0), key_id=KEY)], KEY, [], id="not its own once expired"),
        pytest.param([a_lot(1, remaining=0), a_lot(2, remaining=1)], KEY, [2], id="not what is empty"),
        pytest.param([], KEY, [], id="nothing from nothing"),
    ],
)
def test_what_a_key_may_draw_and_in_which_order(lots: list[Lot], key_id: int | None, order: list[int]) -> None:
    for shuffled in permutations(lots):
        assert [lot.id for lot in drawable(shuffled, key_id, NOW)] == order


all_lots = st.lists(
    st.builds(
        Lot,
        id=st.integers(1, 99),
        remaining=st.integers(0, 3).map(Quota),
        expires_at=st.integers(-2, 3).map(lambda days: NOW + timedelta(days=days)),
        key_id=st.sampled_from([None, KEY, OTHER_KEY]),
    ),
    unique_by=lambda lot: lot.id,
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(all_lots, st.sampled_from([None, KEY]))
def test_every_lot_is_drawable_or_has_a_reason_not_to_be(lots: list[Lot], key_id: int | None) -> None:
    found = drawable(lots, key_id, NOW)
    for lot in lots:
        elsewhere = lot.key_id is not None and lot.key_id != key_id
        assert (lot in found) != (elsewhere or lot.remaining == 0 or lot.expires_at <= NOW)
    for earlier, later in pairwise(found):
        if (earlier.key_id is None) == (later.key_id is None):
            assert (earlier.expires_at, earlier.id) < (later.expires_at, later.id)
        else:
            assert earlier.key_id == key_id


@pytest.mark.parametrize(
    ("amount", "taken"),
    [
        pytest.param(0, [], id="nothing"),
        pytest.param(4, [(1, 4)], id="part of the first"),
        pytest.param(10, [(1, 10)], id="just the first"),
        pytest.param(11, [(1, 10), (3, 1)], id="over two, past an empty one"),
        pytest.param(35, [(1, 10), (3, 20), (4, 5)], id="all there is"),
        pytest.param(99, [(1, 10), (3, 20), (4, 5)], id="no more than there is"),
        pytest.param(-1, [], id="never backwards"),
    ],
)
def test_an_amount_is_split_over_lots_in_their_order(amount: int, taken: list[tuple[int, int]]) -> None:
    lots = [a_lot(1), a_lot(2, remaining=0), a_lot(3, remaining=20), a_lot(4, remaining=5)]
    assert draw(lots, amount) == [Draw(lot_id, Quota(part)) for lot_id, part in taken]


sizes = st.lists(st.integers(0, 5) | st.integers(0, 2**60), max_size=8)


@st.composite
def sizes_and_an_amount(draw_from: st.DrawFn) -> tuple[list[int], int]:
    """Some sizes, and an amount that often ends near the edge of one of them."""
    chosen = draw_from(sizes)
    edge = sum(chosen[: draw_from(st.integers(0, len(chosen)))])
    return chosen, max(0, edge + draw_from(st.integers(-2, 2) | st.integers(-(2**60), 2**60)))


@settings(max_examples=300, deadline=None)
@given(sizes_and_an_amount())
def test_a_draw_takes_what_is_asked_as_far_as_there_is(case: tuple[list[int], int]) -> None:
    remaining, amount = case
    draws = draw([a_lot(id_, remaining=size) for id_, size in enumerate(remaining)], amount)
    taken_ids = [taken.lot_id for taken in draws]
    assert sum(taken.amount for taken in draws) == min(amount, sum(remaining))
    assert taken_ids == sorted(set(taken_ids))
    assert all(0 < taken.amount <= remaining[taken.lot_id] for taken in draws)
    # A lot is touched only once those before it are used up.
    assert_in_turn(
        remaining, [sum(taken.amount for taken in draws if taken.lot_id == id_) for id_ in range(len(remaining))]
    )


@pytest.mark.parametrize(
    ("charge", "parts"),
    [
        pytest.param(0, [0, 0, 0], id="nothing"),
        pytest.param(4, [4, 0, 0], id="part of the first"),
        pytest.param(10, [10, 0, 0], id="just the first"),
        pytest.param(12, [10, 2, 0], id="into the second"),
        pytest.param(35, [10, 20, 5], id="all that was drawn"),
        pytest.param(99, [10, 20, 5], id="no more than was drawn"),
    ],
)
def test_a_charge_consumes_the_earliest_draws_first(charge: int, parts: list[int]) -> None:
    draws = [Draw(5, Quota(10)), Draw(3, Quota(20)), Draw(9, Quota(5))]
    assert split(draws, charge) == list(zip(draws, parts, strict=True))


@settings(max_examples=300, deadline=None)
@given(sizes_and_an_amount())
def test_a_split_consumes_the_charge_as_far_as_was_drawn(case: tuple[list[int], int]) -> None:
    drawn, charge = case
    draws = [Draw(lot_id, Quota(size)) for lot_id, size in enumerate(drawn)]
    found = split(draws, charge)
    assert [taken for taken, _ in found] == draws
    assert sum(part for _, part in found) == min(charge, sum(drawn))
    assert_in_turn(drawn, [part for _, part in found])


def assert_in_turn(sizes: Sequence[int], parts: Sequence[int]) -> None:
    """Every part is within its size, and nothing is taken behind one that was not used up."""
    assert all(0 <= part <= size for size, part in zip(sizes, parts, strict=True))
    first_left = next((at for at, size in enumerate(sizes) if parts[at] < size), len(sizes))
    assert not any(parts[first_left + 1 :])
