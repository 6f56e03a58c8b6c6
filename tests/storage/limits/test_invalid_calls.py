"""Why a client was banned: what is told adds up."""

import asyncio

import pytest

from tollkeeper.core.limits.windows import LimitOutcome
from tollkeeper.ports import Ban, Passage
from tollkeeper.storage.limits.invalid_calls import Counted, SharedInvalidCalls
from tollkeeper.storage.limits.recent_codes import RecentCodes

IP = "192.0.2.7"
MOST = 5


class SlowWindow:
    """A window that answers only when it is let: many calls are counted at once."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.taken = 0

    def known_full(self, windows: object) -> None:
        return None

    def ended(self, passage: Passage, more_tokens: int) -> None:
        return None

    async def admit(self, passage: Passage) -> LimitOutcome:
        await self.open.wait()
        [window] = passage.windows.each
        refused = window if self.taken >= window.limit else None
        self.taken += refused is None
        return LimitOutcome(refused, 0, 0, 0, None)


async def test_calls_that_come_at_once_with_the_one_too_many_are_not_told_as_counted() -> None:
    window, banned = SlowWindow(), asyncio.Queue[Counted]()

    async def ban(ip: str, counted: Counted) -> Ban | None:
        await banned.put(counted)
        return None

    calls = SharedInvalidCalls(window, MOST, ban, lambda _: None)
    following = asyncio.create_task(calls.follow())
    for number in range(3 * MOST):
        calls.note(IP, "not_found" if number % 2 else "invalid_api_key")
    window.open.set()
    counted = await asyncio.wait_for(banned.get(), 10)
    following.cancel()
    assert counted["calls"] == MOST + 1
    assert counted["codes_seen_here"] == {"invalid_api_key": 3, "not_found": 3}


def test_what_left_the_window_is_forgotten() -> None:
    codes = RecentCodes(60)
    codes.add(IP, "not_found", 0)
    codes.add(IP, "not_found", 30)
    codes.add(IP, "invalid_api_key", 59.9)
    assert codes.of(IP, 59.9) == {"not_found": 2, "invalid_api_key": 1}
    assert codes.of(IP, 60) == {"not_found": 1, "invalid_api_key": 1}
    assert codes.of(IP, 119.9) == {}


@pytest.mark.parametrize("most", [1, 10])
def test_a_flood_of_many_clients_fills_no_memory(most: int) -> None:
    codes = RecentCodes(60, most)
    for number in range(1_000):
        codes.add(f"client {number}", "not_found", 0)
    remembered = [number for number in range(1_000) if codes.of(f"client {number}", 0)]
    assert len(remembered) <= most
