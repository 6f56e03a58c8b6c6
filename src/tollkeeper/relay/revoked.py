"""Streams whose key was revoked, or whose account was disabled, while they run: ended within seconds.

Rules of this file
1. It is looked every second, by key, in memory; a key is looked up anew only after the change feed told of a change. No
   piece of a stream costs more for it.
2. An act that is to stop somebody stops what runs: a key is revoked or gone, an account is disabled. That a key expires
   is no such act, nor that it is paused: what was begun in time may end.
3. An answer that goes out whole is not ended: the provider's price for it is due already, and it grows no further.
4. While the keys cannot be looked up, streams go on.
"""

import asyncio

from tollkeeper.core.errors import AccountDisabled, GatewayError, KeyRevoked
from tollkeeper.core.money.charge import Ending
from tollkeeper.ports import Keys
from tollkeeper.relay.admit import SCHEME
from tollkeeper.relay.call import Call, Running
from tollkeeper.steady import RepeatedStep

LOOK_SECONDS = 1.0

REVOKED = (
    "This API key was revoked while the answer was on its way, which ends here. What was delivered until then is "
    "charged. Create a new key in the console."
)
DISABLED = (
    "The account of this key was disabled while the answer was on its way, which ends here. What was delivered until "
    "then is charged. Sending again will not help; write to support."
)


class Revocations:
    def __init__(self, running: Running, keys: Keys) -> None:
        self._running = running
        self._keys = keys

    async def follow(self) -> None:
        """Look again and again, until cancelled."""
        step = RepeatedStep("look for streams of revoked keys")
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await step.run(self.look)

    async def look(self) -> None:
        for call in self._running.streams():
            reason = await self._reason(call)
            if reason is not None:
                call.cut_off(reason, Ending.REVOKED)

    async def _reason(self, call: Call) -> GatewayError | None:
        record = await self._keys.find((call.request.authorization or "").removeprefix(SCHEME))
        if record is None or record.revoked:
            return KeyRevoked(REVOKED)
        return AccountDisabled(DISABLED) if record.account_disabled else None
