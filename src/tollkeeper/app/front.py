"""The front: the process before the gateway."""

import asyncio

from tollkeeper.core.client_ip import read_networks
from tollkeeper.front import Door, Gate, Limits
from tollkeeper.settings import Settings


async def front(settings: Settings) -> None:
    """Take callers' connections until cancelled; those that are open then have `drain_seconds` to end."""
    limits = Limits(
        connections=settings.connections,
        connections_per_ip=settings.front_connections_per_ip,
        head_seconds=settings.head_seconds,
        trusted=read_networks(settings.trusted_proxies),
    )
    door = Door(Gate(settings.host, settings.port), limits)
    server = await door.open(settings.front_host, settings.front_port, settings.front_certificate)
    try:
        await asyncio.Event().wait()
    finally:
        server.close()
        await door.wait_until_empty(settings.drain_seconds)
