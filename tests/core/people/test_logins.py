from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tollkeeper.core.people.logins import Role, SessionRecord, SessionStanding, mint_token, standing, token_digest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CUSTOMERS = SessionRecord(
    session_id=1,
    account_id=1,
    role=Role.CUSTOMER,
    created_at=NOON,
    last_seen_at=NOON,
    expires_at=NOON + timedelta(days=30),
    ip="",
    agent="",
    second_factor_at=None,
    revoked_at=None,
    has_second_factor=False,
    account_disabled=False,
)
STAFF = {"role": Role.SUPPORT, "has_second_factor": True, "second_factor_at": NOON}


@pytest.mark.parametrize(
    ("changes", "later", "worth"),
    [
        ({}, timedelta(0), SessionStanding.WHOLE),
        ({}, timedelta(days=6, hours=23), SessionStanding.WHOLE),
        ({}, timedelta(days=7), SessionStanding.OVER),
        ({"last_seen_at": NOON + timedelta(days=29)}, timedelta(days=29, hours=23), SessionStanding.WHOLE),
        ({"last_seen_at": NOON + timedelta(days=29)}, timedelta(days=30), SessionStanding.OVER),
        ({"revoked_at": NOON}, timedelta(0), SessionStanding.OVER),
        ({"account_disabled": True}, timedelta(0), SessionStanding.OVER),
        (STAFF, timedelta(minutes=59), SessionStanding.WHOLE),
        (STAFF, timedelta(hours=1), SessionStanding.OVER),
        (STAFF | {"role": Role.OPERATOR}, timedelta(hours=1), SessionStanding.OVER),
        (STAFF | {"second_factor_at": None}, timedelta(0), SessionStanding.NEEDS_SECOND_FACTOR),
        (STAFF | {"has_second_factor": False}, timedelta(0), SessionStanding.NEEDS_SECOND_FACTOR),
        (STAFF | {"has_second_factor": False, "revoked_at": NOON}, timedelta(0), SessionStanding.OVER),
    ],
)
def test_what_a_session_is_good_for(changes: dict[str, Any], later: timedelta, worth: SessionStanding) -> None:
    assert standing(msgspec.structs.replace(CUSTOMERS, **changes), NOON + later) is worth


def test_a_token_is_made_by_chance_alone_and_has_a_digest() -> None:
    assert mint_token(lambda characters: characters[0]) == "0" * 43
    assert len(token_digest("0" * 43)) == 32
    assert token_digest("a") != token_digest("b")
