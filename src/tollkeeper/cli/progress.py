"""Long work is never silent: a line that lives on a terminal, one now and then elsewhere; always on standard error."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tollkeeper.cli.speak import plain_console

# Where nobody looks on, whatever is done within this time says nothing.
LINE_EVERY_SECONDS = 15.0

Note = Callable[[str], None]


@contextmanager
def progress(what: str, *, every_seconds: float = LINE_EVERY_SECONDS) -> Iterator[Note]:
    """While the block runs. It may note how far it is."""
    console = plain_console(stderr=True)
    if not console.is_terminal:
        with _lines(what, every_seconds) as note:
            yield note
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda text: shown.update(task, description=f"{what}: {text}")


@contextmanager
def _lines(what: str, every_seconds: float) -> Iterator[Note]:
    done, begun, noted = threading.Event(), time.monotonic(), [what]

    def print_lines() -> None:
        while not done.wait(every_seconds):
            plain_console(stderr=True).print(f"{noted[0]} ({time.monotonic() - begun:.0f} s)", markup=False)

    def note(text: str) -> None:
        noted[0] = f"{what}: {text}"

    printer = threading.Thread(target=print_lines, daemon=True)
    printer.start()
    try:
        yield note
    finally:
        done.set()
        printer.join()
