"""One port for all worker processes of a node."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import pytest

from tollkeeper.metrics import table
from tollkeeper.metrics.port import AT_ONCE_MOST, MetricsPort
from tollkeeper.metrics.series import Sample
from tools.services.process import free_port, wait_until_async

REQUEST = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n"


async def ask(port: int, request: bytes = REQUEST) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return (await reader.read()).decode()
    finally:
        writer.close()


async def until_told(port: int, text: str) -> str:
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(OSError):
                if text in (told := await ask(port)):
                    return told
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def served(port: int, calls: int, *, processes: int = 2, labels: int = 0) -> AsyncIterator[None]:
    """`labels`: lines that make the page long."""

    async def tell() -> Iterable[Sample]:
        long = [(table.JOB_WENT_WELL, (f"{'job' * 1_000}{number}",), 1) for number in range(labels)]
        return [(table.CALLS_UNDER_WAY, (), calls), *long]

    serving = asyncio.create_task(MetricsPort("gateway", "127.0.0.1", port, tell, processes=processes).serve())
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def test_whoever_is_asked_tells_of_all_of_them() -> None:
    port = free_port()
    async with served(port, 5):
        await until_told(port, 'under_way{worker="0"} 5')
        async with served(port, 7):
            await until_told(port, 'under_way{worker="1"} 7')
            for _ in range(10):
                told = await ask(port)
                assert 'under_way{worker="0"} 5\n' in told
                assert 'under_way{worker="1"} 7\n' in told


async def test_who_follows_a_process_that_ended_has_its_number() -> None:
    port = free_port()
    async with served(port, 5):
        await until_told(port, 'under_way{worker="0"} 5')
        async with served(port, 7):
            await until_told(port, 'under_way{worker="1"} 7')
        async with served(port, 9):
            assert 'under_way{worker="1"} 7' not in await until_told(port, 'under_way{worker="1"} 9')


async def test_what_another_user_tells_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stranger.bind(f"\0tollkeeper-metrics/gateway/{port}/0")

    async def lie(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"tollkeeper_calls_under_way":"tollkeeper_calls_under_way{} 99"}')
        writer.close()

    async with await asyncio.start_unix_server(lie, sock=stranger), served(port, 5):
        assert "under_way{} 99" in await until_told(port, 'under_way{worker="1"} 5')
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        assert "under_way{} 99" not in await ask(port)


@pytest.mark.parametrize(
    "request_", [b"POST /metrics HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n"]
)
async def test_there_is_nothing_else_to_be_asked(request_: bytes) -> None:
    port = free_port()
    async with served(port, 5, processes=1):
        await until_told(port, "} 5")
        assert (await ask(port, request_)).startswith("HTTP/1.1 404 ")


async def test_a_head_that_does_not_end_is_not_read_on() -> None:
    port = free_port()
    async with served(port, 5, processes=1):
        await until_told(port, "} 5")
        assert await ask(port, b"GET /metrics HTTP/1.1\r\nx: " + b"y" * 100_000) == ""


async def test_without_a_port_nothing_is_told() -> None:
    async def tell() -> Iterable[Sample]:
        raise AssertionError("nobody asks")

    await MetricsPort("gateway", "127.0.0.1", 0, tell).serve()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextlib.contextmanager
def strangers(port: int, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """They connect, send that, and then neither read nor write."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(number):
            stranger = stack.enter_context(socket.socket())
            # The less the system keeps for them, the more stays with whoever sends it.
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            stranger.connect(("127.0.0.1", port))
            stranger.sendall(sent)
            stranger.setblocking(False)
            made.append(stranger)
        yield made


async def test_who_does_not_read_the_page_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.metrics.port.PAGE_SECONDS", 0.2)
    port = free_port()
    async with served(port, 5, processes=1, labels=1_000):
        assert len(await until_told(port, "} 5")) > 3_000_000
        before = open_descriptors()
        with strangers(port, AT_ONCE_MOST - 1, REQUEST) as deaf:
            for each in deaf:
                assert await asyncio.get_running_loop().sock_recv(each, 1) == b"H", "it has begun"

            async def only_theirs_are_left() -> bool:
                return open_descriptors() <= before + AT_ONCE_MOST - 1

            await wait_until_async(only_theirs_are_left, within_seconds=20)


async def test_who_reads_slowly_gets_the_whole_page() -> None:
    port = free_port()
    async with served(port, 5, processes=1, labels=1_000):
        await until_told(port, "} 5")
        with strangers(port, 1, REQUEST) as slow:
            told = bytearray()
            while piece := await asyncio.get_running_loop().sock_recv(slow[0], 65_536):
                told += piece
    head, _, body = bytes(told).partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}\r\n".encode() in head


async def test_those_who_do_not_read_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody is cut off for the time that it takes.
    monkeypatch.setattr("tollkeeper.metrics.port.PAGE_SECONDS", 600)
    port = free_port()
    async with served(port, 5, processes=1, labels=1_000):
        await until_told(port, "} 5")
        before = open_descriptors()
        with strangers(port, 3 * AT_ONCE_MOST, REQUEST):
            for _ in range(3):
                assert "} 5" in await until_told(port, "} 5")
            assert open_descriptors() <= before + 4 * AT_ONCE_MOST


@pytest.mark.parametrize("sent", [b"", REQUEST[:10]], ids=["nothing", "half a request"])
async def test_the_silent_keep_nobody_out(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    # Nobody is cut off for the time that it takes.
    monkeypatch.setattr("tollkeeper.metrics.port.HEAD_SECONDS", 600)
    port = free_port()
    async with served(port, 5, processes=1):
        await until_told(port, "} 5")
        with strangers(port, 3 * AT_ONCE_MOST, sent) as silent:
            for _ in range(AT_ONCE_MOST):
                assert "} 5" in await ask(port)
            async with asyncio.timeout(20):
                with contextlib.suppress(ConnectionResetError):
                    assert await asyncio.get_running_loop().sock_recv(silent[0], 1) == b"", "who came first made room"


async def test_who_sends_no_request_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.metrics.port.HEAD_SECONDS", 0.2)
    port = free_port()
    async with served(port, 5, processes=1):
        await until_told(port, "} 5")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()


async def test_whether_the_process_lives_is_told_without_asking_it_for_anything() -> None:
    async def never() -> Iterable[Sample]:
        raise AssertionError("a store would be asked")

    port = free_port()
    serving = asyncio.create_task(MetricsPort("worker", "127.0.0.1", port, never).serve())
    try:
        async with asyncio.timeout(20):
            while True:
                with contextlib.suppress(OSError):
                    told = await ask(port, b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")
                    break
                await asyncio.sleep(0.01)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    assert told.startswith("HTTP/1.1 200 OK\r\n")
    assert told.endswith("alive\n")
