"""Provider accounts in words."""

from datetime import UTC, datetime

import msgspec
import pytest

from tollkeeper.cli.provider_words import (
    BadDescription,
    check_address,
    check_api_version,
    check_passes,
    check_rejects,
    check_vendor,
    health,
    limits_in_words,
    model_names,
    usd,
)
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
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


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (PoolPlace(), "none"),
        (PoolPlace(concurrency=4), "4 at once"),
        (PoolPlace(requests_per_minute=60, tokens_per_minute=9_000), "60 requests/min, 9000 tokens/min"),
    ],
)
def test_limits_are_told_in_words(place: PoolPlace, told: str) -> None:
    assert limits_in_words(place) == told


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0, "0.000"),
        (UNITS_PER_USD * 3 // 2, "1.500"),
        (-UNITS_PER_USD // 4, "-0.250"),
        (-1, "0.000"),
    ],
)
def test_a_loss_has_a_minus(amount: int, told: str) -> None:
    assert usd(amount) == told


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["gpt-4o"], {"gpt-4o": "gpt-4o"}),
        (["gpt-4o=mine", "o3"], {"gpt-4o": "mine", "o3": "o3"}),
        (["a=b=c"], {"a": "b=c"}),
    ],
)
def test_models_have_their_providers_names(given: list[str], names: dict[str, str]) -> None:
    assert model_names(given) == names


@pytest.mark.parametrize("given", [[""], ["=x"], ["x="], ["x", "x=y"]], ids=str)
def test_models_without_names_are_refused(given: list[str]) -> None:
    with pytest.raises(BadDescription):
        model_names(given)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.example/v1",
        "https://api.example:8443",
        "http://127.0.0.1:9000/v1",
        "http://localhost/v1",
        "http://[::1]:9000/v1",
    ],
)
def test_an_address_that_will_do(base_url: str) -> None:
    check_address(base_url, insecure_http=False, private_allowed=True)


@pytest.mark.parametrize(
    ("base_url", "told"),
    [
        ("ftp://api.example", "must be like https://host/v1"),
        ("api.example/v1", "must be like https://host/v1"),
        ("https:///v1", "must be like https://host/v1"),
        ("https://[::1/v1", "is not an address"),
        ("https://api.example:port/v1", "is not an address"),
        ("https://api.example/v1?key=1", "no query"),
        ("https://api.example/v1?", "no query"),
        ("https://api.example/v1#part", "no fragment"),
        ("https://me:secret@api.example/v1", "no user or password"),
        ("http://api.example/v1", "--insecure-http"),
        ("http://10.0.0.7/v1", "--insecure-http"),
        ("http://localhost.evil.example/v1", "--insecure-http"),
    ],
)
def test_an_address_that_will_not_do(base_url: str, told: str) -> None:
    with pytest.raises(BadDescription, match=told):
        check_address(base_url, insecure_http=False, private_allowed=True)


def test_plain_http_is_the_operators_choice() -> None:
    check_address("http://10.0.0.7/v1", insecure_http=True, private_allowed=True)


@pytest.mark.parametrize("vendor", ["openai", "azure", "anthropic", "gemini"])
def test_four_wire_formats_are_spoken(vendor: str) -> None:
    check_vendor(vendor)


def test_no_other_wire_format_is_spoken() -> None:
    with pytest.raises(
        BadDescription, match="'bedrock' is not a vendor: write one of openai, azure, anthropic, gemini"
    ):
        check_vendor("bedrock")


def test_an_account_can_be_said_to_reject_what_it_could_do_without() -> None:
    check_rejects(["stream_options", "seed", "max_tokens", "temperature"])
    for name in ("messages", "model", "stream", "nonsense"):
        with pytest.raises(BadDescription, match=f"'{name}' is not a parameter that an account can be said to reject"):
            check_rejects([name])


def test_an_account_can_be_said_to_pass_what_is_not_listed() -> None:
    check_passes(["guided_json", "chat_template_kwargs"], "openai")
    check_passes(["guided_json"], "azure")
    check_passes([], "gemini")
    for name in ("messages", "n", "max_tokens", "api_base", "service_tier", "temperature", "prompt", "Guided_Json"):
        with pytest.raises(BadDescription, match=f"'{name}' is not a parameter that an account can be said to pass"):
            check_passes([name], "openai")
    with pytest.raises(BadDescription, match="'guided_json' cannot pass to anthropic: orders are translated"):
        check_passes(["guided_json"], "anthropic")


def test_a_version_of_an_interface_is_a_word() -> None:
    check_api_version(None)
    check_api_version("2025-03-01-preview")
    with pytest.raises(BadDescription, match="is not a version"):
        check_api_version("2024-10-21&x=1")
