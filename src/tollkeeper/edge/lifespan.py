"""The beginning and end of a worker process, as ASGI tells them."""

from contextlib import AbstractAsyncContextManager

from tollkeeper.edge.exchange import Receive, Send


async def lifespan(life: AbstractAsyncContextManager[object], receive: Receive, send: Send) -> None:
    """Keep `life` open from startup to shutdown."""
    await receive()
    async with life:
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
