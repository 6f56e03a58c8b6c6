"""Codes: their form, and how they are read from what people type."""

import re
import secrets

import pytest

from tollkeeper.core.money.codes import ALPHABET, CHANCE_LENGTH, code_digest, invite_link, mint_code, read_gift_code

CODE = "TK-2345-6789-ABCD-EFGH-JKLM-NPQR-STUV"


def test_a_code_has_at_least_128_bits_of_chance_and_no_look_alikes() -> None:
    assert len(set(ALPHABET)) == 32
    assert CHANCE_LENGTH * 5 >= 128
    assert not set("01IO") & set(ALPHABET)
    code = mint_code(secrets.choice)
    assert re.fullmatch(rf"TK(-[{ALPHABET}]{{4}}){{7}}", code)


def test_every_place_of_a_code_is_left_to_chance() -> None:
    codes = [mint_code(secrets.choice) for _ in range(400)]
    assert len(set(codes)) == 400
    assert all(len({code[place] for code in codes}) > 20 for place in range(3, len(CODE)) if CODE[place] != "-")


@pytest.mark.parametrize(
    "typed",
    [
        CODE.lower(),
        f"  {CODE}\n",
        CODE.replace("-", ""),
        CODE.replace("-", " "),
        CODE.replace("-", "–"),
        CODE.replace("-", "\u2011"),
        CODE.removeprefix("TK-"),
        CODE.removeprefix("TK-").replace("-", ""),
        CODE.replace("L", "1"),
        CODE.replace("L", "I"),
        CODE.replace("L", "l"),
        CODE.replace("-", "\u00a0-\u200b"),
        "".join(chr(ord(character) + 0xFEE0) if character != "-" else "-" for character in CODE),  # full width
    ],
)
def test_what_people_type_is_read_as_the_code_it_is(typed: str) -> None:
    assert code_digest(typed) == code_digest(CODE)


@pytest.mark.parametrize(
    "typed", ["", "TK-", CODE[:-1], CODE + "2", "2" + CODE, CODE[::-1], "x" * 10**6, "\0", "\ud800"]
)
def test_anything_else_has_another_digest(typed: str) -> None:
    assert len(code_digest(typed)) == 32
    assert code_digest(typed) != code_digest(CODE)


def test_a_code_that_begins_with_the_prefix_is_not_cut_twice() -> None:
    code = "TK-TK22-2222-2222-2222-2222-2222-2222"
    assert code_digest(code) == code_digest(code.removeprefix("TK-")) != code_digest(code.removeprefix("TK-TK"))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (None, None),
        ("", None),
        (" \n", None),
        ("AB2C3", "AB2C3"),
        (" ab2-c3 ", "AB2C3"),
        ("1B2C3", "LB2C3"),
        ("https://console.example/i/AB2C3", "AB2C3"),
        ("https://console.example/i/ab2c3/ ", "AB2C3"),
        ("AB2C", ""),
        ("AB2C33", ""),
        ("AB2C0", ""),
        ("AB2CÄ", ""),
        ("\0\0\0\0\0", ""),
        ("/", ""),
        ("'; --", ""),
    ],
)
def test_a_gift_code_is_read_or_is_none(typed: str | None, read: str | None) -> None:
    assert read_gift_code(typed) == read


@pytest.mark.rule("S10.2")
@pytest.mark.parametrize("console_url", ["https://console.example", "https://console.example/", "http://a.example/b"])
def test_an_invite_link_ends_in_the_gift_code(console_url: str) -> None:
    link = invite_link(console_url, "AB2C3")
    assert link[-5:] == "AB2C3"
    assert link.startswith(console_url)
    assert read_gift_code(link) == "AB2C3"
