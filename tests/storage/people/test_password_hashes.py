import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Literal

import pytest
from argon2 import PasswordHasher, extract_parameters

from tests.people import PASSWORD, QUICK
from tollkeeper.core.people.logins import TooBusy
from tollkeeper.storage.people.password_hashes import AT_ONCE_MOST, WAITING_MOST, Argon2Hashes

AT_ONCE = 2


class Slow(PasswordHasher):
    """Hashes no further than a gate, until it is opened."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=64, parallelism=1)
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.verified_with: list[str] = []

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        self.entered.release()
        assert self.gate.wait(10)
        return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 (the library's name)
        self.verified_with.append(str(hash))
        return super().verify(hash, password)


@pytest.fixture
def hasher() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    # Nobody waits for a test that failed.
    slow.gate.set()


async def entered(hasher: Slow, times: int) -> None:
    for _ in range(times):
        assert await asyncio.to_thread(hasher.entered.acquire, timeout=10)


async def crowd(hashes: Argon2Hashes, size: int) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(hashes.hash(PASSWORD)) for _ in range(size)]
    await asyncio.sleep(0)
    return tasks


async def test_so_many_may_wait_and_whoever_comes_after_them_is_sent_away(hasher: Slow) -> None:
    hashes = Argon2Hashes(hasher, at_once_most=AT_ONCE)
    waiting = await crowd(hashes, AT_ONCE + WAITING_MOST)
    await entered(hasher, AT_ONCE)
    for _ in range(3):
        with pytest.raises(TooBusy):
            await hashes.hash(PASSWORD)
        with pytest.raises(TooBusy):
            await hashes.matches(None, PASSWORD)
    assert not hasher.entered.acquire(blocking=False)
    hasher.gate.set()
    assert len(set(await asyncio.gather(*waiting))) == AT_ONCE + WAITING_MOST
    assert await hashes.hash(PASSWORD)


async def test_whoever_hangs_up_makes_no_room_before_the_work_is_done(hasher: Slow) -> None:
    hashes = Argon2Hashes(hasher, at_once_most=AT_ONCE)
    gone = await crowd(hashes, AT_ONCE + WAITING_MOST)
    await entered(hasher, AT_ONCE)
    for each in gone:
        each.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    with pytest.raises(TooBusy):
        await hashes.hash(PASSWORD)
    assert not hasher.entered.acquire(blocking=False)
    hasher.gate.set()
    await entered(hasher, WAITING_MOST)


async def test_who_is_unknown_is_compared_with_a_hash_of_the_same_parameters(hasher: Slow) -> None:
    hasher.gate.set()
    hashes = Argon2Hashes(hasher)
    assert not await hashes.matches(None, PASSWORD)
    assert not await hashes.matches(None, "nobody has this password")
    known = await hashes.hash(PASSWORD)
    assert await hashes.matches(known, PASSWORD)
    assert len(hasher.verified_with) == 3
    assert all(extract_parameters(each) == extract_parameters(known) for each in hasher.verified_with)
    assert hashes.is_dated(QUICK.hash(PASSWORD).replace("t=1", "t=2"))


@pytest.mark.not_quick
def test_there_are_as_many_places_as_cores_that_the_process_may_use() -> None:
    core = min(os.sched_getaffinity(0))
    look = f"import os; os.sched_setaffinity(0, {{{core}}}); from {Argon2Hashes.__module__} import AT_ONCE_MOST as most"
    run = subprocess.run([sys.executable, "-c", f"{look}; print(most)"], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
    assert 1 <= AT_ONCE_MOST <= 8
