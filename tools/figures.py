"""What proofs and fuzzers print: how far they are, their seed, and their figures as the last line."""

import os
from collections.abc import Mapping


def say(text: str) -> None:
    """Progress, so that nobody wonders whether it hangs."""
    print(f"  {text}", flush=True)


def seed() -> int:
    """Of this run's chance: another each time, or the one asked for."""
    chosen = int(os.environ.get("SEED", "0")) or int.from_bytes(os.urandom(3))
    say(f"seed {chosen} (repeat with SEED={chosen})")
    return chosen


def conclude(figures: Mapping[str, object]) -> None:
    """Print the last line: key=value key=value."""
    print(" ".join(f"{name}={value}" for name, value in figures.items()), flush=True)
