import pytest

from tollkeeper.core.mails import MailKind, compose
from tollkeeper.core.money import UNITS_PER_USD

WITH_TOKEN = {MailKind.VERIFY: "/verify", MailKind.RESET: "/reset"}
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
}


@pytest.mark.parametrize("kind", MailKind)
def test_a_mail_is_short_and_has_a_link_where_it_needs_one(kind: MailKind) -> None:
    mail = compose(kind, token="TOKEN", console_url="https://console.example/", figures=FIGURES.get(kind))
    assert all(len(line) <= 120 for line in mail.text.splitlines())
    assert mail.text.isascii()
    assert ("You get this mail" if kind in FIGURES else "If it was not you") in mail.text
    link = f"https://console.example{WITH_TOKEN[kind]}#token=TOKEN\n" if kind in WITH_TOKEN else None
    assert (link in mail.text) if link else ("TOKEN" not in mail.text)


@pytest.mark.parametrize("kind", WITH_TOKEN)
def test_without_a_console_the_token_stands_by_itself(kind: MailKind) -> None:
    assert "\nCode: TOKEN\n" in compose(kind, token="TOKEN", console_url="").text


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (MailKind.PRICE_CHANGE, "model       1.25 -> 1.5\n"),
        (MailKind.PRICE_CHANGE, "gpt-4o (1792x1024 hd) has another price from 2026-10-02 00:00:00 UTC on"),
        (MailKind.LOT_EXPIRING, "5.000 USD of your quota expire at 2026-10-31 12:00 UTC"),
        (MailKind.LOW_BALANCE, "0.000 USD are left"),
        (MailKind.LOW_BALANCE, "less than 1.000 USD"),
    ],
)
def test_figures_stand_in_the_mail_and_amounts_are_usd(kind: MailKind, told: str) -> None:
    assert told in compose(kind, token=None, console_url="", figures=FIGURES[kind]).text
