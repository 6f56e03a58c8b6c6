"""F8: the clock of a node jumps by a day, forth and back. Nothing expires early, is granted twice, or is swept."""

import asyncio
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.callers import WHOLE, place_one
from proofs.faults.fleet.expect import all_served, none_swept, nothing_said
from proofs.faults.fleet.scenario import Fault, Scenario
from proofs.faults.fleet.site import Fleet
from proofs.rig.customers import ACTOR, Customer, an_account
from proofs.rig.database import connect
from proofs.rig.deployment import started
from proofs.rig.patience import wait_until
from proofs.rig.races import verified
from proofs.rig.town import town_at
from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app.office import office
from tollkeeper.office.desks import Office
from tollkeeper.settings import load
from tools.moved_clock import MovedClock
from tools.node import Node, clean_environment, jobs

DAY_SECONDS = 86_400
# Half of what the clock jumps.
LASTS = timedelta(hours=12)
# Its lots are all that it has, and last as long.
SHORTEN = "update lot set expires_at = now() + $2 where account_id = $1"
GRANTED, TOO_SOON = "granted", "too_soon"


class JumpingNode:
    """A third node, and jobs beside it, that live by a clock of their own. Acts say what was wrong, or nothing."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-clock-"))
        self._clock = MovedClock(Path(folder))
        self._customers: dict[str, Customer] = {}
        self._node: Node | None = None
        self._poured_for = 0

    @property
    def node(self) -> Node:
        assert self._node is not None
        return self._node

    def begin(self, fleet: Fleet) -> str:
        self._customers = asyncio.run(_short_lived(fleet))
        self._poured_for = asyncio.run(_somebody_verified(fleet))
        self._node = fleet.node(self._stack, "three")
        self._node.settings |= self._clock.settings
        started(self._stack, self._node)
        self._stack.enter_context(jobs(fleet.settings | self._clock.settings, self._node))
        verdict = self._pour(fleet)
        return "" if verdict == GRANTED else f"the faucet said {verdict}"

    def ports(self, fleet: Fleet) -> Sequence[int]:
        return [fleet.balancer.port, self.node.port]

    def jump(self, fleet: Fleet, *, days: int) -> str:
        self._clock.set(days * DAY_SECONDS)
        said = f"clock is {DAY_SECONDS} s {'ahead' if days > 0 else 'behind'}"
        wait_until(lambda: said in _readiness(self.node))
        return self._expire_nothing(fleet)

    def end(self, _: Fleet) -> None:
        self._stack.close()

    def _expire_nothing(self, fleet: Fleet) -> str:
        own = {name: asyncio.run(place_one(self.node.port, each, WHOLE)) for name, each in self._customers.items()}
        wrong = [f"{name}: {one}" for name, one in own.items() if not one.is_served]
        verdict = self._pour(fleet)
        return "; ".join(wrong + [f"the faucet said {verdict}"] * (verdict != TOO_SOON))

    def _pour(self, fleet: Fleet) -> str:
        """By the clock that was moved."""
        done = subprocess.run(
            [sys.executable, "-m", "proofs.faults.fleet.pour", fleet.pair.url, str(self._poured_for)],
            env=clean_environment() | self._clock.settings,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


def jumping_clock(amounts: Amounts) -> list[Scenario]:
    jumping = JumpingNode()
    return [
        Scenario(
            number=8,
            name="a node's clock jumps by a day, forth and back",
            load=amounts.load,
            faults=[
                Fault(name="a day ahead", act=partial(jumping.jump, days=1), after_calls=amounts.calls),
                Fault(name="a day behind", act=partial(jumping.jump, days=-1), after_calls=amounts.calls),
            ],
            calls_after=amounts.calls,
            expects=[all_served, none_swept, nothing_said],
            before=jumping.begin,
            ports=jumping.ports,
            afterwards=jumping.end,
        )
    ]


async def _short_lived(fleet: Fleet) -> dict[str, Customer]:
    """A key that expires in half a day, and an account whose quota does."""
    async with office(load(fleet.books)) as desk:
        expiring_key = await _customer(desk, await an_account(desk, "key", Decimal(10)), datetime.now(UTC) + LASTS)
        account_id = await an_account(desk, "quota", Decimal(10))
        expiring_quota = await _customer(desk, account_id, None)
    connection = await connect(fleet.pair.url)
    try:
        await connection.execute(SHORTEN, account_id, LASTS)
    finally:
        await connection.close()
    return {"a key that expires": expiring_key, "quota that expires": expiring_quota}


async def _customer(desk: Office, account_id: int, expires_at: datetime | None) -> Customer:
    wish = KeyWish(account_id=account_id, name="key", expires_at=expires_at)
    issued = await create_key(wish, desk.key_maker, desk.keys, actor=ACTOR)
    return Customer(issued.key_id, issued.key)


def _readiness(node: Node) -> str:
    """What /readyz says."""
    with urllib.request.urlopen(f"{node.base}/readyz", timeout=5) as answer:
        return str(answer.read().decode())


async def _somebody_verified(fleet: Fleet) -> int:
    async with town_at(fleet.pair.url, connections=2) as town:
        return (await verified(town, 1)).account.id
