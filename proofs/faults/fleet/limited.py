"""While Redis is in trouble, who has a limit gets twice as much at the most, and who is banned gets nothing."""

import asyncio
import bisect
import threading
import time
from decimal import Decimal

from proofs.faults.fleet.site import INVALID_CALLS, Fleet
from proofs.rig.customers import a_key, an_account
from proofs.rig.patience import wait_until
from tollkeeper.app.office import office
from tollkeeper.settings import load
from tools.node import command
from tools.services.haproxy import MAIN_HOST

GROUP = "limited"
LIMIT = 20
WINDOW_SECONDS = 60.0
TIMES_MOST = 2
PAUSE_SECONDS = 0.1
BANNED_IP, LIMITED_IP = "198.51.100.23", "198.51.100.24"
WRONG_KEY = "sk-a" + "wrong" * 9


class Limited:
    """Acts of a scenario: each says what was wrong, or nothing."""

    def __init__(self) -> None:
        self._served_at: list[float] = []
        self._is_over = threading.Event()
        self._pressing: threading.Thread | None = None

    def begin(self, fleet: Fleet) -> str:
        """Somebody makes too many invalid calls; somebody else calls as often as it can."""
        for number in range(INVALID_CALLS + 5):
            fleet.nodes[number % 2].status("/v1/models", _as(BANNED_IP, WRONG_KEY))
        wait_until(lambda: not self.banned_are_refused(fleet))
        command(fleet.books, "group", "add", GROUP, "--key-rate", str(LIMIT), "--rate", str(LIMIT))
        # A run that breaks off does not wait for it.
        self._pressing = threading.Thread(
            target=self._press, args=(fleet, asyncio.run(_limited_key(fleet))), daemon=True
        )
        self._pressing.start()
        return ""

    def banned_are_refused(self, fleet: Fleet) -> str:
        """On a public page: a good key passes such a ban."""
        statuses = {node.status("/prices.json", _as(BANNED_IP)) for node in fleet.nodes for _ in range(4)}
        return "" if statuses == {403} else f"who is banned got {statuses}"

    def end(self, _: Fleet) -> str:
        self._is_over.set()
        assert self._pressing is not None
        self._pressing.join()
        most = max((self._within(moment) for moment in self._served_at), default=0)
        right = 0 < most <= TIMES_MOST * LIMIT
        return "" if right else f"{most} calls in {WINDOW_SECONDS:g} s at a limit of {LIMIT}"

    def _within(self, moment: float) -> int:
        last = bisect.bisect_right(self._served_at, moment + WINDOW_SECONDS)
        return last - bisect.bisect_left(self._served_at, moment)

    def _press(self, fleet: Fleet, key: str) -> None:
        number = 0
        while not self._is_over.wait(PAUSE_SECONDS):
            number += 1
            if fleet.nodes[number % 2].status("/v1/models", _as(LIMITED_IP, key)) == 200:
                self._served_at.append(time.monotonic())


def _as(ip: str, key: str = "") -> dict[str, str]:
    known = {"Authorization": f"Bearer {key}"} if key else {}
    return known | {"X-Forwarded-For": ip, "Host": MAIN_HOST}


async def _limited_key(fleet: Fleet) -> str:
    async with office(load(fleet.books)) as desk:
        account_id = await an_account(desk, "limited", Decimal(100), group=GROUP)
        return (await a_key(desk, account_id)).key
