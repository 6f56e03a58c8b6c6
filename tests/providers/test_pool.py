"""The pool of one process: seats, news, suspensions, and what a changed snapshot means."""

from collections.abc import Sequence

import msgspec

from tollkeeper.core.health import BUSY_SECONDS, FAILURES_LEAST, OUT_SECONDS_FIRST, Trouble
from tollkeeper.core.pool import Place
from tollkeeper.ports import ProviderAccount
from tollkeeper.providers.pool import SILENT_SECONDS, LivePool, LiveSeat
from tollkeeper.settings import Secret


class Accounts:
    def __init__(self, *accounts: ProviderAccount) -> None:
        self.accounts: Sequence[ProviderAccount] = accounts

    async def all(self) -> Sequence[ProviderAccount]:
        return self.accounts


class Time:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def an_account(account_id: int, **changes: object) -> ProviderAccount:
    account = ProviderAccount(id=account_id, name=f"p{account_id}", vendor="openai", base_url="", secret=Secret("s"))
    return msgspec.structs.replace(account, **changes)


def a_pool(*accounts: ProviderAccount, time: Time | None = None, share: int = 1) -> tuple[LivePool, list[bytes]]:
    told: list[bytes] = []
    pool = LivePool(Accounts(*accounts), {"openai"}, now=time or Time(), chance=lambda: 0.5, share=lambda: share)
    pool.tell = told.append
    return pool, told


async def seat_at(pool: LivePool, *tried: int, model: str = "m") -> LiveSeat | None:
    account = await pool.choose(model, tried=tried)
    return None if account is None else pool.seat(account, tokens=10)


async def seated(pool: LivePool) -> LiveSeat:
    seat = await seat_at(pool)
    assert seat is not None
    return seat


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
    (await seated(pool)).fail(Trouble.BUSY, "refused", 20)
    assert await seat_at(pool) is None
    assert pool.seconds_until_seats() == 20
    time.now += 20
    assert await seat_at(pool) is not None
    assert len(told) == 1


async def test_what_one_process_learns_another_hears() -> None:
    time = Time()
    here, told = a_pool(an_account(1), time=time)
    there, _ = a_pool(an_account(1), time=time)
    for _ in range(FAILURES_LEAST):
        (await seated(here)).fail(Trouble.SERVER, "broken")
    assert await seat_at(there) is not None
    there.hear(told[-1])
    assert await seat_at(there) is None
    time.now += 60
    (await seated(here)).succeed(0.1)
    there.hear(told[-1])
    assert [await seat_at(there) is not None for _ in range(2)] == [True, True]


def test_news_that_nobody_understands_is_passed_over() -> None:
    pool, _ = a_pool(an_account(1))
    for text in (b"something of the future", b"{}", b'{"account_id":1,"seconds":1,"trouble":"\xff"}', b"[" * 10**5):
        pool.hear(text)


async def test_news_takes_nobody_out_for_ever_and_nobody_in_who_is_unknown() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    (await seated(pool)).leave()
    pool.hear(b'{"account_id":1,"seconds":1e300,"trouble":"server"}')
    pool.hear(b'{"account_id":99,"seconds":5,"trouble":"server"}')
    time.now += 61
    assert await seat_at(pool) is not None


async def test_a_call_that_ends_in_silence_tells_something_after_all() -> None:
    time = Time()
    pool, told = a_pool(an_account(1), time=time)
    seats = [await seated(pool) for _ in range(FAILURES_LEAST)]
    time.now += SILENT_SECONDS
    for seat in seats:
        seat.leave()
    assert len(told) == 1
    assert await seat_at(pool) is None


async def test_a_refused_key_suspends_its_account_until_it_is_known_to_be_well() -> None:
    accounts = Accounts(an_account(1))
    pool = LivePool(accounts, {"openai"}, now=Time(), chance=lambda: 0.5, share=lambda: 1)
    suspended: list[tuple[int, str]] = []
    pool.suspend = lambda account_id, because: suspended.append((account_id, because))
    (await seated(pool)).fail(Trouble.CREDENTIAL, "its key was refused with 401")
    assert suspended == [(1, "its key was refused with 401")]
    assert await seat_at(pool) is None
    accounts.accounts = [an_account(1, takes_calls=False)]
    assert await seat_at(pool) is None
    accounts.accounts = [an_account(1)]
    assert await seat_at(pool) is not None


async def test_an_accounts_calls_at_once_are_shared_out_and_seats_come_free() -> None:
    pool, _ = a_pool(an_account(1, place=Place(concurrency=4)), share=2)
    seats = [await seated(pool), await seated(pool)]
    assert await seat_at(pool) is None
    seats[0].leave()
    seats[0].leave()
    assert await seat_at(pool) is not None
    assert await seat_at(pool) is None


async def test_a_failed_seat_is_given_up_by_itself() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1, place=Place(concurrency=1)), time=time)
    seat = await seated(pool)
    seat.fail(Trouble.BUSY, "refused")
    time.now += BUSY_SECONDS
    assert await seat_at(pool) is not None


async def test_only_one_call_at_a_time_tries_whether_an_account_is_back() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    for _ in range(FAILURES_LEAST):
        (await seated(pool)).fail(Trouble.SERVER, "broken")
    time.now += OUT_SECONDS_FIRST
    trial = await seated(pool)
    assert await seat_at(pool) is None
    trial.succeed(0.1)
    assert await seat_at(pool) is not None


async def test_an_account_that_is_only_looked_at_is_not_given_anything() -> None:
    """Its limits are not used up by calls that it is never sent."""
    pool, _ = a_pool(an_account(1, place=Place(requests_per_minute=1, concurrency=1)))
    for _ in range(5):
        assert await pool.choose("m") is not None
    assert await seat_at(pool) is not None
    assert await pool.choose("m") is None


async def test_accounts_that_cannot_do_what_is_asked_are_passed_over() -> None:
    plain = an_account(1, place=Place(tier=1), rejects=frozenset({"tools"}))
    other = an_account(2, place=Place(tier=2))
    pool, _ = a_pool(plain, other)
    first = await pool.choose("m")
    assert first is not None
    assert first.id == 1
    second = await pool.choose("m", unfit={first.speech})
    assert second is not None
    assert second.id == 2
    assert await pool.choose("m", unfit={first.speech, second.speech}) is None
    assert pool.serves("m", unfit={first.speech})
    assert not pool.serves("m", unfit={first.speech, second.speech})


async def test_an_account_that_is_out_still_serves() -> None:
    """Whether a call could be served at all is another question than whether it can be now."""
    pool, _ = a_pool(an_account(1, place=Place(concurrency=1)))
    assert await seat_at(pool) is not None
    assert await pool.choose("m") is None
    assert pool.serves("m", unfit=())
