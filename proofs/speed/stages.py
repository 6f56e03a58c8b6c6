"""What each stage of the pipeline takes of a worker's time on a core, by samples of its stacks.

A sample belongs to the innermost frame that names a stage; work in C counts for the frame that called it. Not seen
apart: what uvloop does on its own (reading and writing sockets, and decoding the database's rows, which it calls
without a frame of ours) is `loop`, and so is what the kernel does for it.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import tollkeeper
from proofs.rig.patience import patience

# In the order in which a call meets them; the loop carries all of them.
STAGES = ("server", "edge", "keys", "limits", "order", "hold", "upstream", "answer", "settle", "log", "loop")

PY_SPY = Path(sys.executable).with_name("py-spy")
SAMPLES_PER_SECOND = 100
PATIENCE_SECONDS = 60.0

ROOM = f"{Path(tollkeeper.__file__).parent}/"
FRAME = re.compile(r"(?P<function>.+) \((?P<file>.+):\d+\)")

# Modules of ours, then packages. What serves several stages is not here: the frame that called it decides.
BY_FILE: Mapping[str, str] = {
    f"{ROOM}edge/guard.py": "keys",
    f"{ROOM}relay/admit.py": "keys",
    f"{ROOM}storage/customers/keys.py": "keys",
    f"{ROOM}storage/postgres/changes.py": "keys",
    f"{ROOM}relay/gate.py": "limits",
    f"{ROOM}storage/limits/limiter.py": "limits",
    f"{ROOM}storage/limits/lane.py": "limits",
    f"{ROOM}storage/limits/alone.py": "limits",
    f"{ROOM}core/limits/windows.py": "limits",
    f"{ROOM}edge/http/body.py": "order",
    f"{ROOM}relay/operations.py": "order",
    f"{ROOM}core/calls/chat.py": "order",
    f"{ROOM}core/catalog/models.py": "order",
    f"{ROOM}storage/ledger/journal.py": "settle",
    f"{ROOM}relay/dispatch/dispatch.py": "upstream",
    f"{ROOM}providers/": "upstream",
    f"{ROOM}relay/answers/whole.py": "answer",
    f"{ROOM}relay/answers/streamed.py": "answer",
    f"{ROOM}core/calls/answer_reading.py": "answer",
    f"{ROOM}core/calls/answer_texts.py": "answer",
    f"{ROOM}edge/http/outgoing.py": "answer",
    f"{ROOM}core/calls/meter.py": "answer",
    f"{ROOM}core/calls/sse.py": "answer",
    f"{ROOM}edge/call_log.py": "log",
    f"{ROOM}edge/": "edge",
    f"{ROOM}relay/pipeline.py": "edge",
    f"{ROOM}relay/call.py": "edge",
    "/proofs/speed/bare.py": "edge",
    f"{ROOM}server/": "server",
}
# What stands below every stack of a process, and is at work in none of them.
BEGINNINGS = frozenset({"main", "<module>"})
# The bill and the ledger serve two stages, by function.
LEDGER = (f"{ROOM}relay/bill.py", f"{ROOM}storage/ledger/sql_ledger.py")
BY_FUNCTION: Mapping[str, str] = {
    "__init__": "hold",
    "hold": "hold",
    "_flush_holds": "hold",
    "hold_row": "hold",
    "charge": "settle",
    "note": "settle",
    "settle": "settle",
    "_flush_settles": "settle",
    "settle_row": "settle",
}


def profiled(pid: int, seconds: float) -> dict[str, float]:
    """The share of each stage in the time that a process and its children were at work, while load runs."""
    with tempfile.TemporaryDirectory(prefix="tollkeeper-stages-") as folder:
        found = Path(folder) / "stacks"
        asked = {"pid": pid, "duration": round(seconds), "rate": SAMPLES_PER_SECOND, "format": "raw", "output": found}
        words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
        done = subprocess.run(
            [PY_SPY, "record", "--subprocesses", "--full-filenames", *words],
            capture_output=True,
            text=True,
            timeout=seconds + patience(PATIENCE_SECONDS),
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"py-spy could not look into process {pid}:\n{done.stderr}")
        return shares(found.read_text().splitlines())


def shares(lines: Iterable[str]) -> dict[str, float]:
    """Of stacks as py-spy writes them down: frames from the outermost on, and how often they were seen."""
    seen: Counter[str] = Counter()
    for line in lines:
        stack, _, times = line.rpartition(" ")
        stage = stage_of(stack.split(";"))
        if stage is not None:
            seen[stage] += int(times)
    total = max(1, seen.total())
    return {stage: seen[stage] / total for stage in STAGES}


def stage_of(stack: list[str]) -> str | None:
    """None where no Python runs."""
    frames = [frame for frame in map(FRAME.fullmatch, stack) if frame is not None]
    for frame in reversed(frames):
        stage = _named_by(frame["function"], frame["file"])
        if stage is not None:
            return stage
    return "loop" if frames else None


def _named_by(function: str, file: str) -> str | None:
    if function in BEGINNINGS:
        return None
    if file in LEDGER:
        named = (BY_FUNCTION.get(part) for part in function.split("."))
        return next((stage for stage in named if stage is not None), None)
    return next((stage for part, stage in BY_FILE.items() if part in file), None)
