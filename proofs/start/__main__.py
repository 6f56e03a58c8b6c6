"""prove-start: from nothing to the first answer, with the built wheel alone, and nothing left afterwards.

Shows: the wheel and its locked dependencies in a clean environment; `tollkeeper demo` there, without checkout and
settings; the Python that it prints, pasted, streams an answer through the `openai` package; its balance and the
console's first page are there, the books are clean; after SIGTERM no process, socket or file of it is left.
"""

import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from proofs.rig.checks import Check, failed
from proofs.rig.proof import Run, prove, say
from proofs.start.demo import InstalledDemo, Traces
from proofs.start.stranger import key_in, paste_python, remained_usd, signed_in_page
from proofs.start.wheel import build, install

FIRST_ANSWER_SECONDS_MOST = 120
TERMINATED = 143
LAST_LINE = ("seconds_to_first_answer", "left_over")


def main(run: Run) -> int:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-start-")))
        # The demo's stores, which may have another user, go through both.
        folder.chmod(0o755)
        room = folder / "room"
        room.mkdir()
        say("building the wheel")
        wheel = build(folder)
        begun = time.monotonic()
        programs = install(wheel, folder / "environment")
        say(f"installed {wheel.name} after {time.monotonic() - begun:.1f} s")
        demo = stack.enter_context(InstalledDemo(programs, room, folder / "demo.log"))
        checks = as_a_stranger(run, demo, begun)
        traces = Traces(demo)
        checks.append(Check("it runs as several processes", len(traces.pids) > 5, str(traces.pids)))
        checks.append(Check("SIGTERM ends it in order", (status := demo.stop()) == TERMINATED, str(status)))
        left = traces.left_over()
        run.figures["left_over"] = len(left)
        checks.append(Check("nothing is left", not left, ", ".join(left)))
    return 1 if failed(checks, timed=run.judges_timings) else 0


def as_a_stranger(run: Run, demo: InstalledDemo, begun: float) -> list[Check]:
    said = demo.wait_until_ready()
    say(f"ready after {time.monotonic() - begun:.1f} s:\n{said}")
    gateway, console = f"http://127.0.0.1:{demo.port}", f"http://localhost:{demo.console_port}"
    heard = paste_python(said)
    seconds = heard.first_at - begun
    run.figures["seconds_to_first_answer"] = round(seconds, 1)
    say(f"answered after {seconds:.1f} s, in {heard.pieces} pieces: {heard.text}")
    left = remained_usd(gateway, key_in(said))
    say(f"{left} USD are left")
    page = signed_in_page(console, said)
    books = subprocess.run(
        [demo.programs / "tollkeeper", "books", "check"],
        env=demo.environment | dict(demo.settings()),
        capture_output=True,
        text=True,
        check=False,
    )
    in_time = seconds <= FIRST_ANSWER_SECONDS_MOST
    return [
        Check("the answer is there, streamed", heard.pieces > 1 and len(heard.text.split()) == 40, heard.text),
        Check("the first answer comes soon", in_time, f"{seconds:.0f} s", timed=True),
        Check("the balance is told", left > 0, str(left)),
        Check("the console's first page is the customer's", "Ada" in page and "sign-out" in page),
        Check("the books are clean", books.returncode == 0, books.stdout + books.stderr),
    ]


if __name__ == "__main__":
    prove(main, *LAST_LINE)
