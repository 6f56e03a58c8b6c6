"""Bans, restrictions and groups on the command line, as support types it."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tollkeeper.app.database import opened
from tollkeeper.core.limits.abuse import Policy
from tollkeeper.settings import load
from tollkeeper.storage.limits.bans import ban
from tollkeeper.storage.postgres.database import DatabaseRole
from tools.node import clean_environment
from tools.services.process import wait_until

IP = "192.0.2.7"
WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
BECAUSE = ("--reason", "they wrote to us")


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores)


@pytest.fixture
async def owner(own: dict[str, str]) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(
        own["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper", "timezone": "UTC"}
    )
    yield connection
    await connection.close()


def told(own: dict[str, str], *arguments: str) -> str:
    """What a command says, tables without their lines."""
    run = tollkeeper(own, *arguments)
    assert run.returncode == 0, run.stderr
    return " ".join(re.sub(r"[┏━┳┓┃┡╇┩│└─┴┘]", " ", run.stdout).split())


@contextmanager
def at_work(own: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "tollkeeper", "work"], env=clean_environment() | own) as working:
        try:
            yield
        finally:
            working.terminate()


async def banned_by_a_gateway(own: dict[str, str], ip: str = IP) -> None:
    async with opened(load(own), DatabaseRole.GATEWAY) as database:
        counted = {"calls": 301, "within_seconds": 60, "codes_seen_here": {"not_found": 1, "invalid_api_key": 250}}
        await ban(database, Policy(), ip, "invalid_calls", counted)


@pytest.mark.rule("S11.3")
async def test_support_explains_and_lifts_a_ban(own: dict[str, str]) -> None:
    assert told(own, "ban", "list") == "No client is banned."
    assert told(own, "ban", "explain", IP).startswith(
        f"{IP} is not banned. The next ban for invalid calls would last 1 h"
    )
    await banned_by_a_gateway(own)
    counted = "301 invalid calls within 60 s, such as 250 × invalid_api_key, 1 × not_found"
    assert re.search(rf"{IP} {WHEN} {counted} in force until {WHEN}", told(own, "ban", "list"))
    explained = told(own, "ban", "explain", IP)
    assert re.match(rf"{IP} is banned until {WHEN}. {WHEN}, for 1 h; {counted} in force until {WHEN} ", explained)
    assert "would last 2 h: 1 of the last 168 h counts, those that were lifted do not." in explained

    assert told(own, "ban", "lift", f" {IP}:443", *BECAUSE) == f"the ban of {IP} is lifted"
    assert told(own, "ban", "lift", IP, *BECAUSE) == f"{IP} was not banned"
    assert told(own, "ban", "list") == "No client is banned."
    assert re.search(rf"lifted {WHEN} by cli:\S+: they wrote to us", told(own, "ban", "list", "--all"))
    explained = told(own, "ban", "explain", IP)
    assert explained.startswith(f"{IP} is not banned. ")
    assert "they wrote to us" in explained
    assert "would last 1 h: 0 of" in explained


@pytest.mark.parametrize("written", ["2001:db8::7", "2001:db8::/64", "[2001:db8::7]:443", "2001:DB8:0:0::1"])
def test_an_ipv6_client_is_its_network(own: dict[str, str], written: str) -> None:
    client = "2001:db8::/64"
    added = told(own, "ban", "add", written, "--hours", "48", "--reason", "scraping")
    assert re.fullmatch(rf"{client} is banned until {WHEN}", added)
    assert "for 48 h; by an operator: scraping" in told(own, "ban", "explain", client)
    again = tollkeeper(own, "ban", "add", client, "--hours", "1", "--reason", "scraping")
    assert again.returncode == 1
    assert f"{client} is banned already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ban", "explain", "example.com"], "'example.com' is not an IP"),
        (["ban", "lift", "2001:db8::/48", *BECAUSE], "'2001:db8::/48' is not an IP"),
        (["ban", "lift", "192.0.2.0/24", *BECAUSE], "'192.0.2.0/24' is not an IP"),
        (["ban", "add", "10.1.2.3", "--hours", "1", *BECAUSE], "one of your own proxies"),
        (["ban", "lift", IP, "--reason", " "], "Say why in 1 to 500 characters"),
        (["restriction", "lift", "1", "--reason", "x" * 501], "Say why in 1 to 500 characters"),
        (["restriction", "lift", "77", *BECAUSE], "There is no account 77."),
        (["restriction", "explain", "77"], "There is no account 77."),
        (["group", "add", "gold", "--rate", "0"], "'0' is not a limit"),
        (["group", "add", "gold", "--rate", "many"], "'many' is not a limit"),
        (["group", "add", "Gold"], "A group's name has 1 to 32 small letters"),
        (["group", "add", "standard"], "There is a group 'standard' already."),
        (["group", "set", "gold"], "There is no group 'gold'."),
        (["group", "set", "standard", "--kind", "chat"], "'chat' is not a rate: write NAME=N"),
        (["group", "set", "standard", "--kind", "video=1"], "There is no kind 'video' of models"),
        (["group", "set", "standard", "--model", "nonesuch=1"], "There is no model 'nonesuch'."),
        (["group", "move", "77", "standard"], "There is no account 77."),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_mistakes_are_told_in_a_sentence(own: dict[str, str], arguments: Sequence[str], complaint: str) -> None:
    run = tollkeeper(own | {"TOLLKEEPER_TRUSTED_PROXIES": "10.0.0.0/8"}, *arguments)
    assert run.returncode == 1
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.rule("S11.2", "S11.3")
async def test_the_worker_restricts_and_support_explains_and_lifts(
    own: dict[str, str], owner: asyncpg.Connection
) -> None:
    told(own, "account", "create", "Ada")
    await owner.execute(
        "insert into peak_minute (account_id, minute, ip, milliseconds)"
        " select 1, date_trunc('minute', now()) - n * interval '1 min', $1, 60000 from generate_series(1, 10) n",
        IP,
    )
    await owner.execute(
        "insert into peak_minute (account_id, minute, ip, milliseconds)"
        " values (1, date_trunc('minute', now()) - interval '20 min', '', 30000)"
    )
    assert told(own, "restriction", "list") == "No account is restricted."
    with at_work(own):
        wait_until(lambda: "630 within 3600" in told(own, "restriction", "list"))
    assert await owner.fetchval("select bool_or(serves) from worker") is False
    explained = told(own, "restriction", "explain", "1")
    counted = f"{WHEN}, for 24 h; it was at peak for 630 s within 3600 s, most of it from {IP} in force until {WHEN}"
    assert re.match(rf"account 1 is restricted until {WHEN}. {counted}", explained)
    assert f"{'█' * 30} 60.0 s {IP}" in explained
    assert f"{'█' * 15} 30.0 s unknown" in explained
    assert "More than 600 s at peak within 3600 s restrict an account." in explained

    assert told(own, "restriction", "lift", "1", *BECAUSE) == "the restriction of account 1 is lifted"
    assert told(own, "restriction", "lift", "1", *BECAUSE) == "account 1 was not restricted"
    assert "they wrote to us" in told(own, "restriction", "list", "--all")
    assert told(own, "restriction", "explain", "1").startswith("account 1 is not restricted. ")
    assert await owner.fetchval("select restricted_until from account") is None


def test_an_operator_sells_higher_rates(own: dict[str, str]) -> None:
    told(own, "account", "create", "Ada")
    told(own, "model", "add", "large")
    limits = [
        "--key-rate",
        "none",
        "--rate",
        "600",
        "--peak",
        "300",
        "--tokens-per-minute",
        "90000",
        "--concurrency",
        "8",
    ]
    added = told(own, "group", "add", "gold", *limits, "--kind", "image=10", "--kind", "chat=900", "--model", "large=5")
    rates = "a key none; an account 600; peak 300 %; kinds chat 900, image 10; models large 5; tokens 90000; at once 8"
    assert added == f"group gold added: {rates}"
    assert told(own, "group", "move", "1", "gold") == "account 1 is in group gold"
    assert told(own, "group", "move", "1", "gold") == "account 1 is in group gold, as it was before"
    listed = told(own, "group", "list")
    assert "gold 1 1.000000 none 600 300 % chat 900, image 10 large 5 90000 8" in listed
    assert "restricted 0 1.000000 60 30 100 % none none" in listed
    changes = ["--key-rate", "60", "--kind", "image=none", "--model", "large=none", "--tokens-per-minute", "none"]
    changed = told(own, "group", "set", "gold", *changes)
    assert changed == "group gold: a key 60; an account 600; peak 300 %; kinds chat 900; tokens none; at once 8"
    assert told(own, "group", "set", "gold") == changed
