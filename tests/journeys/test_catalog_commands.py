"""The catalog on the command line: models and groups as operators list, change, hide and remove them."""

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables

BECAUSE = ("--reason", "a test")


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores)


def told(own: dict[str, str], *arguments: str) -> str:
    done = tollkeeper(own, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_models_are_listed_in_usd_changed_hidden_and_removed(own: dict[str, str]) -> None:
    assert told(own, "model", "list") == "There are no models.\n"
    told(own, "model", "add", "vendor/m", "--multiplier", "1.25", "--completion", "8")
    told(own, "model", "add", "pictures", "--kind", "image", "--price", "1024x1024=20000")
    told(own, "group", "add", "gold", "--multiplier", "0.8")
    listed = told(own, "model", "list")
    assert "vendor/m\tchat\t2.500 / 2.500 / 20.000\ta million input / cached / output\t\tall\tcontext 128000" in listed
    assert "pictures\timage\t0.040 (1024x1024)\tan image\t\tall\t10 images a call\toffered" in listed
    assert "2.000 / 2.000 / 16.000" in told(own, "model", "list", "--for-group", "gold", "--kind", "chat")
    changes = ("--context", "9000", "--group", "gold", "--hidden-reasoning")
    assert told(own, "model", "set", "vendor/m", *changes) == "model vendor/m is changed\n"
    assert told(own, "model", "set", "vendor/m", *changes) == "model vendor/m is as it was before\n"
    shown = told(own, "model", "show", "vendor/m")
    assert "price\t2.500 USD for a million input tokens, " in shown
    assert "groups\tgold\nlimits\tcontext 9000, output 16384, held 4096, a part 2000, thinks\n" in shown
    both = tollkeeper(own, "model", "set", "vendor/m", "--group", "gold", "--all-groups")
    assert (both.returncode, both.stderr) == (1, "Say --group or --all-groups, not both. Nothing was done.\n")
    told(own, "model", "set", "vendor/m", "--all-groups")
    assert "groups\tall\n" in told(own, "model", "show", "vendor/m")
    assert told(own, "model", "hide", "vendor/m", *BECAUSE) == "model vendor/m is hidden\n"
    assert told(own, "model", "hide", "vendor/m", *BECAUSE) == "model vendor/m is hidden, as it was before\n"
    early = tollkeeper(own, "model", "remove", "vendor/m", *BECAUSE)
    assert (early.returncode, "Nothing was removed." in early.stderr) == (1, True)
    connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"])
    await connection.execute("update tollkeeper.model set retired_at = retired_at - interval '2 minutes'")
    await connection.close()
    assert told(own, "model", "unhide", "vendor/m", *BECAUSE) == "model vendor/m is offered\n"
    assert told(own, "model", "hide", "pictures", *BECAUSE) == "model pictures is hidden\n"
    gone = tollkeeper(own, "model", "show", "nonesuch")
    assert (gone.returncode, gone.stderr) == (1, "There is no model 'nonesuch'.\n")


def test_a_groups_multiplier_is_set_with_a_reason_and_shown(own: dict[str, str]) -> None:
    told(own, "group", "add", "gold")
    silent = tollkeeper(own, "group", "set", "gold", "--multiplier", "0.8")
    assert (silent.returncode, "say why, with --reason" in silent.stderr) == (1, True)
    changed = told(own, "group", "set", "gold", "--multiplier", "0.8", *BECAUSE)
    assert changed == "group gold: a key 60; an account 60; peak 200 %; tokens none; at once none; prices × 0.8\n"
    assert "price ×\t0.800000\n" in told(own, "group", "show", "gold")
    for wrong in ("-1", "dear", "5000"):
        refused = tollkeeper(own, "group", "set", "gold", f"--multiplier={wrong}", *BECAUSE)
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    assert told(own, "group", "remove", "gold", *BECAUSE) == "group gold is removed\n"
    kept = tollkeeper(own, "group", "remove", "standard", *BECAUSE)
    assert (kept.returncode, "Nothing was removed." in kept.stderr) == (1, True)
