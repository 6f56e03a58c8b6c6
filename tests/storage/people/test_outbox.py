"""The outbox: every mail once, again where it failed, given up in the end."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.mailbox import SENDER, Mailbox
from tests.people import CONSOLE_URL, People, people_of
from tollkeeper.app.database import opened
from tollkeeper.core.people.mails import Mail
from tollkeeper.jobs.send_mail import Postman
from tollkeeper.mail.smtp import SmtpMailer, route_of
from tollkeeper.settings import Settings
from tollkeeper.storage.people.old_logins import forget_old_logins
from tollkeeper.storage.people.outbox import SqlOutbox
from tollkeeper.storage.postgres.database import Database, DatabaseRole

ANYBODY = "anybody@people.example"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    server = Mailbox()
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


@pytest.fixture
async def people(settings: Settings, mailbox: Mailbox) -> AsyncIterator[People]:
    async with people_of(settings, mailbox) as found:
        yield found


def a_postman(worker: Database, mailbox: Mailbox | None) -> Postman:
    mailer = None if mailbox is None else SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
    return Postman(SqlOutbox(worker, secrets.choice), mailer, console_url=CONSOLE_URL)


async def put(owner: asyncpg.Connection, emails: list[str]) -> None:
    """Mails that wait: sign-ups nobody has followed yet."""
    await owner.execute(
        "with asked as (insert into sign_up (email, name, expires_at)"
        " select unnest($1::text[]), 'x', now() + interval '1 day' returning id, email)"
        " insert into outbox (kind, email, sign_up_id) select 'sign_up', email, id from asked",
        emails,
    )


async def test_several_workers_send_every_mail_once(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox
) -> None:
    emails = [f"person-{n}@people.example" for n in range(30)]
    await put(owner, emails)
    sent = await asyncio.gather(*(a_postman(worker, mailbox).round() for _ in range(4)))
    assert sum(sent) == 30
    assert sorted(str(each["To"]) for each in mailbox.messages) == sorted(emails)
    assert await owner.fetchval("select count(*) from outbox where sent_at is null") == 0
    assert await a_postman(worker, mailbox).round() == 0


async def test_a_mail_that_failed_is_sent_later_and_later_again(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    await put(owner, [ANYBODY])
    mailbox.refusal = f"451 {ANYBODY}: not now"
    postman, waits = a_postman(worker, mailbox), []
    for _ in range(7):
        assert await postman.round() == 0
        # Not before its time has come.
        assert await postman.round() == 0
        row = await owner.fetchrow("select attempts, next_try_at - ledger_now() as wait from outbox")
        waits.append(round(row["wait"].total_seconds() / 60))
        await owner.execute("update outbox set next_try_at = now()")
    assert waits == [2, 4, 8, 16, 32, 60, 60]
    assert "mail 1 at attempt 7 was not sent" in caplog.text
    assert ANYBODY not in caplog.text
    mailbox.refusal = ""
    assert await postman.round() == 1
    # Each attempt had a token of its own.
    assert await owner.fetchval("select count(*) from mail_token") == 8


async def test_a_mail_that_nobody_takes_is_given_up_after_a_day(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    await put(owner, [ANYBODY])
    await owner.execute("update outbox set made_at = now() - interval '25 hours'")
    assert await a_postman(worker, mailbox).round() == 0
    assert mailbox.messages == []
    assert await owner.fetchval("select given_up_at is not null from outbox")
    assert "1 mails could not be sent for a day and were given up" in caplog.text


async def test_a_mailbox_that_does_not_exist_is_not_tried_again(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox
) -> None:
    await put(owner, [ANYBODY])
    mailbox.refusal = "550 no such mailbox"
    await a_postman(worker, mailbox).round()
    assert await owner.fetchval("select given_up_at is not null from outbox")


async def test_one_bad_mail_does_not_stop_the_others(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    emails = [f"person-{n}@people.example" for n in range(12)]
    await put(owner, emails)
    # One of a kind that nobody knows, and one whose link cannot be filed.
    await owner.execute("alter table outbox drop constraint outbox_kind_check")
    await owner.execute(
        "with opened as (insert into account (name) values ('x') returning id)"
        " insert into login (account_id, email, person, password) select id, $1, sha256(''), '$argon2id$' from opened",
        ANYBODY,
    )
    await owner.execute("insert into outbox (kind, email, next_try_at) values ('nonsense', $1, '-infinity')", ANYBODY)
    await owner.execute("alter table mail_token add constraint bad check (sign_up_id <> 2)")
    postman = a_postman(worker, mailbox)
    assert await postman.round() == 11
    rows = await owner.fetch("select kind, attempts, next_try_at > now() as later from outbox where sent_at is null")
    assert {tuple(row) for row in rows} == {("nonsense", 1, True), ("sign_up", 1, True)}
    assert "mail 13 at attempt 1 failed: ValueError" in caplog.text
    assert "mail 2 at attempt 1 failed: CheckViolationError" in caplog.text
    assert "people.example" not in caplog.text
    await owner.execute("update outbox set made_at = now() - interval '25 hours', next_try_at = now()")
    assert await postman.round() == 0
    assert await owner.fetchval("select count(*) from outbox where given_up_at is not null") == 2


async def test_a_mailer_that_breaks_on_one_mail_sends_the_others(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox
) -> None:
    class Brittle(SmtpMailer):
        async def send(self, email: str, mail: Mail) -> None:
            if email == ANYBODY:
                raise RuntimeError(email)
            await super().send(email, mail)

    await put(owner, [ANYBODY, "another@people.example"])
    mailer = Brittle(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
    postman = Postman(SqlOutbox(worker, secrets.choice), mailer, console_url=CONSOLE_URL)
    assert await postman.round() == 1
    assert await owner.fetchval("select attempts from outbox where email = $1 and sent_at is null", ANYBODY) == 1


async def test_without_a_mail_server_mails_wait_and_the_log_says_so(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await put(owner, [ANYBODY])
    postman = a_postman(worker, None)
    for _ in range(3):
        assert await postman.round() == 0
    assert caplog.text.count("1 mails wait and are not sent: TOLLKEEPER_SMTP_URL is not set") == 1
    assert await a_postman(worker, mailbox).round() == 1


async def test_a_mail_with_a_link_waits_for_the_address_of_the_console(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    person = await people.a_person()
    await put(owner, [ANYBODY])
    await owner.execute("insert into outbox (kind, email) values ('password_changed', $1)", person.email)
    mailer = SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
    assert await Postman(SqlOutbox(worker, secrets.choice), mailer, console_url="").round() == 1
    assert mailbox.texts(ANYBODY) == []
    assert mailbox.subjects(person.email)[-1] == "Your password was changed"
    assert "is not sent: it has a link, and TOLLKEEPER_CONSOLE_URL is not set" in caplog.text
    await owner.execute("update outbox set next_try_at = now()")
    assert await a_postman(worker, mailbox).round() == 1
    assert f"{CONSOLE_URL}/verify?token=" in mailbox.texts(ANYBODY)[0]


async def test_many_requests_for_nobody_do_not_hold_up_the_others(
    worker: Database, owner: asyncpg.Connection, mailbox: Mailbox
) -> None:
    await owner.execute(
        "insert into outbox (kind, email)"
        " select 'reset', 'nobody-' || n || '@people.example' from generate_series(1, 25) n"
    )
    await put(owner, [ANYBODY])
    assert await a_postman(worker, mailbox).round() == 1
    assert [str(each["To"]) for each in mailbox.messages] == [ANYBODY]


async def test_what_is_long_over_is_cleared_away_and_nothing_else(
    people: People, worker: Database, owner: asyncpg.Connection
) -> None:
    person = await people.a_person()
    await people.sign_in(person)
    await people.sign_up(ANYBODY)
    tables = ("sign_up", "mail_token", "outbox", "session", "lockout", "login")

    async def counts() -> list[int]:
        return [await owner.fetchval(f"select count(*) from {table}") for table in tables]  # noqa: S608

    before = await counts()
    assert 0 not in before
    await forget_old_logins(worker)
    assert await counts() == before
    await owner.execute(
        "create or replace function ledger_now() returns timestamptz language sql stable parallel safe"
        " return now() + interval '38 days'"
    )
    await forget_old_logins(worker)
    assert await counts() == [0, 0, 0, 0, 0, 1]


async def test_whatever_is_over_is_cleared_away_a_few_at_a_time(worker: Database, owner: asyncpg.Connection) -> None:
    await put(owner, [f"person-{n}@people.example" for n in range(7)])
    await owner.execute("update sign_up set expires_at = now() - interval '8 days' where id <= 6")
    await owner.execute(
        "insert into lockout (kind, subject, window_start, locked_until)"
        " select 'x', sha256(n::text::bytea), now() - interval '8 days',"
        " case n when 1 then now() when 2 then now() - interval '8 days' end from generate_series(1, 8) n"
    )
    # Each statement takes as much as it may, and so none takes more.
    await owner.execute(
        "create function few() returns trigger language plpgsql as $$ begin"
        " if (select count(*) from gone) > 2 then raise 'too many at once'; end if; return null; end $$"
    )
    for table in ("sign_up", "lockout"):
        await owner.execute(
            f"create trigger few after delete on {table} referencing old table as gone"
            " for each statement execute function few()"
        )
    await forget_old_logins(worker, at_once_most=2)
    assert [row["email"] for row in await owner.fetch("select email from outbox")] == ["person-6@people.example"]
    assert await owner.fetchval("select array_agg(locked_until > now() - interval '1 day') from lockout") == [True]
