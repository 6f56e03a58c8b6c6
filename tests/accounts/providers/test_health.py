"""How a provider account is doing, in words."""

from datetime import UTC, datetime

import msgspec
import pytest

from tollkeeper.accounts.providers.health import health
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports import ProviderStanding, ProviderState

IDLE = ProviderStanding(
    name="first",
    vendor="openai",
    base_url="https://api.example/v1",
    place=PoolPlace(),
    models=None,
    state=ProviderState.ACTIVE,
    suspended_at=None,
    suspended_because=None,
    attempts=0,
    failed=0,
    first_byte_ms=None,
    delivered=0,
    charged=Quota(0),
    cost=Quota(0),
)
REFUSED = {
    "suspended_at": datetime(2026, 7, 1, 12, 30, 5, tzinfo=UTC),
    "suspended_because": "its key was refused with 401",
}
TESTED = (
    "suspended since 2026-07-01 12:30:05 UTC: its key was refused with 401; it is tested every minute, or now with "
    "`tollkeeper provider test first`"
)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({}, "idle: no calls in 10 min"),
        ({"attempts": 312, "first_byte_ms": 412}, "well: 312 calls in 10 min, first byte 0.4 s"),
        ({"attempts": 1, "first_byte_ms": 1_950}, "well: 1 call in 10 min, first byte 1.9 s"),
        ({"attempts": 9, "failed": 4, "first_byte_ms": 100}, "well: 9 calls in 10 min, 4 failed, first byte 0.1 s"),
        ({"attempts": 15, "failed": 12, "first_byte_ms": 100}, "failing: 12 of 15 calls in 10 min failed"),
        ({"attempts": 2, "failed": 1}, "failing: 1 of 2 calls in 10 min failed"),
        ({"state": ProviderState.PAUSED, "attempts": 7}, "paused"),
        ({"state": ProviderState.DRAINING, "attempts": 7, "failed": 7}, "draining"),
        (REFUSED | {"attempts": 7}, TESTED),
        (REFUSED | {"state": ProviderState.PAUSED}, f"paused, and {TESTED}"),
    ],
)
def test_health_is_told_in_words(known: dict[str, object], told: str) -> None:
    assert health(msgspec.structs.replace(IDLE, **known), private_allowed=False) == told
