"""Whatever stands in whichever place of a request: it is taken or refused, and nothing breaks."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.simulator.formats import ANTHROPIC, GEMINI
from tollkeeper_simulator.dialects.anthropic.order import read_messages_order
from tollkeeper_simulator.dialects.gemini.order import read_content_order
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.order import Asked
from tollkeeper_simulator.problem import Refused
from tollkeeper_simulator.speech import speech_for
from tollkeeper_simulator.tokens import count_input

STRANGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    [None],
    ["x"],
    {},
    {"type": "x"},
    {"x": {}},
    {"type": []},
)
PICTURE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
MESSAGES: Any = ANTHROPIC.tools | {
    "model": "m",
    "max_tokens": 2_048,
    "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
    "thinking": {"type": "adaptive", "display": "summarized"},
    "tool_choice": {"type": "auto"},
    "stop_sequences": ["x"],
    "metadata": {"user_id": "u"},
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "call the tool"}, {"type": "image", "source": PICTURE}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "so"}]},
        {"role": "user", "content": "again"},
        {
            "role": "assistant",
            "content": [
                {"type": "redacted_thinking", "data": "x"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]}],
        },
    ],
}
CONTENTS: Any = GEMINI.tools | {
    "systemInstruction": {"parts": [{"text": "be brief"}]},
    "generationConfig": {
        "temperature": 1,
        "maxOutputTokens": 9,
        "candidateCount": 2,
        "stopSequences": ["x"],
        "responseSchema": {"type": "array", "items": {"anyOf": [{"type": "string"}]}},
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1},
    },
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "call the tool"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
        },
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AAAA"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 1}}}]},
    ],
}


def read_contents(body: bytes) -> Asked:
    return read_content_order("m", body, is_streamed=False)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with each of its keys or indexes."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in list(inner):
        yield value, key
        yield from places(held)


def outcome(read: Callable[[bytes], Asked], body: bytes) -> str:
    try:
        asked = read(body)
    except Refused as refusal:
        return "refused" if refusal.problem.status == 400 and refusal.problem.message else "refused without a word"
    speech = speech_for(asked, asked.last_user_text(), Directions())
    return "taken" if count_input(asked) > 0 and speech.tokens >= 0 else "miscounted"


@pytest.mark.parametrize(
    ("read", "order"), [(read_messages_order, MESSAGES), (read_contents, CONTENTS)], ids=["anthropic", "gemini"]
)
def test_strange_things_break_nothing(read: Callable[[bytes], Asked], order: Any) -> None:
    assert outcome(read, json.dumps(order).encode()) == "taken"
    seen: Counter[str] = Counter()
    for holder, key in places(order):
        kept = holder[key]
        for strange in STRANGE:
            holder[key] = strange
            seen[outcome(read, json.dumps(order).encode())] += 1
        holder[key] = kept
    assert set(seen) == {"taken", "refused"}
    assert min(seen.values()) > 30
