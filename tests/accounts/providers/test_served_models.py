"""Which models a provider account serves."""

import pytest

from tollkeeper.accounts.providers.description import BadDescription
from tollkeeper.accounts.providers.served_models import ServedModels, model_names, served_models

SOLD = ("claude-opus", "gpt-4o", "gpt-4o-mini")


def served(
    models: dict[str, str] | None = None, *, every: bool = False, at: str = "https://api.example/v1"
) -> ServedModels:
    return served_models(models, every_model=every, vendor="openai", base_url=at, sold=SOLD)


def test_models_are_named_or_all_are_asked_for() -> None:
    assert served({"gpt-4o": "mine"}) == ServedModels(models={"gpt-4o": "mine"}, family=None)
    assert served(every=True) == ServedModels(models=None, family=None)
    with pytest.raises(BadDescription, match="not both"):
        served({"gpt-4o": "mine"}, every=True)


def test_at_a_vendors_own_address_its_family_is_served_and_elsewhere_nothing_is_guessed() -> None:
    assert served(at="https://API.openai.com/v1") == ServedModels(models=None, family="openai")
    with pytest.raises(BadDescription, match=r"at api\.example cannot be known\. Name each with --model"):
        served()


def test_a_model_that_is_not_sold_is_refused_with_the_near_ones_named() -> None:
    with pytest.raises(BadDescription, match=r"no model 'gpt-4' in the catalog\. Did you mean gpt-4o or gpt-4o-mini\?"):
        served({"gpt-4": "x"})
    with pytest.raises(BadDescription, match=r"no model 'mistral' in the catalog\. Add it first"):
        served({"mistral": "x"})


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
