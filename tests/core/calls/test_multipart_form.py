"""Whatever a caller wrote, a form has the parts that it should have and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multipart import MultipartSegment, PushMultipartParser

from tollkeeper.core.calls.multipart_form import content_type, written

BOUNDARY = "0123456789abcdef"


def parts(body: bytes) -> list[MultipartSegment]:
    with PushMultipartParser(BOUNDARY, strict=True) as parser:
        return [event for event in parser.parse(body) if isinstance(event, MultipartSegment)]


def test_a_form_as_it_goes_out() -> None:
    file = bytearray(b"sound")
    head, content, tail = written([("model", "whisper-1")], file, "a.mp3", "audio/mpeg", BOUNDARY)
    assert content is file
    assert head == (
        b'--0123456789abcdef\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
        b'--0123456789abcdef\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n'
        b"Content-Type: audio/mpeg\r\n\r\n"
    )
    assert tail == b"\r\n--0123456789abcdef--\r\n"
    assert content_type(BOUNDARY) == "multipart/form-data; boundary=0123456789abcdef"


def test_quotes_and_line_breaks_cannot_leave_their_place() -> None:
    bad = 'a"; filename="x"\r\nX-Injected: yes\r\n\r\n\\'
    head, _, _ = written([(bad, "text")], b"", bad, "audio/mpeg", BOUNDARY)
    escaped = b"a%22; filename=%22x%22%0D%0AX-Injected: yes%0D%0A%0D%0A%5C"
    assert head.count(escaped) == 2
    assert b"\r\nX-Injected" not in head


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.just("x"))),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_no_name_adds_a_part_or_a_header(fields: list[tuple[str, str]], filename: str) -> None:
    found = parts(b"".join(written(fields, b"sound", filename, "audio/wav", BOUNDARY)))
    assert len(found) == len(fields) + 1
    assert [len(part.headerlist) for part in found] == [1] * len(fields) + [2]
    assert [part.filename is None for part in found] == [True] * len(fields) + [False]
    assert found[-1].content_type == "audio/wav"


@pytest.mark.parametrize(
    ("media_type", "boundary"),
    [("audio/mpeg\r\nX: y", BOUNDARY), ("audio", BOUNDARY), ("audio/mpeg", "short"), ("audio/mpeg", BOUNDARY + "\r\n")],
)
def test_what_is_not_the_callers_is_checked_too(media_type: str, boundary: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a header"):
        written([], b"", "a.mp3", media_type, boundary)
