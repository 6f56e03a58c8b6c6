"""Health by account and model: what one model meets at an account, and what the account as a whole does."""

import pytest

from tests.providers.test_pool import ANOTHER, BYSTANDER, ONE, Probing, Time, a_pool, an_account
from tollkeeper.core.pool.breaker import REFUSED_KEY_SECONDS, Trouble
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.providers.pool import LivePool

FIRST, SECOND = an_account(1), an_account(2, place=PoolPlace(tier=2))


async def serves(pool: LivePool, model_id: str, by: int = BYSTANDER) -> int | None:
    """The account that a call for the model is given to."""
    account = await pool.choose(model_id, by=by)
    return None if account is None else account.id


async def fail(pool: LivePool, model_id: str, trouble: Trouble, *customers: int) -> None:
    await pool.choose(model_id, by=BYSTANDER)
    for by in customers:
        pool.seat(FIRST, model_id=model_id, by=by, tokens=1).fail(trouble, "refused", 20)


@pytest.mark.parametrize("trouble", [Trouble.SERVER, Trouble.BUSY])
async def test_a_model_that_fails_at_an_account_leaves_its_other_models_in(trouble: Trouble) -> None:
    pool, _ = a_pool(FIRST, SECOND)
    await fail(pool, "m", trouble, ONE, ANOTHER, ONE)
    assert (await serves(pool, "m"), await serves(pool, "other")) == (2, 1)


async def test_a_refused_key_takes_all_models_out() -> None:
    pool, _ = a_pool(FIRST, SECOND)
    await fail(pool, "m", Trouble.CREDENTIAL, ONE, ANOTHER)
    assert (await serves(pool, "m"), await serves(pool, "other")) == (2, 2)


async def test_a_refused_key_is_left_alone_for_its_customer_whatever_the_model() -> None:
    pool, _ = a_pool(FIRST, SECOND)
    await fail(pool, "m", Trouble.CREDENTIAL, ONE)
    assert (await serves(pool, "other", by=ONE), await serves(pool, "other")) == (2, 1)


async def test_a_model_that_fails_makes_the_probe_ask_whether_the_account_does() -> None:
    pool, told = a_pool(FIRST, SECOND)
    probing = Probing(pool, Trouble.SERVER)
    await fail(pool, "m", Trouble.SERVER, ONE, ANOTHER, ONE)
    assert await serves(pool, "other") == 1
    await probing.run()
    assert (await serves(pool, "m"), await serves(pool, "other")) == (2, 2)
    assert len(told) == 2, "of the model, and of the account"


async def test_a_model_that_fails_alone_is_out_alone() -> None:
    pool, told = a_pool(FIRST, SECOND)
    probing = Probing(pool)
    await fail(pool, "m", Trouble.SERVER, ONE, ANOTHER, ONE)
    await probing.run()
    assert (await serves(pool, "m"), await serves(pool, "other")) == (2, 1)
    assert (probing.asked, len(told)) == (1, 1)


async def test_others_hear_of_the_model_and_of_its_return() -> None:
    time = Time()
    here, told = a_pool(FIRST, SECOND, time=time)
    there, _ = a_pool(FIRST, SECOND, time=time)
    assert (await serves(there, "m"), await serves(there, "other")) == (1, 1)
    await fail(here, "m", Trouble.BUSY, ONE, ANOTHER)
    there.on_message(told[-1])
    assert (await serves(there, "m"), await serves(there, "other")) == (2, 1)
    time.now += 20
    here.seat(FIRST, model_id="m", by=ONE, tokens=1).succeed(0.1)
    assert len(told) == 2
    there.on_message(told[0])
    there.on_message(told[1])
    assert await serves(there, "m") == 1


async def test_others_hear_that_all_of_an_account_is_out_and_back() -> None:
    time = Time()
    here, told = a_pool(FIRST, SECOND, time=time)
    there, _ = a_pool(FIRST, SECOND, time=time)
    await serves(there, "other")
    await fail(here, "m", Trouble.CREDENTIAL, ONE, ANOTHER)
    there.on_message(told[-1])
    assert await serves(there, "other") == 2
    time.now += REFUSED_KEY_SECONDS / 2
    seat = here.seat(FIRST, model_id="other", by=BYSTANDER, tokens=1)
    time.now += REFUSED_KEY_SECONDS / 2
    trial = here.seat(FIRST, model_id="other", by=BYSTANDER, tokens=1)
    trial.succeed(0.1)
    seat.leave()
    there.on_message(told[-1])
    assert (await serves(there, "other"), await serves(here, "m")) == (1, 1)


async def test_news_of_an_older_version_are_about_the_account() -> None:
    pool, _ = a_pool(FIRST, SECOND)
    await serves(pool, "m")
    pool.on_message(b'{"account_id":1,"seconds":5,"trouble":"server"}')
    assert (await serves(pool, "m"), await serves(pool, "other")) == (2, 2)


async def test_news_of_a_model_that_nobody_asked_for_here_are_known_to_its_first_call() -> None:
    pool, _ = a_pool(FIRST, SECOND)
    await serves(pool, "m")
    pool.on_message(b'{"account_id":1,"seconds":5,"trouble":"busy","model":"other"}')
    assert (await serves(pool, "m"), await serves(pool, "other")) == (1, 2)


async def test_limits_are_of_the_account_and_not_of_each_model() -> None:
    pool, _ = a_pool(an_account(1, place=PoolPlace(concurrency=2)), SECOND)
    for model_id in ("m", "other"):
        await serves(pool, model_id)
        pool.seat(FIRST, model_id=model_id, by=ONE, tokens=1)
    assert (await serves(pool, "m"), await serves(pool, "third")) == (2, 2)


async def test_when_to_come_again_is_told_of_the_model() -> None:
    pool, _ = a_pool(FIRST)
    await fail(pool, "m", Trouble.BUSY, ONE, ANOTHER)
    await serves(pool, "other")
    assert (pool.seconds_until_seats("m"), pool.seconds_until_seats("other")) == (20, None)


async def test_an_account_that_was_resumed_has_all_its_models_back() -> None:
    pool, _ = a_pool(FIRST)
    await fail(pool, "m", Trouble.BUSY, ONE, ANOTHER)
    assert await serves(pool, "m") is None
    found = []
    for takes_calls in (False, True):
        pool._accounts.accounts = [an_account(1, takes_calls=takes_calls)]  # type: ignore[attr-defined]
        found.append(await serves(pool, "m"))
    assert found == [None, 1]
