"""Bodies are read within their bounds."""

import asyncio
from collections.abc import Iterable
from uuid import uuid4

import pytest

from tollkeeper.core.errors import (
    AccountInDebt,
    BadRequest,
    BodyTooLarge,
    CompressedBody,
    GatewayError,
    MalformedHeader,
    SlowBody,
    TooMuchInReading,
)
from tollkeeper.edge.http import body
from tollkeeper.edge.http.body import FREE_BYTES, LARGE_BYTES, LEAST_BYTES_PER_SECOND, BodyReader, drain
from tollkeeper.edge.http.exchange import Exchange
from tools.asked import Asked


def an_exchange(parts: Iterable[bytes], headers: Iterable[tuple[bytes, bytes]] = (), *, ends: bool = True) -> Exchange:
    return Exchange(Asked(headers=headers, pieces=parts, ends=ends), 0, uuid4())


def a_reader(reading_bytes_most: int = 1000, seconds_most: float = 5) -> BodyReader:
    return BodyReader(reading_bytes_most=reading_bytes_most, seconds_most=seconds_most, share_bytes_least=100)


def a_body(counted_bytes: int) -> bytes:
    """One of which so many bytes count."""
    return b"x" * (FREE_BYTES + counted_bytes)


async def test_parts_are_put_together() -> None:
    assert await a_reader().read(an_exchange([b"one", b"", b"two"]), limit_bytes=6) == b"onetwo"


@pytest.mark.parametrize(
    ("exchange", "refusal"),
    [
        pytest.param(an_exchange([], [(b"content-length", b"11")], ends=False), BodyTooLarge, id="announced, unread"),
        pytest.param(an_exchange([b"x" * 6, b"x" * 6]), BodyTooLarge, id="too large without saying so"),
        pytest.param(an_exchange([b"x"], [(b"content-encoding", b"gzip")]), CompressedBody, id="compressed"),
        pytest.param(an_exchange([b"x"], [(b"content-length", b"-1")]), MalformedHeader, id="negative length"),
        pytest.param(an_exchange([b"x"], [(b"content-length", b"9" * 5000)]), MalformedHeader, id="endless length"),
        pytest.param(an_exchange([b"x"], [(b"content-length", b"1")] * 2), MalformedHeader, id="two lengths"),
        pytest.param(an_exchange([]), BadRequest, id="client left"),
    ],
)
async def test_what_is_out_of_bounds_is_refused(exchange: Exchange, refusal: type[GatewayError]) -> None:
    with pytest.raises(refusal):
        await a_reader().read(exchange, limit_bytes=10)


async def test_a_body_that_stalls_is_given_up() -> None:
    with pytest.raises(SlowBody):
        await a_reader(seconds_most=0.05).read(an_exchange([b"x"], ends=False), limit_bytes=10)


async def test_bytes_in_reading_are_capped_over_all_calls_and_freed_afterwards() -> None:
    reader = a_reader(reading_bytes_most=150)
    limit_bytes = FREE_BYTES + 100
    stalled = asyncio.create_task(reader.read(an_exchange([a_body(100)], ends=False), limit_bytes=limit_bytes))
    await asyncio.sleep(0)
    with pytest.raises(TooMuchInReading):
        await reader.read(an_exchange([a_body(100)]), limit_bytes=limit_bytes)
    # What is small is taken all the same.
    assert await reader.read(an_exchange([a_body(0)]), limit_bytes=limit_bytes) == a_body(0)
    stalled.cancel()
    await asyncio.gather(stalled, return_exceptions=True)
    assert await reader.read(an_exchange([a_body(100)]), limit_bytes=limit_bytes) == a_body(100)


@pytest.mark.parametrize("owners", [(7,), ("192.0.2.7",), (7, "192.0.2.7")], ids=["account", "IP", "both"])
def test_whoever_has_a_quarter_gets_no_more_once_half_is_taken(owners: tuple[int | str, ...]) -> None:
    reader = a_reader(reading_bytes_most=1000)
    reader.add(500, owners)
    assert not reader.is_too_much(owners)
    reader.add(1, owners)
    assert reader.is_too_much(owners)
    assert not reader.is_too_much((8, "192.0.2.8"))
    reader.add(500, (8, "192.0.2.8"))
    assert reader.is_too_much((9,))
    reader.add(-501, owners)
    assert not reader.is_too_much(owners)
    assert not reader.is_too_much((9,))


async def test_who_cannot_pay_is_asked_once_before_a_large_body_is_taken() -> None:
    asked = 0

    async def cannot_pay() -> None:
        nonlocal asked
        asked += 1
        raise AccountInDebt

    reader = a_reader(reading_bytes_most=10 * LARGE_BYTES)

    async def read(exchange: Exchange) -> bytes:
        return await reader.kept(exchange, limit_bytes=2 * LARGE_BYTES, can_pay=cannot_pay).read()

    with pytest.raises(AccountInDebt):
        await read(an_exchange([], [(b"content-length", b"%d" % (LARGE_BYTES + 1))], ends=False))
    with pytest.raises(AccountInDebt):
        await read(an_exchange([b"x" * LARGE_BYTES, b"x"], ends=False))
    assert asked == 2
    assert len(await read(an_exchange([b"x" * LARGE_BYTES]))) == LARGE_BYTES
    assert asked == 2


async def test_a_body_that_comes_too_slowly_is_given_up_long_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "LOOK_SECONDS", 0.05)
    least_bytes = int(0.05 * LEAST_BYTES_PER_SECOND)
    slow = an_exchange([a_body(least_bytes)], ends=False)
    async with asyncio.timeout(30):
        with pytest.raises(SlowBody):
            await a_reader(seconds_most=60).read(slow, limit_bytes=100_000)


async def test_a_small_body_may_take_all_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "LOOK_SECONDS", 0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await a_reader(seconds_most=60).read(an_exchange([b"x"], ends=False), limit_bytes=100_000)


# What was refused unread.


async def test_a_refused_body_is_taken_to_its_end_so_that_the_refusal_is_heard() -> None:
    exchange = an_exchange([b"x" * 10, b"y" * 10], [(b"content-length", b"20")])
    await drain(exchange)
    assert exchange.http.is_read


async def test_a_body_that_was_read_is_not_waited_for() -> None:
    exchange = an_exchange([b"x" * 10], [(b"content-length", b"10")], ends=True)
    await a_reader().read(exchange, limit_bytes=100)
    assert exchange.http.is_read
    # Nothing more comes, and nobody asks for it.
    await asyncio.wait_for(drain(exchange), 0.1)


@pytest.mark.parametrize(
    "headers", [[], [(b"content-length", b"9"), (b"expect", b"100-continue")]], ids=["no body", "waits to be asked"]
)
async def test_who_sends_nothing_is_answered_at_once(headers: list[tuple[bytes, bytes]]) -> None:
    await asyncio.wait_for(drain(an_exchange([], headers, ends=False)), 0.1)


async def test_who_stops_sending_is_answered_soon() -> None:
    exchange = an_exchange([b"x"], [(b"content-length", b"1000")], ends=False)
    await asyncio.wait_for(drain(exchange), 1)
    assert not exchange.http.is_read
