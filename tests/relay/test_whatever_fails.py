"""Whatever fails, wherever: a hold is closed once, and places, seats and connections are given back.

Each way of a call is walked once to learn its steps, which are the acts of its ports. Then it is walked once for each
of them, and that one fails.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tests.relay.fakes import Reply
from tests.relay.house import DONE, FINISH, KEY, House, an_account, chat_body, report, whole, words
from tests.relay.steps import Mishap, Steps, be_away, cancel, fail
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.errors import GatewayError
from tollkeeper.core.limits.windows import Rates
from tollkeeper.edge.calls import Relayed, chat_completions, image_generations, speech
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http.body import BodyReader
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.edge.price_pages import PricePages
from tollkeeper.ports import Failure
from tollkeeper.relay.operations import CHAT
from tools.asked import Asked

Script = Callable[[], list[Reply]]
RATES = Rates(concurrency=5, tokens_per_minute=1_000_000)
FOR_EVER = 10_000.0


class Way(msgspec.Struct, kw_only=True):
    """A call, and what providers say to it."""

    replies: Script
    endpoint: Relayed[Any, Any] = chat_completions
    body: bytes = chat_body()
    headers: tuple[tuple[bytes, bytes], ...] = ()
    client_leaves_after_seconds: float = FOR_EVER


MANY = b"".join(words(120))
STREAM = chat_body(stream=True)
WAYS = {
    "whole": Way(replies=lambda: [Reply(whole(5, (12, 7)))]),
    "whole, at the second account": Way(
        replies=lambda: [Reply(status=500), Reply(whole(5)[:9], Failure.BROKEN), Reply(whole(5))]
    ),
    "whole, refused": Way(replies=lambda: [Reply(b'{"error": {"message": "no"}}', status=400)]),
    "whole, client leaves": Way(replies=lambda: [Reply(20.0, whole(5))], client_leaves_after_seconds=1.0),
    "stream": Way(body=STREAM, replies=lambda: [Reply(*words(3), FINISH, report(12, 7), DONE)]),
    "stream, at the second account": Way(
        body=STREAM, replies=lambda: [Reply(Failure.BROKEN), Reply(status=429), Reply(*words(3), FINISH, DONE)]
    ),
    "stream, long and slow": Way(body=STREAM, replies=lambda: [Reply(MANY, 6.0, MANY, 6.0, *words(1), FINISH, DONE)]),
    "stream, broken off": Way(body=STREAM, replies=lambda: [Reply(*words(3), Failure.BROKEN)]),
    "stream, client leaves": Way(
        body=STREAM, replies=lambda: [Reply(*words(3), FOR_EVER)], client_leaves_after_seconds=1.0
    ),
    "with a key, refused": Way(
        headers=((b"idempotency-key", b"a key"),),
        replies=lambda: [Reply(b"{}", status=400)],
    ),
    "with a key, streamed up to what is allowed": Way(
        body=STREAM,
        headers=((b"idempotency-key", b"a key"), (b"x-max-charge-usd", b"0.001")),
        replies=lambda: [Reply(*words(300), FINISH, DONE)],
    ),
    "stream, nobody left": Way(body=STREAM, replies=lambda: [Reply(status=503) for _ in range(3)]),
    "image": Way(
        endpoint=image_generations,
        body=b'{"model": "painter", "prompt": "a river"}',
        replies=lambda: [Reply(b'{"data": [{"url": ', b'"https://x.test"}]}')],
    ),
    "speech": Way(
        endpoint=speech,
        body=b'{"model": "speaker", "input": "hello", "voice": "alloy"}',
        replies=lambda: [Reply(b"sound", b"and more")],
    ),
}


def services_of(house: House, steps: Steps) -> Services:
    nobody_asks: Any = None
    return Services(
        relay=house.relay,
        balances=steps.watch("balances", house.ledger),
        usage=nobody_asks,
        receipts=nobody_asks,
        prices=PricePages(nobody_asks, owner=""),
        pages=nobody_asks,
        bodies=BodyReader(reading_bytes_most=1_000_000, seconds_most=60),
        new_request_id=lambda _: uuid4(),
        owned_by="",
        keep_alive_seconds=15,
        loop_mark="mark",
    )


def an_exchange(way: Way) -> Exchange:
    """A request whose body has come, and whose client hangs up after a while."""
    headers = [
        (b"authorization", f"Bearer {KEY}".encode()),
        (b"content-length", b"%d" % len(way.body)),
        *way.headers,
    ]
    asked = Asked(headers=headers, pieces=[way.body])
    asyncio.get_running_loop().call_later(way.client_leaves_after_seconds, asked.leave)
    return Exchange(asked, 0, uuid4())


async def walk(way: Way, steps: Steps) -> House:
    """Make the call through the edge, in a task of its own, and hear what comes of it."""
    house = House(*way.replies(), accounts=[an_account(n) for n in (1, 2, 3)], rates=RATES, made=steps.watch)
    calling = asyncio.ensure_future(way.endpoint(an_exchange(way), services_of(house, steps)))
    with contextlib.suppress(GatewayError, Mishap, asyncio.CancelledError):
        await calling
    # What was begun beside the call is over soon.
    if beside := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(beside)
    return house


@pytest.mark.parametrize("mishap", [fail, be_away, cancel], ids=["fails", "is away", "is cancelled"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@in_virtual_time
async def test_everything_is_given_back_whatever_step_goes_wrong(way: Way, mishap: Callable[[], None]) -> None:
    rehearsal = Steps()
    (await walk(way, rehearsal)).check()
    for at, step in enumerate(rehearsal.done):
        steps = Steps(mishap, at=at)
        house = await walk(way, steps)
        assert steps.done[: at + 1] == rehearsal.done[: at + 1], "the same way was not walked again"
        house.upstream.replies.clear()
        try:
            house.check()
        except AssertionError as problem:
            problem.add_note(f"step {at}, {step}, went wrong")
            raise


@in_virtual_time
async def test_an_answer_that_cannot_even_be_made_leaves_nothing_held() -> None:
    house = House()
    with pytest.raises(Mishap):
        await house.ask(msgspec.structs.replace(CHAT, answer=lambda *_: fail()), chat_body())
    house.check()
