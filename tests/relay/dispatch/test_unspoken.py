"""Accounts without an address for a dialect: told from those without a model, and remembered by their address."""

import msgspec
import pytest

from tests.providers.vendors.builders import an_account
from tollkeeper.core.calls.native import Dialect
from tollkeeper.relay.dispatch.unspoken import UnspokenDialects, is_about_the_address


@pytest.mark.parametrize(
    ("status", "body", "is_about"),
    [
        (404, b'{"error":{"message":"Invalid URL (POST /v1/responses)","code":"unknown_url"}}', True),
        (404, b"<html>Not Found</html>", True),
        (405, b'{"detail":"Method Not Allowed"}', True),
        (501, b"", True),
        (404, b'{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}', False),
        (404, b'{"error":{"message":"No such model","param":"model","code":null}}', False),
        (400, b"{}", False),
        (500, b"{}", False),
    ],
)
def test_no_address_is_told_from_no_model(status: int, body: bytes, is_about: bool) -> None:
    assert is_about_the_address(status, body) is is_about


def test_an_account_that_moves_is_asked_again() -> None:
    unspoken, account = UnspokenDialects(), an_account()
    assert not unspoken.has(account, Dialect.RESPONSES)
    unspoken.note(account, Dialect.RESPONSES)
    assert unspoken.has(account, Dialect.RESPONSES)
    assert not unspoken.has(account, Dialect.MESSAGES)
    assert not unspoken.has(msgspec.structs.replace(account, id=2), Dialect.RESPONSES)
    assert not unspoken.has(msgspec.structs.replace(account, base_url="https://new.test"), Dialect.RESPONSES)
