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


@dataclass(frozen=True)
class Act:
    """One check's part: where to call, with what, and the refusal to expect, if any."""

    base: str
    key: str
    model: str
    prompt: str
    tokens: int
    status: int
    type: str
    code: str
    message: str
    headers: Mapping[str, str]


Check = Callable[[Act], object]
Problem = TypeVar("Problem", bound=Exception)


def perform(checks: Mapping[str, Check]) -> None:
    """Run every check with its act, and print one JSON line for each."""
    acts: dict[str, dict[str, Any]] = json.loads(sys.argv[1])
    for name, check in checks.items():
        report(name, check, Act(**acts[name]))


def report(name: str, check: Check, act: Act) -> None:
    try:
        verdict = {"ok": True, "detail": str(check(act))}
    except Exception as problem:
        # Whatever an SDK raises is a finding, and the next check still runs.
        verdict = {"ok": False, "detail": f"{type(problem).__name__}: {problem}"}
    print(json.dumps({"check": name, **verdict}), flush=True)


def caught(kind: type[Problem], call: Callable[[], object]) -> Problem:
    """The problem that this call must meet."""
    try:
        call()
    except kind as problem:
        return problem
    raise AssertionError("it seemed to go well")
