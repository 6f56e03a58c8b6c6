"""Bodies that nobody wanted: read before a refusal is answered, so that the connection can be used again.

A server that answers before it has read the body closes the connection, and its next user learns of it by an error.
"""

import asyncio

from starlette.requests import ClientDisconnect, Request

from tollkeeper.console.admin.wishes import BODY_BYTES_MOST

DRAIN_SECONDS = 2.0


async def drained(request: Request) -> bool:
    """Read what is left of the body. Whether that was all of it: it may be too much, or take too long."""
    if not _has_body(request):
        return True
    read = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for piece in request.stream():
                read += len(piece)
                if read > BODY_BYTES_MOST:
                    return False
    except (TimeoutError, ClientDisconnect):
        return False
    except RuntimeError:
        # Starlette's word for a body that was read to its end before.
        return True
    return True


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
