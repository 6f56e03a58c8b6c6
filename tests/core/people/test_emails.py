import pytest

from tollkeeper.core.people.emails import NotAnEmail, canonical


@pytest.mark.parametrize(
    ("text", "email"),
    [
        ("ada@example.com", "ada@example.com"),
        ("  Ada.L+spam@Example.COM\n", "ada.l+spam@example.com"),
        ("a_b-c.d!e@example.com", "a_b-c.d!e@example.com"),
        ("o'neil@sub.example.co.uk", "o'neil@sub.example.co.uk"),
        ("x@xn--bcher-kva.example", "x@xn--bcher-kva.example"),
    ],
)
def test_an_email_has_one_form(text: str, email: str) -> None:
    assert canonical(text) == email


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "@example.com",
        "ada@",
        "ada@localhost",
        "ada@exa mple.com",
        "ada@example.com, eve@example.com",
        "ada@example.com\nBcc: eve@example.com",
        "<ada@example.com>",
        "ada@@example.com",
        "ada@-example.com",
        ".ada@example.com",
        "ada.@example.com",
        "ada..l@example.com",
        "=?utf-8?q?eve=40evil.example=3e?=@example.com",
        "ada=@example.com",
        "ada?@example.com",
        "ada@example..com",
        "a" * 65 + "@example.com",
        "ada@" + ".".join(["a" * 60] * 5),
        "ad\u0131@example.com",
        "\u212aate@example.com",
        "ada@ex\u00e4mple.com",
        "ada\x00@example.com",
    ],
)
def test_what_we_could_not_write_to_is_no_email(text: str) -> None:
    with pytest.raises(NotAnEmail):
        canonical(text)
