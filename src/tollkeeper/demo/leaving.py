"""How the demo is left: by Ctrl-C, SIGTERM or SIGHUP, in order, wherever they strike.

Rules of this file
1. As on Ctrl-C to the letter: asyncio then cancels what it runs, at a point where it waits. An exception raised by the
   handler itself would strike anywhere, also between a transaction's beginning and the care for its end.
2. Whoever asks is heard. Python drops an exception that rises while some object is being disposed of, and calls a
   hook: the demand is made again a moment later.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPED = "Stopped; nothing is left running."
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_SECONDS = 0.01


@contextmanager
def left_in_order(say: Callable[[str], None]) -> Iterator[None]:
    """Leave with the signal's status, and say so when everything is stopped."""
    asked: list[int] = []

    def leave(number: int, _: FrameType | None) -> None:
        asked.append(number)
        _interrupt()

    before = {number: signal.getsignal(number) for number in (*ENDINGS, signal.SIGALRM)}
    # Also where a shell that started this in the background had Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, _interrupt)
    for number in ENDINGS[1:]:
        signal.signal(number, leave)
    hook = sys.unraisablehook
    sys.unraisablehook = _ask_again
    try:
        yield
    except KeyboardInterrupt:
        say(STOPPED)
        if asked:
            sys.exit(128 + asked[0])
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """The way out has begun: what is being stopped need not be asked again."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)


def _interrupt(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def _ask_again(dropped: "sys.UnraisableHookArgs") -> None:
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        # Raised here it would be dropped, too.
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(dropped)
