"""What providers send that they should not: it is bounded, harms no other call, and nothing of it is made up."""

import asyncio

import pytest

from tests.providers.peers import CHUNKED, LAST_CHUNK, OK, Connection, a_peer, answering, chunk, saying
from tests.providers.test_http import MEGABYTE, a_request, an_upstream, call, failure_of, resident_bytes, until, whole
from tollkeeper.ports import Failure, UpstreamFailed, UpstreamRequest
from tollkeeper.providers.http_client.target import target_of

ENDLESS = {
    "one trailer": (CHUNKED + chunk(b"hi") + b"0\r\nx: ", b"a" * 1_000),
    "trailers": (CHUNKED + chunk(b"hi") + b"0\r\n", b"x: " + b"a" * 1_000 + b"\r\n"),
    "an extension of a chunk": (CHUNKED + chunk(b"hi") + b"5;x=", b"a" * 1_000),
    "answers that are yet to come": (b"", b"HTTP/1.1 100 Continue\r\nx: " + b"a" * 1_000 + b"\r\n\r\n"),
    "a reason": (b"HTTP/1.1 200 ", b"a" * 1_000),
}


@pytest.mark.parametrize(("begin", "more"), ENDLESS.values(), ids=ENDLESS.keys())
async def test_framing_without_end_is_broken_and_not_kept(begin: bytes, more: bytes) -> None:
    async with a_peer(saying(begin, *[more] * 20_000)) as peer, an_upstream() as upstream, asyncio.timeout(10):
        before = resident_bytes()
        assert await failure_of(upstream, a_request(peer.url)) is Failure.BROKEN
        assert resident_bytes() - before < 8 * MEGABYTE


SURPLUS = {
    "another answer": OK,
    "half of one": b"HTTP/1.1 200 OK\r\ncontent-le",
    "anything": b"\0\0\0",
    "a late refusal": b"HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n",
}


@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("surplus", SURPLUS.values(), ids=SURPLUS.keys())
async def test_what_was_not_asked_for_is_never_another_calls_answer(surplus: bytes, is_late: bool) -> None:
    first_is_read = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED + chunk(b"first") + LAST_CHUNK + (b"" if is_late else surplus))
        if is_late:
            await first_is_read.wait()
            await connection.say(surplus)
        await connection.ended()

    async with a_peer(script) as peer, a_peer(answering), an_upstream() as upstream:
        assert await call(upstream, peer.url) == b"first"
        first_is_read.set()
        await until(peer.connections[0].reader.at_eof)
        assert await call(upstream, peer.url) == b"first"
    assert len(peer.connections) == 2


async def test_an_answer_after_hints_is_heard() -> None:
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nretry-after: 9\r\n\r\n"
    async with a_peer(saying(hints + OK)) as peer, an_upstream() as upstream:
        answer = await upstream.send(a_request(peer.url))
        assert (answer.status, answer.header("retry-after")) == (200, None)
        assert await whole(answer) == b"hi"


async def test_another_protocol_is_broken() -> None:
    switching = b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhello"
    async with a_peer(saying(switching)) as peer, an_upstream() as upstream:
        assert await failure_of(upstream, a_request(peer.url)) is Failure.BROKEN


async def test_the_first_header_of_a_name_counts_and_trailers_do_not() -> None:
    head = b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nretry-after: 9\r\ntransfer-encoding: chunked\r\n\r\n"
    said = head + chunk(b"hi") + b"0\r\nx-late: 1\r\n\r\n"
    async with a_peer(saying(said)) as peer, an_upstream() as upstream:
        answer = await upstream.send(a_request(peer.url))
        assert await whole(answer) == b"hi"
        assert (answer.header("Retry-After"), answer.header("x-late")) == ("7", None)


async def test_an_answer_keeps_its_headers_when_its_connection_serves_another() -> None:
    async def script(connection: Connection) -> None:
        for number in (7, 9):
            await connection.hear()
            await connection.say(b"HTTP/1.1 429 Slow\r\nretry-after: %d\r\ncontent-length: 2\r\n\r\nhi" % number)
        await connection.ended()

    async with a_peer(script) as peer, an_upstream() as upstream:
        first = await upstream.send(a_request(peer.url))
        assert await whole(first) == b"hi"
        second = await upstream.send(a_request(peer.url))
        assert (first.header("retry-after"), second.header("retry-after")) == ("7", "9")
        await second.close()
    assert len(peer.connections) == 1


async def test_an_answer_that_closes_its_connection_is_not_followed_by_another_on_it() -> None:
    closing = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi"
    async with a_peer(saying(closing)) as peer, an_upstream() as upstream:
        assert await call(upstream, peer.url) == b"hi"
        assert await call(upstream, peer.url) == b"hi"
    assert len(peer.connections) == 2


async def test_an_answer_is_read_whole_though_its_provider_has_gone() -> None:
    """What came is there to be read, however late the reader."""

    async def script(connection: Connection) -> None:
        await connection.hear()
        await connection.say(CHUNKED + chunk(b"a" * 1_000) + LAST_CHUNK)
        await connection.hang_up()

    async with a_peer(script) as peer, an_upstream() as upstream:
        answer = await upstream.send(a_request(peer.url))
        await until(lambda: answer._connection.is_lost)
        assert await whole(answer) == b"a" * 1_000


BAD_HEADERS = [
    ("x", "a\r\nauthorization: b"),
    ("x", "a\nb"),
    ("x", "a\0b"),
    ("x\r\ny", "a"),
    ("x", "\r"),
    ("x", "\n\r"),
]


@pytest.mark.parametrize("header", BAD_HEADERS)
async def test_a_header_that_would_become_two_is_refused(header: tuple[str, str]) -> None:
    async with a_peer(answering) as peer, an_upstream() as upstream:
        with pytest.raises(ValueError, match="header"):
            await upstream.send(UpstreamRequest(peer.url, (header,), b"{}", 5))
    assert not peer.heads


async def test_what_a_request_says_of_itself_holds() -> None:
    said = (("Host", "api.example"), ("user-agent", "another"), ("accept", "audio/mpeg"))
    async with a_peer(answering) as peer, an_upstream() as upstream:
        assert await whole(await upstream.send(UpstreamRequest(peer.url, said, b"{}", 5))) == b"hi"
    lines = peer.heads[0].split("\r\n")
    for line in ("host: api.example", "user-agent: another", "accept: audio/mpeg"):
        assert [each for each in lines if each.startswith(line.partition(" ")[0])] == [line]


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a.example/", "https:///v1", "https://", "a.example", "https://me:word@a.example/"),
        *("https://a.example/a b", "https://a.example/\x7f", "https://a.example/ä", "https://a.example:x/"),
        *("https://[::1/", "https://a..example\u3002/", "https://a.example:99999/"),
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        target_of(url)


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("https://a.example", "a.example", "/"),
        ("https://a.example:443/v1?x=%2F#part", "a.example", "/v1?x=%2F"),
        ("http://a.example:443/a%2Fb", "a.example:443", "/a%2Fb"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080", "/"),
        ("https://bücher.example/", "xn--bcher-kva.example", "/"),
    ],
)
def test_an_address_is_taken_apart(url: str, authority: str, path: str) -> None:
    target = target_of(url)
    assert (target.authority, target.path) == (authority, path)


async def test_a_proxy_that_says_more_than_it_may_is_not_used() -> None:
    joined = b"HTTP/1.1 200 OK\r\n\r\n"
    for said in (joined + b"surplus", b"HTTP/1.1 200 " + b"a" * MEGABYTE, b"SSH-2.0-x\r\n\r\n", b"\r\n\r\n", b""):
        async with a_peer(saying(said)) as proxy:
            through = f"http://127.0.0.1:{proxy.port}"
            async with an_upstream(proxy_url=through, connect_seconds=0.5) as upstream:
                with pytest.raises(UpstreamFailed) as failed:
                    await upstream.send(a_request("https://models.test/v1"))
                assert failed.value.failure is Failure.UNREACHABLE
                reader = proxy.connections[0].reader
                await until(lambda: reader.at_eof() or reader.exception() is not None)  # noqa: B023
