"""The page of threats names tests and proofs that exist, and every test of an attack."""

import re
from pathlib import Path

from proofs import names

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "guides" / "threats.md"
LINKS = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())


def linked() -> set[Path]:
    return {(PAGE.parent / link).resolve() for link in LINKS}


def test_everything_that_the_page_links_to_exists() -> None:
    assert LINKS
    assert [path for path in linked() if not path.exists()] == []


def test_every_test_of_an_attack_is_on_the_page() -> None:
    assert set((PROJECT / "tests" / "attacks").glob("test_*.py")) - linked() == set()


def test_every_proof_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`prove-([a-z]+)`", PAGE.read_text()))
    assert named
    assert named <= set(names())


def test_every_row_says_what_shows_it() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "shown by" not in line]
    assert all(re.search(r"\]\(|`prove-", row.split(" | ")[-1]) for row in rows)
