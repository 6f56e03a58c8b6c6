"""What staff type when they look for a customer."""

import pytest

from tollkeeper.accounts.people.search import NOBODY, read_search
from tollkeeper.ports.customers.roster import AccountSearch

KEY = "sk-a" + "0" * 44 + "9fQx"


def test_nothing_is_everybody() -> None:
    assert read_search("  ") == AccountSearch()
    assert read_search("  ").is_open


@pytest.mark.parametrize("text", ["…", "'", "\u202e"])
def test_a_text_that_nothing_fits_is_nobody(text: str) -> None:
    search = read_search(text)
    assert (search.number, search.is_open) == (NOBODY, False)


def test_words_are_letters_and_digits_alone() -> None:
    """They become part of a query of their own language."""
    assert read_search("O'Hara & Söhne | !x:*").words == ["O", "Hara", "Söhne", "x"]


@pytest.mark.parametrize("text", [KEY, "sk-a…9fQx", "sk-a...9fQx", "sk-a..9fQx"])
def test_a_key_is_looked_for_by_its_hint_and_its_text_goes_no_further(text: str) -> None:
    search = read_search(text)
    assert (search.hint_start, search.hint_end) == ("sk-a", "9fQx")
    assert "0000" not in repr(search)


@pytest.mark.parametrize(
    ("text", "number", "hint_end"), [("4711", 4711, "4711"), ("17", 17, None), ("9" * 19, NOBODY, None)]
)
def test_digits_are_a_number_and_may_be_the_end_of_a_key(text: str, number: int, hint_end: str | None) -> None:
    search = read_search(text)
    assert (search.number, search.hint_end) == (number, hint_end)


def test_an_email_is_looked_for_in_small_letters_and_never_with_spaces() -> None:
    assert read_search(" Ada@People").email_start == "ada@people"
    assert read_search("ada lovelace").email_start is None
    assert read_search("söhne@x").email_start is None
