"""Ports that are watched: every act of theirs is a step, and any one step can be made to fail."""

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from tollkeeper.core.errors import StoreUnavailable

# Acts that give back what was taken. They do so before anything can go wrong: nobody could do it in their place.
GIVING_BACK = frozenset({"answer.close", "seat.fail", "seat.leave", "ledger.settle", "limiter.ended"})
# Acts that hand out something which is itself a port, and its name.
HANDED_OUT = {"pool.seat": "seat", "upstream.send": "answer"}


class Mishap(Exception):
    """What nobody has thought of."""


def fail() -> None:
    raise Mishap


def be_away() -> None:
    raise StoreUnavailable


def cancel() -> None:
    """Somebody outside wants the whole task to end."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


class Steps:
    """The acts of all ports, by name, in the order in which they were done."""

    def __init__(self, mishap: Callable[[], None] = fail, *, at: int | None = None) -> None:
        self.done: list[str] = []
        self._mishap = mishap
        self._at = at

    def watch(self, name: str, port: Any) -> "Watched":
        return Watched(self, name, port)

    def take(self, step: str) -> None:
        self.done.append(step)
        if len(self.done) - 1 == self._at:
            self._mishap()


class Watched:
    """A port, each of whose acts is a step. What goes wrong does so before the act, if that does not give back."""

    def __init__(self, steps: Steps, name: str, port: Any) -> None:
        self._steps = steps
        self._name = name
        self._port = port

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._port, name)
        if not callable(member):
            return member
        watched = self._wait if inspect.iscoroutinefunction(member) else self._act
        return partial(watched, f"{self._name}.{name}", member)

    def __setattr__(self, name: str, value: object) -> None:
        if name in {"_steps", "_name", "_port"}:
            super().__setattr__(name, value)
        else:
            setattr(self._port, name, value)

    def _act(self, step: str, act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if step in GIVING_BACK:
            given_back = act(*args, **kwargs)
            self._steps.take(step)
            return given_back
        self._steps.take(step)
        return self._handed_out(step, act(*args, **kwargs))

    async def _wait(self, step: str, act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if step in GIVING_BACK:
            await act(*args, **kwargs)
        self._steps.take(step)
        # A cancellation arrives here.
        await asyncio.sleep(0)
        return None if step in GIVING_BACK else self._handed_out(step, await act(*args, **kwargs))

    def _handed_out(self, step: str, result: Any) -> Any:
        return self._steps.watch(HANDED_OUT[step], result) if step in HANDED_OUT else result
