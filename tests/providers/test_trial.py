"""What a trial of a provider account looks for in answers."""

import json

import pytest

from tollkeeper.providers.trial import LOOKS, _parsed

CALL = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
WORDS, JSON = {"role": "assistant", "content": "river stone"}, {"role": "assistant", "content": '{"city": "Oslo"}'}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("what", "message", "problem"),
    [
        ("JSON by a schema", JSON, None),
        ("JSON by a schema", WORDS, "an answer came, but it is not the JSON that was asked for"),
        ("a tool call", CALLED, None),
        ("a tool call", WORDS, "an answer came, but it calls no tool"),
    ],
)
def test_an_answer_must_be_what_was_asked_for(what: str, message: object, problem: str | None) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
    assert LOOKS[what](_parsed(json.dumps(whole).encode(), streamed=False)) == problem
