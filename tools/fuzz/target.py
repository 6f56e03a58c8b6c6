"""What a fuzzer runs: the property, the work alone, and where to begin."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "targets"


class Grown(msgspec.Struct, frozen=True):
    """A recipe for a large input: a fragment over and over, each with a `closing` of its own behind the middle."""

    fragment: bytes
    before: bytes = b""
    behind: bytes = b""
    closing: bytes = b""

    def of(self, size_bytes: int) -> bytes:
        times = max(1, (size_bytes - len(self.before) - len(self.behind)) // len(self.fragment + self.closing))
        return self.before + self.fragment * times + self.closing * times + self.behind


class Target(msgspec.Struct, frozen=True, kw_only=True):
    # Asserts what must hold for any bytes.
    check: Callable[[bytes], None]
    # Our own work on such an input, once, as a call does it: this is what is timed. Raises nothing.
    work: Callable[[bytes], None]
    # Valid examples.
    seeds: Sequence[bytes]
    # Words that mean something here.
    words: Sequence[bytes] = ()
    grown: Sequence[Grown] = ()
    # The most that comes in one go in real life.
    size_bytes_most: int


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("[a-z]*.py"))


def load(name: str) -> Target:
    """By its file's name, or by the dotted name of a module elsewhere."""
    module = importlib.import_module(name if "." in name else f"tools.fuzz.targets.{name}")
    target: Target = module.TARGET
    return target
