import asyncio
import json

import asyncpg
import pytest

from tests.people import AN_OPERATOR, PASSWORD, People, Person, an_email, until_waiting
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.sign_up import (
    SignUpWish,
    look_at_sign_up,
    open_account,
    request_sign_up,
    verify_sign_up,
)
from tollkeeper.core.people.emails import NotAnEmail
from tollkeeper.core.people.logins import AccountThere, BadInvite, BadName, LinkNotValid, WrongCredentials, token_digest
from tollkeeper.core.people.passwords import BadPassword
from tollkeeper.ports import AlreadyOnFile
from tollkeeper.ports.people import Opening


async def test_whoever_has_the_mail_opens_the_account_with_a_password_of_their_own(
    people: People, owner: asyncpg.Connection
) -> None:
    email = an_email()
    await people.sign_up(f"  {email.upper()} ")
    assert await owner.fetchval("select count(*) from account") == 0
    account_id = await verify_sign_up(people.desk, people.mailbox.last_token(email), PASSWORD)
    await people.sign_in(Person(account_id, email, PASSWORD))
    login = await people.desk.logins.of(account_id)
    assert (login.email, login.role, login.second_factor) == (email, "customer", False)
    assert login.verified_at is not None
    told = await owner.fetchrow("select actor, action from audit order by id desc limit 1")
    assert (told["actor"], told["action"]) == (f"account:{account_id}", "login.open")


async def test_looking_at_the_link_changes_nothing(people: People, owner: asyncpg.Connection) -> None:
    email, host = an_email(), await people.a_person()
    gift_code = await owner.fetchval("select gift_code from account where id = $1", host.account_id)
    await people.sign_up(email, gift_code=gift_code)
    token = people.mailbox.last_token(email)
    seen, again = [await look_at_sign_up(people.desk, token) for _ in range(2)]
    assert seen == again
    assert (seen.email, seen.name, seen.gift_code) == (email, "A person", gift_code)
    assert await owner.fetchval("select count(*) from account") == 1
    assert await owner.fetchval("select count(*) from mail_token where used_at is null") == 1


async def test_a_link_counts_once_and_says_later_that_the_account_is_there(
    people: People, owner: asyncpg.Connection
) -> None:
    email = an_email()
    await people.sign_up(email)
    token = people.mailbox.last_token(email)
    async with owner.transaction():
        await owner.execute("select from sign_up for update")
        both = asyncio.gather(
            *(verify_sign_up(people.desk, token, f"password number {n}") for n in range(2)), return_exceptions=True
        )
        await until_waiting(owner, 2)
    assert sorted(type(answer).__name__ for answer in await both) == ["AccountThere", "int"]
    assert await owner.fetchval("select count(*) from account") == 1
    assert await owner.fetchval("select used_at is not null from mail_token")
    for following in (verify_sign_up(people.desk, token, "a thiefs password"), look_at_sign_up(people.desk, token)):
        with pytest.raises(AccountThere, match="Sign in"):
            await following
    with pytest.raises(WrongCredentials):
        await people.sign_in(Person(1, email, "a thiefs password"))


async def test_signing_up_with_a_known_email_tells_only_its_owner(people: People, owner: asyncpg.Connection) -> None:
    person = await people.a_person()
    before = await owner.fetchrow("select (select count(*) from sign_up), (select count(*) from outbox)")
    await people.sign_up(person.email)
    after = await owner.fetchrow("select (select count(*) from sign_up), (select count(*) from outbox)")
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1]
    assert people.mailbox.subjects(person.email) == ["Confirm your e-mail", "You have an account already"]
    assert "token" not in people.mailbox.texts(person.email)[-1]


async def test_of_two_sign_ups_of_one_email_the_first_link_followed_counts(people: People) -> None:
    email = an_email()
    await people.sign_up(email)
    first = people.mailbox.last_token(email)
    await people.sign_up(email)
    second = people.mailbox.last_token(email)
    assert first != second
    await verify_sign_up(people.desk, first, PASSWORD)
    with pytest.raises(AccountThere):
        await verify_sign_up(people.desk, second, "another long password")


async def test_a_link_that_was_used_opens_nothing_when_its_login_is_gone(
    people: People, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    token = people.mailbox.last_token(person.email)
    await owner.execute("delete from login")
    with pytest.raises(AccountThere):
        await verify_sign_up(people.desk, token, PASSWORD)
    opening = Opening(token_digest=token_digest(token), password_hash="$argon2id$", gift_code=None)
    with pytest.raises(AlreadyOnFile):
        await people.desk.sign_ups.open(opening)
    assert await owner.fetchval("select count(*) from account") == 1


async def test_of_two_links_followed_at_once_one_counts(people: People, owner: asyncpg.Connection) -> None:
    email, tokens = an_email(), []
    for _ in range(2):
        await people.sign_up(email)
        tokens.append(people.mailbox.last_token(email))
    async with owner.transaction():
        await owner.execute("select from sign_up for update")
        both = asyncio.gather(*(verify_sign_up(people.desk, each, PASSWORD) for each in tokens), return_exceptions=True)
        await until_waiting(owner, 2)
    assert sorted(type(answer).__name__ for answer in await both) == ["AccountThere", "int"]
    assert await owner.fetchval("select count(*) from account") == 1


async def test_a_link_is_over_after_a_day(people: People, owner: asyncpg.Connection) -> None:
    email = an_email()
    await people.sign_up(email)
    await owner.execute("update mail_token set expires_at = now() - interval '1 s'")
    with pytest.raises(LinkNotValid):
        await verify_sign_up(people.desk, people.mailbox.last_token(email), PASSWORD)


async def test_a_bad_password_leaves_the_link_as_it_is(people: People) -> None:
    email = an_email()
    await people.sign_up(email)
    token = people.mailbox.last_token(email)
    for password in ("short", email):
        with pytest.raises(BadPassword):
            await verify_sign_up(people.desk, token, password)
    with pytest.raises(BadInvite):
        await verify_sign_up(people.desk, token, PASSWORD, gift_code="toolong")
    assert await verify_sign_up(people.desk, token, PASSWORD)


@pytest.mark.parametrize("token", ["", "x", "a" * 43, "\ud800"])
async def test_what_is_no_token_opens_nothing(people: People, token: str) -> None:
    with pytest.raises(LinkNotValid):
        await verify_sign_up(people.desk, token, PASSWORD)
    with pytest.raises(LinkNotValid):
        await look_at_sign_up(people.desk, token)


async def test_nothing_secret_of_a_sign_up_is_stored(people: People, owner: asyncpg.Connection) -> None:
    email = an_email()
    await people.sign_up(email)
    rows = [
        str(dict(row))
        for table in ("sign_up", "outbox", "mail_token", "lockout")
        for row in await owner.fetch(f"select * from {table}")  # noqa: S608
    ]
    assert not any(people.mailbox.last_token(email) in row for row in rows)
    assert not any("password" in row for row in rows)


async def test_an_invites_gift_code_makes_the_newcomer_a_guest(people: People, owner: asyncpg.Connection) -> None:
    host = await people.a_person()
    gift_code = await owner.fetchval("select gift_code from account where id = $1", host.account_id)
    guest = await people.a_person(gift_code=gift_code)
    assert await owner.fetchval("select invited_by from account where id = $1", guest.account_id) == host.account_id


@pytest.mark.parametrize(("chosen", "invited"), [(None, True), ("", False), ("other", False), ("ZZZZZ", False)])
async def test_the_invite_can_be_dropped_or_replaced_with_the_mail_in_hand(
    people: People, owner: asyncpg.Connection, chosen: str | None, invited: bool
) -> None:
    host, other = await people.a_person(), await people.a_person()
    codes = dict(await owner.fetch("select id, gift_code from account"))
    email = an_email()
    await people.sign_up(email, gift_code=codes[host.account_id])
    gift_code = codes[other.account_id] if chosen == "other" else chosen
    guest = await verify_sign_up(people.desk, people.mailbox.last_token(email), PASSWORD, gift_code=gift_code)
    inviter = {True: host.account_id, False: other.account_id if chosen == "other" else None}[invited]
    assert await owner.fetchval("select invited_by from account where id = $1", guest) == inviter
    told = await owner.fetchval("select detail from audit where action = 'login.open' order by id desc limit 1")
    assert json.loads(told)["invited"] is (inviter is not None)


async def test_the_account_and_its_invitation_come_together_or_not_at_all(
    people: People, owner: asyncpg.Connection
) -> None:
    host, email = await people.a_person(), an_email()
    gift_code = await owner.fetchval("select gift_code from account where id = $1", host.account_id)
    await people.sign_up(email, gift_code=gift_code)
    token = people.mailbox.last_token(email)
    await owner.execute("alter table account add constraint nobody_is_invited check (invited_by is null)")
    with pytest.raises(asyncpg.CheckViolationError):
        await verify_sign_up(people.desk, token, PASSWORD)
    assert await people.desk.logins.find(email) is None
    await owner.execute("alter table account drop constraint nobody_is_invited")
    assert await verify_sign_up(people.desk, token, PASSWORD)


@pytest.mark.parametrize(
    ("wish", "refusal"),
    [
        (SignUpWish(email="nobody"), NotAnEmail),
        (SignUpWish(email="a@b.example", name="n" * 121), BadName),
        (SignUpWish(email="a@b.example", name="two\nlines"), BadName),
        (SignUpWish(email="a@b.example", gift_code="toolong"), BadInvite),
    ],
    ids=["e-mail", "long name", "name of two lines", "gift code"],
)
async def test_what_cannot_be_granted_is_said_at_once(
    people: People, owner: asyncpg.Connection, wish: SignUpWish, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        await request_sign_up(people.desk, wish, RequestOrigin())
    assert await owner.fetchval("select count(*) from outbox") == 0


async def test_nobodys_mailbox_is_flooded_and_whoever_tries_is_told_the_same(
    people: People, owner: asyncpg.Connection
) -> None:
    email = an_email()
    for _ in range(8):
        await people.sign_up(email)
    assert len(people.mailbox.texts(email)) == 5
    assert await owner.fetchval("select count(*) from sign_up") == 5


async def test_an_operator_opens_an_account_at_once(people: People) -> None:
    wish = SignUpWish(email=an_email())
    account_id = await open_account(people.desk, wish, PASSWORD, by=AN_OPERATOR)
    assert (await people.desk.logins.of(account_id)).verified_at is not None
    with pytest.raises(AlreadyOnFile):
        await open_account(people.desk, wish, PASSWORD, by=AN_OPERATOR)
