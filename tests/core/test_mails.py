import pytest

from tollkeeper.core.mails import MailKind, compose

WITH_TOKEN = {MailKind.VERIFY: "/verify", MailKind.RESET: "/reset"}


@pytest.mark.parametrize("kind", MailKind)
def test_a_mail_is_short_and_has_a_link_where_it_needs_one(kind: MailKind) -> None:
    mail = compose(kind, token="TOKEN", console_url="https://console.example/")
    assert all(len(line) <= 120 for line in mail.text.splitlines())
    assert mail.text.isascii()
    assert "If it was not you" in mail.text
    link = f"https://console.example{WITH_TOKEN[kind]}#token=TOKEN\n" if kind in WITH_TOKEN else None
    assert (link in mail.text) if link else ("TOKEN" not in mail.text)


@pytest.mark.parametrize("kind", WITH_TOKEN)
def test_without_a_console_the_token_stands_by_itself(kind: MailKind) -> None:
    assert "\nCode: TOKEN\n" in compose(kind, token="TOKEN", console_url="").text
