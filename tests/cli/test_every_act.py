"""What staff can do by a page or the operator API, they can do by a command."""

import re
from pathlib import Path

import pytest

import tollkeeper
from tollkeeper.office.table import ACTS

COMMANDS = [file.read_text() for file in sorted((Path(tollkeeper.__file__).parent / "cli").glob("*.py"))]
# Acts that no command does, and why.
WITHOUT_COMMAND = {
    "show_price_form": "it fills a form in; `model show` tells the same prices",
    "list_settings": "`settings` shows those of the machine where it is typed, without a database",
}


def has_command(name: str) -> bool:
    """Whether a file of commands takes it from the office."""
    return any(re.search(rf"\b{name}\b", text) for text in COMMANDS)


@pytest.mark.parametrize("name", [act.name for act in ACTS])
def test_every_act_has_a_command_or_a_word_on_why_it_has_none(name: str) -> None:
    assert has_command(name) is (name not in WITHOUT_COMMAND)


def test_nothing_is_excused_that_is_no_act() -> None:
    assert set(WITHOUT_COMMAND) <= {act.name for act in ACTS}
