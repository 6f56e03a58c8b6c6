"""One request and its answer, over real sockets: what the application is told meanwhile."""

import asyncio

from tests.server.serving import SOON_SECONDS, body_of, serving
from tollkeeper.server.application import CallerGone, HttpRequest
from tollkeeper.server.connection import AHEAD_BYTES_MOST

POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
MUCH = b"x" * (AHEAD_BYTES_MOST + 1)


async def test_a_client_that_leaves_after_a_body_that_had_to_wait_is_heard() -> None:
    begun, go_on, is_read, left = (asyncio.Event() for _ in range(4))

    async def wait(request: HttpRequest) -> None:
        request.on_left = left.set
        begun.set()
        await go_on.wait()
        await body_of(request)
        is_read.set()
        await left.wait()

    async with serving(wait) as server:
        _, writer = await server.connect()
        writer.write(POST % (2 * len(MUCH)))
        await begun.wait()
        (connection,) = server.listener._open
        # In these pieces, as the kernel may have it. The second waits until the first was taken.
        connection.data_received(MUCH)
        connection.data_received(MUCH)
        go_on.set()
        await asyncio.wait_for(is_read.wait(), SOON_SECONDS)
        writer.close()
        await asyncio.wait_for(left.wait(), SOON_SECONDS)


async def test_who_waits_for_more_of_a_body_hears_that_its_answer_is_over() -> None:
    heard = asyncio.Event()

    async def read(request: HttpRequest) -> None:
        try:
            await body_of(request)
        except CallerGone:
            heard.set()

    async def answer(request: HttpRequest) -> None:
        reading = asyncio.ensure_future(read(request))
        await asyncio.sleep(0)
        if request.path == b"/answered":
            request.answer(413, [], b"too large")
        else:
            request.break_off()
        await reading

    async with serving(answer) as server:
        for path in (b"/answered", b"/broken"):
            heard.clear()
            _, writer = await server.connect()
            writer.write((POST % 5).replace(b"/", path, 1))
            await asyncio.wait_for(heard.wait(), SOON_SECONDS)
