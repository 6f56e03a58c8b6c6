"""Every target holds for its examples and for small changes of them; what does not is shown as small as it can be."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.fuzz.mutate import mutated
from tools.fuzz.target import Grown, load, names


@pytest.mark.parametrize("name", names())
def test_a_target_holds_for_its_examples_and_for_grown_inputs(name: str) -> None:
    target = load(name)
    for data in (*target.seeds, *(recipe.of(4_096) for recipe in target.grown)):
        target.check(data)
        target.work(data)


@pytest.mark.parametrize("name", names())
@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_a_target_holds_for_small_changes(name: str, data: st.DataObject, chance: int) -> None:
    target = load(name)
    example = data.draw(st.sampled_from(target.seeds))
    target.check(mutated(example, Random(chance), target.words, 4_096))  # noqa: S311 (a seed, to be repeated)


@pytest.mark.parametrize("name", names())
@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=256))
def test_a_target_holds_for_any_bytes(name: str, data: bytes) -> None:
    load(name).check(data)


def test_a_grown_input_has_its_size() -> None:
    recipe = Grown(b"[{", b"<", b">", b"}]")
    assert recipe.of(10) == b"<[{[{}]}]>"
    assert len(recipe.of(1_000)) <= 1_000


def test_changes_leave_much_of_an_example_valid() -> None:
    chance = Random(1)  # noqa: S311 (a seed, to be repeated)
    changed = [mutated(b'{"a": [1, {"b": "c"}]}', chance, (), 1_000) for _ in range(200)]
    assert len(set(changed)) > 100
    assert max(map(len, changed)) <= 1_000
