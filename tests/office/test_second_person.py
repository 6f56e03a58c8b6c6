"""Who approves a withdrawal does not note its payment, under whichever of their names."""

from collections.abc import Mapping

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.office.customers import a_login, an_account
from tests.office.staff import OWNER, StaffClient, a_key
from tests.office.test_partner import earned, till
from tollkeeper.accounts.partner import WithdrawalRefused
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office
from tollkeeper.office.operator_keys import (
    NewOperatorKeyWish,
    OperatorKeyName,
    create_operator_key,
    revoke_operator_key,
)
from tollkeeper.office.partner import DecideWish, approve_cash, pay_cash

__all__ = ["earned", "till"]


@pytest.fixture
async def anna(owner_client: StaffClient, owner: asyncpg.Connection, office: Office) -> int:
    """An operator with a login, two keys, and one that she made for a program."""
    account = await an_account(owner_client, "Anna")
    await a_login(owner, account, "anna@people.example", "operator")
    for name in ("anna", "annas-laptop"):
        await a_key(office, name, Scope.MONEY, account=account)
    # Of nobody, as a program has them: whoever made it could act by it.
    wish = NewOperatorKeyWish(name="annas-program", scopes=[Scope.MONEY])
    await create_operator_key(office, wish, Actor(f"account:{account}", Role.OPERATOR))
    boris = await an_account(owner_client, "Boris")
    await a_login(owner, boris, "boris@people.example", "operator")
    await a_key(office, "boris", Scope.MONEY, account=boris)
    # Another login of hers, whose mails reach the same mailbox.
    again = await an_account(owner_client, "Anna again")
    await a_login(owner, again, "anna+2@people.example", "operator")
    await owner.execute(
        "update login set person = (select person from login where account_id = $1) where account_id = $2",
        account,
        again,
    )
    await a_key(office, "anna-again", Scope.MONEY, account=again)
    return account


def names(anna: int) -> Mapping[str, str]:
    return {
        "login": f"account:{anna}",
        "key": "operator:anna",
        "other key": "operator:annas-laptop",
        "made key": "operator:annas-program",
        "boris": "operator:boris",
        "same mailbox": "operator:anna-again",
        "another login": f"account:{anna + 1_000}",
        "secrets": "cli:root",
    }


@pytest.mark.parametrize(
    ("approves", "pays", "is_paid"),
    [
        ("login", "login", False),
        ("login", "key", False),
        ("key", "login", False),
        ("key", "other key", False),
        ("key", "key", False),
        ("login", "made key", False),
        ("made key", "login", False),
        ("key", "made key", False),
        ("made key", "boris", False),
        ("key", "boris", True),
        ("login", "same mailbox", False),
        ("same mailbox", "key", False),
        ("same mailbox", "boris", True),
        ("boris", "boris", False),
        ("login", "another login", True),
        ("boris", "login", True),
        # Whoever has the service's own secrets could write into the database as well.
        ("secrets", "secrets", True),
    ],
)
async def test_a_payment_takes_a_second_person(
    office: Office, earned: Mapping[str, int], anna: int, approves: str, pays: str, is_paid: bool
) -> None:
    wish = DecideWish(once="1", withdrawal=earned["asked"], reason="fine")
    first, second = (Actor(names(anna)[name], Role.OPERATOR) for name in (approves, pays))
    assert (await approve_cash(office, wish, first)).changed
    payment = DecideWish(once="2", withdrawal=earned["asked"], reason="transfer 1")
    if is_paid:
        assert (await pay_cash(office, payment, second)).changed
    else:
        with pytest.raises(WithdrawalRefused, match="approved by you"):
            await pay_cash(office, payment, second)


async def test_nobody_decides_on_their_own_cash_by_a_key_that_was_revoked_since(
    api: Starlette, office: Office, earned: Mapping[str, int], owner: asyncpg.Connection
) -> None:
    await a_login(owner, earned["ada"], "ada@people.example", "operator")
    await a_key(office, "ada", Scope.MONEY, account=earned["ada"])
    wish = DecideWish(once="1", withdrawal=earned["asked"], reason="mine")
    with pytest.raises(WithdrawalRefused, match="your own account"):
        await approve_cash(office, wish, Actor("operator:ada", Role.OPERATOR))


async def test_nobody_decides_on_cash_of_another_account_of_theirs(
    office: Office, earned: Mapping[str, int], anna: int, owner: asyncpg.Connection
) -> None:
    await a_login(owner, earned["ada"], "anna+cash@people.example")
    await owner.execute(
        "update login set person = (select person from login where account_id = $1) where account_id = $2",
        anna,
        earned["ada"],
    )
    wish = DecideWish(once="1", withdrawal=earned["asked"], reason="mine")
    with pytest.raises(WithdrawalRefused, match="your own account"):
        await approve_cash(office, wish, Actor("operator:anna", Role.OPERATOR))


async def test_a_key_is_its_makers_also_when_its_makers_own_key_was_revoked_and_its_name_given_again(
    office: Office, earned: Mapping[str, int], anna: int, owner: asyncpg.Connection
) -> None:
    """Anna makes a key for Boris by a key of hers; later the name of that one is given to Boris."""
    boris = await owner.fetchval("select account_id from operator_key where name = 'boris'")
    wish = NewOperatorKeyWish(name="lent", scopes=[Scope.MONEY], account=boris)
    await create_operator_key(office, wish, Actor("operator:anna", Role.OPERATOR))
    await revoke_operator_key(office, OperatorKeyName(name="anna", reason="lost"), OWNER)
    named_again = NewOperatorKeyWish(name="anna", scopes=[Scope.MONEY], account=boris)
    await create_operator_key(office, named_again, Actor(f"account:{boris}", Role.OPERATOR))
    approval = DecideWish(once="1", withdrawal=earned["asked"], reason="fine")
    assert (await approve_cash(office, approval, Actor(f"account:{anna}", Role.OPERATOR))).changed
    payment = DecideWish(once="2", withdrawal=earned["asked"], reason="transfer 1")
    with pytest.raises(WithdrawalRefused, match="approved by you"):
        await pay_cash(office, payment, Actor("operator:lent", Role.OPERATOR))
