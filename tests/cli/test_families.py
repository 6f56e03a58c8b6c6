"""What the command line says of its commands before it has loaded them."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from tests.command_line import tollkeeper
from tollkeeper import __version__
from tollkeeper.cli.families import FAMILIES, loaded

COMMAND_FILE = Path("cli", "command.py")


def commands_in(found: Any) -> Iterator[Any]:
    if isinstance(found, TyperGroup):
        for command in found.commands.values():
            yield from commands_in(command)
    else:
        yield found


@pytest.mark.parametrize("name", FAMILIES)
def test_the_words_of_the_list_are_the_familys_own(name: str) -> None:
    assert " ".join(loaded(name).help.split()) == FAMILIES[name][1]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_command_is_run_by_the_decorator_that_tells_problems_in_a_sentence(name: str) -> None:
    for command in commands_in(loaded(name)):
        # Typer wraps what was registered.
        registered = inspect.unwrap(command.callback, stop=_is_of_the_decorator)
        assert _is_of_the_decorator(registered), command.name


def _is_of_the_decorator(function: Any) -> bool:
    return Path(function.__code__.co_filename).parts[-2:] == COMMAND_FILE.parts


@pytest.mark.parametrize("asked", [["--help"], ["-h"]])
def test_help_lists_every_command_in_order(asked: list[str]) -> None:
    shown = tollkeeper({}, *asked)
    listed = re.findall(r"│ ([a-z-]+) +([^│]+?) +│", shown.stdout.partition("Commands")[2])
    told = {name: words for name, (_, words) in FAMILIES.items()}
    assert dict(listed) == {"version": "Say which version this is."} | told
    assert [name for name, _ in listed] == ["version", *FAMILIES]
    assert shown.returncode == 0


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_the_version_is_said(asked: str) -> None:
    assert tollkeeper({}, asked).stdout == f"{__version__}\n"


@pytest.mark.parametrize("asked", [["account", "-h"], ["account", "create", "-h"]])
def test_a_familys_own_help_is_there_too(asked: list[str]) -> None:
    shown = tollkeeper({}, *asked)
    assert shown.returncode == 0
    assert "Open an account." in shown.stdout


def test_a_slip_is_told_with_what_may_have_been_meant() -> None:
    done = tollkeeper({}, "provder")
    assert done.returncode == 2
    assert "No such command 'provder'. Did you mean 'provider'?" in done.stderr
