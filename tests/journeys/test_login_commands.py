"""Logins on the command line, and mail sent by a running `tollkeeper work`."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.mailbox import SENDER, Mailbox
from tests.people import QUICK
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.app.office import office
from tollkeeper.core.people.logins import TooManyAttempts, WrongCredentials
from tollkeeper.settings import load
from tollkeeper.storage.people.password_hashes import Argon2Hashes
from tools.node import clean_environment
from tools.services.process import wait_until

EMAIL, PASSWORD = "ada@people.example", "correct horse battery"
WHY = ("--reason", "they called")


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    server = Mailbox()
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def own(stores: Stores, mailbox: Mailbox) -> dict[str, str]:
    return await variables(stores) | {
        "TOLLKEEPER_SMTP_URL": f"smtp://127.0.0.1:{mailbox.port}",
        "TOLLKEEPER_MAIL_FROM": SENDER,
        "TOLLKEEPER_CONSOLE_URL": "https://console.example",
    }


@contextmanager
def at_work(own: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "tollkeeper", "work"], env=clean_environment() | own) as working:
        try:
            yield
        finally:
            working.terminate()


def told(own: dict[str, str], *arguments: str, stdin: str = "") -> str:
    run = tollkeeper(own, "login", *arguments, stdin=stdin)
    assert run.returncode == 0, run.stderr
    assert PASSWORD not in run.stdout + run.stderr
    return " ".join(re.sub(r"[┏━┳┓┃┡╇┩│└─┴┘]", " ", run.stdout).split())


def refused(own: dict[str, str], *arguments: str, stdin: str = "") -> str:
    run = tollkeeper(own, "login", *arguments, stdin=stdin)
    assert run.returncode == 1
    return run.stderr


def test_somebody_signs_up_by_mail_and_signs_in(own: dict[str, str], mailbox: Mailbox) -> None:
    with at_work(own):
        assert "A mail is on its way." in told(own, "sign-up", EMAIL, "--name", "Ada")
        wait_until(lambda: bool(mailbox.texts(EMAIL)))
    assert "https://console.example/verify?token=" in mailbox.texts(EMAIL)[0]
    token = mailbox.last_token(EMAIL)
    assert "it must have 10 to 256" in refused(own, "verify", stdin=f"{token}\nshort\n")
    assert told(own, "verify", stdin=f"{token}\n{PASSWORD}\n") == "account 1"
    assert "The account is there already." in refused(own, "verify", stdin=f"{token}\n{PASSWORD}\n")
    assert re.fullmatch(r"account 1, session 1 \w{43}", told(own, "sign-in", EMAIL, stdin=f"{PASSWORD}\n"))
    assert "The e-mail or the password is not right." in refused(own, "sign-in", EMAIL, stdin="wrong\n")


def test_an_operator_opens_an_account_and_gives_it_a_role(own: dict[str, str]) -> None:
    assert told(own, "open", EMAIL, stdin=f"{PASSWORD}\n") == "account 1"
    assert "has an account already" in refused(own, "open", EMAIL, stdin=f"{PASSWORD}\n")
    assert told(own, "role", "1", "operator", *WHY) == "account 1 has the role operator"
    assert told(own, "role", "1", "operator", *WHY) == "account 1 has the role operator, as it had before"
    assert f"1 {EMAIL} operator off open" in told(own, "list", "--staff")
    shown = told(own, "show", "1")
    assert shown.startswith(f"account 1: {EMAIL}, operator verified 20")
    assert shown.endswith("second factor off, account open")
    assert told(own, "show", EMAIL.upper()) == shown
    assert "Account 2 has no login." in refused(own, "show", "2")
    assert "is not an e-mail" in refused(own, "show", "9" * 30)
    assert "it must have 10 to 256" in refused(own, "open", "eve@people.example", stdin="short\n")


def test_support_sees_and_ends_sessions_and_sends_links(own: dict[str, str], mailbox: Mailbox) -> None:
    told(own, "open", EMAIL, stdin=f"{PASSWORD}\n")
    assert told(own, "sessions", "1") == "account 1 is signed in nowhere"
    told(own, "sign-in", EMAIL, stdin=f"{PASSWORD}\n")
    assert "unknown command line no" in told(own, "sessions", "1")
    assert told(own, "sessions", EMAIL) == told(own, "sessions", "1")
    assert told(own, "revoke-sessions", EMAIL, *WHY) == "1 sessions of account 1 ended"
    assert told(own, "revoke-sessions", "1", *WHY) == "0 sessions of account 1 ended"
    for whom in ("1", EMAIL):
        why = ("--reason", "a lost telephone")
        assert told(own, "drop-second-factor", whom, *why) == "account 1 has no second factor: nothing was done"
        assert told(own, "drop-passkeys", whom, *why) == "account 1 has no passkeys: nothing was done"
    assert told(own, "reset-password", EMAIL, *WHY) == "A link is on its way to the e-mail of account 1."
    assert "No login has this e-mail." in refused(own, "reset-password", "nobody@people.example", *WHY)
    with at_work(own):
        wait_until(lambda: bool(mailbox.texts(EMAIL)))
    assert mailbox.subjects(EMAIL) == ["Choose a new password"]


def test_without_a_mail_server_no_mail_is_said_to_be_on_its_way(own: dict[str, str]) -> None:
    silent = {name: value for name, value in own.items() if name != "TOLLKEEPER_SMTP_URL"}
    told(silent, "open", EMAIL, stdin=f"{PASSWORD}\n")
    for command in (("reset-password", EMAIL, *WHY), ("sign-up", "grace@people.example")):
        without_mail = told(silent, *command)
        assert "none is sent: TOLLKEEPER_SMTP_URL names no mail server." in without_mail
        assert "on its way" not in without_mail


def test_without_the_address_of_the_console_no_link_is_said_to_be_on_its_way(own: dict[str, str]) -> None:
    nowhere = {name: value for name, value in own.items() if name != "TOLLKEEPER_CONSOLE_URL"}
    told(nowhere, "open", EMAIL, stdin=f"{PASSWORD}\n")
    for command in (("reset-password", EMAIL, *WHY), ("sign-up", "grace@people.example")):
        without_link = told(nowhere, *command)
        assert "none is sent: its link leads to the console, and TOLLKEEPER_CONSOLE_URL does not" in without_link
        assert "on its way" not in without_link
    statement = tollkeeper(nowhere, "partner", "statement", "1").stdout
    assert "/i/" not in statement
    assert "no invite link: TOLLKEEPER_CONSOLE_URL does not say where the console is." in statement
    assert '"invite_link": null' in tollkeeper(nowhere, "partner", "statement", "1", "--json").stdout
    withdrawal = tollkeeper(nowhere, "partner", "withdraw", "1", "5", "--payee", "Ada", stdin="000000\n")
    assert "A second factor is set up in the console, on the page Security." in withdrawal.stderr


def test_an_account_that_was_taken_over_is_disabled_and_given_back(own: dict[str, str]) -> None:
    told(own, "open", EMAIL, stdin=f"{PASSWORD}\n")
    told(own, "sign-in", EMAIL, stdin=f"{PASSWORD}\n")

    def said(*arguments: str) -> str:
        run = tollkeeper(own, "account", *arguments)
        return run.stdout + run.stderr

    assert "Missing option '--reason'" in said("disable", "1")
    assert said("disable", "1", "--reason", " ") == "Say why in 1 to 500 characters. Nothing was done.\n"
    assert said("disable", "2", "--reason", "taken over") == "There is no account 2.\n"
    assert said("disable", "1", "--reason", "taken over") == "account 1 is disabled\n"
    assert said("disable", "1", "--reason", "taken over") == "account 1 is disabled, as it was before\n"
    assert told(own, "sessions", EMAIL) == "account 1 is signed in nowhere"
    assert told(own, "show", EMAIL).endswith("account disabled")
    assert "This account is disabled." in refused(own, "sign-in", EMAIL, stdin=f"{PASSWORD}\n")
    assert said("enable", "1", "--reason", "given back") == "account 1 is open\n"
    assert "session 2" in told(own, "sign-in", EMAIL, stdin=f"{PASSWORD}\n")


async def test_an_operator_ends_locks_and_has_none(own: dict[str, str]) -> None:
    told(own, "open", EMAIL, stdin=f"{PASSWORD}\n")
    given = Credentials(email=EMAIL, password="wrong horse battery")
    async with office(load(own)) as desk:
        front_desk = msgspec.structs.replace(desk.front_desk, hashes=Argon2Hashes(QUICK))
        for _ in range(5):
            with pytest.raises(WrongCredentials):
                await sign_in(front_desk, given, RequestOrigin())
        with pytest.raises(TooManyAttempts):
            await sign_in(front_desk, given, RequestOrigin())
    assert "session 1" in told(own, "sign-in", EMAIL, stdin=f"{PASSWORD}\n")
    assert told(own, "unlock", EMAIL, *WHY) == "1 locks ended"
    assert told(own, "unlock", EMAIL, *WHY) == "0 locks ended"
    assert "No login has this e-mail." in refused(own, "unlock", "nobody@people.example", *WHY)
