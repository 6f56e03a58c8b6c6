"""The port of a worker: places for connections, and how it closes."""

import asyncio
import contextlib
import socket
import struct

import msgspec
import pytest

from tests.server.serving import GET, LIMITS, SOON_SECONDS, Pair, Serving, closing, echo, serving
from tollkeeper.server import connection, listener
from tollkeeper.server.application import CallerGone, HttpRequest
from tollkeeper.server.connection import CallerConnection
from tollkeeper.server.listener import KEPT_SECONDS, ConnectionLimits

POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "
SHORT = ConnectionLimits(connections=100, idle_seconds=1, crowded_idle_seconds=1)


async def rest(pair: Pair) -> bytes:
    try:
        return await asyncio.wait_for(pair[0].read(), SOON_SECONDS)
    except ConnectionResetError:
        return b""


async def test_who_sends_nothing_or_half_a_head_is_let_go() -> None:
    async with serving(echo, SHORT) as server:
        silent, slow, kept = await server.connect(), await server.connect(), await server.connect()
        slow[1].write(HALF)
        kept[1].write(GET)
        await kept[0].readuntil(b"GET / ")
        assert await rest(silent) == b""
        assert (await rest(slow)).startswith(b"HTTP/1.1 408 ")
        assert await rest(kept) == b""


async def test_a_call_under_way_is_not_let_go() -> None:
    async def slowly(request: HttpRequest) -> None:
        await asyncio.sleep(3)
        await echo(request)

    async with serving(slowly, SHORT) as server:
        assert b"GET / " in await server.say(closing(GET))


async def test_where_all_places_are_taken_the_oldest_without_a_call_goes() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(request: HttpRequest) -> None:
        begun.set()
        await go_on.wait()
        await echo(request)

    async with serving(held, msgspec.structs.replace(LIMITS, connections=3)) as server:
        busy = await server.connect()
        busy[1].write(closing(GET))
        await begun.wait()
        idle = [await server.connect() for _ in range(2)]
        newcomer = await server.connect()
        assert await rest(idle[0]) == b""
        newcomer[1].write(closing(GET))
        idle[1][1].write(closing(GET))
        await asyncio.sleep(0.1)
        # Now each has a call, nobody goes for another, and who comes waits.
        last = await server.connect()
        last[1].write(closing(GET))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(last[0].read(1), 0.3)
        go_on.set()
        for pair in (busy, idle[1], newcomer, last):
            assert b"GET / " in await rest(pair)


async def test_who_has_sent_a_request_makes_no_room_for_who_comes_behind() -> None:
    async with serving(echo, msgspec.structs.replace(LIMITS, connections=4)) as server:
        # Each has sent all of its request before the loop takes the first.
        callers = [call(server.port) for _ in range(30)]
        heard = [await rest_of(caller) for caller in callers]
    assert [b"GET / " in each for each in heard] == [True] * 30


async def test_who_sends_ahead_and_reads_nothing_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "CROWDED_STUCK_SECONDS", 1.0)
    # Nobody goes for having been without a call for long.
    monkeypatch.setattr(listener, "SECONDS_LEAST", 600.0)

    async def large(request: HttpRequest) -> None:
        request.answer(200, [], b"x" * (20_000_000 if request.path == b"/large" else 1))

    async with serving(large, msgspec.structs.replace(LIMITS, connections=2)) as server:
        for _ in range(2):
            _, writer = await server.connect()
            writer.write(GET.replace(b"/ ", b"/large ", 1) + GET * 20_000)
        assert (await server.say(closing(GET))).endswith(b"x")


async def test_who_owes_the_rest_of_a_request_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever still sends does not."""
    monkeypatch.setattr(listener, "AWAITED_SECONDS", 1.0)
    heard = list[str]()

    async def listen(request: HttpRequest) -> None:
        try:
            await echo(request)
        except CallerGone:
            heard.append("gone")

    async with serving(listen, msgspec.structs.replace(LIMITS, connections=2)) as server:
        sender, silent = await server.connect(), await server.connect()
        for _, writer in (sender, silent):
            writer.write(closing(POST))
        newcomer = asyncio.ensure_future(server.say(closing(GET)))
        for _ in range(15):
            sender[1].write(b"a")
            await asyncio.sleep(0.1)
        assert b"GET / " in await newcomer
        assert await rest(silent) == b""
        sender[1].write(b"a" * 5)
        assert b"POST / aaaaa" in await rest(sender)
    assert heard == ["gone"]


async def those_who_owe_the_rest(server: Serving, count: int) -> list[Pair]:
    """For longer than 0.3 s."""
    pairs = [await server.connect() for _ in range(count)]
    for _, writer in pairs:
        writer.write(closing(POST))
    await asyncio.sleep(0.5)
    return pairs


async def test_many_who_owe_the_rest_of_a_request_make_room_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "AWAITED_SECONDS", 0.3)
    async with serving(echo, msgspec.structs.replace(LIMITS, connections=4)) as server:
        silent = await those_who_owe_the_rest(server, 4)
        callers = [call(server.port) for _ in range(8)]
        heard = [await rest_of(caller) for caller in callers]
        assert [await rest(pair) for pair in silent] == [b""] * 4
    assert [b"GET / " in each for each in heard] == [True] * 8


async def test_who_owes_the_rest_of_a_request_makes_room_for_who_waits_when_the_port_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "AWAITED_SECONDS", 0.3)
    async with serving(echo, msgspec.structs.replace(LIMITS, connections=2)) as server:
        await those_who_owe_the_rest(server, 2)
        callers = [call(server.port) for _ in range(2)]
        closed = asyncio.ensure_future(server.listener.close())
        heard = [await rest_of(caller) for caller in callers]
        await asyncio.wait_for(closed, SOON_SECONDS)
    assert [b"GET / " in each for each in heard] == [True] * 2


async def test_who_has_only_just_come_goes_after_who_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "AWAITED_SECONDS", 0.3)
    monkeypatch.setattr(listener, "NEW_SECONDS", 600.0)
    async with serving(echo, msgspec.structs.replace(LIMITS, connections=4)) as server:
        await those_who_owe_the_rest(server, 4)
        newcomers = list[Pair]()
        for _ in range(4):
            newcomers.append(await server.connect())
            await asyncio.sleep(0.02)
        for _, writer in newcomers:
            writer.write(closing(GET))
        assert [b"GET / " in await rest(pair) for pair in newcomers] == [True] * 4


async def test_who_waits_for_a_word_before_the_body_owes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "AWAITED_SECONDS", 0.3)
    admitted = asyncio.Event()

    async def slowly(request: HttpRequest) -> None:
        if request.method == "POST":
            await admitted.wait()
        await echo(request)

    async with serving(slowly, msgspec.structs.replace(LIMITS, connections=1)) as server:
        patient = await server.connect()
        patient[1].write(closing(POST).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n", 1))
        await asyncio.sleep(0.5)
        newcomer = asyncio.ensure_future(server.say(closing(GET)))
        await asyncio.wait([newcomer], timeout=1.5)
        # Now it does owe the rest, and this machine may be slow.
        monkeypatch.setattr(listener, "AWAITED_SECONDS", 600.0)
        admitted_at = asyncio.get_running_loop().time()
        admitted.set()
        assert await asyncio.wait_for(patient[0].readuntil(b"100 Continue\r\n\r\n"), SOON_SECONDS)
        (since,) = server.listener._awaited.values()
        assert since >= admitted_at, "from here on it is waited for, not since its head came"
        patient[1].write(b"a" * 20)
        assert b"POST / " + b"a" * 20 in await rest(patient)
        assert b"GET / " in await newcomer


async def test_what_is_kept_for_those_who_take_little_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "CROWDED_STUCK_SECONDS", 1.0)
    monkeypatch.setattr(listener, "HELD_BYTES_MOST", 45_000_000)

    async def large(request: HttpRequest) -> None:
        request.answer(200, [], b"x" * 40_000_000)

    def held_bytes() -> int:
        return sum(each.held_bytes for each in server.listener._open)

    async with serving(large) as server:
        slow = [call(server.port) for _ in range(4)]
        async with asyncio.timeout(SOON_SECONDS):
            most_bytes = 0
            while most_bytes < 4 * 20_000_000 or len(server.listener._open) > 1:
                most_bytes = max(most_bytes, held_bytes())
                for client in slow:
                    # Each takes something all the time.
                    with contextlib.suppress(ConnectionResetError):
                        await asyncio.get_running_loop().sock_recv(client, 2_000)
                await asyncio.sleep(0.01)
        for client in slow:
            client.close()


async def test_who_takes_little_of_the_end_of_an_answer_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "CROWDED_STUCK_SECONDS", 1.0)

    async def large(request: HttpRequest) -> None:
        request.answer(200, [], b"x" * (20_000_000 if request.path == b"/large" else 1))

    async with serving(large, msgspec.structs.replace(LIMITS, connections=1)) as server:
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000)
            slow.connect(("127.0.0.1", server.port))
            slow.sendall(closing(GET.replace(b"/ ", b"/large ", 1)))
            slow.setblocking(False)
            newcomer = asyncio.ensure_future(server.say(closing(GET)))
            for _ in range(100):
                await asyncio.wait([newcomer], timeout=0.05)
                if newcomer.done():
                    break
                await asyncio.get_running_loop().sock_recv(slow, 2_000)
            assert newcomer.done()
            assert (await newcomer).endswith(b"x")


async def test_who_was_refused_in_between_keeps_nobody_else_from_being_let_go() -> None:
    async with serving(echo, SHORT) as server:
        first, second = await server.connect(), await server.connect()
        await asyncio.sleep(0.5)
        first[1].write(b"x\n\r\n\r\n")
        assert list(server.listener._idle.values()) == sorted(server.listener._idle.values())
        await first[0].readuntil(b"\r\n\r\n")
        assert list(server.listener._idle.values()) == sorted(server.listener._idle.values())
        assert await rest(second) == b""


async def test_who_has_reset_the_connection_was_still_somebody() -> None:
    peers = list[tuple[str, int]]()

    async def note(request: HttpRequest) -> None:
        peers.append(request.peer)

    async with serving(note) as server:
        for _ in range(10):
            with call(server.port) as caller:
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.sleep(0.2)
    assert peers
    assert {ip for ip, _ in peers} == {"127.0.0.1"}


async def test_what_a_client_has_yet_to_take_falls_with_all_that_it_takes() -> None:
    """The kernel asks for more only when much of what it keeps was taken."""

    async def large(request: HttpRequest) -> None:
        request.answer(200, [], b"x" * 20_000_000)

    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 100_000)
        client.connect(listening.getsockname())
        client.sendall(closing(GET))
        client.setblocking(False)
        async with serving(large) as server:
            made, _ = listening.accept()
            _, served = await loop.connect_accepted_socket(
                lambda: CallerConnection(server.listener, loop, ("127.0.0.1", 0)), made
            )
            taken = len(await loop.sock_recv(client, 1))
            before = served.unsent_bytes
            # More than its own kernel keeps, and less than that of the server does.
            while served.unsent_bytes == before and taken < 1_000_000:
                taken += len(await loop.sock_recv(client, 65_536))
            assert served.unsent_bytes < before
            served.abort()


async def test_who_does_not_take_the_end_of_an_answer_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is its place, where others wait for one."""
    monkeypatch.setattr(listener, "STUCK_SECONDS", 600.0)
    monkeypatch.setattr(listener, "CROWDED_STUCK_SECONDS", 1.0)

    async def large(request: HttpRequest) -> None:
        request.answer(200, [], b"x" * (20_000_000 if request.path == b"/large" else 1))

    async with serving(large, msgspec.structs.replace(LIMITS, connections=5)) as server:
        for _ in range(5):
            _, writer = await server.connect()
            writer.write(closing(GET.replace(b"/ ", b"/large ", 1)))
        assert (await server.say(closing(GET))).endswith(b"x")


async def test_half_a_request_does_not_keep_a_port_that_closes() -> None:
    async with serving(echo) as server:
        slow, kept = await server.connect(), await server.connect()
        slow[1].write(HALF)
        kept[1].write(GET)
        await kept[0].readuntil(b"GET / ")
        ended = asyncio.ensure_future(server.listener.close())
        assert (await rest(slow)).startswith(b"HTTP/1.1 408 ")
        await asyncio.wait_for(ended, SOON_SECONDS)


async def test_a_port_that_closes_serves_who_has_come_and_hangs_up_who_is_between_requests() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(request: HttpRequest) -> None:
        if request.path == b"/slow":
            begun.set()
            await go_on.wait()
        await echo(request)

    async with serving(held) as server:
        busy, kept = await server.connect(), await server.connect()
        kept[1].write(GET)
        await kept[0].readuntil(b"GET / ")
        busy[1].write(GET.replace(b"/ ", b"/slow ", 1))
        await begun.wait()
        # Nobody has taken these yet.
        late = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
        ended = asyncio.ensure_future(server.listener.close())
        await asyncio.sleep(0)
        for connection in late:
            connection.sendall(GET)
            connection.setblocking(False)
        loop = asyncio.get_running_loop()
        for connection in late:
            heard = await asyncio.wait_for(loop.sock_recv(connection, 65_536), SOON_SECONDS)
            assert b"GET / " in heard
            assert b"connection: close" in heard
            connection.close()
        begun_at = loop.time()
        assert await rest(kept) == b""
        assert loop.time() - begun_at < SOON_SECONDS / 2 + KEPT_SECONDS
        assert not ended.done()
        go_on.set()
        assert b"connection: close" in await rest(busy)
        await asyncio.wait_for(ended, SOON_SECONDS)
        assert await loop.run_in_executor(None, is_refused, server.port)


async def test_a_port_that_closes_serves_who_has_connected_and_is_slow_to_send_a_first_request() -> None:
    """A client on a busy machine: nobody else would answer it."""
    async with serving(echo) as server:
        slow, kept = await server.connect(), await server.connect()
        kept[1].write(GET)
        await kept[0].readuntil(b"GET / ")
        ended = asyncio.ensure_future(server.listener.close())
        # By then one that has been answered is hung up.
        await rest(kept)
        slow[1].write(GET)
        assert b"GET / " in await rest(slow)
        await asyncio.wait_for(ended, SOON_SECONDS)


async def test_a_port_that_closes_takes_no_more_than_it_has_places_for() -> None:
    asked, go_on = 0, asyncio.Event()

    async def held(request: HttpRequest) -> None:
        nonlocal asked
        asked += 1
        await go_on.wait()
        await echo(request)

    async with serving(held, msgspec.structs.replace(LIMITS, connections=4)) as server:
        callers = [call(server.port) for _ in range(20)]
        ended = asyncio.ensure_future(server.listener.close())
        await asyncio.sleep(0)
        go_on.set()
        heard = [await rest_of(caller) for caller in callers]
        await asyncio.wait_for(ended, SOON_SECONDS)
    assert [b"GET / " in each for each in heard] == [True] * 4 + [False] * 16
    assert asked == 4


async def test_who_was_refused_and_takes_nothing_does_not_keep_a_port_that_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(listener, "STUCK_SECONDS", 0.0)

    async def refuse(request: HttpRequest) -> None:
        request.answer(413, [], b"x" * 20_000_000)

    async with serving(refuse) as server:
        loop = asyncio.get_running_loop()
        with call(server.port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n") as caller:
            await asyncio.wait_for(loop.sock_recv(caller, 1), SOON_SECONDS)
            for _ in range(10):
                await asyncio.sleep(0)
            # Nobody reads this any more.
            caller.send(b"x")
            await asyncio.wait_for(server.listener.close(), SOON_SECONDS)


def call(port: int, raw: bytes = closing(GET)) -> socket.socket:
    """A client that has sent this, whether or not anybody took its connection."""
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(raw)
    client.setblocking(False)
    return client


async def rest_of(client: socket.socket) -> bytes:
    heard, loop = b"", asyncio.get_running_loop()
    with client, contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(SOON_SECONDS):
            while piece := await loop.sock_recv(client, 65_536):
                heard += piece
    return heard


def is_refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
