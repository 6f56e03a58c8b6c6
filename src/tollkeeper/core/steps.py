"""Long work in steps: between two of them, others have their turn.

A step in C keeps the interpreter to itself. A thread that goes on at once has it again before an event loop has done
more than one of its own, so that a call which needs the loop eight times waits for eight steps. Whoever runs long work
beside a loop says what happens between two steps; elsewhere nothing does.
"""

from collections.abc import Callable
from contextvars import ContextVar

_between: ContextVar[Callable[[], None] | None] = ContextVar("between_steps", default=None)


def between_steps() -> None:
    """A step has been made, and another follows."""
    if (pause := _between.get()) is not None:
        pause()


def let_pause(pause: Callable[[], None]) -> None:
    """From now on, and in this thread, this happens between two steps."""
    _between.set(pause)
