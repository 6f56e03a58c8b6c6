"""How long the work on an input takes, without instrumentation: inputs that a search found slow, and grown ones.

Grown inputs are as large as what comes in one go in real life: a fragment over and over, by a target's own recipes and
by chance. What grows faster than its input shows there.
"""

import argparse
import gc
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from tools.fuzz.findings import SLOW_MS_FROM, Found, Timed, written_input
from tools.fuzz.target import Grown, Target, load

# A suspected input is measured as often, and its best counts: the machine has other things to do.
REPETITIONS = 7
FRAGMENT_BYTES_MOST = 64
FINDINGS_MOST = 8


class Stopwatch:
    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._folder = folder
        self.executions = 0
        self.crashes: list[Found] = []
        self.slow: list[Found] = []
        self.slowest_ms = 0.0
        self.slowest = ""

    @property
    def is_full(self) -> bool:
        return len(self.crashes) + len(self.slow) >= FINDINGS_MOST

    def measure(self, data: bytes, name: str) -> None:
        self.executions += 1
        try:
            milliseconds = self._milliseconds(data)
        # Whatever it is: other inputs are to be measured too.
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            what = f"{name}: {type(problem).__name__} at {Path(where.filename).name}:{where.lineno}"
            self.crashes.append(Found(what, str(written_input(self._folder, "crash", data))))
            return
        if milliseconds > self.slowest_ms:
            self.slowest_ms, self.slowest = milliseconds, f"{name}, {len(data):,} bytes"
        if milliseconds > SLOW_MS_FROM:
            path = written_input(self._folder, "slow", data)
            self.slow.append(Found(f"{name}: {milliseconds:.0f} ms for {len(data):,} bytes", str(path)))

    def _milliseconds(self, data: bytes) -> float:
        best = cpu_ms(self._target, data)
        for _ in range(REPETITIONS - 1):
            if best <= max(self.slowest_ms, SLOW_MS_FROM / 4):
                break
            gc.collect()
            best = min(best, cpu_ms(self._target, data))
        return best


def cpu_ms(target: Target, data: bytes) -> float:
    begun = time.thread_time()
    target.work(data)
    return (time.thread_time() - begun) * 1_000


def grown_by_chance(target: Target, chance: Random) -> Iterator[bytes]:
    """Without end: an example in which some bytes stand over and over, sometimes each with a closing."""
    while True:
        example = chance.choice(target.seeds)
        begin = chance.randrange(len(example))
        end = min(len(example), begin + chance.randint(1, FRAGMENT_BYTES_MOST))
        at = chance.choice((begin, end))
        closing = example[at : at + chance.randint(1, 4)] if chance.random() < 0.3 else b""
        yield Grown(example[begin:end], example[:begin], example[end:], closing).of(target.size_bytes_most)


def measure_all(target: Target, stopwatch: Stopwatch, suspects: list[Path], seconds: float, chance: Random) -> Timed:
    for number, seed in enumerate(target.seeds):
        stopwatch.measure(seed, f"example {number}")
    for number, recipe in enumerate(target.grown):
        stopwatch.measure(recipe.of(target.size_bytes_most), f"recipe {number}")
    for suspect in suspects:
        stopwatch.measure(suspect.read_bytes(), suspect.name)
    until, more = time.monotonic() + seconds, grown_by_chance(target, chance)
    while time.monotonic() < until and not stopwatch.is_full:
        stopwatch.measure(next(more), "grown by chance")
    return Timed(
        stopwatch.executions, stopwatch.crashes, stopwatch.slow, round(stopwatch.slowest_ms, 1), stopwatch.slowest
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("suspects", type=Path, nargs="*")
    asked = parser.parse_args()
    target = load(asked.target)
    timed = measure_all(target, Stopwatch(target, asked.folder), asked.suspects, asked.seconds, Random(asked.seed))
    (asked.folder / "timed.json").write_bytes(msgspec.json.encode(timed))


if __name__ == "__main__":
    main()
