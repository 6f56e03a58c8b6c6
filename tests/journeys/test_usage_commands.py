"""The usage log on the command line, as operators and support type it."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.storage.usage.benches import UsageBench, a_bench
from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app.office import office
from tollkeeper.core.money.charge import Ending
from tollkeeper.settings import load

FORMULA = "=1+1"


@pytest.fixture
async def own(stores: Stores, tmp_path: Path) -> dict[str, str]:
    return await variables(stores) | {"TOLLKEEPER_LOG_SITE": f"file://{tmp_path / 'log site'}"}


@pytest.fixture
async def bench(own: dict[str, str], tmp_path: Path) -> AsyncIterator[UsageBench]:
    settings = load(own)
    owner = await asyncpg.connect(settings.database_url, server_settings={"search_path": "tollkeeper"})
    async with office(settings) as desk, a_bench(settings, owner, Customers(desk), tmp_path / "journal") as made:
        yield made
    await owner.close()


def told(own: dict[str, str], *arguments: str) -> str:
    """What a command says, tables without their lines."""
    run = tollkeeper(own, "usage", *arguments)
    assert run.returncode == 0, run.stderr
    return " ".join(re.sub(r"[┏━┳┓┃┡╇┩│└─┴┘]", " ", run.stdout).split())


async def test_an_operator_reads_exports_and_cleans_the_usage_log(
    own: dict[str, str], bench: UsageBench, tmp_path: Path
) -> None:
    desk, model = bench.customers.desk, await bench.a_model()
    customer = await bench.customers.a_customer()
    named = await create_key(
        KeyWish(account_id=customer.account_id, name=FORMULA), desk.key_maker, desk.keys, actor="test"
    )
    account = str(customer.account_id)
    days: list[date] = []
    calls = []
    for ending in (Ending.COMPLETED, Ending.CUT, Ending.COMPLETED):
        days.append(await bench.today())
        calls.append(str(await bench.call(customer, model, charged=500_000, ending=ending)))
        await bench.pass_days(1)
    await bench.roll_up()
    await bench.owner.execute("update usage set key_id = $1 where ending = 'cut'", named.key_id)

    listed = told(own, "list", "--account", account, "--limit", "2")
    assert [call in listed for call in calls] == [False, True, True]
    [cursor] = re.findall(r"--after ([0-9a-f-]{36})", listed)
    assert cursor == calls[1]
    rest = told(own, "list", "--account", account, "--after", cursor)
    assert [call in rest for call in calls] == [True, False, False]
    assert "There may be more" not in rest
    assert calls[1] in told(own, "list", "--ending", "cut", "--model", model)
    assert "There are no such calls" in told(own, "list", "--account", "99")
    chosen = told(own, "list", "--from", str(days[1]), "--until", str(days[2]))
    assert [call in chosen for call in calls] == [False, True, False]
    assert calls[0] in told(own, "list", "--id", calls[0])

    run = tollkeeper(own, "usage", "export", "--account", account, "--until", f"{days[2]}T00:00:00")
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert [(row["request_id"], row["key_name"], row["charged_usd"]) for row in rows] == [
        (calls[1], f"'{FORMULA}", "0.000001"),
        (calls[0], "a key", "0.000001"),
    ]

    chart = told(own, "chart", "--account", account, "--days", "4")
    assert chart.count("█" * 40) == 3
    assert f"{days[0]} {'█' * 40} 0.000001 USD 1 calls 10 tokens in, 5 out" in chart
    listed_as_json = json.loads(tollkeeper(own, "usage", "list", "--account", account, "--json").stdout)["data"]
    assert {(row["unit"], row["input_units"]) for row in listed_as_json} == {("token", 10)}
    chart_as_json = json.loads(tollkeeper(own, "usage", "chart", "--account", account, "--json").stdout)["data"]
    counted = {"input_units": 10, "cached_units": 2, "output_units": 5}
    assert [row["by_unit"] for row in chart_as_json if row["calls"]] == [{"token": counted}] * 3
    total = told(own, "total", account)
    assert f"0.000003 USD in 3 calls of the usage log, which goes back to {days[0]}" in total
    assert "0.000003 USD, by the ledger" in total

    assert f"{days[0]} 1 calls copied and dropped" in told(own, "clean", "--before", str(days[1]))
    assert (tmp_path / "log site" / "manifest.json").exists()
    assert "nothing to clean" in told(own, "clean", "--before", str(days[1]))
    total = told(own, "total", account)
    assert f"0.000002 USD in 2 calls of the usage log, which goes back to {days[1]}" in total
    assert "0.000003 USD, by the ledger" in total
    gone = tollkeeper(own, "call", "show", calls[0])
    assert (gone.returncode, "cleaned days are gone" in gone.stderr) == (1, True)
    await bench.owner.execute("update usage set key_id = $1", customer.key_id)
    assert tollkeeper(own, "books", "check").returncode == 0


async def test_a_cleanup_without_a_place_for_its_copy_does_nothing(own: dict[str, str], tmp_path: Path) -> None:
    nowhere = tollkeeper(own | {"TOLLKEEPER_LOG_SITE": ""}, "usage", "clean", "--before", "2020-01-01")
    assert (nowhere.returncode, "Nothing was done." in nowhere.stderr) == (1, True)
    (tmp_path / "log site").write_text("in the way")
    blocked = tollkeeper(own, "usage", "clean", "--before", "2020-01-01")
    assert blocked.returncode == 1
    assert "did not read its manifest" in blocked.stderr
    assert "Traceback" not in blocked.stderr
