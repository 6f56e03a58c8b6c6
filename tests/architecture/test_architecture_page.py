"""ARCHITECTURE.md: its picture has every table, and the modules that it names exist."""

import re
from pathlib import Path

from tollkeeper.core.money.charge import CHARGED, Charged, Ending

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "ARCHITECTURE.md").read_text()
SOURCE = PROJECT / "src" / "tollkeeper"
FLOORS = sorted(folder.name for folder in SOURCE.iterdir() if folder.is_dir() and folder.name != "__pycache__")

CREATED = re.compile(r"^create table (\w+)", re.MULTILINE)
PARTITION_OR_TEMPORARY = re.compile(
    r"^create (?:temporary )?table (\w+)(?: partition of|.*\bon commit drop)", re.MULTILINE
)
DRAWN = re.compile(r"^    (\w+) [|}][|o]--[|o][|{] (\w+) :", re.MULTILINE)
NAMED = re.compile(rf"(?<![\w./-])((?:{'|'.join(FLOORS)})(?:/\w+)+)")
# A row of the table of endings, with the lines that continue it.
ENDING = re.compile(rf"^    (?P<ending>{'|'.join(Ending)}) (?P<rest>.*(?:\n {{21}}.*)*)", re.MULTILINE)


def test_the_picture_of_the_tables_has_every_table() -> None:
    migrations = "\n".join(
        file.read_text() for file in (SOURCE / "storage" / "postgres" / "migrations" / "versions").glob("*.sql")
    )
    tables = set(CREATED.findall(migrations)) - set(PARTITION_OR_TEMPORARY.findall(migrations))
    drawn = {name for pair in DRAWN.findall(PAGE) for name in pair}
    assert drawn == tables


def test_the_modules_that_are_named_exist() -> None:
    named = set(NAMED.findall(PAGE))
    assert len(named) > 30
    assert [name for name in named if not (SOURCE / name).is_dir() and not (SOURCE / f"{name}.py").is_file()] == []


def test_every_ending_is_told_with_what_is_charged() -> None:
    rows = {found["ending"]: found["rest"] for found in ENDING.finditer(PAGE)}
    assert rows.keys() == set(Ending)
    assert {ending for ending in Ending if re.search(r"at most\s+what is held", rows[ending])} == {
        ending for ending, charged in CHARGED.items() if charged is Charged.AT_MOST_WHAT_IS_HELD
    }
