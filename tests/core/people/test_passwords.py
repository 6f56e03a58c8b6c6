import pytest

from tollkeeper.core.people.passwords import COMMON, BadPassword, for_checking, require_good, written


@pytest.mark.parametrize(
    "password",
    ["a" * 9 + "bc", "ten chars!", "пароль из слов", "🐎🔋📎" * 4, " " * 9 + "abc", "x" * 128 + "yz" * 64],
    ids=["letters", "ten", "other scripts", "pictures", "spaces", "256"],
)
def test_length_is_all_that_a_password_needs(password: str) -> None:
    require_good(password, email="ada@example.com")


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short", "has 5 characters; it must have 10 to 256"),
        ("", "has 0 characters"),
        ("🐎" * 9, "has 9 characters"),
        ("ab c" * 64 + "d", "has 257 characters"),
        ("Password123", "first that anybody would try"),
        ("１２３４５６７８９０", "first that anybody would try"),  # noqa: RUF001 (full-width digits)
        ("abababababab", "first that anybody would try"),
        ("Ada@Example.com", "first that anybody would try"),
        ("lone \ud800 surrogate", "no text"),
    ],
)
def test_a_bad_password_is_told_with_what_to_do(password: str, why: str) -> None:
    with pytest.raises(BadPassword, match=why):
        require_good(password, email="ada@example.com")


def test_every_common_one_is_long_enough_to_matter() -> None:
    assert all(len(each) >= 10 and each == each.lower() for each in COMMON)


def test_the_same_characters_from_another_keyboard_are_the_same_password() -> None:
    assert written("cafe\u0301 du monde") == written("caf\u00e9 du monde")


def test_what_can_be_no_password_is_compared_as_nothing() -> None:
    assert for_checking("x" * 257) == for_checking("\ud800" * 10) == ""
    assert for_checking("x" * 256) == "x" * 256
