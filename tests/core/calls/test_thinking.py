import json

import pytest
from msgspec import Raw

from tollkeeper.core.calls.thinking import NO_THOUGHTS, QUIET, may_think
from tollkeeper.providers.vendors.fields import PASSING


def fields(**given: object) -> dict[str, Raw]:
    return {name: Raw(json.dumps(value).encode()) for name, value in given.items()}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"model": "m", "temperature": 1}, id="nothing said"),
        pytest.param({"reasoning_effort": None}, id="effort null"),
        pytest.param({"reasoning_effort": "none"}, id="effort none"),
        pytest.param({"thinking": {"type": "disabled"}}, id="disabled"),
        pytest.param({"reasoning": {"enabled": False}}, id="not enabled"),
        pytest.param({"enable_thinking": False}, id="switched off"),
        pytest.param({"thinking_budget": 0}, id="no budget"),
        pytest.param({"unheard_of": None}, id="null under any name"),
        pytest.param({"chat_template_kwargs": {"enable_thinking": False}}, id="switched off in the template"),
    ],
)
def test_a_model_that_is_plainly_told_not_to_think_does_not(given: dict[str, object]) -> None:
    assert not may_think(fields(**given))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"reasoning_effort": "minimal"}, id="a little"),
        pytest.param({"reasoning_effort": "None"}, id="another case"),
        pytest.param({"reasoning_effort": " none"}, id="a space"),
        pytest.param({"reasoning_effort": False}, id="false"),
        pytest.param({"thinking": {"type": "enabled", "note": "disabled"}}, id="the word in a note"),
        pytest.param({"thinking": {"type": "disabled", "budget_tokens": 9}}, id="disabled, with a budget"),
        pytest.param({"thinking": {"Type": "disabled"}}, id="a name in another case"),
        pytest.param({"thinking": "disabled"}, id="a text"),
        pytest.param({"reasoning": {"exclude": True}}, id="hidden only"),
        pytest.param({"reasoning": {"effort": "none", "max_tokens": 9}}, id="none, with a budget"),
        pytest.param({"include_reasoning": False}, id="not shown"),
        pytest.param({"chat_template_kwargs": {"thinking": False, "enable_thinking": True}}, id="off and on"),
        pytest.param({"unheard_of": 1}, id="unknown"),
    ],
)
def test_a_model_that_is_told_anything_else_may_think(given: dict[str, object]) -> None:
    assert may_think(fields(**given))


def test_it_is_decided_of_every_parameter_that_passes_whether_it_makes_a_model_think() -> None:
    assert PASSING - QUIET - NO_THOUGHTS.keys() == {"include_reasoning", "reasoning_format"}
