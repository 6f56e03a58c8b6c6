"""Uploaded forms: however they are cut, the same form or none; and what is sent on reads as what came.

The first line of an input is the header Content-Type, the rest is the body.
"""

from tollkeeper.core.calls.media import Upload, read_transcription
from tollkeeper.core.errors import BadRequest, BodyTooLarge
from tollkeeper.edge.http.upload import UploadReader
from tollkeeper.providers.vendors.media_request import media_request
from tools.fuzz.pieces import as_read, ways_to_cut
from tools.fuzz.target import Grown, Target

SIZE_BYTES_MOST = 1024 * 1024


def check(data: bytes) -> None:
    header, _, body = data.partition(b"\n")
    content_type = header.decode("latin-1")
    whole = _read(content_type, [body])
    for pieces in ways_to_cut(body):
        form = _read(content_type, pieces)
        assert form == whole or ((form is None or whole is None) and _has_bare_line_feeds(body))
    if whole is not None:
        _check_sent(whole)


def _has_bare_line_feeds(body: bytes) -> bool:
    """The parser refuses one in a header only where it comes before the end of its line does."""
    return b"\n" in body.replace(b"\r\n", b"")


def _read(content_type: str, pieces: list[bytes]) -> Upload | None:
    """None where it is refused: which of two faults is told of may depend on which is seen first."""
    try:
        reader = UploadReader(content_type)
        for piece in pieces:
            reader.feed(piece)
        return reader.upload()
    except (BadRequest, BodyTooLarge):
        return None


def _check_sent(upload: Upload) -> None:
    try:
        order = read_transcription(upload)
    except BadRequest:
        return
    _, content_type, body = media_request(order, order.model)
    sent = _read(content_type, [body])
    assert sent is not None
    assert (sent.fields, sent.file) == (upload.fields, upload.file)


def work(data: bytes) -> None:
    header, _, body = data.partition(b"\n")
    _read(header.decode("latin-1"), as_read(body))


def _form(*parts: bytes, boundary: bytes = b"b0undary") -> bytes:
    opened = b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts)
    return b"multipart/form-data; boundary=" + boundary + b"\n" + opened + b"--" + boundary + b"--\r\n"


FILE = b'Content-Disposition: form-data; name="file"; filename="a.mp3"\r\nContent-Type: audio/mpeg\r\n\r\nabc\r\n--def'
MODEL = b'Content-Disposition: form-data; name="model"\r\n\r\nwhisper'
OPEN = b"multipart/form-data; boundary=b\n--b\r\n"

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        _form(FILE, MODEL),
        _form(MODEL, b'Content-Disposition: form-data; name="language"\r\n\r\n\xc3\xa9n', FILE),
        _form(
            b'Content-Disposition: form-data; name="words[]"\r\nContent-Transfer-Encoding: 8bit\r\n\r\nword',
            b'Content-Disposition: form-data; name="words[]"\r\n\r\nsegment',
            MODEL,
            FILE,
        ),
        b'multipart/form-data; charset=utf-8; boundary="a b"\n--a b\r\n' + MODEL + b"\r\n--a b--",
    ),
    words=(b'name="', b'filename="', b"Content-Disposition: form-data; ", b"--b0undary", b"\r\n\r\n", b"boundary="),
    grown=(
        Grown(b"a", OPEN + b'Content-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n', b"\r\n--b--"),
        Grown(b"\r\n--", OPEN + b'Content-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n', b"\r\n--b--"),
        Grown(b"\r\n", OPEN + b'Content-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n', b"\r\n--b--"),
        Grown(b"--b\r\n", OPEN),
        Grown(b"a: b\r\n", OPEN),
        Grown(b'; a="', OPEN + b"Content-Disposition: form-data"),
        Grown(b"\\", OPEN + b'Content-Disposition: form-data; name="'),
        Grown(b"; a=b", b"multipart/form-data", b"\n--b\r\n"),
        Grown(b'"', b"multipart/form-data; boundary=", b"\n--b\r\n"),
    ),
    size_bytes_most=SIZE_BYTES_MOST,
)
