"""An application that speaks ASGI, served: what it is told, and how what it says goes out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.server.serving import GET, SOON_SECONDS, Serving, closing, serving
from tollkeeper.server import asgi
from tollkeeper.server.application import HttpRequest, NotBegun
from tollkeeper.server.asgi import AsgiApp, AsgiMessage, AsgiScope, Receive, Send, application_of

POST = b"POST /a%20b?c HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
OK: AsgiMessage = {"type": "http.response.start", "status": 200, "headers": []}


class NoPort:
    def close(self) -> None:
        raise AssertionError("nobody closes it")

    abort = close


@asynccontextmanager
async def served(app: AsgiApp) -> AsyncIterator[Serving]:
    application = application_of(app)
    async with application.life(NoPort()), serving(application.answer) as server:
        yield server


async def live(receive: Receive, send: Send, *, fails: bool = False) -> None:
    await receive()
    await send({"type": f"lifespan.startup.{'failed' if fails else 'complete'}"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def test_requests_are_received_and_answers_sent() -> None:
    scopes: list[AsgiScope] = []

    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await live(receive, send)
        scopes.append(scope)
        message = await receive()
        assert (message["body"], message["more_body"]) == (b"hello", False)
        await send(OK)
        await send({"type": "http.response.body", "body": b"one;", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})
        return None

    async with served(app) as server:
        said = await server.say(POST)
    assert said.endswith(b"\r\n\r\n4\r\none;\r\n3\r\ntwo\r\n0\r\n\r\n")
    (scope,) = scopes
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/a b", b"/a%20b", b"c")
    assert scope["client"][0] == "127.0.0.1"


async def test_one_without_a_body_is_received_once_and_then_its_client_leaves() -> None:
    left = asyncio.Event()

    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await live(receive, send)
        assert (await receive()) == {"type": "http.request", "body": b"", "more_body": False}
        assert (await receive()) == {"type": "http.disconnect"}
        # Whoever sends to nobody is not held up by it.
        await send(OK)
        await send({"type": "http.response.body", "body": b"late"})
        left.set()
        return None

    async with served(app) as server:
        _, writer = await server.connect()
        writer.write(closing(GET))
        await asyncio.sleep(0.05)
        writer.close()
        await asyncio.wait_for(left.wait(), SOON_SECONDS)


async def test_a_client_that_takes_nothing_of_its_answer_is_as_one_that_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "STUCK_SECONDS", 0.1)
    left = asyncio.Event()

    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await live(receive, send)
        await receive()
        leaving = asyncio.ensure_future(receive())
        await send(OK)
        while not leaving.done():
            await send({"type": "http.response.body", "body": b"x" * 50_000, "more_body": True})
        assert leaving.result() == {"type": "http.disconnect"}
        left.set()
        return None

    async with served(app) as server:
        _, writer = await server.connect()
        writer.write(GET)
        await asyncio.wait_for(left.wait(), SOON_SECONDS)


async def test_an_application_that_says_that_it_cannot_begin_does_not() -> None:
    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        await live(receive, send, fails=True)

    with pytest.raises(NotBegun):
        async with application_of(app).life(NoPort()):
            raise AssertionError("it has begun")


async def test_after_its_answer_there_is_nothing_to_be_received() -> None:
    heard = asyncio.Event()

    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await live(receive, send)
        await receive()
        await send(OK)
        await send({"type": "http.response.body", "body": b"all"})
        assert (await receive()) == {"type": "http.disconnect"}
        heard.set()
        return None

    async with served(app) as server:
        _, writer = await server.connect()
        writer.write(GET)
        await asyncio.wait_for(heard.wait(), SOON_SECONDS)


async def test_whose_client_left_before_it_began_is_told_so() -> None:
    begun, left, heard = (asyncio.Event() for _ in range(3))

    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        await receive()
        await receive()
        heard.set()

    application = application_of(app)

    async def late(request: HttpRequest) -> None:
        request.on_left = left.set
        begun.set()
        await left.wait()
        await application.answer(request)

    async with serving(late) as server:
        _, writer = await server.connect()
        writer.write(GET)
        await begun.wait()
        writer.close()
        await asyncio.wait_for(heard.wait(), SOON_SECONDS)
