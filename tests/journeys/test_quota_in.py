"""Quota coming in on the command line: codes, the partner plan and the faucet, as operators and support type it."""

import csv
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pyotp
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.people import AN_OPERATOR
from tests.storage.customers.benches import Time
from tollkeeper.accounts.people.sign_up import SignUpWish, open_account
from tollkeeper.app.office import office
from tollkeeper.core.people.totp import mint_recovery_code, mint_secret, plain
from tollkeeper.ports.people import Confirmation
from tollkeeper.settings import BadSettings, load
from tools.node import Node

PASSWORD = "correct horse battery staple 4711"
WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
BECAUSE = ("--reason", "they wrote to us")
TO_ADA = ("--payee", "Ada [at her bank]")
SESSION = """
insert into session (digest, account_id, expires_at, ip, agent)
values ($1, $2, now() + interval '1 day', '', '') returning id
"""


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores) | {"TOLLKEEPER_CONSOLE_URL": "https://console.example"}


@pytest.fixture
async def owner(own: dict[str, str]) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(
        own["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper", "timezone": "UTC"}
    )
    yield connection
    await connection.close()


def told(own: dict[str, str], *arguments: str, stdin: str = "") -> str:
    """What a command says, tables without their lines."""
    run = tollkeeper(own, *arguments, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return " ".join(re.sub(r"[┏━┳┓┃┡╇┩│└─┴┘]", " ", run.stdout).split())


def complained(own: dict[str, str], *arguments: str, stdin: str = "") -> str:
    run = tollkeeper(own, *arguments, stdin=stdin)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    return " ".join(run.stderr.split())


def sold(own: dict[str, str], *options: str) -> list[str]:
    """The codes of a new batch."""
    run = tollkeeper(own, "codes", "make", *options)
    assert run.returncode == 0, run.stderr
    assert "They cannot be shown again." in run.stderr
    return [row["code"] for row in csv.DictReader(run.stdout.splitlines())]


async def give_second_factor(own: dict[str, str], owner: asyncpg.Connection, account: int) -> list[str]:
    """Codes that can be used once."""
    session_id = await owner.fetchval(SESSION, secrets.token_bytes(32), account)
    secret, codes = mint_secret(secrets.choice), [mint_recovery_code(secrets.choice) for _ in range(2)]
    async with office(load(own)) as desk:
        peppers, factors = desk.key_maker.peppers, desk.front_desk.second_factors
        assert await factors.propose(account, secret)
        confirmation = Confirmation(
            account_id=account,
            session_id=session_id,
            code=pyotp.TOTP(secret).now(),
            recovery_digests=[peppers.digest(plain(code), peppers.in_use) for code in codes],
            token_digest=secrets.token_bytes(32),
        )
        assert await factors.confirm(confirmation)
    return codes


@pytest.mark.rule("S2.1")
@pytest.mark.rule("R5.1")
async def test_codes_are_made_once_and_redeemed_once(own: dict[str, str]) -> None:
    assert told(own, "codes", "list") == "There are no codes."
    told(own, "account", "create", "Ada")
    codes = sold(own, "--count", "3", "--usd", "10", "--note", "spring sale")
    assert len(set(codes)) == 3
    done = told(own, "redeem", "1", stdin=codes[0].lower().replace("-", " "))
    assert re.fullmatch(r"10\.00 USD topped up: top-up 1, lot 1, expires \d{4}-\d\d-\d\d", done)
    again = "This account redeemed the code before, and nothing was added now: 10.00 USD, top-up 1"
    assert told(own, "redeem", "1", stdin=codes[0]) == again
    told(own, "account", "create", "Bob")
    refused = complained(own, "redeem", "2", stdin=codes[0])
    assert refused == complained(own, "redeem", "2", stdin="TK-nonsense")
    assert "not accepted, and nothing was taken" in refused
    assert "10" not in refused

    assert re.fullmatch(
        rf"batch made by codes redeemed USD each months note now 1 {WHEN} cli:\S+ 3 1 10\.00 9 spring sale accepted",
        told(own, "codes", "list"),
    )
    assert told(own, "codes", "revoke", "1", *BECAUSE) == "batch 1 revoked: 2 codes"
    assert told(own, "codes", "revoke", "1", *BECAUSE) == "batch 1 was revoked before"
    assert complained(own, "redeem", "2", stdin=codes[1]) == refused
    assert "they wrote to us" in told(own, "codes", "list")
    assert "The books are clean." in told(own, "books", "check")


def test_codes_can_be_made_by_which_nobody_earns(own: dict[str, str]) -> None:
    sold(own, "--count", "1", "--usd", "10", "--no-rewards")
    assert told(own, "codes", "list").endswith("10.00 9 accepted, without rewards")


def test_codes_are_written_to_a_file_that_nobody_else_reads(own: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "codes.csv"
    said = told(own, "codes", "make", "--count", "2", "--usd", "2.50", "--months", "3", "--file", str(file))
    assert said == "batch 1: 2 codes of 2.50 USD. They cannot be shown again."
    assert file.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [(row["usd"], row["months"], row["batch"]) for row in rows] == [("2.50", "3", "1")] * 2
    again = complained(own, "codes", "make", "--count", "2", "--usd", "2.50", "--file", str(file))
    assert again.endswith("is there already. Nothing was done.")
    assert len(list(csv.DictReader(file.read_text().splitlines()))) == 2
    assert told(own, "codes", "list").count("accepted") == 1


def test_a_file_of_codes_that_was_not_finished_is_gone_again(own: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "codes.csv"
    nowhere = own | {"TOLLKEEPER_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    assert tollkeeper(nowhere, "codes", "make", "--count", "2", "--usd", "1", "--file", str(file)).returncode == 3
    assert not file.exists()
    assert told(own, "codes", "list") == "There are no codes."


def test_a_top_up_is_taken_back(own: dict[str, str]) -> None:
    told(own, "account", "create", "Ada")
    assert told(own, "top-up", "list", "1") == "Account 1 has no top-ups."
    [code] = sold(own, "--count", "1", "--usd", "10")
    told(own, "redeem", "1", stdin=code)
    assert re.search(rf"1 {WHEN} 10\.00 0\.000 1 expires {WHEN}", told(own, "top-up", "list", "1"))
    assert told(own, "top-up", "revoke", "1", *BECAUSE) == (
        "top-up 1 revoked: 10.000 USD taken back, 0.000 USD owed, 0.000 USD written off rewards revoked with it: 0"
    )
    assert told(own, "top-up", "revoke", "1", *BECAUSE) == "top-up 1 was revoked before"
    assert re.search(rf"1 {WHEN} 10\.00 0\.000 1 revoked {WHEN}", told(own, "top-up", "list", "1"))
    assert "The books are clean." in told(own, "books", "check")


def test_names_of_keys_are_shown_as_they_are(own: dict[str, str]) -> None:
    told(own, "account", "create", "Ada")
    told(own, "key", "create", "1", "[red]mine[/red]")
    assert "[red]mine[/red]" in told(own, "key", "list", "1")
    assert told(own, "key", "edit", "1", "--name", "[/]", "--reason", "a test") == "key 1 '[/]' changed"
    assert "[/]" in told(own, "key", "list", "1")
    told(own, "key", "rotate", "1", "--keep-hours", "2", "--reason", "a test")
    assert re.search(rf"live, old text until {WHEN}", told(own, "key", "list", "1"))
    assert re.search(
        rf"is accepted until {WHEN}\.", complained(own, "key", "rotate", "1", "--keep-hours", "1", "--reason", "a test")
    )
    told(own, "key", "rotate", "1", "--reason", "a test")
    assert "old text" not in told(own, "key", "list", "1")
    assert told(own, "key", "revoke", "1", "--reason", "a test") == "key 1 revoked"


async def two_accounts(own: dict[str, str], owner: asyncpg.Connection) -> tuple[str, list[str]]:
    """The first invited the second: its gift code, and codes of its second factor."""
    async with office(load(own)) as desk:
        for email in ("ada@example.com", "bob@example.com"):
            await open_account(desk.front_desk, SignUpWish(email=email), PASSWORD, by=AN_OPERATOR)
    gift_code: str = await owner.fetchval("select gift_code from account where id = 1")
    assert await owner.fetchval("select accept_invitation(2, $1, 'test')", gift_code)
    return gift_code, await give_second_factor(own, owner, 1)


@pytest.mark.rule("S10.1")
@pytest.mark.rule("S10.2")
@pytest.mark.rule("S10.4")
async def test_a_partner_earns_and_is_paid(own: dict[str, str], owner: asyncpg.Connection) -> None:
    ada, (code, later) = await two_accounts(own, owner)
    [card] = sold(own, "--count", "1", "--usd", "10")
    link = f"https://console.example/i/{ada}"
    assert "10.00 USD topped up, and 0.500 USD as a gift" in told(own, "redeem", "2", "--gift-code", link, stdin=card)
    statement = told(own, "partner", "statement", "1")
    assert statement.startswith(f"account 1: gift code {ada}, 1 invited invite link {link} cash in USD: ")
    assert "0.25 granted = 0.25 pending + 0.00 available + 0.00 paid + 0.00 revoked" in statement
    assert re.search(rf"{WHEN} referral cash 0\.25 1 withdrawable from {WHEN}", statement)
    assert re.search(rf"{WHEN} gift given 0\.500 1 ", statement)

    too_new = complained(own, "partner", "withdraw", "1", "0.25", *TO_ADA, stdin=code)
    assert re.search(rf"less than 72 hours old, .* It will be possible after {WHEN}\.", too_new)
    await Time(owner).pass_by(days=14, seconds=1)
    assert told(own, "partner", "withdraw", "1", "0.25", *TO_ADA, stdin=later) == "request 1: 0.25 USD asked for"
    assert re.search(rf"1 1 {WHEN} 0\.25 Ada \[at her bank\] requested", told(own, "partner", "requests"))
    assert "not approved yet" in complained(own, "partner", "pay", "1", "--reference", "transfer 4711")
    assert told(own, "partner", "approve", "1", *BECAUSE) == "request 1 is approved"
    assert re.search(rf"approved {WHEN} by cli:\S+: they wrote to us", told(own, "partner", "requests"))
    assert told(own, "partner", "pay", "1", "--reference", "transfer 4711") == "request 1 is paid"
    assert re.search(rf"paid {WHEN} by cli:\S+: transfer 4711", told(own, "partner", "statement", "1"))
    assert "The books are clean." in told(own, "books", "check")


@pytest.mark.rule("S10.5")
async def test_support_refuses_and_revokes(own: dict[str, str], owner: asyncpg.Connection) -> None:
    ada, (code, _) = await two_accounts(own, owner)
    at_once = own | {"TOLLKEEPER_REFERRAL_PENDING_DAYS": "0", "TOLLKEEPER_GIFT_CAP_USD": "0.1"}
    [card] = sold(own, "--count", "1", "--usd", "100")
    told(at_once, "redeem", "2", "--gift-code", ada, stdin=card)
    await Time(owner).pass_by(hours=73)
    told(own, "partner", "withdraw", "1", "1", *TO_ADA, stdin=code)
    assert told(own, "partner", "refuse", "1", *BECAUSE) == "request 1 is refused"
    assert "decided before" in complained(own, "partner", "pay", "1", "--reference", "transfer 4711")

    rewards = {row["kind"]: str(row["id"]) for row in await owner.fetch("select kind, id from reward")}
    cash, gift = rewards["referral_cash"], rewards["gift_given"]
    assert told(own, "partner", "revoke", gift, "--write-off", *BECAUSE) == (
        f"reward {gift} revoked: 0.100 USD taken back, 0.000 USD owed, 0.000 USD written off"
    )
    assert told(own, "partner", "revoke", cash, *BECAUSE) == (
        f"reward {cash} revoked: 2.50 USD taken back, 0.00 USD owed, 0.00 USD written off"
    )
    assert told(own, "partner", "revoke", cash, *BECAUSE) == f"reward {cash} was revoked before"
    statement = told(own, "partner", "statement", "1")
    assert "2.50 granted = 0.00 pending + 0.00 available + 0.00 paid + 2.50 revoked" in statement
    assert re.search(
        rf"gift given 0\.100 \(capped, of 5\.000\) 1 revoked {WHEN} by cli:\S+: they wrote to us", statement
    )
    assert re.search(rf"refused {WHEN} by cli:\S+: they wrote to us", statement)


@pytest.mark.rule("R4.5")
@pytest.mark.rule("L7.1")
async def test_the_faucets_key_works_at_once(own: dict[str, str], owner: asyncpg.Connection) -> None:
    await two_accounts(own, owner)
    run = tollkeeper(own, "faucet", "1", "--ip", "192.0.2.7")
    assert run.returncode == 0, run.stderr
    named, key, words = run.stdout.splitlines()
    assert named == "key 1"
    assert re.fullmatch(rf"It has 1\.000 USD until {WHEN}\. Copy it now: it cannot be shown again\.", words)
    again = complained(own, "faucet", "1", "--ip", "198.51.100.1")
    assert re.fullmatch(rf"The faucet gives once in 24 hours\. Come again after {WHEN}\.", again)
    with Node(own) as node:
        assert node.status("/v2/token/balance", {"Authorization": f"Bearer {key}"}) == 200
    assert "The books are clean." in told(own, "books", "check")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["codes", "make", "--count", "1", "--usd", "ten"], "'ten' is not a number of USD. Write it like"),
        (["codes", "make", "--count", "1", "--usd", "-1"], "not a positive amount"),
        (["codes", "make", "--count", "1", "--usd", "0.0000001"], "more than six decimals"),
        (["codes", "make", "--count", "1", "--usd", "1", "--note", "x" * 501], "shorten it to 500"),
        (["codes", "make", "--count", "1", "--usd", "1", "--note", "two\nlines"], "printable"),
        (["key", "create", "1", "two\nlines"], "printable"),
        (["codes", "revoke", "77", *BECAUSE], "There is no batch 77."),
        (["codes", "revoke", "1", "--reason", " "], "Say why in 1 to 500 characters"),
        (["redeem", "77"], "There is no account 77."),
        (["partner", "statement", "77"], "There is no account 77."),
        (["partner", "withdraw", "77", "1", *TO_ADA], "second factor"),
        (["partner", "withdraw", "77", "1", "--payee", " "], "Say where the money goes"),
        (["partner", "approve", "77", *BECAUSE], "There is no withdrawal request 77."),
        (["partner", "pay", "77", "--reference", "x"], "There is no withdrawal request 77."),
        (["top-up", "revoke", "77", *BECAUSE], "There is no top-up 77."),
        (["key", "edit", "77", "--name", "x", "--reason", "a test"], "There is no key 77."),
        (["key", "rotate", "77", "--reason", "a test"], "There is no key 77."),
        (["key", "revoke", "77", "--reason", "a test"], "There is no key 77."),
        (["partner", "refuse", "77", *BECAUSE], "There is no withdrawal request 77."),
        (["partner", "revoke", "77", *BECAUSE], "There is no reward 77."),
        (["faucet", "77", "--ip", "192.0.2.7"], "There is no account 77."),
        (["faucet", "1", "--ip", "nowhere"], "this client's is not known"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_mistakes_are_told_in_a_sentence(own: dict[str, str], arguments: list[str], complaint: str) -> None:
    assert complaint in complained(own, *arguments)


@pytest.mark.parametrize("usd", ["0", "-1", "1.0000001", "ten", "0.00", ""])
@pytest.mark.parametrize("name", ["FAUCET_USD", "GIFT_CAP_USD", "REFERRAL_CASH_CAP_USD"])
def test_amounts_in_the_settings_are_checked_at_the_start(name: str, usd: str) -> None:
    with pytest.raises(BadSettings, match=f"TOLLKEEPER_{name}"):
        load({f"TOLLKEEPER_{name}": usd})
