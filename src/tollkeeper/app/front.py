"""The front: the process before the gateway."""

import asyncio
import contextlib
import signal

from tollkeeper.core.client_ip import read_networks
from tollkeeper.front import Door, DoorLimits, GatewayAddress
from tollkeeper.settings import Settings


async def front(settings: Settings) -> None:
    """Take callers' connections until cancelled; requests that have begun then have `drain_seconds` to be answered.

    Cancelled by SIGTERM, it takes them for the lame-duck time still. Cancelled again, it waits no longer for that.
    """
    limits = DoorLimits(
        connections=settings.connections,
        connections_per_ip=settings.front_connections_per_ip,
        head_seconds=settings.head_seconds,
        trusted=read_networks(settings.trusted_proxies),
    )
    door = Door(GatewayAddress(settings.host, settings.port), limits)
    await door.open(settings.front_host, settings.front_port, settings.front_certificate)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError as reason:
        if signal.SIGTERM in reason.args:
            door.is_leaving = True
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(settings.lame_duck_seconds)
        raise
    finally:
        await door.drain(settings.drain_seconds)
