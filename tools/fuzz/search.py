"""A search in a process of its own: run a target on one input after the other until the time is up.

Atheris leads the way where it is installed: it sees which branches an input takes, and keeps those that take new ones.
Without it the examples are mutated blindly.
"""

import argparse
import importlib.util
import os
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import msgspec

from tools.fuzz.findings import Found, Searched, written_input
from tools.fuzz.mutate import mutated
from tools.fuzz.target import Target, load

# Larger inputs are slow to search with, and show little that these do not; large ones are grown (`timing`).
SIZE_BYTES_MOST = 8 * 1024
# Wall time after which an input is said never to end.
HANGS_SECONDS = 60
CRASHES_MOST = 16
SLOWEST_KEPT = 8


class Search:
    """Runs one target on any number of inputs. A crash is noted once for each line of code that it comes from."""

    def __init__(self, target: Target, folder: Path, seconds: float) -> None:
        self._target = target
        self._folder = folder
        self._until = time.monotonic() + seconds
        self._executions = 0
        self._crashes: dict[str, Path] = {}
        self._slowest: list[tuple[float, bytes]] = []

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until or len(self._crashes) >= CRASHES_MOST

    def run(self, data: bytes) -> None:
        self._executions += 1
        begun = time.thread_time()
        try:
            self._target.check(data)
        # Whatever it is: the search goes on.
        except Exception as problem:
            place = f"{type(problem).__name__} at {_place(problem)}"
            if place not in self._crashes:
                self._crashes[place] = written_input(self._folder, "crash", data)
        self._note_time(time.thread_time() - begun, data)

    def conclude(self) -> None:
        slowest = [written_input(self._folder, "slow", data) for _, data in self._slowest]
        crashes = [Found(place, str(path)) for place, path in self._crashes.items()]
        told = Searched(self._executions, crashes, [str(path) for path in slowest])
        (self._folder / "searched.json").write_bytes(msgspec.json.encode(told))

    def _note_time(self, seconds: float, data: bytes) -> None:
        if len(self._slowest) < SLOWEST_KEPT or seconds > self._slowest[-1][0]:
            self._slowest = sorted([*self._slowest, (seconds, data)], key=lambda one: -one[0])[:SLOWEST_KEPT]


def _place(problem: BaseException) -> str:
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def search_blindly(search: Search, target: Target, chance: Random) -> None:
    for seed in target.seeds:
        search.run(seed)
    while not search.is_over:
        data = mutated(chance.choice(target.seeds), chance, target.words, SIZE_BYTES_MOST)
        search.run(data)
    search.conclude()


def search_led(atheris: Any, search: Search, target: Target, folder: Path, seed: int) -> NoReturn:
    """By Atheris, which never returns: it ends the process."""
    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir()
    for number, example in enumerate(target.seeds):
        (corpus / str(number)).write_bytes(example)
    # It takes no empty file.
    words.write_text("".join(map(_as_libfuzzer_writes, target.words or (b"\0",))))

    def run(data: bytes) -> None:
        search.run(data)
        if search.is_over:
            search.conclude()
            os._exit(0)

    def mutate(data: bytes, size_most: int, of_seed: int) -> bytes:
        if of_seed % 2:
            return bytes(atheris.Mutate(data, size_most))
        return mutated(data, Random(of_seed), target.words, size_most)

    options = {
        "dict": words,
        "max_len": SIZE_BYTES_MOST,
        # Small inputs first.
        "len_control": 100,
        "timeout": HANGS_SECONDS,
        "rss_limit_mb": 0,
        "seed": seed,
        "artifact_prefix": f"{folder}/",
        "verbosity": 0,
    }
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(corpus)]
    atheris.Setup(arguments, run, custom_mutator=mutate)
    atheris.Fuzz()
    os._exit(1)


def _as_libfuzzer_writes(word: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--blindly", action="store_true")
    asked = parser.parse_args()
    if asked.blindly or importlib.util.find_spec("atheris") is None:
        target = load(asked.target)
        search_blindly(Search(target, asked.folder, asked.seconds), target, Random(asked.seed))
        return
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["tollkeeper"]):
        target = load(asked.target)
    search_led(atheris, Search(target, asked.folder, asked.seconds), target, asked.folder, asked.seed)


if __name__ == "__main__":
    main()
