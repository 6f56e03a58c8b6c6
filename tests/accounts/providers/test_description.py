"""What is wrong with how a provider account was described."""

from decimal import Decimal

import pytest

from tollkeeper.accounts.providers.description import (
    BadDescription,
    check_address,
    check_api_version,
    check_key,
    check_passes,
    check_rejects,
    check_vendor,
    cost_typed,
    is_same_place,
)
from tollkeeper.app.provider_terms import provider_terms

TERMS = provider_terms(private_allowed=True)


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
    check_vendor(vendor, TERMS)


def test_no_other_wire_format_is_spoken() -> None:
    with pytest.raises(
        BadDescription, match="'bedrock' is not a vendor: write one of openai, azure, anthropic, gemini"
    ):
        check_vendor("bedrock", TERMS)


def test_an_account_can_be_said_to_reject_what_it_could_do_without() -> None:
    check_rejects(["stream_options", "seed", "max_tokens", "temperature"], TERMS)
    for name in ("messages", "model", "stream", "nonsense"):
        with pytest.raises(BadDescription, match=f"'{name}' is not a parameter that an account can be said to reject"):
            check_rejects([name], TERMS)


def test_an_account_can_be_said_to_pass_what_is_not_listed() -> None:
    check_passes(["guided_json", "chat_template_kwargs"], "openai", TERMS)
    check_passes(["guided_json"], "azure", TERMS)
    check_passes([], "gemini", TERMS)
    for name in ("messages", "n", "max_tokens", "api_base", "service_tier", "temperature", "prompt", "Guided_Json"):
        with pytest.raises(BadDescription, match=f"'{name}' is not a parameter that an account can be said to pass"):
            check_passes([name], "openai", TERMS)
    with pytest.raises(BadDescription, match="'guided_json' cannot pass to anthropic: orders are translated"):
        check_passes(["guided_json"], "anthropic", TERMS)


def test_a_version_of_an_interface_is_a_word() -> None:
    check_api_version(None)
    check_api_version("2025-03-01-preview")
    with pytest.raises(BadDescription, match="is not a version"):
        check_api_version("2024-10-21&x=1")


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ("https://api.example/v2", True),
        ("https://API.example:443", True),
        ("http://api.example/v1", False),
        ("https://api.example:8443/v1", False),
        ("https://api.example.evil/v1", False),
        ("https://evil/api.example/v1", False),
    ],
)
def test_a_key_is_for_one_scheme_host_and_port(other: str, is_same: bool) -> None:
    assert is_same_place("https://api.example/v1", other) is is_same


@pytest.mark.parametrize("key", ["two\nlines", "a\x00b", " ahead", "schlüssel", ""])
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(BadDescription) as refused:
        check_key(key)
    assert not key or key not in str(refused.value)


def test_what_an_account_costs_is_a_part_of_the_list_price() -> None:
    assert cost_typed("0.8") == Decimal("0.8")
    for text in ("-1", "1e3", "0.0000001", "100000000", "dear", "9" * 30):
        with pytest.raises(BadDescription, match="is not a multiplier"):
            cost_typed(text)
