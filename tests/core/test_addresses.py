import pytest

from tollkeeper.core.addresses import Address, AddressBook

BOOK = AddressBook(
    {
        Address.MAIN: ["api.example"],
        Address.BACKUP: ["api.example:8443", "backup.example"],
        Address.BILLING: ["[::1]"],
        Address.AGENT: ["One.Agent"],
    }
)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("api.example", Address.MAIN),
        ("API.Example", Address.MAIN),
        ("api.example:80", Address.MAIN),
        ("api.example:8443", Address.BACKUP),
        ("backup.example:1", Address.BACKUP),
        ("[::1]:9", Address.BILLING),
        ("one.agent", Address.AGENT),
        ("evil.example", None),
        ("api.example.evil", None),
        ("", None),
        ("api.example:", None),
        ("api.example:8443x", None),
    ],
)
def test_the_host_names_the_address(host: str, address: Address | None) -> None:
    assert BOOK.find(host) is address


def test_without_host_names_main_answers_to_any_name() -> None:
    book = AddressBook({Address.BILLING: ["billing.example"]})
    assert book.find("whatever:1") is Address.MAIN
    assert book.find("billing.example") is Address.BILLING
