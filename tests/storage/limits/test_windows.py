"""Windows in Redis, and the same windows kept by one process: one set of rules, two places."""

import asyncio
import random
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest

from tests.conftest import Stores
from tollkeeper.core.limits.window_log import WindowLog
from tollkeeper.core.limits.windows import SPAN_US, LimitOutcome, Measure, Window, Windows
from tollkeeper.ports import Passage
from tollkeeper.storage.limits.window_wire import REPLAY, REPLAY_SHA, WINDOWS, command, outcomes, window_key
from tollkeeper.storage.redis.pipe import Pipe, connect
from tollkeeper.storage.redis.places import places_of

KEY = Window("key:1", 3)
ACCOUNT = Window("chat", 6, 4)


class Server:
    """Windows in a real Redis, asked without anything between."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.prefix = f"test:{uuid4().hex}:"

    def key(self, whose: str, name: str) -> str:
        return window_key(self.prefix, whose, name)

    async def admit(self, *passages: Passage, span_us: int = SPAN_US) -> list[LimitOutcome]:
        heard: asyncio.Future[list[list[int]]] = asyncio.get_running_loop().create_future()
        self.pipe.send(command(self.prefix, passages, span_us), 1, heard.set_result)
        return list(outcomes(passages, (await heard)[0]))

    async def tell_again(self, whose: str, window: Window, times: list[int]) -> int:
        told = await self.pipe.ask(("EVALSHA", REPLAY_SHA, 1, self.key(whose, window.name), SPAN_US, *times))
        added: int = told[0]
        return added


@pytest.fixture
async def server(stores: Stores) -> AsyncIterator[Server]:
    pipe = await connect((await places_of(stores.redis_url).shards())[0].place)
    await pipe.ask(("SCRIPT", "LOAD", WINDOWS), ("SCRIPT", "LOAD", REPLAY))
    yield Server(pipe)
    pipe.close()


def a_passage(*windows: Window, whose: str = "1", tokens: int = 0, request_id: UUID | None = None) -> Passage:
    return Passage(windows=Windows(whose, windows), tokens=tokens, request_id=request_id or uuid4())


def remaining(outcome: LimitOutcome) -> int:
    assert outcome.standing is not None
    return outcome.standing.remaining


async def test_the_tightest_of_its_windows_of_calls_is_told(server: Server) -> None:
    narrow, tokens = Window("chat", 2), Window("tokens", 100, measure=Measure.TOKENS)
    told = await server.admit(a_passage(KEY, narrow), a_passage(tokens, narrow, KEY), a_passage(tokens))
    standings = [outcome.standing for outcome in told]
    assert [standing and (standing.window, standing.used) for standing in standings] == [(narrow, 1), (narrow, 2), None]


async def test_a_window_is_full_at_its_limit_and_what_it_refuses_is_not_counted(server: Server) -> None:
    told = await server.admit(*[a_passage(KEY)] * 5)
    assert [outcome.refused for outcome in told] == [None, None, None, KEY, KEY]
    assert [remaining(outcome) for outcome in told] == [2, 1, 0, 0, 0]


async def test_who_waits_as_told_is_let_in(server: Server) -> None:
    span_us = 200_000
    told = await server.admit(*[a_passage(KEY)] * 4, span_us=span_us)
    assert 0 < told[3].retry_in_us <= span_us
    await asyncio.sleep(told[3].retry_in_us / 1e6)
    assert (await server.admit(a_passage(KEY), span_us=span_us))[0].refused is None


async def test_a_call_passes_all_of_its_windows_or_none(server: Server) -> None:
    narrow = Window("chat", 1)
    first, second = await server.admit(a_passage(KEY, narrow), a_passage(KEY, narrow))
    assert first.refused is None
    assert second.refused == narrow
    assert remaining((await server.admit(a_passage(KEY)))[0]) == 1


async def test_no_two_admissions_have_the_same_time(server: Server) -> None:
    wide = Window("key:1", 200)
    times = [outcome.at_us for outcome in await server.admit(*[a_passage(wide)] * 200)]
    assert len(set(times)) == 200
    assert times == sorted(times)


async def test_what_is_told_again_is_counted_once(server: Server) -> None:
    told = await server.admit(a_passage(KEY), a_passage(KEY))
    times = [outcome.at_us for outcome in told]
    assert await server.tell_again("1", KEY, times) == 0
    await server.pipe.ask(("DEL", server.key("1", KEY.name)))
    assert await server.tell_again("1", KEY, times) == 2
    assert await server.tell_again("1", KEY, times[:1]) == 0
    refused = (await server.admit(a_passage(KEY), a_passage(KEY)))[1]
    assert refused.refused == KEY


async def test_what_is_long_past_is_not_told_again(server: Server) -> None:
    at_us = (await server.admit(a_passage(KEY)))[0].at_us
    assert await server.tell_again("1", KEY, [at_us - SPAN_US, at_us - 1]) == 1


async def test_a_clock_that_goes_back_locks_nobody_out(server: Server) -> None:
    at_us = (await server.admit(a_passage(KEY)))[0].at_us
    ahead = [at_us + number * 3_600_000_000 for number in (1, 2)]
    await server.pipe.ask(("RPUSH", server.key("1", KEY.name), *ahead))
    third, fourth = await server.admit(a_passage(KEY), a_passage(KEY))
    assert third.refused == fourth.refused == KEY
    assert third.retry_in_us <= SPAN_US
    twin = WindowLog()
    for time_us in (at_us, *ahead):
        twin.recall_all([(time_us, Windows("1", (KEY,)))])
    assert twin.admit("1", [KEY], at_us + 1, tokens=0, request_id=uuid4()).retry_in_us <= SPAN_US
    assert twin.admit("1", [KEY], at_us + SPAN_US + 5, tokens=0, request_id=uuid4()).refused is None


async def test_time_above_the_standard_rate_is_peak_time_and_is_counted_once(server: Server) -> None:
    span_us = 400_000
    told = await server.admit(*[a_passage(ACCOUNT)] * 6, span_us=span_us)
    assert [outcome.peak_us > 0 for outcome in told] == [False] * 4 + [True, True]
    # Until the first two have left: the whole span, less what went by since the first came.
    begun, ended = told[4].at_us, told[1].at_us + span_us
    assert sum(outcome.peak_us for outcome in told) == ended - begun


async def test_kinds_at_peak_at_the_same_time_are_one_peak_time(server: Server) -> None:
    images = Window("image", 6, 4)
    told = await server.admit(*[a_passage(ACCOUNT)] * 6, *[a_passage(images)] * 6)
    assert sum(outcome.peak_us for outcome in told) < SPAN_US + SPAN_US // 10


async def test_tokens_of_a_minute_are_limited_and_a_giant_passes_alone(server: Server) -> None:
    tokens = Window("tokens", 100, measure=Measure.TOKENS)
    told = await server.admit(*[a_passage(tokens, tokens=count) for count in (60, 50, 40)])
    assert [outcome.refused for outcome in told] == [None, tokens, None]
    assert 59_000_000 <= told[1].retry_in_us <= 61_000_000
    assert (await server.admit(a_passage(tokens, whose="2", tokens=1_000)))[0].refused is None
    assert (await server.admit(a_passage(tokens, whose="2", tokens=1)))[0].refused == tokens


async def test_only_so_many_calls_run_at_once(server: Server) -> None:
    running = Window("running", 2, measure=Measure.RUNNING)
    ids = [uuid4() for _ in range(3)]
    told = await server.admit(*[a_passage(running, request_id=request_id) for request_id in ids])
    assert [outcome.refused for outcome in told] == [None, None, running]
    await server.pipe.ask(("ZREM", server.key("1", "running"), str(ids[0])))
    assert (await server.admit(a_passage(running, request_id=ids[2])))[0].refused is None


@pytest.mark.parametrize("seed", range(5))
async def test_one_process_alone_judges_as_redis_does(server: Server, seed: int) -> None:
    chance, span_us = random.Random(seed), 60_000  # noqa: S311 (a seed, to be repeated)
    twin = WindowLog(span_us)
    windows = [Window("key:1", 7), Window("key:2", 5), Window("chat", 9, 4), Window("image", 3, 2)]
    for _ in range(150):
        chosen = chance.sample(windows, chance.randint(1, 3))
        passage = a_passage(*chosen, whose=chance.choice(["1", "2"]))
        told = (await server.admit(passage, span_us=span_us))[0]
        same = twin.admit(passage.windows.whose, chosen, told.at_us, tokens=0, request_id=passage.request_id)
        assert same == told
        await asyncio.sleep(chance.choice([0, 0, 0.001, 0.008]))
