"""Snapshots: small tables that every call needs, read whole into memory and read again after a change (a cache)."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tollkeeper.storage.postgres.ask_once import AskOnce
from tollkeeper.storage.postgres.changes import FORGET_ALL, Change, Changes

Value = TypeVar("Value")


class Snapshot(Generic[Value]):
    """`read` once, and again after each change of `kind`. What was read before a change is not kept after it."""

    def __init__(self, changes: Changes, kind: str, read: Callable[[], Awaitable[Value]], *, even_stale: bool) -> None:
        """`even_stale`: an old value is better than none while the change feed is out of reach."""
        self._changes = changes
        self._kind = kind
        self._read = read
        self._even_stale = even_stale
        self._kept: tuple[Value] | None = None
        self._changes_heard = 0
        self._reads: AskOnce[Value] = AskOnce()
        changes.subscribe(self._on_change)

    async def get(self) -> Value:
        if self._kept is not None and (self._even_stale or self._changes.fresh):
            return self._kept[0]
        return await self._reads.ask(self._kind, self._renew)

    async def _renew(self) -> Value:
        heard_before = self._changes_heard
        value = await self._read()
        if heard_before == self._changes_heard:
            self._kept = (value,)
        return value

    def _on_change(self, change: Change) -> None:
        if change is FORGET_ALL or change.kind == self._kind:
            self._changes_heard += 1
            self._reads.forget_all()
            self._kept = None
