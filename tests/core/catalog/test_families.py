"""Families of models: whose a model is by its id."""

import pytest

from tollkeeper.core.catalog.families import family_at, is_of_family


@pytest.mark.parametrize(
    ("family", "theirs"),
    [
        ("openai", "gpt-4o gpt-5-mini o3 o4-mini chatgpt-4o-latest text-embedding-3-small dall-e-3 whisper-1 tts-1-hd"),
        ("anthropic", "claude-opus claude-3-5-sonnet-20241022"),
        ("gemini", "gemini-3-pro gemini-embedding-001 text-embedding-004 imagen-4"),
    ],
)
def test_a_model_is_of_one_family_at_most(family: str, theirs: str) -> None:
    for model_id in theirs.split():
        found = [each for each in ("openai", "anthropic", "gemini", "azure") if is_of_family(model_id, each)]
        assert found == [family], model_id


@pytest.mark.parametrize("model_id", ["gpt-oss-120b", "llama-4", "olmo-2", "o", "my-gpt-4o", "smollm2-135m", ""])
def test_what_is_not_known_is_of_no_family(model_id: str) -> None:
    assert not any(is_of_family(model_id, family) for family in ("openai", "anthropic", "gemini"))


@pytest.mark.parametrize(
    ("vendor", "host", "family"),
    [
        ("openai", "api.openai.com", "openai"),
        ("anthropic", "API.anthropic.com.", "anthropic"),
        ("gemini", "generativelanguage.googleapis.com", "gemini"),
        ("openai", "api.openai.com.evil.example", None),
        ("openai", "api.anthropic.com", None),
        ("azure", "west.openai.azure.com", None),
    ],
)
def test_a_family_is_known_at_the_vendors_own_host_only(vendor: str, host: str, family: str | None) -> None:
    assert family_at(vendor, host) == family
