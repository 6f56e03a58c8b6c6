"""`--json` of everything that shows something, with something to show."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.customers import Customer
from tests.storage.ledger.test_books import a_settled_call
from tollkeeper.app.database import opened
from tollkeeper.settings import load
from tollkeeper.storage.postgres.database import DatabaseRole

MONEY = re.compile(r"(?P<name>.+)_micro_(?:quota|usd)")
AN_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
THIS_MONTH = f"{datetime.now(UTC):%Y-%m}"

# What is typed, and fields that its first row, or it itself, must have.
SHOWN = {
    ("settings",): {"variable": "TOLLKEEPER_PRICE_NOTICE_HOURS", "set_by": "default"},
    ("jobs",): None,
    ("account", "list", "ada"): {"account_id": 1, "name": "Ada", "state": "open"},
    ("account", "show", "1"): {"account_id": 1, "group": "standard", "used_micro_quota": 400, "debt_usd": "0.000"},
    ("account", "timeline", "1"): {"what": "code.redeem", "amount_usd": "10.000"},
    ("key", "list", "1"): {"key_id": 1, "name": "laptop", "quota_usd": "2.500", "used_micro_quota": 400},
    ("lot", "list", "1"): {"id": 1, "granted_usd": "1.000", "granted_micro_quota": 500_000_000_000},
    ("top-up", "list", "1"): {"id": 1, "paid_micro_usd": 10_000_000, "paid_usd": "10.00"},
    ("statement", "1", THIS_MONTH): {"account_id": 1, "opening_micro_quota": 0},
    ("codes", "list"): {"id": 1, "codes": 1, "redeemed": 1, "each_usd": "10.00"},
    ("login", "list"): {"account_id": 2, "email": "ada@people.example", "account_state": "open"},
    ("login", "show", "2"): {"account_id": 2, "second_factor": False},
    ("login", "sessions", "2"): None,
    ("partner", "statement", "1"): {"account_id": 1, "invited": 0},
    ("partner", "requests"): None,
    ("group", "list"): {"name": "restricted", "accounts": 0},
    ("group", "show", "standard"): {"name": "standard", "multiplier": "1.000000", "standard_rate": 60},
    ("model", "list"): {"id": "m", "kind": "chat", "hidden_at": None},
    ("model", "show", "m"): {"id": "m", "only_groups": None},
    ("price", "list"): {"model_id": "m", "state": "has_taken_effect", "kind": "chat"},
    ("price", "history", "m"): {"model_id": "m", "price_id": 1},
    ("price", "preview", "m", "--multiplier", "2"): {"account_id": 1, "calls": 1},
    ("provider", "list"): {"name": "first", "state": "active", "charged_micro_quota": 0, "tier": 1},
    ("provider", "show", "first"): {"name": "first", "cost_multiplier": "1", "model_names": None, "account": 1},
    ("announce", "list"): {"english": "Hello"},
    ("ban", "list"): {"ip": "192.0.2.7", "in_force": True},
    ("ban", "explain", "192.0.2.7"): {"client": "192.0.2.7", "banned": True},
    ("restriction", "list"): None,
    ("restriction", "explain", "1"): {"account_id": 1, "restricted": False},
    ("books", "check"): {"ok": True, "findings": []},
    ("books", "statement", "1"): {"what": "credit", "amount_usd": "1.000"},
    ("usage", "list"): {"account_id": 1, "model_id": "m", "charged_micro_quota": 400, "charged_usd": "0.0000000008"},
    ("usage", "chart"): {"calls": 0},
    ("usage", "total", "1"): {"account_id": 1, "lifetime_micro_quota": 400},
}


@pytest.fixture(scope="module")
async def house(stores: Stores) -> dict[str, str]:
    own = await variables(stores)
    for arguments, stdin in (
        (("account", "create", "Ada"), ""),
        (("credit", "1", "1", "--source-id", "p1"), ""),
        (("key", "create", "1", "laptop", "--quota-usd", "2.5"), ""),
        (("model", "add", "m"), ""),
        (("provider", "add", "first", "https://api.example/v1", "--all-models"), "secret\n"),
        (("login", "open", "ada@people.example"), "a password that nobody guesses\n"),
        (("announce", "add", "--english", "Hello", "--chinese", "你好", "--until", "2099-01-01"), ""),
        (("ban", "add", "192.0.2.7", "--reason", "a test", "--hours", "1"), ""),
    ):
        done = tollkeeper(own, *arguments, stdin=stdin)
        assert done.returncode == 0, done
    code = tollkeeper(own, "codes", "make", "--count", "1", "--usd", "10").stdout.splitlines()[1].split(",")[0]
    assert tollkeeper(own, "redeem", "1", stdin=f"{code}\n").returncode == 0
    async with opened(load(own), DatabaseRole.WORKER) as database:
        await a_settled_call(database, Customer(1, 1, ""))
    return own


def objects(found: Any) -> Iterator[dict[str, Any]]:
    if isinstance(found, dict):
        yield found
    for each in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from objects(each)


def check(document: dict[str, Any]) -> None:
    """Amounts and times are in their one form, and nothing secret is there."""
    for each in objects(document):
        for name, value in each.items():
            if money := MONEY.fullmatch(name):
                assert value is None or type(value) is int, name
                beside = each[f"{money['name']}_usd"]
                assert beside is None if value is None else isinstance(beside, str), name
            if name.endswith("_at") and value is not None:
                assert AN_INSTANT.fullmatch(value), (name, value)
    assert "hash" not in json.dumps(document).replace("audit", "")


@pytest.mark.parametrize("typed", SHOWN, ids=" ".join)
def test_json_of_what_is_shown(house: dict[str, str], typed: tuple[str, ...]) -> None:
    done = tollkeeper(house, *typed, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    for secret in ("PEPPERS", "ENVELOPE_KEYS", "DATABASE_URL", "REDIS_URL"):
        assert house[f"TOLLKEEPER_{secret}"] not in done.stdout
    document = json.loads(done.stdout)
    check(document)
    wanted = SHOWN[typed]
    if wanted is None:
        assert document == {"data": []}
        return
    rows = [document, *document.get("data", [])]
    assert any(wanted.items() <= row.items() for row in rows), rows[:3]


def test_json_of_a_call(house: dict[str, str]) -> None:
    listed = json.loads(tollkeeper(house, "usage", "list", "--json").stdout)
    assert listed["next"] is None
    call = json.loads(tollkeeper(house, "call", "show", listed["data"][0]["request_id"], "--json").stdout)
    check(call)
    assert (call["state"], call["model_id"], call["charged_micro_quota"]) == ("settled", "m", 400)


def test_books_that_are_not_clean_are_json_with_the_same_exit_code(house: dict[str, str]) -> None:
    done = tollkeeper(house, "books", "check", "--audit-head", "0" * 64, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["clean"] is False
