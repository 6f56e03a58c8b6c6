"""Passwords at rest: argon2id, with the parameters of RFC 9106 for machines with little memory (64 MiB, 3 passes).

Rules of this file
1. Hashing takes 64 MiB and a core for a moment: it is done beside the event loop, one for each core at a time, eight at
   most. A few may wait; who comes after them is sent away.
2. Where there is nothing to compare with, a hash of the same parameters is compared with instead.
"""

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tollkeeper.core.people.logins import TooBusy

# Of the cores that this process may use, which a container may have fewer of than its machine; 512 MiB at most.
AT_ONCE_MOST = min(len(os.sched_getaffinity(0)), 8)
WAITING_MOST = 50

Made = TypeVar("Made")


class Argon2Hashes:
    """The `PasswordHashes` port."""

    def __init__(self, hasher: PasswordHasher | None = None, *, at_once_most: int = AT_ONCE_MOST) -> None:
        self._hasher = hasher or PasswordHasher()
        self._places = asyncio.Semaphore(at_once_most)
        self._inside_most = at_once_most + WAITING_MOST
        self._inside = 0
        self._nobodys: str | None = None

    async def hash(self, password: str) -> str:
        return await self._beside(self._hasher.hash, password)

    async def matches(self, password_hash: str | None, password: str) -> bool:
        if self._nobodys is None:
            # Made before anything is compared, known or not: the first comparison of a process must not tell either.
            self._nobodys = await self.hash("nobody has this password")
        fits = await self._beside(self._verify, password_hash or self._nobodys, password)
        return fits and password_hash is not None

    def is_dated(self, password_hash: str) -> bool:
        return self._hasher.check_needs_rehash(password_hash)

    def _verify(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _beside(self, work: Callable[..., Made], *texts: str) -> Made:
        if self._inside >= self._inside_most:
            raise TooBusy
        self._inside += 1
        # A thread cannot be stopped: after its caller hung up it keeps its place until the hash is done.
        return await asyncio.shield(asyncio.create_task(self._in_turn(work, *texts)))

    async def _in_turn(self, work: Callable[..., Made], *texts: str) -> Made:
        try:
            async with self._places:
                return await asyncio.to_thread(work, *texts)
        finally:
            self._inside -= 1
