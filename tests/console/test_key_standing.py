"""How a key stands, in one word."""

from datetime import UTC, datetime, timedelta

import pytest

from tollkeeper.console.keys.standing import KeyState, standing_of
from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import KeyOnFile

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def a_key(**fields: object) -> KeyOnFile:
    usual = {
        "key_id": 1,
        "account_id": 1,
        "name": "a key",
        "hint": "sk-a…wxyz",
        "created_at": NOW,
        "rotated_at": None,
        "former_until": None,
        "expires_at": None,
        "revoked_at": None,
        "paused_at": None,
        "quota": None,
        "used": Quota(0),
        "held": Quota(0),
        "counted_today": Quota(0),
        "counted_this_month": Quota(0),
        "only_models": None,
        "only_networks": None,
        "daily_budget": None,
        "monthly_budget": None,
    }
    return KeyOnFile(**usual | fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, KeyState.LIVE),
        ({"expires_at": NOW + timedelta(days=8)}, KeyState.LIVE),
        ({"expires_at": NOW + timedelta(days=7)}, KeyState.ENDS_SOON),
        ({"expires_at": NOW}, KeyState.EXPIRED),
        ({"quota": Quota(10), "used": Quota(10)}, KeyState.USED_UP),
        ({"daily_budget": Quota(10), "counted_today": Quota(10)}, KeyState.BUDGET_USED_UP),
        ({"monthly_budget": Quota(10), "counted_this_month": Quota(11)}, KeyState.BUDGET_USED_UP),
        ({"monthly_budget": Quota(10), "counted_this_month": Quota(9)}, KeyState.LIVE),
        ({"quota": Quota(10), "used": Quota(10), "paused_at": NOW}, KeyState.PAUSED),
        ({"paused_at": NOW, "expires_at": NOW}, KeyState.EXPIRED),
        ({"quota": Quota(10), "used": Quota(10), "revoked_at": NOW}, KeyState.REVOKED),
    ],
)
def test_a_key_stands_as_one_word_says(fields: dict[str, object], state: KeyState) -> None:
    assert standing_of(a_key(**fields), NOW).state is state


@pytest.mark.parametrize(
    ("age", "first"),
    [(timedelta(0), "2026-11-16"), (timedelta(days=40), "2026-10-07"), (timedelta(days=900), "2025-11-16")],
    ids=["made today", "made a while ago", "made longer ago than can be asked for at once"],
)
def test_what_a_key_used_in_all_leads_to_its_calls(age: timedelta, first: str) -> None:
    standing = standing_of(a_key(created_at=NOW - age, quota=Quota(10)), NOW)
    assert standing.href == f"/usage?from={first}&to=2026-11-16&key=1"
    assert [meter.href for meter in standing.meters] == [standing.href]
