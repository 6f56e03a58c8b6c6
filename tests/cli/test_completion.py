"""What shells are told to complete, by Typer's own protocol."""

import pytest

from tests.command_line import tollkeeper
from tollkeeper.cli.families import FAMILIES


def completed(shell: str, *words: str) -> list[str]:
    typed = {"COMP_WORDS": " ".join(("tollkeeper", *words)), "COMP_CWORD": str(len(words))}
    typed |= {"_TYPER_COMPLETE_ARGS": typed["COMP_WORDS"], "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return tollkeeper({"_TOLLKEEPER_COMPLETE": f"complete_{shell}"} | typed).stdout.splitlines()


def test_commands_are_completed() -> None:
    assert completed("bash", "pro") == ["provider"]
    assert set(completed("bash", "")) == {"version", *FAMILIES}


def test_the_commands_of_a_family_are_completed() -> None:
    assert completed("bash", "provider", "l") == ["list"]


def test_options_are_completed() -> None:
    assert "--json" in completed("bash", "provider", "list", "--")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_what_it_is_for_as_well(shell: str) -> None:
    told = "\n".join(completed(shell, "pro"))
    assert "provider" in told
    assert "credentials at upstream" in told


@pytest.mark.not_quick
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_needs_is_printed(shell: str) -> None:
    assert "_TOLLKEEPER_COMPLETE" in tollkeeper({"_TOLLKEEPER_COMPLETE": f"source_{shell}"}).stdout
