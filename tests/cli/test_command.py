"""The decorator of all commands."""

import asyncpg
import pytest
import typer

from tollkeeper.cli.command import command
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.ports import NotOnFile
from tollkeeper.settings import BadSettings


class Refusal(ValueError):
    """Of one command."""


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (Mistake("'ten' is not a number."), "'ten' is not a number.\n"),
        (NotOnFile("There is no account 77."), "There is no account 77.\n"),
        (Refusal("It is too late."), "It is too late.\n"),
        (BadSettings("PEPPERS is not set."), "The settings cannot be used:\nPEPPERS is not set.\n"),
        (StoreUnavailable(), "The database did not answer. Is it up, and is TOLLKEEPER_DATABASE_URL right?\n"),
        (asyncpg.UndefinedTableError("no table"), "The database has no Tollkeeper schema yet."),
        (asyncpg.LockNotAvailableError("held"), "Others hold what was to be changed"),
        (asyncpg.UniqueViolationError("twice"), "Nothing was changed: the database refused (twice).\n"),
        (ConnectionRefusedError("nobody there"), "nobody there. Is the database up, and is"),
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
