"""List the proofs, or run them all: `python -m proofs --size small --at-once 2`.

Rules of this file
1. Two at a time share two cores, since most wait for one thing after another. Those that press both, or go by real
   time, run alone, and last.
2. What a proof says is printed when it has ended: its figures if it held, all of it if not. After one that failed none
   is begun.
3. Whoever ends this ends the proofs that it runs, and they stop their servers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from proofs import names
from tools.services.process import stop_in_order_when_terminated

# Faults come and windows of limits end by the clock; fuzzers have two processes; speed is compared.
ALONE = ("faults", "fuzz", "limits", "speed")
# First, so that none of them is left to run by itself at the end.
LONGEST = ("attacks", "run", "console", "operators")


class Runs:
    """Runs of proofs, and whether all of them held so far."""

    def __init__(self, size: str) -> None:
        self._size = size
        self._printing = Lock()
        self._under_way: dict[str, subprocess.Popen[bytes]] = {}
        self.failed: list[str] = []

    def run(self, proof: str) -> None:
        if self.failed:
            return
        begun = time.monotonic()
        command = [sys.executable, "-m", f"proofs.{proof}", "--size", self._size]
        with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
            self._under_way[proof] = process
            status = process.wait()
            said.seek(0)
            with self._printing:
                print(f"== prove-{proof}: {'held' if status == 0 else 'FAILED'} in {time.monotonic() - begun:.0f} s")
                print(told(said.read().decode(errors="replace"), held=status == 0), flush=True)
        if status:
            self.failed.append(proof)

    def stop(self) -> None:
        """Begin no more, and end those under way."""
        self.failed += [proof for proof, process in self._under_way.items() if process.poll() is None]
        for process in self._under_way.values():
            process.terminate()


def told(said: str, *, held: bool) -> str:
    """The last line has the figures; the lines on the way to them are for whoever looks for what failed."""
    return said if not held else said.rstrip().rpartition("\n")[2]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=["small", "full"])
    parser.add_argument("--at-once", type=int, default=1)
    asked = parser.parse_args()
    if asked.size is None:
        print(*names())
        return 0
    stop_in_order_when_terminated()
    runs = Runs(asked.size)
    others = [proof for proof in names() if proof not in (*ALONE, *LONGEST)]
    # All in threads: this one waits, and can be ended.
    with ThreadPoolExecutor(asked.at_once) as pool, ThreadPoolExecutor(1) as one_by_one:
        try:
            list(pool.map(runs.run, (*LONGEST, *others)))
            list(one_by_one.map(runs.run, ALONE))
        except BaseException:
            runs.stop()
            raise
    print(f"failed: {', '.join(runs.failed)}" if runs.failed else f"all {len(names())} proofs held")
    return 1 if runs.failed else 0


if __name__ == "__main__":
    sys.exit(main())
