"""Streams on their way out: comments in silence, no word after the last, no waiting for clients who do not read."""

import asyncio
from uuid import uuid4

from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.edge.http.outgoing import Outgoing
from tools.asked import Asked


def a_stream(asked: Asked, *, keep_alive_seconds: float = 0.02, stuck_seconds: float = 60) -> Outgoing:
    return Outgoing(Exchange(asked, 0, uuid4()), keep_alive_seconds=keep_alive_seconds, stuck_seconds=stuck_seconds)


def never() -> None:
    raise AssertionError("the client was given up")


async def test_silence_is_filled_and_nothing_comes_after_the_last_word() -> None:
    asked = Asked()
    stream = a_stream(asked)
    async with asyncio.timeout(10):
        with stream.kept_alive(never):
            await asked.has_written(pieces=3)
    stream.write_last(b"data: [DONE]\n\n")
    await asyncio.sleep(0.1)
    assert asked.text.startswith(b": keep-alive\n\n: keep-alive\n\n")
    assert asked.text.endswith(b"data: [DONE]\n\n")
    assert (asked.status, asked.is_over) == (200, True)


async def test_a_client_who_takes_nothing_is_given_up_and_sent_no_comments() -> None:
    asked = Asked()
    asked.is_full = True
    stream, given_up = a_stream(asked, stuck_seconds=0.05), asyncio.Event()
    async with asyncio.timeout(10):
        with stream.kept_alive(given_up.set):
            await given_up.wait()
    assert asked.written == []


async def test_a_piece_goes_at_once_only_where_an_answer_has_begun_and_its_client_has_room() -> None:
    asked = Asked()
    stream = a_stream(asked)
    assert not stream.put(b"data: 0\n\n")
    await stream.write(b"data: 1\n\n")
    assert stream.put(b"data: 2\n\n")
    asked.is_full = True
    assert not stream.put(b"data: 3\n\n")
    assert (asked.text, stream.sent_bytes) == (b"data: 1\n\ndata: 2\n\n", len(asked.text))


async def test_a_piece_waits_for_a_client_who_has_much_to_read() -> None:
    asked = Asked()
    asked.is_full = True
    writing = asyncio.ensure_future(a_stream(asked).write(b"data: 1\n\n"))
    await asked.has_written(pieces=1)
    await asyncio.sleep(0)
    assert not writing.done()
    writing.cancel()
