"""Connections, over real sockets: how requests come in, how answers go out, and how each ends."""

import asyncio
import re

import pytest

from tests.server.serving import GET, SOON_SECONDS, body_of, closing, echo, serving
from tollkeeper.server.application import CallerGone, HttpRequest
from tollkeeper.server.requests import STEPS_AT_ONCE

POST = b"POST /a%20b?c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
LARGE = b"x" * 3_000_000


def parts(raw: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body


async def test_requests_on_one_connection_are_answered_in_their_order() -> None:
    async with serving(echo) as server:
        said = await server.say(POST + GET + closing(POST))
    assert re.findall(rb"(?:POST|GET) /.*", said) == [
        b"POST /a%20b helloHTTP/1.1 200 OK\r",
        b"GET / HTTP/1.1 200 OK\r",
        b"POST /a%20b hello",
    ]
    assert said.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert said.count(b"connection: close") == 1


async def test_an_answer_has_a_length_and_a_date() -> None:
    async with serving(echo) as server:
        status, headers, body = parts(await server.say(closing(POST)))
    assert (status, body, headers["content-length"], headers["connection"]) == (
        200,
        b"POST /a%20b hello",
        "17",
        "close",
    )
    assert headers["date"].endswith(" GMT")


async def test_the_application_is_told_what_was_sent() -> None:
    requests: list[HttpRequest] = []

    async def look(request: HttpRequest) -> None:
        requests.append(request)
        await echo(request)

    async with serving(look) as server:
        await server.say(closing(POST))
    (request,) = requests
    assert (request.method, request.path, request.query) == ("POST", b"/a%20b", b"c")
    assert request.headers == [(b"host", b"a"), (b"content-length", b"5"), (b"connection", b"close")]
    assert request.peer[0] == "127.0.0.1"


@pytest.mark.parametrize("version", ["1.1", "1.0"])
async def test_pieces_go_out_as_they_come(version: str) -> None:
    async def count(request: HttpRequest) -> None:
        request.begin(200, [])
        for number in range(3):
            request.write(f"{number};".encode())
        request.write(b"", is_last=True)

    async with serving(count) as server:
        _, headers, body = parts(await server.say(closing(GET.replace(b"1.1", version.encode()))))
    if version == "1.1":
        assert (headers["transfer-encoding"], body) == ("chunked", b"2\r\n0;\r\n2\r\n1;\r\n2\r\n2;\r\n0\r\n\r\n")
    else:
        assert ("transfer-encoding" in headers, body) == (False, b"0;1;2;")


async def test_a_body_in_chunks_is_put_together() -> None:
    async with serving(echo) as server:
        said = await server.say(closing(CHUNKED) + b"3\r\nabc\r\n" * 5_000 + b"0\r\n\r\n")
    assert parts(said)[2] == b"POST /c " + b"abc" * 5_000


async def test_a_large_body_and_a_large_answer_pass() -> None:
    async with serving(echo) as server:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(LARGE)
        assert parts(await server.say(head + LARGE))[2] == b"POST / " + LARGE


async def test_others_have_their_turns_while_tiny_chunks_are_read() -> None:
    count, turns, is_over = 200_000, 0, asyncio.Event()

    async def read(request: HttpRequest) -> None:
        assert len(await body_of(request)) == count
        is_over.set()

    async def take_turns() -> None:
        nonlocal turns
        while not is_over.is_set():
            turns += 1
            await asyncio.sleep(0)

    async with serving(read) as server:
        _, writer = await server.connect()
        writer.write(CHUNKED + b"1\r\nx\r\n" * count + b"0\r\n\r\n")
        await asyncio.wait_for(take_turns(), SOON_SECONDS)
    assert turns > count / STEPS_AT_ONCE / 3


async def test_a_head_request_gets_no_body() -> None:
    async with serving(echo) as server:
        status, _, body = parts(await server.say(closing(GET.replace(b"GET", b"HEAD"))))
    assert (status, body) == (200, b"")


async def test_who_expects_a_word_before_the_body_gets_it_when_the_body_is_wanted() -> None:
    async with serving(echo) as server:
        reader, writer = await server.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"hello")
        assert b"POST / hello" in await reader.readuntil(b"hello")
        writer.close()


async def test_an_answer_before_the_body_ends_the_connection_and_is_still_read() -> None:
    async def refuse(request: HttpRequest) -> None:
        request.answer(413, [], b"too large")

    async with serving(refuse) as server:
        reader, writer = await server.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n" + LARGE)
        status, headers, body = parts(await asyncio.wait_for(reader.read(), SOON_SECONDS))
        assert (status, headers["connection"], body) == (413, "close", b"too large")
        writer.close()


@pytest.mark.parametrize("request_bytes", [GET, closing(GET)], ids=["the server closes", "the client closes"])
async def test_the_last_answer_of_a_connection_survives_what_comes_meanwhile(request_bytes: bytes) -> None:
    async def large(request: HttpRequest) -> None:
        request.hang_up()
        request.answer(200, [], b"x" * 2_000_000)

    async with serving(large) as server:
        reader, writer = await server.connect()
        writer.write(request_bytes)
        await reader.readuntil(b"\r\n\r\n")
        # It could not know yet that this is the last answer.
        writer.write(GET)
        assert len(await asyncio.wait_for(reader.read(), SOON_SECONDS)) == 2_000_000
        writer.close()


async def test_an_answer_that_went_out_whole_breaks_nothing_off_any_more() -> None:
    requests = list[HttpRequest]()

    async def answer(request: HttpRequest) -> None:
        requests.append(request)
        request.begin(200, [])
        request.write(b"piece")
        if request is not requests[0]:
            requests[0].break_off()
        request.write(b"end", is_last=True)

    async with serving(answer) as server:
        reader, writer = await server.connect()
        for _ in range(2):
            writer.write(GET)
            assert b"piece" in await asyncio.wait_for(reader.readuntil(b"end\r\n0\r\n\r\n"), SOON_SECONDS)
        writer.close()


async def test_a_malformed_request_is_refused_in_its_turn_and_nothing_behind_it_is_read() -> None:
    async with serving(echo) as server:
        said = await server.say(POST + b"GET / HTTP/1.1\nHost: a\r\n\r\n" + GET)
    assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"200", b"400"]
    assert b'"malformed_request"' in said


async def test_a_body_that_turns_out_malformed_ends_as_if_its_client_had_left() -> None:
    begun, heard = asyncio.Event(), list[str]()

    async def listen(request: HttpRequest) -> None:
        begun.set()
        try:
            await body_of(request)
        except CallerGone:
            heard.append("gone")
        request.answer(400, [], b"what")

    async with serving(listen) as server:
        reader, writer = await server.connect()
        writer.write(CHUNKED + b"3\r\nabc\r\n")
        await begun.wait()
        writer.write(b"zz\r\n")
        status, _, body = parts(await asyncio.wait_for(reader.read(), SOON_SECONDS))
        writer.close()
    assert (status, body, heard) == (400, b"what", ["gone"])


@pytest.mark.parametrize("begins", [True, False])
async def test_an_application_that_fails_is_a_500_or_a_broken_answer(begins: bool) -> None:
    async def fail(request: HttpRequest) -> None:
        if begins:
            request.begin(200, [])
            request.write(b"half")
        raise ValueError("what a caller sent")

    async with serving(fail) as server:
        said = await server.say(GET)
    assert said.endswith(b"0\r\n\r\n") is False
    assert (b"half" in said) is begins
    assert (b"HTTP/1.1 500 " in said) is not begins
    assert b"what a caller sent" not in said


async def test_an_answer_that_is_shorter_than_its_length_breaks_the_connection() -> None:
    async def lie(request: HttpRequest) -> None:
        request.answer(200, [(b"content-length", b"10")], b"short")

    async with serving(lie) as server:
        said = await server.say(GET + GET)
    assert said.count(b"HTTP/1.1") <= 1


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0b"])
async def test_a_header_that_ends_its_line_reaches_nobody(value: bytes) -> None:
    async def inject(request: HttpRequest) -> None:
        request.answer(200, [(b"x-given", value)], b"")

    async with serving(inject) as server:
        said = await server.say(GET)
    assert said.startswith(b"HTTP/1.1 500 ")
    assert b"x-given" not in said


async def test_a_client_that_leaves_is_heard_by_who_listens() -> None:
    left = asyncio.Event()

    async def wait(request: HttpRequest) -> None:
        await body_of(request)
        request.on_left = left.set
        await left.wait()
        assert request.is_gone

    async with serving(wait) as server:
        _, writer = await server.connect()
        writer.write(POST)
        await asyncio.sleep(0.05)
        assert not left.is_set()
        writer.close()
        await asyncio.wait_for(left.wait(), SOON_SECONDS)


async def test_a_client_that_does_not_read_holds_the_application_back() -> None:
    sent, is_over = 0, False

    async def flood(request: HttpRequest) -> None:
        nonlocal sent
        request.begin(200, [])
        while not is_over:
            request.write(b"x" * 10_000)
            sent += 10_000
            if request.is_full:
                await request.drained()
            await asyncio.sleep(0)

    async with serving(flood) as server:
        _, writer = await server.connect()
        writer.write(GET)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        # What kernel and server keep, and no more.
        assert 0 < sent < 20_000_000
        is_over = True


async def test_who_asks_again_and_again_and_reads_nothing_is_not_answered_for_ever() -> None:
    asked = 0

    async def answer(request: HttpRequest) -> None:
        nonlocal asked
        asked += 1
        request.answer(200, [], b"x" * 10_000)

    async with serving(answer) as server:
        reader, writer = await server.connect()
        writer.write(GET * 20_000)
        before = -1
        while before != asked:
            before = asked
            await asyncio.sleep(0.2)
        assert 0 < asked < 2_000
        # Who reads gets all of them.
        writer.write(closing(GET))
        said = await asyncio.wait_for(reader.read(), SOON_SECONDS)
        assert said.count(b"HTTP/1.1 200") == asked == 20_001


async def test_a_sender_that_is_ahead_is_held_back() -> None:
    taken, go_on = 0, asyncio.Event()

    async def slow(request: HttpRequest) -> None:
        nonlocal taken
        await go_on.wait()
        taken = len(await body_of(request))
        request.answer(200, [], b"done")

    async with serving(slow) as server:
        reader, writer = await server.connect()
        head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (5 * len(LARGE))
        writer.write(head + 5 * LARGE)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 0.5)
        go_on.set()
        await asyncio.wait_for(reader.readuntil(b"done"), SOON_SECONDS)
        assert taken == 5 * len(LARGE)
        writer.close()
