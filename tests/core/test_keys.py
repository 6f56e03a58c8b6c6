import contextlib
import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tollkeeper.core.client_ip import read_ip, read_networks
from tollkeeper.core.errors import (
    AccountDisabled,
    GatewayError,
    KeyExpired,
    KeyNotForThisNetwork,
    KeyPaused,
    KeyRevoked,
)
from tollkeeper.core.keys import (
    BASE_62,
    KeyRecord,
    Peppers,
    derive,
    has_key_form,
    hint,
    mint,
    require_usable,
    without_keys,
)

NOW = datetime(2026, 7, 1, tzinfo=UTC)
RECORD = KeyRecord(
    key_id=1,
    account_id=1,
    group="standard",
    only_models=None,
    expires_at=None,
    revoked=False,
    account_disabled=False,
)
KEY = mint("c", random.Random(7).choice)  # noqa: S311


@pytest.mark.rule("R4.3")
def test_a_key_is_sk_a_cell_and_48_characters() -> None:
    assert KEY[:4] == "sk-c"
    assert len(KEY) == 4 + 48
    assert set(KEY[3:]) <= set(BASE_62)
    assert has_key_form(KEY)


def test_a_key_that_follows_from_a_secret_has_the_form_of_one_and_is_always_the_same() -> None:
    found = [derive("c", bytes([number]) * 64) for number in range(256)]
    assert all(map(has_key_form, found))
    assert len(set(found)) == 256
    assert derive("c", bytes([7]) * 64) == found[7]
    assert set("".join(key[4:] for key in found)) == set(BASE_62)


@pytest.mark.parametrize(
    "text",
    ["", "sk-", KEY[:-1], KEY + "x", " " + KEY, KEY + "\n", KEY.upper(), KEY.replace("sk-", "pk-"), "sk-" + "ß" * 49],
)
def test_other_text_does_not_have_the_form_of_a_key(text: str) -> None:
    assert not has_key_form(text)


def test_a_hint_tells_keys_apart_and_nothing_more() -> None:
    assert hint(KEY) == f"sk-c…{KEY[-4:]}"


def test_digests_depend_on_the_pepper_and_come_newest_first() -> None:
    peppers = Peppers({1: b"old" * 11, 2: b"new" * 11})
    assert peppers.in_use == 1
    assert Peppers(peppers.by_version, 2).in_use == 2
    assert peppers.digests(KEY) == [peppers.digest(KEY, 2), peppers.digest(KEY, 1)]
    assert len(set(peppers.digests(KEY))) == 2


def test_a_good_key_may_be_used() -> None:
    require_usable(RECORD, NOW, None)
    require_usable(msgspec.structs.replace(RECORD, expires_at=NOW + timedelta(microseconds=1)), NOW, None)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"expires_at": NOW}, KeyExpired),
        ({"revoked": True}, KeyRevoked),
        ({"paused": True}, KeyPaused),
        ({"account_disabled": True}, AccountDisabled),
        ({"revoked": True, "expires_at": NOW, "paused": True, "account_disabled": True}, KeyRevoked),
    ],
    ids=["expired at this instant", "revoked", "paused", "account disabled", "the first reason counts"],
)
def test_a_key_that_exists_is_refused_with_its_reason(change: dict[str, object], refusal: type[GatewayError]) -> None:
    with pytest.raises(refusal):
        require_usable(msgspec.structs.replace(RECORD, **change), NOW, None)


@pytest.mark.parametrize(
    ("client", "allowed"),
    [("203.0.113.7", True), ("203.0.114.7", False), ("2001:db8::1", True), ("2001:db9::1", False), (None, False)],
)
def test_a_key_bound_to_networks_is_used_from_there_alone(client: str | None, *, allowed: bool) -> None:
    bound = msgspec.structs.replace(RECORD, only_networks=read_networks(["203.0.113.0/24", "2001:db8::/32"]))
    refuses = contextlib.nullcontext() if allowed else pytest.raises(KeyNotForThisNetwork)
    with refuses:
        require_usable(bound, NOW, None if client is None else read_ip(client))


def test_words_without_keys_have_their_hints_instead() -> None:
    told = "The model '{0}' and /v1/{0}x are not there, nor is sk-short."
    assert without_keys(told.format(KEY).encode()).decode() == told.format(hint(KEY))
