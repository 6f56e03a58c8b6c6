"""What the gateway needs of its HTTP client, shown on real sockets."""

import asyncio
import contextlib
import gzip
import resource
import socket
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.providers.peers import (
    CHUNKED,
    LAST_CHUNK,
    OK,
    Authority,
    Connection,
    Peer,
    Script,
    a_peer,
    answering,
    chunk,
    proxying,
    saying,
)
from tollkeeper.ports import Failure, UpstreamAnswer, UpstreamFailed, UpstreamRequest
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.providers.http_client.connection import AHEAD_BYTES_MOST, READ_BYTES

AT_ONCE_SECONDS = 0.1
MEGABYTE = 1_000_000


def a_request(url: str, body: bytes = b"{}", first_byte_seconds: float = 10) -> UpstreamRequest:
    return UpstreamRequest(url, (("authorization", "Bearer secret"),), body, first_byte_seconds)


@contextlib.asynccontextmanager
async def an_upstream(
    *,
    connect_seconds: float = 5,
    idle_seconds: float = 10,
    private_allowed: bool = True,
    proxy_url: str | None = None,
    root_certificates: bytes | None = None,
) -> AsyncIterator[HttpUpstream]:
    made = HttpUpstream(
        connect_seconds=connect_seconds,
        idle_seconds=idle_seconds,
        private_allowed=private_allowed,
        proxy_url=proxy_url,
        root_certificates=root_certificates,
    )
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def upstream() -> AsyncIterator[HttpUpstream]:
    async with an_upstream() as made:
        yield made


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def whole(answer: UpstreamAnswer) -> bytes:
    pieces = []
    while piece := await answer.read():
        pieces.append(piece)
    await answer.close()
    return b"".join(pieces)


async def call(upstream: HttpUpstream, url: str, body: bytes = b"{}") -> bytes:
    return await whole(await upstream.send(a_request(url, body)))


async def failure_of(upstream: HttpUpstream, request: UpstreamRequest) -> Failure:
    """How a call fails, at its beginning or later."""
    with pytest.raises(UpstreamFailed) as failed:
        await whole(await upstream.send(request))
    return failed.value.failure


async def until(is_true: Callable[[], bool], within_seconds: float = 5) -> None:
    async with asyncio.timeout(within_seconds):
        while not is_true():  # noqa: ASYNC110 - another thread's doing has no event to wait for
            await asyncio.sleep(0.002)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def taking_what_begins_with(letter: bytes) -> tuple[list[bytes], Callable[[bytes], bool]]:
    """One who takes some of what passes by, and what they took."""
    taken: list[bytes] = []

    def take(piece: bytes) -> bool:
        if piece.startswith(letter):
            taken.append(piece)
        return piece.startswith(letter)

    return taken, take


# Requests and answers


async def test_a_request_arrives_as_it_was_given(upstream: HttpUpstream) -> None:
    async with a_peer(answering) as peer:
        assert await call(upstream, f"{peer.url}/chat?a=b%20c", b'{"model": "m"}') == b"hi"
    assert peer.heads[0].startswith("post /v1/chat?a=b%20c http/1.1\r\n")
    assert "authorization: bearer secret\r\n" in peer.heads[0]
    assert peer.bodies == [b'{"model": "m"}']


async def test_status_and_headers_are_here_before_the_body(upstream: HttpUpstream) -> None:
    async with a_peer(saying(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\ncontent-length: 5\r\n\r\n")) as peer:
        answer = await upstream.send(a_request(peer.url))
        assert (answer.status, answer.header("retry-after"), answer.header("x-none")) == (429, "7", None)
        await answer.close()


async def test_an_answer_that_ends_with_its_connection_ends_properly(upstream: HttpUpstream) -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(b"HTTP/1.1 200 OK\r\n\r\nall there is")
        await connection.hang_up()

    async with a_peer(script) as peer:
        assert await call(upstream, peer.url) == b"all there is"


async def test_redirects_are_not_followed(upstream: HttpUpstream) -> None:
    async with a_peer(answering) as elsewhere:
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere.url}\r\ncontent-length: 0\r\n\r\n"
        async with a_peer(saying(moved.encode())) as peer:
            answer = await upstream.send(a_request(peer.url))
            assert (answer.status, await whole(answer)) == (307, b"")
    assert not elsewhere.connections


async def test_bodies_are_neither_asked_for_compressed_nor_unpacked(upstream: HttpUpstream) -> None:
    packed = gzip.compress(b"text")
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    async with a_peer(saying(head + packed)) as peer:
        assert await call(upstream, peer.url) == packed
    assert "accept-encoding: identity\r\n" in peer.heads[0]


async def test_cookies_and_referers_are_not_sent(upstream: HttpUpstream) -> None:
    async def script(connection: Connection) -> None:
        while True:
            await connection.hear()
            await connection.say(b"HTTP/1.1 200 OK\r\nset-cookie: a=b; Path=/\r\ncontent-length: 0\r\n\r\n")

    async with a_peer(script) as peer:
        await call(upstream, peer.url)
        await call(upstream, peer.url)
    assert len(peer.heads) == 2
    assert not [head for head in peer.heads if "cookie:" in head or "referer:" in head]


# Cancelling and closing


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
async def test_cancelling_a_read_closes_the_connection_at_once(authority: Authority, secure: bool) -> None:
    tls = authority.tls_for("localhost") if secure else None
    script = saying(CHUNKED + chunk(b"first"))
    async with a_peer(script, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        answer = await upstream.send(a_request(peer.secure_url if secure else peer.url))
        assert await answer.read() == b"first"
        reading = asyncio.create_task(answer.read())
        await asyncio.sleep(0)
        await cancelled(reading, peer)


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
async def test_cancelling_a_send_closes_the_connection_at_once(authority: Authority, secure: bool) -> None:
    heard = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.hear()
        heard.set()
        await asyncio.Event().wait()

    tls = authority.tls_for("localhost") if secure else None
    async with a_peer(script, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        sending = asyncio.create_task(upstream.send(a_request(peer.secure_url if secure else peer.url)))
        await heard.wait()
        await cancelled(sending, peer)


async def cancelled(task: "asyncio.Task[bytes] | asyncio.Task[UpstreamAnswer]", peer: Peer) -> None:
    connection = await peer.arrivals.get()
    task.cancel()
    async with asyncio.timeout(AT_ONCE_SECONDS):
        await until(connection.reader.at_eof)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_closing_an_unread_answer_closes_the_connection_at_once(upstream: HttpUpstream) -> None:
    async with a_peer(saying(CHUNKED + chunk(b"first"))) as peer:
        answer = await upstream.send(a_request(peer.url))
        connection = await peer.arrivals.get()
        await answer.close()
        async with asyncio.timeout(AT_ONCE_SECONDS):
            await until(connection.reader.at_eof)


async def test_the_connection_of_an_answer_that_was_read_serves_the_next(upstream: HttpUpstream) -> None:
    async with a_peer(answering) as peer:
        for _ in range(5):
            assert await call(upstream, peer.url) == b"hi"
    assert (len(peer.connections), len(peer.heads)) == (1, 5)


async def test_an_answer_can_be_closed_twice(upstream: HttpUpstream) -> None:
    async with a_peer(answering) as peer:
        answer = await upstream.send(a_request(peer.url))
        await whole(answer)
        await answer.close()
        assert await call(upstream, peer.url) == b"hi"


# Time


async def test_a_handshake_that_does_not_end_is_unreachable() -> None:
    async def script(connection: Connection) -> None:
        await connection.ended()

    async with a_peer(script) as peer, an_upstream(connect_seconds=0.2) as upstream, asyncio.timeout(2):
        assert await failure_of(upstream, a_request(peer.secure_url)) is Failure.UNREACHABLE


async def test_a_host_that_accepts_no_connection_is_unreachable() -> None:
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/"
        async with an_upstream(connect_seconds=0.2) as upstream, asyncio.timeout(2):
            assert await failure_of(upstream, a_request(url)) is Failure.UNREACHABLE


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://no-such-host.invalid/"], ids=["port", "name"])
async def test_what_is_not_there_is_unreachable(upstream: HttpUpstream, url: str) -> None:
    assert await failure_of(upstream, a_request(url)) is Failure.UNREACHABLE


async def test_an_answer_that_does_not_begin_in_time_is_silent(upstream: HttpUpstream) -> None:
    async with a_peer(saying()) as peer, asyncio.timeout(2):
        request = a_request(peer.url, first_byte_seconds=0.2)
        assert await failure_of(upstream, request) is Failure.SILENT
        await until((await peer.arrivals.get()).reader.at_eof, AT_ONCE_SECONDS)


async def test_an_answer_that_stops_coming_is_stalled() -> None:
    script = saying(CHUNKED + chunk(b"first"))
    async with a_peer(script) as peer, an_upstream(idle_seconds=0.2) as upstream, asyncio.timeout(2):
        answer = await upstream.send(a_request(peer.url))
        assert await answer.read() == b"first"
        with pytest.raises(UpstreamFailed) as failed:
            await answer.read()
        assert failed.value.failure is Failure.STALLED
        await until((await peer.arrivals.get()).reader.at_eof, AT_ONCE_SECONDS)


async def test_only_silence_counts_and_not_how_long_an_answer_takes() -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        await asyncio.sleep(0.3)
        await connection.say(CHUNKED)
        for _ in range(6):
            await asyncio.sleep(0.3)
            await connection.say(chunk(b"piece"))
        await connection.say(LAST_CHUNK)
        await connection.ended()

    async with a_peer(script) as peer, an_upstream(idle_seconds=1.5) as upstream:
        assert await call(upstream, peer.url) == b"piece" * 6


async def test_a_slow_reader_is_not_taken_for_a_silent_provider() -> None:
    script = saying(CHUNKED + chunk(b"first"), chunk(b"second"), chunk(b"third") + LAST_CHUNK)
    async with a_peer(script) as peer, an_upstream(idle_seconds=0.1) as upstream:
        answer = await upstream.send(a_request(peer.url))
        pieces = []
        while piece := await answer.read():
            pieces.append(piece)
            await asyncio.sleep(0.25)
        assert b"".join(pieces) == b"firstsecondthird"
        await answer.close()


async def test_chunks_arrive_undelayed(upstream: HttpUpstream) -> None:
    """Each chunk is said only when the one before it was read: whatever waits for more would wait forever."""
    was_read = asyncio.Semaphore(0)

    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED)
        for number in range(200):
            await was_read.acquire()
            await connection.say(chunk(b"%d" % number))
        await connection.ended()

    async with a_peer(script) as peer:
        answer = await upstream.send(a_request(peer.url))
        async with asyncio.timeout(2):
            for number in range(200):
                was_read.release()
                assert await answer.read() == b"%d" % number
        await answer.close()


# Broken answers


def ending(*, after: bytes, how: Callable[[Connection], object]) -> Script:
    async def script(connection: Connection) -> None:
        await connection.hear()
        if after:
            await connection.say(after)
        how(connection)
        await connection.ended()

    return script


def hanging_up(connection: Connection) -> None:
    connection.writer.close()


def half_closing(connection: Connection) -> None:
    connection.writer.write_eof()


PARTS = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-",
    "only a head": CHUNKED,
    "less than its length": b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhi",
    "chunks without an end": CHUNKED + chunk(b"hi"),
    "half a chunk": CHUNKED + b"10\r\nhi",
}


@pytest.mark.parametrize("how", [hanging_up, half_closing, Connection.reset])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
async def test_an_answer_cut_off_is_broken_and_not_asked_for_again(
    upstream: HttpUpstream, part: bytes, how: Callable[[Connection], object]
) -> None:
    async with a_peer(ending(after=part, how=how)) as peer:
        assert await failure_of(upstream, a_request(peer.url)) is Failure.BROKEN
    assert len(peer.heads) == 1


GARBAGE = {
    "no status line": b"220 smtp.test ESMTP\r\n\r\n",
    "no chunk size": CHUNKED + b"what?\r\nhi\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!",
    "a bad header": b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
}


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE.keys())
async def test_an_answer_that_is_not_http_is_broken(upstream: HttpUpstream, said: bytes) -> None:
    async with a_peer(saying(said)) as peer:
        assert await failure_of(upstream, a_request(peer.url)) is Failure.BROKEN


async def test_a_peer_that_closes_only_its_side_after_the_whole_answer_is_heard(upstream: HttpUpstream) -> None:
    async with a_peer(ending(after=CHUNKED + chunk(b"all") + LAST_CHUNK, how=half_closing)) as peer:
        assert await call(upstream, peer.url) == b"all"


# Connections that were kept


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
async def test_a_kept_connection_that_closes_on_the_next_request_is_replaced_once(
    authority: Authority, secure: bool
) -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(OK)
        await connection.hear()

    tls = authority.tls_for("localhost") if secure else None
    async with a_peer(script, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        url = peer.secure_url if secure else peer.url
        assert await call(upstream, url, b"first") == b"hi"
        assert await call(upstream, url, b"second") == b"hi"
    assert peer.bodies == [b"first", b"second", b"second"]
    assert len(peer.connections) == 2


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
async def test_a_request_is_not_sent_a_third_time(authority: Authority, secure: bool) -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        if len(peer.connections) == 1:
            await connection.say(OK)
            await connection.hear()

    tls = authority.tls_for("localhost") if secure else None
    async with a_peer(script, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        url = peer.secure_url if secure else peer.url
        await call(upstream, url, b"first")
        assert await failure_of(upstream, a_request(url, b"second")) is Failure.BROKEN
    assert peer.bodies == [b"first", b"second", b"second"]


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
async def test_a_request_on_a_connection_of_its_own_is_not_sent_again(authority: Authority, secure: bool) -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        connection.reset()

    tls = authority.tls_for("localhost") if secure else None
    async with a_peer(script, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        url = peer.secure_url if secure else peer.url
        assert await failure_of(upstream, a_request(url)) is Failure.BROKEN
    assert len(peer.bodies) == 1


async def test_calls_beside_it_do_not_hide_which_connection_a_request_had(upstream: HttpUpstream) -> None:
    """One call waits on the kept connection, another opens its own; both are cut off, and only the first is resent."""
    both_heard = asyncio.Barrier(2)

    async def script(connection: Connection) -> None:
        if len(peer.connections) == 1:
            await connection.hear()
            await connection.say(OK)
        if len(peer.connections) <= 2:
            await connection.hear()
            heard.set()
            await both_heard.wait()
        else:
            await answering(connection)

    async with a_peer(script) as peer:
        heard = asyncio.Event()
        await call(upstream, peer.url, b"first")
        on_the_kept_one = asyncio.create_task(call(upstream, peer.url, b"kept"))
        await heard.wait()
        assert await failure_of(upstream, a_request(peer.url, b"own")) is Failure.BROKEN
        assert await on_the_kept_one == b"hi"
    assert sorted(peer.bodies) == [b"first", b"kept", b"kept", b"own"]


@pytest.mark.not_quick
async def test_a_connection_that_went_stale_in_the_pool_is_never_noticed(upstream: HttpUpstream) -> None:
    """The peer's end reaches the kernel just before the request does, again and again: no order of events may fail."""
    async with a_peer(answering) as peer:
        for _ in range(300):
            assert await call(upstream, peer.url) == b"hi"
            connection = await peer.arrivals.get()
            connection.writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
    assert len(peer.connections) == 300


# Certificates


async def test_a_certificate_of_a_trusted_authority_is_accepted(authority: Authority) -> None:
    tls = authority.tls_for("localhost")
    async with a_peer(answering, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        assert await call(upstream, peer.secure_url) == b"hi"


async def test_every_authority_of_a_bundle_is_trusted(authority: Authority, tmp_path: Path) -> None:
    bundle = authority.pem + Authority(tmp_path).pem
    for pem in (bundle, Authority(tmp_path).pem + authority.pem):
        async with a_peer(answering, authority.tls_for("localhost")) as peer, an_upstream(root_certificates=pem) as up:
            assert await call(up, peer.secure_url) == b"hi"


async def test_a_certificate_of_an_unknown_authority_is_refused(upstream: HttpUpstream, authority: Authority) -> None:
    async with a_peer(answering, authority.tls_for("localhost")) as peer:
        assert await failure_of(upstream, a_request(peer.secure_url)) is Failure.UNREACHABLE
    assert not peer.heads


@pytest.mark.parametrize(
    ("name", "valid"),
    [("other.test", timedelta(days=1)), ("localhost", timedelta(days=-1))],
    ids=["of another name", "expired"],
)
async def test_a_certificate_that_does_not_hold_is_refused(authority: Authority, name: str, valid: timedelta) -> None:
    tls = authority.tls_for(name, valid=valid)
    async with a_peer(answering, tls) as peer, an_upstream(root_certificates=authority.pem) as upstream:
        assert await failure_of(upstream, a_request(peer.secure_url)) is Failure.UNREACHABLE
    assert not peer.heads


async def test_a_private_authority_is_trusted_by_its_own_upstream_only(authority: Authority) -> None:
    tls = authority.tls_for("localhost")
    async with (
        a_peer(answering, tls) as peer,
        an_upstream(root_certificates=authority.pem) as one,
        an_upstream() as two,
    ):
        assert await call(one, peer.secure_url) == b"hi"
        assert await failure_of(two, a_request(peer.secure_url)) is Failure.UNREACHABLE


# Proxies


async def test_encrypted_calls_pass_a_proxy_through_a_tunnel(authority: Authority) -> None:
    async with a_peer(answering, authority.tls_for("localhost")) as peer, a_peer(proxying) as proxy:
        through = f"http://user:word@127.0.0.1:{proxy.port}"
        async with an_upstream(proxy_url=through, root_certificates=authority.pem) as upstream:
            assert await call(upstream, peer.secure_url) == b"hi"
            assert await call(upstream, peer.secure_url) == b"hi"
    assert [head.split("\r\n")[0] for head in proxy.heads] == [f"connect localhost:{peer.port} http/1.1"]
    assert "proxy-authorization: basic dxnlcjp3b3jk" in proxy.heads[0]
    assert "secret" not in proxy.heads[0]
    assert "proxy-authorization" not in peer.heads[0]


async def test_calls_in_the_clear_name_the_whole_address_to_a_proxy() -> None:
    async with a_peer(proxying) as proxy, an_upstream(proxy_url=f"http://127.0.0.1:{proxy.port}") as upstream:
        assert await call(upstream, "http://models.test/v1") == b"hi"
    assert proxy.heads[0].startswith("post http://models.test/v1 http/1.1\r\n")


async def test_a_proxy_that_refuses_leaves_the_provider_unreachable() -> None:
    refusing = saying(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n")
    async with a_peer(refusing) as proxy, an_upstream(proxy_url=f"http://127.0.0.1:{proxy.port}") as upstream:
        assert await failure_of(upstream, a_request("https://models.test/v1")) is Failure.UNREACHABLE


async def test_a_proxy_that_is_not_there_leaves_the_provider_unreachable() -> None:
    async with a_peer(answering) as peer, an_upstream(proxy_url="http://127.0.0.1:1") as upstream:
        assert await failure_of(upstream, a_request(peer.url)) is Failure.UNREACHABLE
    assert not peer.connections


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_peer(answering) as peer, a_peer(proxying) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        async with an_upstream() as upstream:
            assert await call(upstream, peer.url) == b"hi"
    assert not proxy.connections


# Memory, and what is left behind


async def test_a_reader_that_does_not_read_holds_the_provider_back(upstream: HttpUpstream) -> None:
    said, finished = 0, asyncio.Event()
    size = 200 * MEGABYTE

    async def script(connection: Connection) -> None:
        nonlocal said
        await connection.hear()
        await connection.say(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while said < size:
            await connection.say(bytes(100_000))
            said += 100_000
        finished.set()
        await connection.ended()

    async with a_peer(script) as peer:
        before = resident_bytes()
        answer = await upstream.send(a_request(peer.url))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(finished.wait(), 1)
        assert said < 16 * MEGABYTE
        assert resident_bytes() - before < 16 * MEGABYTE
        received = 0
        while piece := await answer.read():
            received += len(piece)
            # A thousand who read slowly have a few of these each.
            assert len(piece) <= AHEAD_BYTES_MOST + READ_BYTES
        assert received == size
        assert resident_bytes() - before < 16 * MEGABYTE
        await answer.close()


def in_two_goes(first: bytes, then: bytes) -> tuple[asyncio.Event, Script]:
    """A provider that says the second part only when it is told to."""
    go = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(first)
        await go.wait()
        await connection.say(then)
        await connection.ended()

    return go, script


async def test_what_comes_while_somebody_waits_can_pass_by_and_the_rest_is_read_in_order(
    upstream: HttpUpstream,
) -> None:
    """Behind what is not taken nothing passes by until that was read."""
    rest = b"".join([*map(chunk, (b"a1", b"a2", b"b3", b"a4")), LAST_CHUNK])
    go, script = in_two_goes(CHUNKED + chunk(b"first"), rest)
    async with a_peer(script) as peer:
        answer = await upstream.send(a_request(peer.url))
        assert await answer.read() == b"first"
        taken, take = taking_what_begins_with(b"a")
        answer.pass_by(take)
        reading = asyncio.ensure_future(whole(answer))
        await asyncio.sleep(0)
        go.set()
        assert (await reading, taken) == (b"b3a4", [b"a1", b"a2"])


async def test_nothing_passes_by_one_who_does_not_wait(upstream: HttpUpstream) -> None:
    go, script = in_two_goes(CHUNKED + chunk(b"first"), chunk(b"a1") + chunk(b"a2") + LAST_CHUNK)
    async with a_peer(script) as peer:
        answer = await upstream.send(a_request(peer.url))
        assert await answer.read() == b"first"
        taken, take = taking_what_begins_with(b"a")
        answer.pass_by(take)
        go.set()
        # What was said is here, and nobody has asked for it.
        await until(lambda: answer._connection.is_over)
        assert (await whole(answer), taken) == (b"a1a2", [])


async def test_what_passes_by_is_no_silence() -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED + chunk(b"first"))
        for _ in range(6):
            await asyncio.sleep(0.3)
            await connection.say(chunk(b"a"))
        await connection.say(LAST_CHUNK)
        await connection.ended()

    async with a_peer(script) as peer, an_upstream(idle_seconds=1.2) as upstream:
        answer = await upstream.send(a_request(peer.url))
        assert await answer.read() == b"first"
        taken, take = taking_what_begins_with(b"a")
        answer.pass_by(take)
        assert await whole(answer) == b""
        assert taken == [b"a"] * 6


async def test_silence_after_what_passed_by_is_stalled() -> None:
    go, script = in_two_goes(CHUNKED + chunk(b"first"), chunk(b"a"))
    async with a_peer(script) as peer, an_upstream(idle_seconds=0.2) as upstream, asyncio.timeout(5):
        answer = await upstream.send(a_request(peer.url))
        assert await answer.read() == b"first"
        taken, take = taking_what_begins_with(b"a")
        answer.pass_by(take)
        reading = asyncio.ensure_future(answer.read())
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(UpstreamFailed) as failed:
            await reading
        assert (failed.value.failure, taken) == (Failure.STALLED, [b"a"])


async def test_what_the_next_call_hears_on_a_kept_connection_passes_nobody_by(upstream: HttpUpstream) -> None:
    go = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED + chunk(b"first") + LAST_CHUNK)
        await connection.hear()
        await connection.say(CHUNKED + chunk(b"first"))
        await go.wait()
        await connection.say(chunk(b"a") + LAST_CHUNK)
        await connection.ended()

    async with a_peer(script) as peer:
        answer = await upstream.send(a_request(peer.url))
        taken, take = taking_what_begins_with(b"a")
        answer.pass_by(take)
        assert await whole(answer) == b"first"
        answer = await upstream.send(a_request(peer.url))
        assert await answer.read() == b"first"
        reading = asyncio.ensure_future(whole(answer))
        await asyncio.sleep(0)
        go.set()
        assert (await reading, taken, peer.arrivals.qsize()) == (b"a", [], 1)


async def test_a_long_stream_is_not_collected(upstream: HttpUpstream) -> None:
    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED)
        for _ in range(10_000):
            await connection.say(chunk(bytes(5_000)))
        await connection.say(LAST_CHUNK)
        await connection.ended()

    async with a_peer(script) as peer:
        before, received = resident_bytes(), 0
        answer = await upstream.send(a_request(peer.url))
        while piece := await answer.read():
            received += len(piece)
        await answer.close()
    assert received == 50 * MEGABYTE
    assert resident_bytes() - before < 8 * MEGABYTE


HEADS = {
    "one header of 1 MB": [b"x: " + b"a" * MEGABYTE + b"\r\n\r\n"],
    "headers without end": [b"x: " + b"a" * 1_000 + b"\r\n"] * 100_000,
}


@pytest.mark.parametrize("headers", HEADS.values(), ids=HEADS.keys())
async def test_huge_headers_are_broken_and_not_kept(upstream: HttpUpstream, headers: list[bytes]) -> None:
    async with a_peer(saying(b"HTTP/1.1 200 OK\r\n", *headers)) as peer:
        before = resident_bytes()
        assert await failure_of(upstream, a_request(peer.url)) is Failure.BROKEN
        assert resident_bytes() - before < 8 * MEGABYTE


async def test_nothing_is_left_behind() -> None:
    """Calls that end in every way leave no task and no descriptor, and neither does the client when it is closed."""

    async def stop_halfway(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED + chunk(b"first"))
        await connection.ended()

    async with an_upstream() as first, a_peer(answering) as peer:
        await call(first, peer.url)  # The client's runtime has descriptors of its own, once for the process.
    tasks, files = len(asyncio.all_tasks()), descriptors()
    async with a_peer(answering) as whole_peer, a_peer(stop_halfway) as half_peer:
        async with an_upstream(idle_seconds=0.05) as upstream:
            await asyncio.gather(*(call(upstream, whole_peer.url) for _ in range(20)))
            for _ in range(20):
                answer = await upstream.send(a_request(half_peer.url))
                assert await answer.read() == b"first"
                await answer.close()
            await asyncio.gather(*(failure_of(upstream, a_request(half_peer.url)) for _ in range(20)))
            await asyncio.gather(*(failure_of(upstream, a_request("http://127.0.0.1:1/")) for _ in range(20)))
        # Closing lets go of the kept connections: their peer hears it before it leaves itself.
        await until(lambda: all(one.reader.at_eof() for one in whole_peer.connections))
    await until(lambda: len(asyncio.all_tasks()) <= tasks and descriptors() <= files)
