"""Run fuzzers: `python -m tools.fuzz [TARGET …] --seconds 60`, or one input again: `… TARGET --input FILE`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.figures import conclude, say, seed
from tools.fuzz.campaign import Outcome, campaign
from tools.fuzz.target import load, names
from tools.fuzz.timing import REPETITIONS, cpu_ms


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one or more of: {', '.join(names())}")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each target")
    parser.add_argument("--input", type=Path, help="run one target on the bytes of this file")
    parser.add_argument("--blindly", action="store_true", help="mutate without coverage, as where Atheris is missing")
    asked = parser.parse_args()
    if asked.input is not None:
        return again(asked.targets[0], asked.input.read_bytes())
    outcomes = campaign(asked.targets or names(), asked.seconds, seed(), blindly=asked.blindly)
    report(outcomes)
    conclude(figures(outcomes))
    return os.EX_OK if all_hold(outcomes) else 1


def again(name: str, data: bytes) -> int:
    target = load(name)
    best = min(cpu_ms(target, data) for _ in range(REPETITIONS))
    say(f"the work on {len(data):,} bytes takes {best:.1f} ms of CPU")
    target.check(data)
    say("what must hold, holds")
    return os.EX_OK


def report(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        say(f"{outcome.name}: {outcome.executions:,} runs, slowest {outcome.slowest_cpu_ms} ms ({outcome.slowest})")
        for found in (*outcome.crashes, *outcome.slow):
            say(f"FAILED {outcome.name}: {found.what}")
            say(f"  again: {Path(sys.executable).name} -m tools.fuzz {outcome.name} --input {found.path}")


def figures(outcomes: Sequence[Outcome]) -> dict[str, object]:
    return {
        "targets": len(outcomes),
        "executions": sum(outcome.executions for outcome in outcomes),
        "crashes": sum(len(outcome.crashes) for outcome in outcomes),
        "slow": sum(len(outcome.slow) for outcome in outcomes),
        "slowest_cpu_ms": max((outcome.slowest_cpu_ms for outcome in outcomes), default=0.0),
    }


def all_hold(outcomes: Sequence[Outcome], *, judges_timings: bool = True) -> bool:
    good = [outcome.holds or (outcome.only_slow and not judges_timings) for outcome in outcomes]
    return bool(good) and all(good)


if __name__ == "__main__":
    sys.exit(main())
