import pytest

from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.people.mails import MailKind, compose, has_link, signed

WITH_TOKEN = {
    MailKind.VERIFY: "/verify",
    MailKind.RESET: "/reset",
    MailKind.EMAIL_CHANGE: "/security/email/confirm",
}
A_PRICE = {
    "model": "gpt-4o (1792x1024 hd)",
    "from": "2026-10-02 00:00:00",
    "old_model": "1.25",
    "new_model": "1.5",
    "old_completion": "4",
    "new_completion": "4",
    "old_cached": "0.5",
    "new_cached": "0.25",
}
FIGURES: dict[MailKind, dict[str, str | int]] = {
    MailKind.PRICE_CHANGE: {**A_PRICE},
    MailKind.PRICE_WITHDRAWN: {**A_PRICE},
    MailKind.LOT_EXPIRING: {"amount": 5 * UNITS_PER_USD + 999, "at": "2026-10-31 12:00"},
    MailKind.LOW_BALANCE: {"amount": -7, "threshold": UNITS_PER_USD},
    MailKind.DAY_SPEND: {"amount": 6 * UNITS_PER_USD, "threshold": 5 * UNITS_PER_USD, "day": "2026-10-31"},
    MailKind.DISPUTE_CREDITED: {"call": "01970000-0000-7000-8000-000000000000"},
    MailKind.DISPUTE_DECLINED: {"call": "01970000-0000-7000-8000-000000000000"},
    MailKind.NEW_SIGN_IN: {"at": "2026-10-31 12:00", "ip": "203.0.113.9"},
    MailKind.DISPUTE_CREDITED: {"call": "0199c0de-0000-7000-8000-00000000abcd"},
    MailKind.DISPUTE_DECLINED: {"call": "0199c0de-0000-7000-8000-00000000abcd"},
}


@pytest.mark.parametrize("kind", MailKind)
def test_a_mail_is_short_and_has_a_link_where_it_needs_one(kind: MailKind) -> None:
    mail = compose(kind, token="TOKEN", console_url="https://console.example/", figures=FIGURES.get(kind))
    assert all(len(line) <= 120 for line in mail.text.splitlines())
    assert mail.text.isascii()
    assert ("You get this mail" if kind in FIGURES else "If it was not you") in mail.text
    link = f"https://console.example{WITH_TOKEN[kind]}?token=TOKEN\n" if kind in WITH_TOKEN else None
    assert (link in mail.text) if link else ("TOKEN" not in mail.text)


def test_mails_with_a_link_are_of_no_use_without_a_console() -> None:
    assert {kind for kind in MailKind if has_link(kind)} == set(WITH_TOKEN)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (MailKind.PRICE_CHANGE, "model       1.25 -> 1.5\n"),
        (MailKind.PRICE_CHANGE, "gpt-4o (1792x1024 hd) has another price from 2026-10-02 00:00:00 UTC on"),
        (MailKind.LOT_EXPIRING, "5.000 USD of your quota expire at 2026-10-31 12:00 UTC"),
        (MailKind.LOW_BALANCE, "0.000 USD are left"),
        (MailKind.LOW_BALANCE, "less than 1.000 USD"),
        (MailKind.DAY_SPEND, "6.000 USD were spent by your calls on 2026-10-31"),
        (MailKind.DAY_SPEND, "from 5.000 USD a day on"),
        (MailKind.NEW_SIGN_IN, "at 2026-10-31 12:00 UTC"),
        (MailKind.NEW_SIGN_IN, "The IP address was 203.0.113.9."),
        (MailKind.DISPUTE_CREDITED, "    0199c0de-0000-7000-8000-00000000abcd\n"),
    ],
)
def test_figures_stand_in_the_mail_and_amounts_are_usd(kind: MailKind, told: str) -> None:
    assert told in compose(kind, token=None, console_url="", figures=FIGURES[kind]).text


def test_a_price_change_tells_usd_before_multipliers() -> None:
    told = "    a million input tokens: 2.500 -> 3.000\n"
    text = compose(MailKind.PRICE_CHANGE, token=None, console_url="", figures=A_PRICE | {"usd": told}).text
    assert f"UTC on.\n\nWhat it costs you in USD, until then and from then on:\n\n{told}\nIts multipliers" in text


def test_a_price_change_of_a_model_that_is_not_known_any_more_has_multipliers_alone() -> None:
    text = compose(MailKind.PRICE_CHANGE, token=None, console_url="", figures=A_PRICE | {"usd": ""}).text
    assert "USD" not in text
    assert "UTC on.\n\nIts multipliers in the price book" in text


def test_a_price_change_tells_every_part_before_and_after() -> None:
    parts = {
        "old_parts": '{"written_5m": 1250000, "tiers": [{"above_tokens": 200000, "model": 2500000}]}',
        "new_parts": '{"written_5m": 1500000, "per_call": 5000000000, "tools": {"web_search": 0}}',
    }
    text = compose(MailKind.PRICE_CHANGE, token=None, console_url="", figures=A_PRICE | parts).text
    assert (
        "    cached      0.5 -> 0.25\n"
        "    written for 5 minutes: 1.25 -> 1.5\n"
        "    above 200,000 input tokens: model 2.5 -> not set\n"
        "    each call: not set -> 5000 quota tokens\n"
        "    each use of web_search: not set -> 0 quota tokens\n"
        "\nCalls that begin before"
    ) in text


@pytest.mark.parametrize("parts", [{}, {"old_parts": "", "new_parts": ""}], ids=["an earlier version's", "none"])
def test_a_change_of_a_price_without_parts_reads_as_it_did(parts: dict[str, str]) -> None:
    text = compose(MailKind.PRICE_CHANGE, token=None, console_url="", figures=A_PRICE | parts).text
    assert "    cached      0.5 -> 0.25\n\nCalls that begin before" in text


def test_the_operators_name_and_support_stand_below_a_mail_where_they_are_known() -> None:
    mail = compose(MailKind.PASSWORD_CHANGED, token=None, console_url="")
    assert signed(mail, name="", support="") == mail
    assert signed(mail, name="Ada Models", support="help@example.com").text == (
        mail.text + "\n-- \nAda Models\nhelp@example.com\n"
    )
