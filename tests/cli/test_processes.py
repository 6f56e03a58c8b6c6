"""Every command and family of commands once as a process, with all that a process loads; the rest is tested faster."""

import re

import pytest

from tests.conftest import Stores, variables
from tollkeeper import __version__
from tollkeeper.cli.families import FAMILIES
from tools.node import tollkeeper

NOBODY = "There is no account 77."
SERVING = {"serve", "front", "work", "console"}

# What is typed, how it ends, and what is said.
TYPED = {
    "version": (["version"], 0, re.escape(__version__)),
    "serve": (["serve"], 1, "TOLLKEEPER_DATABASE_URL is not set."),
    "front": (["front"], 1, "TOLLKEEPER_DATABASE_URL is not set."),
    "work": (["work"], 1, "TOLLKEEPER_DATABASE_URL is not set."),
    "console": (["console"], 1, "TOLLKEEPER_DATABASE_URL is not set."),
    "migrate": (["migrate"], 0, r"The schema is at revision \d+"),
    "settings": (["settings"], 0, "TOLLKEEPER_KEY_SNAPSHOTS"),
    "doctor": (["doctor"], 1, "TOLLKEEPER_DATABASE_URL is not set."),
    "credit": (["credit", "77", "1"], 1, NOBODY),
    "redeem": (["redeem", "77"], 1, NOBODY),
    "faucet": (["faucet", "77", "--ip", "192.0.2.7"], 1, NOBODY),
    "statement": (["statement", "77", "october"], 1, "write one like"),
    "jobs": (["jobs"], 0, "No job was ever done here."),
    "nodes": (["nodes"], 0, "No node was ever started here."),
    "house": (["house"], 0, "open holds"),
    "attention": (["attention"], 0, "Nothing wants you now."),
    "figures": (["figures", "--by", "hour"], 0, "No provider was called in that time."),
    "account": (["account", "create", "Ada"], 0, r"account \d+"),
    "key": (["key", "revoke", "77", "--reason", "a slip"], 1, "There is no key 77."),
    "login": (["login", "list"], 0, "second factor"),
    "codes": (["codes", "list"], 0, "There are no codes."),
    "top-up": (["top-up", "revoke", "77", "--reason", "a slip"], 1, "There is no top-up 77."),
    "partner": (["partner", "requests"], 0, "No withdrawal waits for a decision."),
    "group": (["group", "list"], 0, "standard"),
    "model": (["model", "add", "large"], 0, "model large added"),
    "price": (["price", "history", "none"], 1, "There is no model 'none'"),
    "lot": (["lot", "extend", "77", "--until", "soon", "--reason", "a slip"], 1, "'soon' is not a time"),
    "provider": (["provider", "pause", "nobody", "--reason", "a slip"], 1, "There is no provider account 'nobody'."),
    "pepper": (["pepper", "retire", "9"], 1, "Pepper 9 is not listed"),
    "envelope": (["envelope", "reseal"], 0, "0 secrets are sealed anew"),
    "announce": (["announce", "remove", "77", "--reason", "a slip"], 1, "There is no announcement 77."),
    "brand": (["brand", "set", "--accent-light", "#ffffff"], 1, "too hard to read"),
    "webhook": (["webhook", "remove", "77", "--reason", "a slip"], 1, "There is no webhook 77."),
    "ban": (["ban", "list"], 0, "No client is banned."),
    "restriction": (["restriction", "list"], 0, "No account is restricted."),
    "books": (["books", "check"], 0, "The books are clean."),
    "call": (["call", "show", "00000000-0000-7000-8000-000000000000"], 1, "There is no call 00000000"),
    "dispute": (["dispute", "list"], 0, "No charge is disputed."),
    "reading": (["reading", "list"], 0, "Nobody read as a customer."),
    "reset": (["reset", "list"], 0, "No reset waits for a second person."),
    "usage": (["usage", "list"], 0, "There are no such calls in the usage log."),
    "operator-key": (["operator-key", "list"], 0, "There are no operator keys."),
    "audit": (["audit", "verify"], 0, "The audit trail is whole."),
    "demo": (["demo", "provider", "--storm", "fog"], 1, "fog"),
}


@pytest.fixture(scope="module")
async def house(stores: Stores) -> dict[str, str]:
    """Settings with a database that these tests share."""
    return await variables(stores)


def test_every_command_and_family_is_here() -> None:
    assert list(TYPED) == ["version", *FAMILIES]


@pytest.mark.parametrize("name", TYPED)
def test_it_runs_as_a_process(house: dict[str, str], name: str) -> None:
    arguments, code, told = TYPED[name]
    done = tollkeeper({} if name in {*SERVING, "doctor"} else house, *arguments)
    said, silent = (done.stdout, done.stderr) if code == 0 else (done.stderr, done.stdout)
    assert (done.returncode, silent) == (code, ""), done
    assert re.search(told, said), said
    assert "Traceback" not in said
