"""Provider accounts on the command line, as an operator types it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.conftest import PROVIDER_KEY, Stores, variables
from tools.node import clean_environment
from tools.services.process import wait_until
from tools.simulator import Simulator

BECAUSE = "its key was refused with 401"


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores)


@pytest.fixture(scope="module")
def provider() -> Iterator[Simulator]:
    with Simulator(key=PROVIDER_KEY) as running:
        yield running


def add(own: dict[str, str], *arguments: str, key: str = PROVIDER_KEY) -> subprocess.CompletedProcess[str]:
    """Without models of its own it serves them all."""
    served = () if "--model" in arguments else ("--all-models",)
    return tollkeeper(own, "provider", "add", *arguments, *served, stdin=f"{key}\n")


def listed(own: dict[str, str]) -> str:
    """What `provider list` shows, without its lines."""
    shown = tollkeeper(own, "provider", "list")
    assert shown.returncode == 0, shown.stderr
    return " ".join(re.sub(r"[┏━┳┓┃┡╇┩│└─┴┘]", " ", shown.stdout).split())


@contextmanager
def at_work(own: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "tollkeeper", "work"], env=clean_environment() | own) as working:
        try:
            yield
        finally:
            working.terminate()


async def suspend(own: dict[str, str]) -> None:
    """As a node does when a key is refused."""
    connection = await asyncpg.connect(
        own["TOLLKEEPER_DATABASE_URL"], server_settings={"role": "tollkeeper_gateway", "search_path": "tollkeeper"}
    )
    await connection.execute("select suspend_provider_account(id, $1) from provider_account", BECAUSE)
    await connection.close()


async def test_an_account_is_added_with_its_place_and_listed(own: dict[str, str]) -> None:
    place = ["--tier", "2", "--weight", "30", "--rpm", "60", "--tpm", "9000", "--concurrency", "4", "--cost", "0.8"]
    for model in ("gpt-4o", "o3"):
        assert tollkeeper(own, "model", "add", model).returncode == 0
    form = ["--vendor", "azure", "--api-version", "2025-03-01-preview", "--rejects", "seed", "--rejects", "user"]
    added = add(own, "first", "https://api.example/v1", *place, *form, "--model", "gpt-4o=mine", "--model", "o3")
    assert added.returncode == 0, added.stderr
    connection = await asyncpg.connect(own["TOLLKEEPER_DATABASE_URL"])
    row = await connection.fetchrow(
        "select models ->> 'gpt-4o', cost_multiplier::text, vendor, api_version, rejects "
        "from tollkeeper.provider_account"
    )
    await connection.close()
    assert tuple(row) == ("mine", "0.800000", "azure", "2025-03-01-preview", ["seed", "user"])
    told = listed(own)
    assert "first 2 30 60 requests/min, 9000" in told
    assert "idle: no calls in 10 min" in told
    assert "0.000" in told


def test_pause_drain_and_resume(own: dict[str, str]) -> None:
    assert add(own, "first", "https://api.example/v1").returncode == 0
    for command, state in {"pause": "paused", "drain": "draining", "resume": "active"}.items():
        acted = ("provider", command, "first", "--reason", "a test")
        assert tollkeeper(own, *acted).stdout == f"provider account first is {state}\n"
        again = tollkeeper(own, *acted).stdout
        assert again == f"provider account first is {state}, as it was before\n"
        assert ("idle" if state == "active" else state) in listed(own)


async def test_an_accepted_key_lifts_the_suspension(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "first", provider.base).returncode == 0
    tested = tollkeeper(own, "provider", "test", "first")
    assert tested.stdout.startswith(f"first: {provider.base}/models answered 200: its key is accepted.\n")
    await suspend(own)
    assert f": {BECAUSE};" in listed(own)
    tested = tollkeeper(own, "provider", "test", "first")
    assert "its key is accepted. It is no longer suspended.\n" in tested.stdout
    assert "suspended" not in listed(own)


@pytest.mark.parametrize("vendor", ["openai", "azure", "anthropic", "gemini"])
def test_a_trial_says_in_words_what_works(own: dict[str, str], provider: Simulator, vendor: str) -> None:
    base = provider.base if vendor == "openai" else provider.base.removesuffix("/v1")
    assert tollkeeper(own, "model", "add", "large").returncode == 0
    assert add(own, "first", base, "--vendor", vendor, "--model", "large=theirs").returncode == 0
    tested = tollkeeper(own, "provider", "test", "first")
    assert tested.returncode == 0, tested.stderr
    _, heading, *findings = tested.stdout.splitlines()
    assert heading == "Small calls of large, at the provider's price:"
    kinds = ["a whole answer", "a streamed answer", "a tool call", "an image", "JSON by a schema"]
    for kind, finding in zip(kinds, findings, strict=True):
        assert re.fullmatch(rf"  ✓ {kind}: works in \d+\.\d s, \d+ tokens in and \d+ out", finding), finding


def test_a_trial_tells_why_something_does_not_work(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "first", provider.base, "--rejects", "tools", "--rejects", "response_format").returncode == 0
    no_model = tollkeeper(own, "provider", "test", "first")
    assert "It serves no chat model of the catalog, so no call was made." in no_model.stdout
    assert no_model.returncode == 0
    tested = tollkeeper(own, "provider", "test", "first", "--model", "large")
    assert "✓ a streamed answer: works" in tested.stdout
    assert "✗ a tool call: The parameter 'tools' cannot be honoured: the provider of this model does" in tested.stdout
    assert "✗ JSON by a schema: The parameter 'response_format' cannot be honoured" in tested.stdout


def test_what_a_trial_found_can_be_set(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "first", provider.base).returncode == 0
    told = tollkeeper(own, "provider", "set", "first", "--rejects", "tools", "--api-version", "2025-01-01")
    assert told.stdout == "provider account first is set\n"
    without = tollkeeper(own, "provider", "test", "first", "--model", "large").stdout
    assert "✗ a tool call: The parameter 'tools' cannot be honoured" in without
    assert tollkeeper(own, "provider", "set", "first", "--rejects", "none").returncode == 0
    assert "✓ a tool call: works" in tollkeeper(own, "provider", "test", "first", "--model", "large").stdout
    unknown = tollkeeper(own, "provider", "set", "nobody", "--rejects", "tools")
    assert (unknown.returncode, "There is no provider account 'nobody'." in unknown.stderr) == (1, True)


def test_an_operator_lets_more_parameters_pass(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "first", provider.base, "--passes", "guided_json", "--passes", "ignore_eos").returncode == 0
    assert "all; passes guided_json, ignore_eos" in listed(own)
    assert tollkeeper(own, "provider", "set", "first", "--passes", "min_words", "--rejects", "seed").returncode == 0
    assert "all; rejects seed; passes min_words" in listed(own)
    assert tollkeeper(own, "provider", "set", "first", "--passes", "none").returncode == 0
    assert "passes" not in listed(own)
    assert add(own, "second", "https://api.example", "--vendor", "anthropic").returncode == 0
    told = tollkeeper(own, "provider", "set", "second", "--passes", "guided_json")
    assert (told.returncode, "cannot pass to anthropic" in told.stderr) == (1, True)


def test_everything_about_an_account_is_set_and_shown(own: dict[str, str]) -> None:
    assert tollkeeper(own, "model", "add", "gpt-4o").returncode == 0
    added = tollkeeper(own, "provider", "add", "first", "https://api.openai.com/v1", stdin="secret\n")
    assert "It serves the models of openai that are in the catalog, now or later." in added.stdout
    assert "all of openai" in listed(own)
    place = ("--tier", "2", "--weight", "7", "--rpm", "60", "--tpm", "none", "--concurrency", "4", "--cost", "0.75")
    assert tollkeeper(own, "provider", "set", "first", *place, "--model", "gpt-4o=mine").returncode == 0
    shown = tollkeeper(own, "provider", "show", "first").stdout
    for line in ("tier\t2", "weight\t7, 100 % of its tier", "limits\t60 requests/min, 4 at once", "models\t1"):
        assert line in shown
    assert "cost\t0.75 of the list price" in shown
    assert "  gpt-4o\tmine" in shown
    assert tollkeeper(own, "provider", "set", "first", "--rpm", "none", "--model", "none").returncode == 0
    again = tollkeeper(own, "provider", "set", "first", "--rpm", "none")
    assert again.stdout == "provider account first is set, as it was before\n"
    assert "limits\t4 at once" in tollkeeper(own, "provider", "show", "first").stdout


def test_another_host_is_asked_for_its_key(own: dict[str, str]) -> None:
    assert add(own, "first", "https://api.example/v1").returncode == 0
    moved = ("provider", "set", "first", "--base-url", "https://other.example/v1")
    refused = tollkeeper(own, *moved)
    assert (refused.returncode, "--with-key" in refused.stderr) == (1, True)
    assert tollkeeper(own, *moved, "--with-key", stdin="another-secret\n").returncode == 0
    assert "address\thttps://other.example/v1" in tollkeeper(own, "provider", "show", "first").stdout


def test_an_account_is_removed_once_it_takes_no_calls(own: dict[str, str]) -> None:
    assert add(own, "first", "https://api.example/v1").returncode == 0
    refused = tollkeeper(own, "provider", "remove", "first", "--reason", "a test")
    assert (refused.returncode, "Pause it or let it drain first" in refused.stderr) == (1, True)
    assert tollkeeper(own, "provider", "drain", "first", "--reason", "a test").returncode == 0
    assert "is removed" in tollkeeper(own, "provider", "remove", "first", "--reason", "a test").stdout
    assert "There is no provider account 'first'." in tollkeeper(own, "provider", "show", "first").stderr
    again = add(own, "first", "https://api.example/v1")
    assert (again.returncode, "Choose another name" in again.stderr) == (1, True)


async def test_a_refused_key_stays_suspended_and_unseen(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "first", provider.base, key="sk-not-the-right-one").returncode == 0
    await suspend(own)
    tested = tollkeeper(own, "provider", "test", "first")
    assert tested.returncode == 1
    assert "answered 401: its key is refused" in tested.stderr
    assert "sk-not" not in tested.stdout + tested.stderr
    assert "suspended since" in listed(own)


async def test_where_models_cannot_be_listed_the_next_call_must_tell(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "lost", f"{provider.base}/elsewhere").returncode == 0
    assert add(own, "away", "http://127.0.0.1:1/v1").returncode == 0
    await suspend(own)
    lost, away = (tollkeeper(own, "provider", "test", name) for name in ("lost", "away"))
    assert (lost.returncode, away.returncode) == (0, 1)
    assert "the next call will tell" in lost.stdout
    assert "could not be asked: unreachable" in away.stderr
    assert listed(own).count("suspended since") == 1


async def test_resuming_lifts_a_suspension(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "stuck", provider.base).returncode == 0
    await suspend(own)
    assert "is lifted" in tollkeeper(own, "provider", "resume", "stuck").stdout
    assert "suspended since" not in listed(own)


async def test_the_worker_tests_what_is_suspended(own: dict[str, str], provider: Simulator) -> None:
    assert add(own, "good", provider.base).returncode == 0
    assert add(own, "bad", provider.base, key="sk-not-the-right-one").returncode == 0
    await suspend(own)
    with at_work(own):
        wait_until(lambda: listed(own).count("suspended since") == 1, lambda: None, 30)
    assert "idle" in listed(own)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["add", "p", "https://api.example/v1", "--vendor", "bedrock"], "'bedrock' is not a vendor: write one of"),
        (["add", "p", "https://api.example/v1", "--rejects", "messages"], "'messages' is not a parameter that an"),
        (["add", "p", "https://api.example/v1", "--passes", "api_base"], "'api_base' is not a parameter that an"),
        (["set", "p", "--passes", "guided_json"], "There is no provider account 'p'."),
        (["add", "p", "https://api.example/v1", "--api-version", "1?x"], "'1?x' is not a version of an interface"),
        (["add", "p", "https://api.example/v1?a=b"], "no query"),
        (["add", "p", "http://api.example/v1"], "--insecure-http"),
        (["add", "p", "https://api.example/v1", "--model", "a=b", "--model", "a"], "'a' was given twice"),
        (["add", "p", "https://api.example/v1"], "Name each with --model, or say --all-models"),
        (["add", "p", "https://api.example/v1", "--model", "gpt"], "There is no model 'gpt' in the catalog."),
        (["set", "p", "--rpm", "many"], "'many' is not a limit"),
        (["add", "p", "https://api.example/v1", "--cost", "-1"], "is not a multiplier"),
        (["add", "Bad Name", "https://api.example/v1"], "A provider account's name has 1 to 64"),
        (["pause", "nobody", "--reason", "a test"], "There is no provider account 'nobody'."),
        (["test", "nobody"], "There is no provider account 'nobody'."),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_mistakes_are_told_in_a_sentence(own: dict[str, str], arguments: list[str], told: str) -> None:
    run = tollkeeper(own, "provider", *arguments, stdin="secret\n")
    assert run.returncode == 1
    assert told in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr
