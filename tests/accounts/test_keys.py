"""Keys as their owners make, change, rotate and revoke them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import asyncpg
import msgspec
import pytest

from tests.customers import ACTOR, Customer, Customers
from tollkeeper.accounts.keys import KeyWish, NameTooLong, change_key, create_key, rotate_key
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core.keys import has_key_form
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.ports import KeyChange, KeyOnFile, NotOnFile
from tollkeeper.ports.customers.desks import ExpiryPassed, OldTextKept

OFFICE = read_networks(["203.0.113.0/24", "2001:db8::/32"])


async def made(customers: Customers, account_id: int, name: str) -> str:
    wish = KeyWish(account_id=account_id, name=name)
    return (await create_key(wish, customers.desk.key_maker, customers.desk.keys, actor=ACTOR)).key


async def on_file(customers: Customers, customer: Customer) -> KeyOnFile:
    keys = await customers.desk.keys.of_account(customer.account_id)
    return next(key for key in keys if key.key_id == customer.key_id)


async def test_keys_are_new_each_time(customers: Customers) -> None:
    customer = await customers.a_customer()
    keys = {await made(customers, customer.account_id, "same name") for _ in range(3)}
    assert len(keys) == 3
    assert all(map(has_key_form, keys))


@pytest.mark.rule("R4.2")
async def test_an_over_long_name_is_refused_with_how_long_it_may_be(customers: Customers) -> None:
    customer = await customers.a_customer()
    await made(customers, customer.account_id, "n" * 64)
    with pytest.raises(NameTooLong, match="65 characters; shorten it to 64"):
        await made(customers, customer.account_id, "n" * 65)
    with pytest.raises(NameTooLong, match="shorten it"):
        await change_key(
            customer.key_id, KeyChange(name="n" * 65), customers.desk.keys, account_id=customer.account_id, actor=ACTOR
        )


@pytest.mark.parametrize("name", ["", "   "])
async def test_a_key_needs_a_name(customers: Customers, name: str) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        await made(customers, 1, name)


@pytest.mark.parametrize("name", ["two\nlines", "a\x1b[31mcolour", "a\u202eturn"])
async def test_a_name_can_be_printed(customers: Customers, name: str) -> None:
    customer = await customers.a_customer()
    with pytest.raises(ValueError, match="printable"):
        await made(customers, customer.account_id, name)
    with pytest.raises(ValueError, match="printable"):
        await change_key(
            customer.key_id, KeyChange(name=name), customers.desk.keys, account_id=customer.account_id, actor=ACTOR
        )


async def test_a_key_does_not_expire_before_it_is_made(customers: Customers) -> None:
    customer = await customers.a_customer()
    past = datetime.now(UTC) - timedelta(seconds=1)
    with pytest.raises(ExpiryPassed, match="expired already"):
        await customers.a_key(customer.account_id, expires_at=past)
    with pytest.raises(ExpiryPassed):
        await change_key(
            customer.key_id,
            KeyChange(expires_at=past),
            customers.desk.keys,
            account_id=customer.account_id,
            actor=ACTOR,
        )
    assert [key.expires_at for key in await customers.desk.keys.of_account(customer.account_id)] == [None]


@pytest.mark.rule("R4.1")
async def test_a_key_is_made_with_name_expiry_quota_models_networks_and_budgets(
    customers: Customers, owner: asyncpg.Connection
) -> None:
    customer, model = await customers.a_customer(), await customers.a_model()
    wish = KeyWish(
        account_id=customer.account_id,
        name=" everything ",
        expires_at=datetime.now(UTC) + timedelta(days=3),
        quota=Quota(5),
        only_models=[model],
        only_networks=OFFICE,
        daily_budget=Quota(1),
        monthly_budget=Quota(2),
    )
    issued = await create_key(wish, customers.desk.key_maker, customers.desk.keys, actor=ACTOR)
    [found] = [key for key in await customers.desk.keys.of_account(customer.account_id) if key.key_id == issued.key_id]
    assert (found.name, found.quota, found.only_models) == ("everything", 5, [model])
    assert (found.expires_at, tuple(found.only_networks or ())) == (wish.expires_at, OFFICE)
    assert (found.daily_budget, found.monthly_budget, found.used, found.held) == (1, 2, 0, 0)
    assert issued.key not in str(found)
    told = await owner.fetchval("select detail from audit where action = 'key.create' order by id desc limit 1")
    assert msgspec.json.decode(told) == {
        "account_id": customer.account_id,
        "name": "everything",
        "expires_at": str(wish.expires_at),
        "quota": 5,
        "only_models": [model],
        "hint": found.hint,
        "only_networks": ["2001:db8::/32", "203.0.113.0/24"],
        "daily_budget": 1,
        "monthly_budget": 2,
    }


async def test_what_a_change_does_not_name_stays(customers: Customers, owner: asyncpg.Connection) -> None:
    customer = await customers.a_customer(quota_usd="3")
    before = await on_file(customers, customer)
    change = KeyChange(name="other", daily_budget=Quota(7), only_networks=OFFICE)
    after = await change_key(customer.key_id, change, customers.desk.keys, account_id=customer.account_id, actor=ACTOR)
    assert after == msgspec.structs.replace(before, name="other", daily_budget=7, only_networks=list(OFFICE))
    cleared = await change_key(
        customer.key_id,
        KeyChange(quota=None, only_networks=None),
        customers.desk.keys,
        account_id=customer.account_id,
        actor=ACTOR,
    )
    assert (cleared.quota, cleared.only_networks, cleared.name) == (None, None, "other")
    told = await owner.fetch("select detail from audit where action = 'key.change' order by id")
    networks = ["2001:db8::/32", "203.0.113.0/24"]
    assert [msgspec.json.decode(row["detail"]) for row in told] == [
        {"name": ["a key", "other"], "daily_budget": [None, 7], "only_networks": [None, networks]},
        {"quota": [3 * UNITS_PER_USD, None], "only_networks": [networks, None]},
    ]


async def test_a_rotated_key_keeps_its_number_and_its_old_text_for_as_long_as_asked(
    customers: Customers, owner: asyncpg.Connection
) -> None:
    customer = await customers.a_customer(quota_usd="3")
    before = await on_file(customers, customer)
    issued = await rotate_key(
        customer.key_id,
        3_600,
        customers.desk.key_maker,
        customers.desk.keys,
        account_id=customer.account_id,
        actor=ACTOR,
    )
    after = await on_file(customers, customer)
    assert issued.key_id == customer.key_id
    assert issued.key != customer.key
    assert (after.quota, after.name, after.revoked_at) == (before.quota, before.name, None)
    assert after.hint != before.hint
    assert after.former_until is not None
    await rotate_key(
        customer.key_id, 0, customers.desk.key_maker, customers.desk.keys, account_id=customer.account_id, actor=ACTOR
    )
    assert (await on_file(customers, customer)).former_until is None
    assert await owner.fetchval("select count(*) from audit where action = 'key.rotate'") == 2


async def test_a_key_has_one_old_text_at_a_time(customers: Customers, owner: asyncpg.Connection) -> None:
    customer = await customers.a_customer()

    async def rotate(keep_seconds: int) -> None:
        desk = customers.desk
        await rotate_key(
            customer.key_id, keep_seconds, desk.key_maker, desk.keys, account_id=customer.account_id, actor=ACTOR
        )

    await rotate(3_600)
    before = await on_file(customers, customer)
    with pytest.raises(OldTextKept, match=r"is accepted until \d{4}-.* Nothing was done\."):
        await rotate(60)
    assert await on_file(customers, customer) == before
    await owner.execute("update api_key set former_until = now() - interval '1 s'")
    await rotate(60)
    await rotate(0)
    assert (await on_file(customers, customer)).former_until is None


async def test_a_key_is_paused_once_and_resumed_once_on_the_record(
    customers: Customers, owner: asyncpg.Connection
) -> None:
    customer, desk = await customers.a_customer(), customers.desk.keys
    before = await on_file(customers, customer)
    assert [await desk.pause(customer.key_id, account_id=customer.account_id, actor=ACTOR) for _ in range(2)] == [
        True,
        False,
    ]
    paused_at = (await on_file(customers, customer)).paused_at
    assert paused_at is not None
    assert datetime.now(UTC) - paused_at < timedelta(minutes=5)
    assert [await desk.resume(customer.key_id, account_id=customer.account_id, actor=ACTOR) for _ in range(2)] == [
        True,
        False,
    ]
    assert await on_file(customers, customer) == before
    told = await owner.fetch("select action, actor from audit where action ~ '^key.(pause|resume)' order by id")
    assert [tuple(row) for row in told] == [("key.pause", ACTOR), ("key.resume", ACTOR)]


async def test_what_is_revoked_is_neither_changed_nor_rotated_nor_paused(customers: Customers) -> None:
    customer = await customers.a_customer()
    assert await customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    with pytest.raises(NotOnFile, match="revoked"):
        await change_key(
            customer.key_id, KeyChange(name="x"), customers.desk.keys, account_id=customer.account_id, actor=ACTOR
        )
    with pytest.raises(NotOnFile, match="revoked"):
        await rotate_key(
            customer.key_id,
            0,
            customers.desk.key_maker,
            customers.desk.keys,
            account_id=customer.account_id,
            actor=ACTOR,
        )
    for act in (customers.desk.keys.pause, customers.desk.keys.resume):
        with pytest.raises(NotOnFile, match="revoked"):
            await act(customer.key_id, account_id=customer.account_id, actor=ACTOR)


async def test_a_strangers_key_is_as_unknown_as_one_that_is_none(
    customers: Customers, owner: asyncpg.Connection
) -> None:
    customer, stranger = await customers.a_customer(), await customers.a_customer()
    desk, maker, mine = customers.desk.keys, customers.desk.key_maker, stranger.account_id
    before = await owner.fetchrow("select * from api_key where id = $1", customer.key_id)
    acts: list[Callable[[int], Awaitable[object]]] = [
        lambda key_id: change_key(key_id, KeyChange(name="mine now"), desk, account_id=mine, actor=ACTOR),
        lambda key_id: rotate_key(key_id, 0, maker, desk, account_id=mine, actor=ACTOR),
        lambda key_id: desk.pause(key_id, account_id=mine, actor=ACTOR),
        lambda key_id: desk.resume(key_id, account_id=mine, actor=ACTOR),
        lambda key_id: desk.revoke(key_id, account_id=mine, actor=ACTOR),
    ]
    for act in acts:
        told = []
        for key_id in (customer.key_id, 77):
            with pytest.raises(NotOnFile) as problem:
                await act(key_id)
            told.append(str(problem.value).replace(str(key_id), "N"))
        assert told[0] == told[1]
    assert await owner.fetchrow("select * from api_key where id = $1", customer.key_id) == before
    assert (
        await owner.fetchval("select count(*) from audit where action ~ '^key.(change|rotate|pause|resume|revoke)'")
        == 0
    )
    assert customer.key_id not in [key.key_id for key in await desk.of_account(mine)]


async def test_operators_find_whose_key_it_is(customers: Customers) -> None:
    customer = await customers.a_customer()
    assert await customers.desk.keys.owner_of(customer.key_id) == customer.account_id
    with pytest.raises(NotOnFile, match="no key 77"):
        await customers.desk.keys.owner_of(77)


@pytest.mark.parametrize("keep_seconds", [-1, 8 * 86_400])
async def test_an_old_text_is_kept_for_a_week_at_most(customers: Customers, keep_seconds: int) -> None:
    with pytest.raises(ValueError, match="7 days"):
        await rotate_key(1, keep_seconds, customers.desk.key_maker, customers.desk.keys, account_id=1, actor=ACTOR)
