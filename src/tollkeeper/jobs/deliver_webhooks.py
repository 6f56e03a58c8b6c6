"""Deliver events to webhooks: signed, again and again for three days, each receiver by itself.

Rules of this file
1. A receiver has a lane of its own: one that is slow or dead keeps its own events waiting, and nobody else's.
2. A receiver that failed is left alone for the rest of the round.
3. An answer is its status: 2xx took it, anything else did not. Redirects are not followed. Nothing of it is kept.
4. Logs name a delivery by its number, never by its address.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Sequence

import msgspec

from tollkeeper.core.webhooks import GONE, body_of, headers_of, wait_after
from tollkeeper.ports.webhooks import ClaimedDelivery, Deliveries, DeliveryOutcome, NotPosted, Poster
from tollkeeper.steady import run_and_log, tried

LOOK_EVERY_SECONDS = 0.5
TAKEN = range(200, 300)
REDIRECTED = range(300, 400)

log = logging.getLogger(__name__)

Chance = Callable[[], float]


class Courier:
    def __init__(self, deliveries: Deliveries, poster: Poster, chance: Chance = random.random) -> None:
        self._deliveries = deliveries
        self._poster = poster
        self._chance = chance

    async def round(self) -> int:
        """One round: until nothing is due but at receivers that failed; how many deliveries were taken."""
        lanes: dict[int, asyncio.Task[list[bool]]] = {}
        failed: set[int] = set()
        taken = 0
        try:
            while True:
                for webhook, due in _by_webhook(await self._deliveries.claim([*lanes, *failed])).items():
                    lanes[webhook] = asyncio.create_task(self._lane(due))
                if not lanes:
                    return taken
                await asyncio.wait(lanes.values(), timeout=LOOK_EVERY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for webhook in [webhook for webhook, lane in lanes.items() if lane.done()]:
                    went = lanes.pop(webhook).result()
                    taken += sum(went)
                    failed |= set() if all(went) else {webhook}
        finally:
            for lane in lanes.values():
                lane.cancel()
            await asyncio.gather(*lanes.values(), return_exceptions=True)

    async def _lane(self, due: Sequence[ClaimedDelivery]) -> list[bool]:
        return await asyncio.gather(*(self._deliver(claimed) for claimed in due))

    async def _deliver(self, claimed: ClaimedDelivery) -> bool:
        """Whether it was taken, and that is on record."""
        _, found = await tried(_name(claimed), lambda: self._try(claimed))
        outcome = found if isinstance(found, DeliveryOutcome) else self._failed(claimed, str(found))
        if outcome.error is not None:
            log.warning("%s was not taken: %s", _name(claimed), outcome.error)

        async def note() -> None:
            if await self._deliveries.note(claimed, outcome):
                log.error("webhook %d was switched off: its receiver takes nothing", claimed.webhook_id)

        return await run_and_log(f"noting {_name(claimed)}", note) and outcome.error is None

    def _failed(self, claimed: ClaimedDelivery, error: str) -> DeliveryOutcome:
        return DeliveryOutcome(status=None, error=error, wait=wait_after(claimed.attempt, self._chance()))

    async def _try(self, claimed: ClaimedDelivery) -> DeliveryOutcome:
        event_id = f"evt_{claimed.event_id}"
        body = body_of(claimed.kind, claimed.at, claimed.data)
        headers = headers_of(claimed.secrets, event_id, claimed.now, body)
        if not claimed.secrets:
            return self._failed(claimed, "its secret cannot be opened: rotate it")
        try:
            status = await self._poster.post(claimed.url, headers, body)
        except NotPosted as problem:
            return self._failed(claimed, str(problem))
        if status in TAKEN:
            return DeliveryOutcome(status=status, error=None, wait=None)
        if status == GONE:
            return DeliveryOutcome(status=status, error="it answered 410 (gone)", wait=None, is_gone=True)
        told = f"it answered {status}" + (": redirects are not followed" if status in REDIRECTED else "")
        return msgspec.structs.replace(self._failed(claimed, told), status=status)


def _by_webhook(claimed: Sequence[ClaimedDelivery]) -> dict[int, list[ClaimedDelivery]]:
    lanes: defaultdict[int, list[ClaimedDelivery]] = defaultdict(list)
    for each in claimed:
        lanes[each.webhook_id].append(each)
    return lanes


def _name(claimed: ClaimedDelivery) -> str:
    return f"delivery {claimed.id} at attempt {claimed.attempt}"
