from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tests.core.test_keys import RECORD
from tollkeeper.core.catalog import Kind, Model, usable

NOW = datetime(2026, 7, 1, tzinfo=UTC)
MODEL = Model(id="m", kind=Kind.CHAT, introduced_at=NOW, only_groups=None, priced_from=NOW)


@pytest.mark.parametrize(
    ("model_change", "caller_change", "offered"),
    [
        ({}, {}, True),
        ({"priced_from": NOW + timedelta(seconds=1)}, {}, False),
        ({"only_groups": frozenset({"gold"})}, {}, False),
        ({"only_groups": frozenset({"gold"})}, {"group": "gold"}, True),
        ({}, {"only_models": frozenset({"other"})}, False),
        ({}, {"only_models": frozenset({"m"})}, True),
        ({}, {"only_models": frozenset()}, False),
        ({"only_groups": frozenset({"gold"})}, {"only_models": frozenset({"m"})}, False),
    ],
    ids=["open", "not priced yet", "other group", "own group", "left out", "named", "nothing named", "both must agree"],
)
def test_a_model_is_offered_to_those_who_may_use_it(
    model_change: dict[str, object], caller_change: dict[str, object], offered: bool
) -> None:
    model = msgspec.structs.replace(MODEL, **model_change)
    caller = msgspec.structs.replace(RECORD, **caller_change)
    assert usable([model], caller, NOW) == ([model] if offered else [])
