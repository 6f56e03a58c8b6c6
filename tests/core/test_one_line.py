"""Names and remarks: what they may hold, and what of any text reaches a terminal."""

import pytest

from tollkeeper.core.one_line import NotOneLine, one_line, shown

TRICKS = ["\x1b[31m", "a\nb", "a\rb", "a\x07", "\x9b2J", "\u202eevil", "\u2066x\u2069", "a\u2028b", "\x00", "\udc80"]


@pytest.mark.parametrize("text", TRICKS, ids=ascii)
def test_what_could_say_something_else_is_no_name(text: str) -> None:
    with pytest.raises(NotOneLine, match=r"^A name is one line of printable characters") as refused:
        one_line(text, "A name")
    assert text not in str(refused.value)


@pytest.mark.parametrize("text", ["", "Acme Ltd.", "Größe", "商店 ①", "שלום", "🙂"])
def test_names_of_every_script_are_names(text: str) -> None:
    assert one_line(text, "A name") == shown(text) == text


@pytest.mark.parametrize("text", TRICKS, ids=ascii)
def test_text_for_a_terminal_has_line_breaks_and_nothing_else_that_acts(text: str) -> None:
    told = shown(text)
    assert len(told) == len(text)
    assert all(character.isprintable() or character == "\n" for character in told)
