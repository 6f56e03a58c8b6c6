from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.request_id import uuid7

MILLISECONDS = st.integers(min_value=0, max_value=2**48 - 1)
CHANCE = st.binary(min_size=10, max_size=10)


@given(MILLISECONDS, CHANCE)
def test_it_is_a_version_7_uuid_that_carries_its_time(milliseconds: int, chance: bytes) -> None:
    made = uuid7(milliseconds, chance)
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == milliseconds


@given(MILLISECONDS, MILLISECONDS, CHANCE, CHANCE)
def test_later_ids_sort_behind_earlier_ones(one: int, other: int, chance: bytes, other_chance: bytes) -> None:
    if one != other:
        assert (uuid7(one, chance) < uuid7(other, other_chance)) == (one < other)


@given(CHANCE, CHANCE)
def test_different_chance_gives_different_ids(chance: bytes, other_chance: bytes) -> None:
    used = (1 << 74) - 1
    same_bits = int.from_bytes(chance) & used == int.from_bytes(other_chance) & used
    assert (uuid7(0, chance) == uuid7(0, other_chance)) == same_bits
