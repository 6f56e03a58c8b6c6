"""Proofs: each shows that something holds, and prints its figures as the last line."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from tools.services.process import stop_in_order_when_terminated


def size() -> str:
    """The size asked for on the command line: small or full. Called first, so it also sees to an orderly end."""
    chosen: str = _asked(argparse.ArgumentParser()).size
    return chosen


def size_and_before() -> tuple[str, str | None]:
    """Likewise, and the revision with which the present state is to be compared, if any."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", metavar="REVISION")
    asked = _asked(parser)
    return asked.size, asked.before


def _asked(parser: argparse.ArgumentParser) -> argparse.Namespace:
    stop_in_order_when_terminated()
    parser.add_argument("--size", choices=["small", "full"], default="small")
    return parser.parse_args()


def judges_timings(chosen_size: str) -> bool:
    """A timing depends on the machine's mood: CI prints it, and asserts it in full size only."""
    return chosen_size == "full" or "CI" not in os.environ


def seed() -> int:
    """Of this run's chance: another each time, or the one asked for."""
    chosen = int(os.environ.get("SEED", "0")) or int.from_bytes(os.urandom(3))
    say(f"seed {chosen} (repeat with SEED={chosen})")
    return chosen


def names() -> list[str]:
    """Every proof there is."""
    return sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))


def conclude(figures: Mapping[str, object]) -> None:
    """Print the last line: key=value key=value."""
    print(" ".join(f"{name}={value}" for name, value in figures.items()), flush=True)


def say(text: str) -> None:
    """Progress, so that nobody wonders whether it hangs."""
    print(f"  {text}", flush=True)
