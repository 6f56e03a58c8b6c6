"""What is found, and how one process tells another of it: by files in a folder that is thrown away."""

import hashlib
from pathlib import Path

import msgspec

SLOW_MS_FROM = 100.0


class Found(msgspec.Struct, frozen=True):
    """Something wrong, and the file of the input that shows it."""

    what: str
    path: str


class Searched(msgspec.Struct, frozen=True):
    """What a search tells: `slowest` are inputs to be measured again."""

    executions: int
    crashes: list[Found]
    slowest: list[str]


class Timed(msgspec.Struct, frozen=True):
    executions: int
    crashes: list[Found]
    slow: list[Found]
    slowest_cpu_ms: float
    # Of the slowest, in words.
    slowest: str


def written_input(folder: Path, kind: str, data: bytes) -> Path:
    path = folder / f"{kind}-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path
