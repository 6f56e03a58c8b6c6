"""What the Python SDKs' checks share: the acts they are handed, and how they report. Runs in the SDKs' environments."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

# One transparent pixel.
PICTURE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WEATHER: dict[str, object] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
# What the simulator writes wherever a tool wants text.
CITY = "river stone"


@dataclass(frozen=True)
class Act:
    """One check's part: where to call, with what, and the refusal to expect, if any."""

    check: str
    base: str
    key: str
    model: str
    prompt: str
    status: int
    type: str
    code: str
    message: str
    headers: Mapping[str, str]
    more: dict[str, Any]


@dataclass(frozen=True)
class Usage:
    """What an SDK tells of usage, over all calls of a check; of one call also what of it was cached, and thoughts."""

    input_tokens: int
    output_tokens: int
    parts: tuple[int, int | None] | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


Check = Callable[[Act], object]
Problem = TypeVar("Problem", bound=Exception)


def perform(checks: Mapping[str, Check]) -> None:
    """Play every act that was handed over with its check, and print one JSON line for each."""
    acts: dict[str, dict[str, Any]] = json.loads(sys.argv[1])
    for name, told in acts.items():
        act = Act(**told)
        print(json.dumps({"act": name, **verdict_of(checks[act.check], act)}), flush=True)


def verdict_of(check: Check, act: Act) -> dict[str, object]:
    try:
        found = check(act)
    except Exception as problem:
        # Whatever an SDK raises is a finding, and the next check still runs.
        return {"ok": False, "detail": f"{type(problem).__name__}: {problem}"}
    if not isinstance(found, Usage):
        return {"ok": True, "detail": str(found)}
    usage = [found.input_tokens, found.output_tokens]
    return {"ok": True, "detail": str(found), "usage": usage, "parts_of_usage": found.parts}


def weather(city: str) -> str:
    """The weather in a city."""
    assert city == CITY
    return "Rain until noon."


def caught(kind: type[Problem], call: Callable[[], object]) -> Problem:
    """The problem that this call must meet."""
    try:
        call()
    except kind as problem:
        return problem
    raise AssertionError("it seemed to go well")
