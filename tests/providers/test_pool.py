"""The pool of one process: seats, news, suspensions, and what a changed snapshot means."""

from collections.abc import Sequence

import msgspec
import pytest

from tollkeeper.core.pool.breaker import BUSY_SECONDS, SPARED_SECONDS_EACH, Trouble
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.pool.witnesses import FAILURES_LEAST, OUT_SECONDS_FIRST
from tollkeeper.ports import ProviderAccount
from tollkeeper.providers.pool import LivePool, LiveSeat, Step
from tollkeeper.settings import Secret


class Accounts:
    def __init__(self, *accounts: ProviderAccount) -> None:
        self.accounts: Sequence[ProviderAccount] = accounts

    async def all(self) -> Sequence[ProviderAccount]:
        return self.accounts


ONE, ANOTHER, BYSTANDER = 1, 2, 3


class Probing:
    """Our own probe, as it finds the account; asked when the test says so."""

    def __init__(self, pool: LivePool, finds: Trouble | None = None) -> None:
        self.finds = finds
        self.asked = 0
        self.steps: list[Step] = []
        pool.probe = self.answer
        pool.run_aside = lambda _, step: self.steps.append(step)

    async def answer(self, _: ProviderAccount) -> tuple[Trouble | None, str]:
        self.asked += 1
        return self.finds, "as the probe found"

    async def run(self) -> None:
        while self.steps:
            await self.steps.pop(0)()


class Time:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def an_account(account_id: int, **changes: object) -> ProviderAccount:
    account = ProviderAccount(id=account_id, name=f"p{account_id}", vendor="openai", base_url="", secret=Secret("s"))
    return msgspec.structs.replace(account, **changes)


def a_pool(*accounts: ProviderAccount, time: Time | None = None, share: int = 1) -> tuple[LivePool, list[bytes]]:
    told: list[bytes] = []
    pool = LivePool(
        Accounts(*accounts), {"openai"}, now=time or Time(), chance=lambda: 0.5, share=lambda: share, secret=b"s"
    )
    pool.publish = told.append
    return pool, told


async def seat_at(pool: LivePool, *tried: int, by: int = BYSTANDER) -> LiveSeat | None:
    account = await pool.choose("m", by=by, tried=tried)
    return None if account is None else pool.seat(account, model_id="m", by=by, tokens=10)


async def seated(pool: LivePool, by: int = BYSTANDER) -> LiveSeat:
    seat = await seat_at(pool, by=by)
    assert seat is not None
    return seat


async def fail(pool: LivePool, trouble: Trouble, *customers: int, retry_after_seconds: float | None = None) -> None:
    """A call of each of these, which fails."""
    for seat in [await seated(pool, by) for by in customers]:
        seat.fail(trouble, "refused", retry_after_seconds)


async def test_an_account_that_was_tried_is_not_chosen_again() -> None:
    pool, _ = a_pool(an_account(1), an_account(2))
    seats = [await seat_at(pool, 1), await seat_at(pool, 2)]
    assert [seat.account.id for seat in seats if seat] == [2, 1]
    assert await seat_at(pool, 1, 2) is None


async def test_only_accounts_that_serve_the_model_take_calls_and_are_of_a_known_vendor_are_chosen() -> None:
    pool, _ = a_pool(
        an_account(1, models={"other": "x"}),
        an_account(2, takes_calls=False),
        an_account(3, vendor="gemini"),
        an_account(4, models={"m": "their-m"}),
    )
    seat = await seated(pool)
    assert (seat.account.id, seat.account.name_of("m")) == (4, "their-m")
    assert await seat_at(pool, 4) is None


async def test_a_busy_account_is_left_alone_for_as_long_as_it_says_and_others_are_told() -> None:
    time = Time()
    pool, told = a_pool(an_account(1), time=time)
    await fail(pool, Trouble.BUSY, ONE, ANOTHER, retry_after_seconds=20)
    assert await seat_at(pool) is None
    assert pool.seconds_until_seats("m") == 20
    time.now += 20
    assert await seat_at(pool) is not None
    assert len(told) == 1


async def test_what_one_process_learns_another_hears() -> None:
    time = Time()
    here, told = a_pool(an_account(1), time=time)
    there, _ = a_pool(an_account(1), time=time)
    await fail(here, Trouble.SERVER, ONE, ANOTHER, ONE)
    assert await seat_at(there) is not None
    there.on_message(told[-1])
    assert await seat_at(there) is None
    time.now += 60
    (await seated(here)).succeed(0.1)
    there.on_message(told[-1])
    assert [await seat_at(there) is not None for _ in range(2)] == [True, True]


def test_news_that_nobody_understands_is_passed_over() -> None:
    pool, _ = a_pool(an_account(1))
    for text in (b"something of the future", b"{}", b'{"account_id":1,"seconds":1,"trouble":"\xff"}', b"[" * 10**5):
        pool.on_message(text)


async def test_news_takes_nobody_out_for_ever_and_nobody_in_who_is_unknown() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    (await seated(pool)).leave()
    pool.on_message(b'{"account_id":1,"seconds":1e300,"trouble":"server"}')
    pool.on_message(b'{"account_id":99,"seconds":5,"trouble":"server"}')
    time.now += 61
    assert await seat_at(pool) is not None


async def test_a_caller_who_hangs_up_says_nothing_of_the_account() -> None:
    time = Time()
    pool, told = a_pool(an_account(1), time=time)
    probing = Probing(pool, Trouble.SERVER)
    seats = [await seated(pool, by) for by in range(20)]
    time.now += 60
    for seat in seats:
        seat.leave()
    assert (told, probing.steps) == ([], [])
    assert await seat_at(pool) is not None


async def test_a_refused_key_suspends_its_account_until_it_is_known_to_be_well() -> None:
    accounts = Accounts(an_account(1))
    pool = LivePool(accounts, {"openai"}, now=Time(), chance=lambda: 0.5, share=lambda: 1, secret=b"s")
    suspended: list[tuple[int, str]] = []
    pool.suspend = lambda account_id, because: suspended.append((account_id, because))
    probing = Probing(pool, Trouble.CREDENTIAL)
    await fail(pool, Trouble.CREDENTIAL, ONE)
    await probing.run()
    assert suspended == [(1, "as the probe found")]
    assert await seat_at(pool) is None
    accounts.accounts = [an_account(1, takes_calls=False)]
    assert await seat_at(pool) is None
    accounts.accounts = [an_account(1)]
    assert await seat_at(pool) is not None


async def test_an_accounts_calls_at_once_are_shared_out_and_seats_come_free() -> None:
    pool, _ = a_pool(an_account(1, place=PoolPlace(concurrency=4)), share=2)
    seats = [await seated(pool), await seated(pool)]
    assert await seat_at(pool) is None
    seats[0].leave()
    seats[0].leave()
    assert await seat_at(pool) is not None
    assert await seat_at(pool) is None


async def test_a_failed_seat_is_given_up_by_itself() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1, place=PoolPlace(concurrency=1)), time=time)
    await fail(pool, Trouble.BUSY, ONE)
    await fail(pool, Trouble.BUSY, ANOTHER)
    time.now += BUSY_SECONDS
    assert await seat_at(pool) is not None


async def test_only_one_call_at_a_time_tries_whether_an_account_is_back() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    await fail(pool, Trouble.SERVER, ONE, ANOTHER, ONE)
    time.now += OUT_SECONDS_FIRST
    trial = await seated(pool)
    assert await seat_at(pool) is None
    trial.succeed(0.1)
    assert await seat_at(pool) is not None


async def test_an_account_that_is_only_looked_at_is_not_given_anything() -> None:
    """Its limits are not used up by calls that it is never sent."""
    pool, _ = a_pool(an_account(1, place=PoolPlace(requests_per_minute=1, concurrency=1)))
    for _ in range(5):
        assert await pool.choose("m", by=BYSTANDER) is not None
    assert await seat_at(pool) is not None
    assert await pool.choose("m", by=BYSTANDER) is None


async def test_accounts_that_cannot_do_what_is_asked_are_passed_over() -> None:
    plain = an_account(1, place=PoolPlace(tier=1), rejects=frozenset({"tools"}))
    other = an_account(2, place=PoolPlace(tier=2))
    pool, _ = a_pool(plain, other)
    first = await pool.choose("m", by=BYSTANDER)
    assert first is not None
    assert first.id == 1
    second = await pool.choose("m", by=BYSTANDER, unfit={first.capabilities})
    assert second is not None
    assert second.id == 2
    assert await pool.choose("m", by=BYSTANDER, unfit={first.capabilities, second.capabilities}) is None
    assert pool.serves("m", unfit={first.capabilities})
    assert not pool.serves("m", unfit={first.capabilities, second.capabilities})


async def test_an_account_that_is_out_still_serves() -> None:
    """Whether a call could be served at all is another question than whether it can be now."""
    pool, _ = a_pool(an_account(1, place=PoolPlace(concurrency=1)))
    assert await seat_at(pool) is not None
    assert await pool.choose("m", by=BYSTANDER) is None
    assert pool.serves("m", unfit=())


TROUBLES = list(Trouble)


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_what_one_customers_calls_meet_is_told_to_nobody_and_asked_of_our_probe_once(trouble: Trouble) -> None:
    pool, told = a_pool(an_account(1), an_account(2))
    probing = Probing(pool)
    for _ in range(10):
        for seat in [await seat_at(pool, 2, by=ONE), await seat_at(pool, 1, by=ONE)]:
            if seat is not None:
                seat.fail(trouble, "refused")
    assert len(probing.steps) == 2, "one for each account"
    await probing.run()
    assert told == []
    for _ in range(50):
        assert await seat_at(pool) is not None


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("finds", TROUBLES)
async def test_what_the_probe_meets_too_takes_the_account_out_and_is_told(trouble: Trouble, finds: Trouble) -> None:
    here, told = a_pool(an_account(1), an_account(2, place=PoolPlace(tier=2)))
    there, _ = a_pool(an_account(1), an_account(2, place=PoolPlace(tier=2)))
    await seated(there)
    probing = Probing(here, finds)
    await fail(here, trouble, *[ONE] * FAILURES_LEAST)
    assert (await seated(here)).account.id == 1, "nothing is certain yet"
    await probing.run()
    assert (await seated(here)).account.id == 2
    assert len(told) == 1
    there.on_message(told[0])
    assert (await seated(there)).account.id == 2


async def test_the_probe_is_asked_again_only_after_a_while() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    probing = Probing(pool)
    for _ in range(60):
        time.now += SPARED_SECONDS_EACH
        await fail(pool, Trouble.BUSY, ONE)
        await probing.run()
    assert 2 <= probing.asked <= 12


async def test_a_probe_that_breaks_may_be_asked_again() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    probing = Probing(pool)

    async def breaks(_: ProviderAccount) -> tuple[Trouble | None, str]:
        raise ConnectionResetError

    pool.probe = breaks
    await fail(pool, Trouble.BUSY, ONE)
    with pytest.raises(ConnectionResetError):
        await probing.run()
    time.now += 60
    await fail(pool, Trouble.BUSY, ONE)
    assert len(probing.steps) == 1


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_models_last_account_is_spared_a_few_calls_a_second(trouble: Trouble) -> None:
    time = Time()
    pool, told = a_pool(an_account(1), time=time)
    await fail(pool, trouble, ONE, ANOTHER, ONE)
    assert len(told) == 1
    given = 0
    for _ in range(100):
        time.now += 0.01
        given += sum([await seat_at(pool, by=by) is not None for by in range(10, 20)])
    assert 1 <= given <= 4


async def test_one_customer_cannot_take_all_the_calls_for_which_an_account_is_spared() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    await fail(pool, Trouble.BUSY, ONE, ANOTHER, retry_after_seconds=60)
    greedy = other = 0
    for _ in range(20):
        time.now += 0.25
        greedy += await seat_at(pool, by=ONE) is not None
        other += await seat_at(pool) is not None
    assert greedy <= 5
    assert other >= 4


async def test_an_account_that_is_out_is_spared_no_call_while_another_is_well() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), an_account(2, place=PoolPlace(tier=2)), time=time)
    await fail(pool, Trouble.BUSY, ONE, ANOTHER, retry_after_seconds=60)
    for _ in range(50):
        time.now += 1
        assert (await seated(pool)).account.id == 2
    assert await seat_at(pool, 2) is None, "nor for a call that was tried elsewhere"


async def test_a_key_that_the_probe_found_refused_is_used_for_nobody() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    probing = Probing(pool, Trouble.CREDENTIAL)
    await fail(pool, Trouble.CREDENTIAL, ONE)
    await probing.run()
    for _ in range(50):
        time.now += 1
        assert await seat_at(pool) is None
