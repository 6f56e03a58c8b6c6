"""The fakes keep what their ports promise: the same tests pass with the real pool and the real limiter, which need no
store to decide. (The ledger's twin has a contract suite of its own, with the ledger in PostgreSQL.)"""

from collections.abc import Callable, Sequence
from uuid import uuid4

import pytest

from tests.relay.fakes import Books, MemoryLimiter, MemoryPool, Reply, ScriptedUpstream
from tests.relay.house import House, an_account, whole
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.limits.windows import LimitOutcome, Measure, Window, Windows
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import Failure, Limiter, Passage, ProviderAccount, UpstreamFailed, UpstreamRequest
from tollkeeper.ports.providers.pool import Pool
from tollkeeper.providers.pool import LivePool
from tollkeeper.storage.limits.limiter import RedisLimiter
from tollkeeper.storage.redis.places import places_of

ACCOUNTS = (
    an_account(1, models={"other": "theirs"}),
    an_account(2, takes_calls=False),
    an_account(3, vendor="anthropic"),
    an_account(4),
)


class Given:
    """The provider accounts that there are."""

    async def all(self) -> Sequence[ProviderAccount]:
        return ACCOUNTS


def a_live_pool() -> Pool:
    vendors = {"openai", "anthropic"}
    return LivePool(Given(), vendors, now=lambda: 1_000.0, chance=lambda: 0.0, share=lambda: 1, secret=b"s")


pools = pytest.mark.parametrize("make", [lambda: MemoryPool(ACCOUNTS), a_live_pool], ids=["fake", "real"])


@pools
@in_virtual_time
async def test_a_pool_chooses_who_serves_the_model_takes_calls_was_not_tried_and_is_fit(
    make: Callable[[], Pool],
) -> None:
    pool = make()
    tried: set[int] = set()
    while (chosen := await pool.choose("m", by=1, tried=tried)) is not None:
        tried.add(chosen.id)
    assert tried == {3, 4}
    fit = await pool.choose("m", by=1, unfit={ACCOUNTS[2].capabilities})
    assert fit is not None
    assert fit.id == 4
    unfit = {ACCOUNTS[2].capabilities, ACCOUNTS[3].capabilities}
    assert await pool.choose("m", by=1, unfit=unfit) is None
    assert (pool.serves("m", unfit=unfit), pool.serves("m", unfit=set())) == (False, True)
    assert pool.seconds_until_seats("m") is None
    assert pool.may_try_again(by=1)


@pools
@in_virtual_time
async def test_a_seat_is_left_once_and_one_that_failed_is_given_up(make: Callable[[], Pool]) -> None:
    pool = make()

    def taken() -> int:
        if isinstance(pool, MemoryPool):
            return len(pool.taken)
        assert isinstance(pool, LivePool)
        return sum(health.room.in_flight for health in pool._account_health.values())

    account = await pool.choose("m", by=1)
    assert account is not None
    one, other = (pool.seat(account, model_id="m", by=1, tokens=10) for _ in range(2))
    assert (taken(), one.account) == (2, account)
    one.succeed(0.1)
    assert taken() == 2
    one.leave(5)
    one.leave()
    assert taken() == 1
    other.fail(Trouble.SERVER, "broken")
    other.leave()
    assert taken() == 0


def a_limiter_alone() -> Limiter:
    """Nobody has told it where Redis is: it judges alone."""
    return RedisLimiter(places_of("redis://nowhere.test"), prefix="t:", share=lambda: 1, at_peak=lambda *_: None)


limiters = pytest.mark.parametrize("make", [MemoryLimiter, a_limiter_alone], ids=["fake", "real"])


async def enter(limiter: Limiter, *each: Window, tokens: int = 0) -> tuple[Passage, LimitOutcome]:
    passage = Passage(Windows("1", each), uuid4(), tokens)
    return passage, await limiter.admit(passage)


@limiters
@in_virtual_time
async def test_a_limiter_gives_a_place_in_every_window_or_in_none(make: Callable[[], Limiter]) -> None:
    limiter, narrow, wide = make(), Window("key:1", 2), Window("chat", 3)
    assert limiter.known_full(Windows("1", (narrow,))) is None
    for _ in range(2):
        assert (await enter(limiter, narrow, wide))[1].refused is None
    assert (await enter(limiter, narrow, wide))[1].refused == narrow
    full = limiter.known_full(Windows("1", (narrow, wide)))
    assert full is not None
    assert full.refused == narrow
    assert 0 < full.retry_in_us <= 60_000_000
    # Who was refused by one took no place in the other.
    assert (await enter(limiter, wide))[1].refused is None
    assert (await enter(limiter, wide))[1].refused == wide


@limiters
@in_virtual_time
async def test_a_call_that_ended_gives_back_its_place_among_those_under_way(make: Callable[[], Limiter]) -> None:
    limiter, running = make(), Window("running", 1, measure=Measure.RUNNING)
    passage, outcome = await enter(limiter, running)
    assert outcome.refused is None
    assert (await enter(limiter, running))[1].refused == running
    # It may be over at any moment, so nobody remembers that it is full.
    assert limiter.known_full(passage.windows) is None
    limiter.ended(passage, 0)
    limiter.ended(passage, 0)
    assert (await enter(limiter, running))[1].refused is None
    assert (await enter(limiter, running))[1].refused == running


@limiters
@in_virtual_time
async def test_tokens_that_become_known_at_the_end_of_a_call_count(make: Callable[[], Limiter]) -> None:
    limiter, tokens = make(), Window("tokens", 100, measure=Measure.TOKENS)
    passage, outcome = await enter(limiter, tokens, tokens=10)
    assert outcome.refused is None
    limiter.ended(passage, 80)
    assert (await enter(limiter, tokens, tokens=11))[1].refused == tokens
    assert (await enter(limiter, tokens, tokens=10))[1].refused is None


def a_request(sent: list[bool]) -> UpstreamRequest:
    return UpstreamRequest("https://p.test", (), b"", 60.0, lambda: sent.append(True))


@pytest.mark.parametrize(
    ("before", "failure", "sent"),
    [
        ((Failure.UNREACHABLE,), Failure.UNREACHABLE, []),
        ((Failure.BROKEN,), Failure.BROKEN, [True]),
        ((61.0,), Failure.SILENT, [True]),
    ],
)
@in_virtual_time
async def test_an_upstream_says_how_it_failed_and_what_was_sent(
    before: Sequence[Failure | float], failure: Failure, sent: list[bool]
) -> None:
    upstream, told = ScriptedUpstream(idle_seconds=5), list[bool]()
    upstream.replies.append(Reply(before=before))
    with pytest.raises(UpstreamFailed, match=failure.value):
        await upstream.send(a_request(told))
    assert (told, upstream.open) == (sent, [])


@in_virtual_time
async def test_an_answer_that_was_closed_or_is_silent_for_long_cannot_be_heard() -> None:
    upstream = ScriptedUpstream(idle_seconds=5)
    upstream.replies.append(Reply(b"a", 4.0, b"b", 6.0, b"c"))
    answer = await upstream.send(a_request([]))
    assert [await answer.read(), await answer.read()] == [b"a", b"b"]
    with pytest.raises(UpstreamFailed, match="stalled"):
        await answer.read()
    await answer.close()
    with pytest.raises(UpstreamFailed, match="broken"):
        await answer.read()


@in_virtual_time
async def test_books_notice_a_hold_that_is_left_open_and_one_that_is_closed_twice() -> None:
    house = House(Reply(whole(5)))
    heard = await house.chat()
    house.ledger.check()
    [hold] = house.ledger.holds.values()
    assert heard.receipt is not None
    house.ledger.settle(heard.receipt)
    with pytest.raises(AssertionError):
        house.ledger.check()
    left_open = Books(house.clock.now)
    left_open.holds[hold.order.request_id] = hold
    with pytest.raises(AssertionError):
        left_open.check()
