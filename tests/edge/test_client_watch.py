"""Whether the client is still there: looked at only in calls that take a while."""

import asyncio

import pytest

from tollkeeper.edge.calls import ClientWatch
from tollkeeper.edge.http.exchange import Exchange

SCOPE = {"method": "POST", "path": "/v1/chat/completions", "headers": []}


class Line:
    """What the server tells of a connection, when it is asked."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.told = asyncio.Event()

    async def receive(self) -> dict[str, object]:
        self.asked.set()
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, _: object) -> None:
        raise AssertionError("nobody is answered here")

    def exchange(self) -> Exchange:
        return Exchange(dict(SCOPE), self.receive, self.send, 0)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first moments are over at once."""
    monkeypatch.setattr("tollkeeper.edge.calls.WATCH_AFTER_SECONDS", 0.0)


@pytest.mark.usefixtures("soon")
async def test_a_client_that_hangs_up_is_told_of() -> None:
    line = Line()
    with ClientWatch(line.exchange(), line.told.set):
        line.hung_up.set()
        await asyncio.wait_for(line.told.wait(), 10)


@pytest.mark.usefixtures("soon")
async def test_a_client_that_was_answered_may_hang_up() -> None:
    line = Line()
    exchange = line.exchange()
    exchange.claim()
    with ClientWatch(exchange, line.told.set) as watch:
        await asyncio.wait_for(line.asked.wait(), 10)
        line.hung_up.set()
        assert watch._watching is not None
        await watch._watching
    assert not line.told.is_set()


async def test_a_call_that_is_over_soon_is_not_watched() -> None:
    line = Line()
    line.hung_up.set()
    with ClientWatch(line.exchange(), line.told.set) as watch:
        pass
    assert watch._timer.cancelled()
    assert (line.asked.is_set(), line.told.is_set()) == (False, False)


@pytest.mark.usefixtures("soon")
async def test_nobody_watches_any_more_when_the_call_is_over() -> None:
    line = Line()
    with ClientWatch(line.exchange(), line.told.set) as watch:
        await asyncio.wait_for(line.asked.wait(), 10)
    assert watch._watching is not None
    await asyncio.wait([watch._watching])
    assert watch._watching.cancelled()
    assert not line.told.is_set()
