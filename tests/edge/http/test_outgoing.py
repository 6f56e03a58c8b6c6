"""Streams on their way out: comments in silence, no word after the last, no waiting for clients who do not read."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from tollkeeper.edge.http import outgoing
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.edge.http.outgoing import EventStream


class Client:
    """What a client receives; one that is `deaf` takes nothing."""

    def __init__(self, *, deaf: bool = False) -> None:
        self.messages: list[MutableMapping[str, Any]] = []
        self.heard = asyncio.Condition()
        self.hears = asyncio.Event()
        if not deaf:
            self.hears.set()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.hears.wait()
        await asyncio.sleep(0)
        async with self.heard:
            self.messages.append(message)
            self.heard.notify_all()

    async def has_heard(self, *, messages: int) -> None:
        async with self.heard:
            await self.heard.wait_for(lambda: len(self.messages) >= messages)

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def nothing_more() -> MutableMapping[str, Any]:
    return {"type": "http.disconnect"}


def a_stream(client: Client, *, keep_alive_seconds: float = 0.02, stuck_seconds: float = 60) -> EventStream:
    scope = {"method": "POST", "path": "/", "headers": []}
    exchange = Exchange(scope, nothing_more, client.send, 0)
    return EventStream(exchange, keep_alive_seconds=keep_alive_seconds, stuck_seconds=stuck_seconds)


def never() -> None:
    raise AssertionError("the client was given up")


async def test_silence_is_filled_and_nothing_comes_after_the_last_word() -> None:
    client = Client()
    stream = a_stream(client)
    async with asyncio.timeout(10), stream.kept_alive(never):
        await client.has_heard(messages=3)
    await stream.write_last(b"data: [DONE]\n\n")
    await asyncio.sleep(0.1)
    assert client.text.startswith(b": keep-alive\n\n: keep-alive\n\n")
    assert client.text.endswith(b"data: [DONE]\n\n")
    assert [message["type"] for message in client.messages].count("http.response.start") == 1
    assert client.messages[-1]["more_body"] is False


async def test_a_comment_on_its_way_is_out_before_the_block_is_left() -> None:
    """Otherwise a refusal would be told by status while the comment begins a stream."""
    for _ in range(50):
        stream = a_stream(Client(), keep_alive_seconds=0.001)
        async with stream.kept_alive(never):
            await asyncio.sleep(0.001)
        begun = stream.begun
        await asyncio.sleep(0.003)
        assert stream.begun == begun


async def test_a_client_who_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "LAST_WORDS_SECONDS", 0.02)
    stream, given_up = a_stream(Client(deaf=True), stuck_seconds=0.05), asyncio.Event()
    async with asyncio.timeout(2), stream.kept_alive(given_up.set):
        await given_up.wait()
    async with asyncio.timeout(2):
        await stream.write_last(b"data: [DONE]\n\n")
