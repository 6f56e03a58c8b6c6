"""Where each vendor's calls go, and with what credentials."""

import pytest

from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, SECRET, an_account, an_order
from tollkeeper.app.providers import VENDORS

ANTHROPIC_VERSION = ("anthropic-version", "2023-06-01")


@pytest.mark.parametrize(
    ("vendor", "base_url", "chat", "models"),
    [
        ("openai", "https://v.test/v1", "https://v.test/v1/chat/completions", "https://v.test/v1/models"),
        ("openai", "https://v.test/v1/", "https://v.test/v1/chat/completions", "https://v.test/v1/models"),
        (
            "azure",
            "https://v.test",
            "https://v.test/openai/deployments/a%20b/chat/completions?api-version=2024-10-21",
            "https://v.test/openai/models?api-version=2024-10-21",
        ),
        (
            "azure",
            "https://v.test/openai/v1/",
            "https://v.test/openai/v1/chat/completions",
            "https://v.test/openai/v1/models",
        ),
        ("anthropic", "https://v.test", "https://v.test/v1/messages", "https://v.test/v1/models"),
        ("anthropic", "https://v.test/v1/", "https://v.test/v1/messages", "https://v.test/v1/models"),
        (
            "gemini",
            "https://v.test",
            "https://v.test/v1beta/models/a%20b:generateContent",
            "https://v.test/v1beta/models",
        ),
        ("gemini", "https://v.test/v1/", "https://v.test/v1/models/a%20b:generateContent", "https://v.test/v1/models"),
    ],
)
def test_an_address_may_be_written_as_people_write_it(vendor: str, base_url: str, chat: str, models: str) -> None:
    account = an_account(vendor, base_url=base_url, models={"m": "a b"})
    assert VENDORS[vendor].chat(an_order(), account, most_output_tokens=MOST_OUTPUT_TOKENS)[0] == chat
    assert VENDORS[vendor].models(account)[0] == models


@pytest.mark.parametrize(
    ("vendor", "headers"),
    [
        ("openai", {("authorization", f"Bearer {SECRET}")}),
        ("azure", {("api-key", SECRET)}),
        ("anthropic", {("x-api-key", SECRET), ANTHROPIC_VERSION}),
        ("gemini", {("x-goog-api-key", SECRET)}),
    ],
)
def test_a_key_goes_where_its_vendor_looks_for_it_and_nowhere_else(vendor: str, headers: set[tuple[str, str]]) -> None:
    account = an_account(vendor)
    address, sent, body = VENDORS[vendor].chat(an_order(stream=True), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    kinds = {("content-type", "application/json"), ("accept", "text/event-stream")}
    assert set(sent) == headers | kinds
    assert SECRET not in address
    assert SECRET.encode() not in body
    assert set(VENDORS[vendor].models(account)[1]) == headers


def test_an_account_may_ask_for_another_version_of_the_interface() -> None:
    account = an_account("azure", api_version="2025-03-01-preview")
    address, _, _ = VENDORS["azure"].chat(an_order(), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    assert address.endswith("/deployments/m/chat/completions?api-version=2025-03-01-preview")
    account = an_account("anthropic", api_version="2027-01-01")
    assert ("anthropic-version", "2027-01-01") in VENDORS["anthropic"].models(account)[1]


@pytest.mark.parametrize("vendor", ["azure", "gemini"])
def test_a_models_name_cannot_lead_elsewhere(vendor: str) -> None:
    account = an_account(vendor, models={"m": "../../x?y#z"})
    address, _, _ = VENDORS[vendor].chat(an_order(), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    assert "..%2F..%2Fx%3Fy%23z" in address
