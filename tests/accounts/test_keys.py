import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.accounts.keys import KeyWish, NameTooLong, create_key
from tollkeeper.core.keys import has_key_form


async def made(customers: Customers, account_id: int, name: str) -> str:
    wish = KeyWish(account_id=account_id, name=name)
    return (await create_key(wish, customers.desk.key_maker, customers.desk.keys, actor=ACTOR)).key


async def test_keys_are_new_each_time(customers: Customers) -> None:
    customer = await customers.a_customer()
    keys = {await made(customers, customer.account_id, "same name") for _ in range(3)}
    assert len(keys) == 3
    assert all(map(has_key_form, keys))


async def test_an_over_long_name_is_refused_with_how_long_it_may_be(customers: Customers) -> None:
    customer = await customers.a_customer()
    await made(customers, customer.account_id, "n" * 64)
    with pytest.raises(NameTooLong, match="65 characters; shorten it to 64"):
        await made(customers, customer.account_id, "n" * 65)


@pytest.mark.parametrize("name", ["", "   "])
async def test_a_key_needs_a_name(customers: Customers, name: str) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        await made(customers, 1, name)
