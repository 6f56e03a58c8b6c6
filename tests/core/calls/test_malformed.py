"""Where a body is not JSON."""

import pytest

from tollkeeper.core.calls.malformed import LOOKED_AT_BYTES_MOST, malformed
from tollkeeper.core.errors import MalformedBody


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"model": "m",\n "messages": }', "expecting value at line 2, column 14."),
        (b'{"model": "\xc3\xa9", "n": 01}', "expecting ',' delimiter at line 1, column 22."),
        (b'{"model": {"deep": nul}}', "expecting value at line 1, column 20."),
        (b'{"model": "m"', "expecting ',' delimiter at line 1, column 14."),
        (b"", "expecting value at line 1, column 1."),
        (b'{"a": 1}\n{}', "extra data at line 2, column 1."),
        (b'{"a":\n "\xff"}', "a byte that is not UTF-8 at line 2, column 3."),
        (b'{"a": "\x01"}', "invalid control character at line 1, column 8."),
    ],
)
def test_the_place_is_told_by_line_and_column(body: bytes, told: str) -> None:
    assert told in malformed(body).message


@pytest.mark.parametrize(
    "body",
    [b"[1]", b'{"a": 1}', b"[" * 5_000, b"1" * 5_000, b'{"a": "' + b"x" * LOOKED_AT_BYTES_MOST],
    ids=["list", "object", "deep", "long number", "long"],
)
def test_what_is_json_or_too_long_or_too_odd_has_no_place(body: bytes) -> None:
    assert malformed(body).message == MalformedBody().message


def test_nothing_of_the_body_is_quoted() -> None:
    assert "secret" not in malformed(b'{"secret": secret}').message
