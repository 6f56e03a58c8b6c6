import msgspec
import pytest

from tollkeeper.core.money.balance import Balance, BalanceFigures, of_account, of_key

STANDING = BalanceFigures(
    free_lots=100,
    lots_bound_to_key=10,
    lots_bound_elsewhere=5,
    debt=0,
    account_used=70,
    account_held=9,
    key_quota=None,
    key_used=30,
    key_held=0,
)


@pytest.mark.parametrize(
    ("change", "account", "key"),
    [
        ({}, 115, 110),
        ({"key_quota": 50}, 115, 20),
        ({"key_quota": 50, "key_held": 5}, 115, 15),
        ({"key_quota": 20}, 115, 0),
        ({"debt": 15}, 100, 95),
        ({"debt": 1_000}, 0, 0),
    ],
    ids=["unlimited", "with a quota", "holds do not remain", "overdrawn shows zero", "debt is taken off", "only debt"],
)
def test_what_remains(change: dict[str, int], account: int, key: int) -> None:
    standing = msgspec.structs.replace(STANDING, **change)
    assert of_account(standing) == Balance(account, 70, 9)  # type: ignore[arg-type]
    assert of_key(standing) == Balance(key, 30, standing.key_held)  # type: ignore[arg-type]
