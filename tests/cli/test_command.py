"""The decorator of all commands."""

import asyncpg
import pytest
import typer

from tollkeeper.cli.command import command
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.ports import NotOnFile
from tollkeeper.settings import BadSettings
from tollkeeper.storage.postgres.trouble import DatabaseUnfit
from tools.node import fresh_secrets


class Refusal(ValueError):
    """Of one command."""


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (Mistake("'ten' is not a number."), "'ten' is not a number.\n"),
        (NotOnFile("There is no account 77."), "There is no account 77.\n"),
        (Refusal("It is too late."), "It is too late.\n"),
        (BadSettings("PEPPERS is not set."), "The settings cannot be used:\nPEPPERS is not set.\n"),
        (asyncpg.LockNotAvailableError("held"), "Others hold what was to be changed"),
        (asyncpg.UniqueViolationError("twice"), "Nothing was changed: the database refused (twice).\n"),
        (FileNotFoundError("no such folder"), "no such folder.\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_problems_are_told_in_a_sentence(capsys: pytest.CaptureFixture[str], problem: Exception, told: str) -> None:
    @command(Refusal)
    def fail() -> None:
        raise problem

    with pytest.raises(typer.Exit) as ended:
        fail()
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.startswith(told)


def unavailable_by(cause: Exception) -> StoreUnavailable:
    problem = StoreUnavailable()
    problem.__cause__ = cause
    return problem


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (StoreUnavailable(), "The database did not answer. Is it up, and is TOLLKEEPER_DATABASE_URL right?\nIf this"),
        (asyncpg.UndefinedTableError("no table"), "The database books at db.example:5432 has no Tollkeeper schema yet"),
        (unavailable_by(TimeoutError()), "Nobody answered at db.example:5432 in time"),
        (unavailable_by(asyncpg.TooManyConnectionsError("sorry")), "PostgreSQL at db.example:5432 has no connection"),
        (ConnectionRefusedError("nobody there"), "PostgreSQL at db.example:5432 does not answer (nobody there)."),
        (asyncpg.UndefinedObjectError("what?"), "The server at db.example:5432 is too old, or only speaks like"),
        (DatabaseUnfit("It is too old."), "It is too old.\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_trouble_with_the_database_has_an_exit_code_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, problem: Exception, told: str
) -> None:
    url = "postgresql://ada:secret@db.example/books"
    for name, value in (
        fresh_secrets() | {"TOLLKEEPER_DATABASE_URL": url, "TOLLKEEPER_REDIS_URL": "redis://r"}
    ).items():
        monkeypatch.setenv(name, value)

    @command()
    def fail() -> None:
        raise problem

    with pytest.raises(typer.Exit) as ended:
        fail()
    assert ended.value.exit_code == 3
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert "secret" not in said


@pytest.mark.parametrize("interruption", [typer.Abort, KeyboardInterrupt])
def test_ctrl_c_is_130_wherever_it_comes(interruption: type[BaseException]) -> None:
    @command()
    def ask() -> None:
        raise interruption

    with pytest.raises(typer.Exit) as ended:
        ask()
    assert ended.value.exit_code == 130


@pytest.mark.parametrize("problem", [Refusal("of another command"), KeyError("a fault"), BrokenPipeError()])
def test_anything_else_is_raised(problem: Exception) -> None:
    @command()
    def fail() -> None:
        raise problem

    with pytest.raises(type(problem)):
        fail()


def test_a_coroutine_is_run_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    @command()
    async def act(name: str, *, times: int) -> None:
        typer.echo(name * times)

    act("ab", times=2)
    assert capsys.readouterr().out == "abab\n"


def test_problems_of_a_coroutine_are_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    @command()
    async def act() -> None:
        raise Mistake("Nothing was done.")

    with pytest.raises(typer.Exit):
        act()
    assert capsys.readouterr().err == "Nothing was done.\n"
