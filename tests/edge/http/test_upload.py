"""Uploads are read as they arrive, within their bounds. No server is needed: a body is its pieces."""

import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edge.http.test_body import a_reader, an_exchange
from tollkeeper.core.calls.media import Upload
from tollkeeper.core.calls.multipart_form import content_type, written
from tollkeeper.core.errors import (
    BodyTooLarge,
    GatewayError,
    InvalidParameter,
    MalformedBody,
    MissingParameter,
    TooMuchInReading,
)
from tollkeeper.edge.http.body import FREE_BYTES
from tollkeeper.edge.http.upload import FILE_BYTES_MOST, UPLOAD_BYTES_MOST, UploadReader, read_upload

BOUNDARY = "a-boundary-nobody-guesses"
MODEL = ("model", "whisper-1")
PIECE_BYTES = 64 * 1024


def a_part(disposition: str, content: bytes = b"x", *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in (f"Content-Disposition: form-data; {disposition}", *headers))
    return f"--{BOUNDARY}\r\n{lines}\r\n".encode() + content + b"\r\n"


FILE_PART = a_part('name="file"; filename="a.mp3"', b"sound")
MODEL_PART = a_part('name="model"', b"whisper-1")
END = f"--{BOUNDARY}--\r\n".encode()


def a_form(*parts: bytes) -> bytes:
    return b"".join((*parts, FILE_PART, MODEL_PART, END))


def pieces(body: bytes, size: int = PIECE_BYTES) -> Iterable[bytes]:
    return (body[at : at + size] for at in range(0, len(body), size))


def read(body: bytes, *, size: int = PIECE_BYTES, kind: str = content_type(BOUNDARY)) -> Upload:
    reader = UploadReader(kind)
    for piece in pieces(body, size):
        reader.feed(piece)
    return reader.upload()


def test_a_form_is_read() -> None:
    upload = read(a_form(a_part('name="language"', "日本語".encode())))
    assert upload == Upload(fields=(("language", "日本語"), MODEL), file=bytearray(b"sound"), filename="a.mp3")
    assert upload.value("model") == "whisper-1"
    assert upload.value("prompt") is None


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 1000])
def test_it_does_not_matter_how_a_form_is_cut(size: int) -> None:
    body = a_form(a_part('name="prompt"', b"\r\n--" + BOUNDARY[:-1].encode() + b"\r\n\r\n--\r"))
    assert read(body, size=size) == read(body)


@pytest.mark.parametrize("size", [PIECE_BYTES, 1])
def test_a_line_may_end_before_the_first_boundary(size: int) -> None:
    assert read(b"\r\n" + a_form(), size=size) == read(a_form())


def test_names_of_lists_may_come_again() -> None:
    word, segment = (a_part('name="timestamp_granularities[]"', value) for value in (b"word", b"segment"))
    assert read(a_form(word, segment)).fields[:2] == (
        ("timestamp_granularities[]", "word"),
        ("timestamp_granularities[]", "segment"),
    )


def test_what_follows_the_closing_boundary_means_nothing() -> None:
    body = a_form() + b"whatever\r\n" + FILE_PART
    assert read(body) == read(body, size=1) == read(a_form())


@pytest.mark.parametrize(
    "headers",
    [("Content-Type: text/plain; charset=UTF-8",), ("Content-Transfer-Encoding: 8bit", "Content-Type: text/plain")],
)
def test_plain_parts_may_say_that_they_are_plain(headers: tuple[str, ...]) -> None:
    assert read(a_form(a_part('name="prompt"', "ä".encode(), *headers))).value("prompt") == "ä"


BROKEN_FORMS: dict[str, tuple[bytes, type[GatewayError], str | None]] = {
    "no file": (MODEL_PART + END, MissingParameter, "file"),
    "no model": (FILE_PART + END, MissingParameter, "model"),
    "a model in capitals": (FILE_PART + MODEL_PART.replace(b"model", b"Model") + END, MissingParameter, "model"),
    "no part": (END, MalformedBody, None),
    "nothing": (b"", MalformedBody, None),
    "no end": (FILE_PART + MODEL_PART, MalformedBody, None),
    "cut in the end": (a_form()[:-5], MalformedBody, None),
    "cut in the file": (FILE_PART[:-4], MalformedBody, None),
    "cut in a header": (FILE_PART[:60], MalformedBody, None),
    "another boundary": (a_form().replace(BOUNDARY.encode(), b"another"), MalformedBody, None),
    "bare line feeds": (a_form().replace(b"\r\n", b"\n"), MalformedBody, None),
    "a preamble": (b"x" * 5000 + a_form(), MalformedBody, None),
    "two files": (a_form(FILE_PART), InvalidParameter, "file"),
    "a field twice": (a_form(MODEL_PART), InvalidParameter, "model"),
    "a field twice, in capitals": (a_form(a_part('name="MODEL"')), InvalidParameter, "model"),
    "a file for a text": (a_form(a_part('name="prompt"; filename="p.txt"')), InvalidParameter, "prompt"),
    "a text for the file": (a_part('name="file"') + MODEL_PART + END, InvalidParameter, "file"),
    "an empty file name": (a_part('name="file"; filename=""') + END, InvalidParameter, "file"),
    "a folder": (a_part('name="file"; filename="../a.mp3"') + END, InvalidParameter, "file"),
    "a folder of Windows": (a_part('name="file"; filename="up\\a.mp3"') + END, InvalidParameter, "file"),
    "a line break in a file name": (a_part('name="file"; filename="a%0D%0Ab.mp3"') + END, InvalidParameter, "file"),
    "a NUL in a file name": (a_part('name="file"; filename="a\0.mp3"') + END, InvalidParameter, "file"),
    "a long name": (a_form(a_part(f'name="{"n" * 65}"')), MalformedBody, None),
    "no name": (a_form(a_part("x=y")), MalformedBody, None),
    "an empty name": (a_form(a_part('name=""')), MalformedBody, None),
    "a line break in a name": (a_form(a_part('name="a%0Ab"')), MalformedBody, None),
    "a backslash in a name": (a_form(a_part('name="a\\b"')), MalformedBody, None),
    "a long field": (a_form(a_part('name="prompt"', b"x" * 8193)), InvalidParameter, "prompt"),
    "bytes in a field": (a_form(a_part('name="prompt"', b"\xff\xfe")), InvalidParameter, "prompt"),
    "a NUL in a field": (a_form(a_part('name="prompt"', b"a\0b")), InvalidParameter, "prompt"),
    "latin-1": (a_form(a_part('name="p"', b"x", "Content-Type: text/plain; charset=latin-1")), MalformedBody, None),
    "base64": (a_form(a_part('name="p"', b"eA==", "Content-Transfer-Encoding: base64")), MalformedBody, None),
    "gzip": (a_form(a_part('name="p"', b"x", "Content-Encoding: gzip")), MalformedBody, None),
    "a header twice": (
        a_form(a_part('name="p"', b"x", 'Content-Disposition: form-data; name="q"')),
        MalformedBody,
        None,
    ),
    "a folded header": (a_form(a_part('name="p"', b"x", "X-More: a", " b")), MalformedBody, None),
    "a long header": (a_form(a_part('name="p"', b"x", f"X-More: {'x' * 5000}")), MalformedBody, None),
    "long headers": (a_form(a_part('name="p"', b"x", *(f"X-{n}: {'x' * 900}" for n in range(5)))), MalformedBody, None),
    "many headers": (a_form(a_part('name="p"', b"x", *(f"X-{n}: x" for n in range(9)))), MalformedBody, None),
    "33 parts": (a_form(*(a_part(f'name="p{n}"') for n in range(31))), MalformedBody, None),
    "words before the first boundary": (b"once\r\n" + a_form(), MalformedBody, None),
    "empty lines before the first boundary": (b"\r\n\r\n" + a_form(), MalformedBody, None),
    "less than a boundary": (a_form()[:9], MalformedBody, None),
    "nested": (a_form().replace(b"form-data", b"attachment"), MalformedBody, None),
}


@pytest.mark.parametrize("size", [PIECE_BYTES, 1])
@pytest.mark.parametrize(("body", "refusal", "param"), BROKEN_FORMS.values(), ids=BROKEN_FORMS.keys())
def test_what_is_broken_is_refused(body: bytes, refusal: type[GatewayError], param: str | None, size: int) -> None:
    with pytest.raises(refusal) as refused:
        read(body, size=size)
    assert refused.value.status == 400
    assert refused.value.param == param


def test_bounds_themselves_are_allowed() -> None:
    name, most = "n" * 64, 'name="p{}"'
    assert read(a_form(a_part(f'name="{name}"', b"x" * 8192))).value(name) == "x" * 8192
    assert len(read(a_form(*(a_part(most.format(number)) for number in range(30)))).fields) == 31


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "",
        "application/json",
        "multipart/form-data",
        "multipart/mixed; boundary=abc",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary="a\\"b"',
        "multipart/form-data; boundary=" + "b" * 71,
        'multipart/form-data; boundary="ends in a space "',
        'multipart/form-data; boundary="a@b"',
    ],
)
def test_only_forms_with_a_boundary_are_taken(kind: str | None) -> None:
    with pytest.raises(MalformedBody):
        UploadReader(kind)


@pytest.mark.parametrize(
    "boundary", ["x", "b" * 70, "----WebKitFormBoundaryzuW5nPZQFQCwQtg4", '"with space"', "'()+_,-./:=?"]
)
def test_boundaries_are_those_of_the_rfc(boundary: str) -> None:
    quoted = boundary if boundary.startswith('"') else f'"{boundary}"'
    body = a_form().replace(BOUNDARY.encode(), quoted.strip('"').encode())
    assert read(body, kind=f"multipart/form-data; boundary={quoted}").filename == "a.mp3"


def a_large_form(size_bytes: int) -> bytes:
    return a_part('name="file"; filename="a.wav"', bytes(size_bytes)) + MODEL_PART + END


@pytest.mark.not_quick
def test_a_file_of_25_mb_is_taken_and_one_byte_more_is_not() -> None:
    assert len(read(a_large_form(FILE_BYTES_MOST)).file) == 25 * 1024 * 1024
    with pytest.raises(BodyTooLarge):
        read(a_large_form(FILE_BYTES_MOST + 1))


def test_the_first_byte_too_many_ends_the_reading() -> None:
    reader = UploadReader(content_type(BOUNDARY))
    reader.feed(a_part('name="file"; filename="a.wav"', bytes(FILE_BYTES_MOST))[:-2])
    with pytest.raises(BodyTooLarge):
        reader.feed(b"x")


async def test_bytes_of_an_upload_are_in_hand_until_it_is_let_go() -> None:
    form = a_large_form(FREE_BYTES + 100)
    counted = len(form) - FREE_BYTES
    reader = a_reader(reading_bytes_most=counted)
    body = reader.kept(an_exchange(pieces(form, 1_000)), limit_bytes=UPLOAD_BYTES_MOST)
    assert await read_upload(body, content_type(BOUNDARY)) == read(form)
    reader.add(1, ())
    assert reader.is_too_much(())
    body.let_go()
    reader.add(counted - 1, ())
    assert not reader.is_too_much(())


async def test_a_refused_upload_is_let_go_as_well() -> None:
    reader = a_reader(reading_bytes_most=100)
    body = reader.kept(an_exchange([b"--wrong\r\n" * FREE_BYTES]), limit_bytes=UPLOAD_BYTES_MOST)
    with pytest.raises(TooMuchInReading):
        await read_upload(body, content_type(BOUNDARY))
    body.let_go()
    reader.add(100, ())
    assert not reader.is_too_much(())


async def test_an_announced_length_is_refused_before_anything_is_read() -> None:
    length = str(UPLOAD_BYTES_MOST + 1).encode()
    body = a_reader().kept(an_exchange([], [(b"content-length", length)], ends=False), limit_bytes=UPLOAD_BYTES_MOST)
    with pytest.raises(BodyTooLarge):
        await read_upload(body, content_type(BOUNDARY))


DASHES = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'.encode()
BOMBS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "100,000 parts": (b"".join(a_part(f'name="p{number}"') for number in range(100_000)), {}),
    "100,000 parts of a list": (a_part('name="p[]"') * 100_000, {}),
    "a boundary of 1 MB": (b"", {"kind": "multipart/form-data; boundary=" + "b" * 1_000_000}),
    "1 MB of parameters": (b"", {"kind": "multipart/form-data" + "; a=b" * 200_000}),
    "a huge field": (a_part('name="prompt"', b"x" * FILE_BYTES_MOST), {}),
    "a huge header": (f"--{BOUNDARY}\r\nX: ".encode() + b"x" * FILE_BYTES_MOST, {}),
    "endless headers": (f"--{BOUNDARY}\r\n".encode() + b"X: y\r\n" * 1_000_000, {}),
    "headers that never end, byte by byte": (f"--{BOUNDARY}\r\nX: ".encode() + b"x" * 8000, {"size": 1}),
    "only CRLF": (b"\r\n" * 10_000_000, {}),
    "only CRLF and dashes": (b"\r\n--" * 5_000_000, {}),
    "only dashes": (b"-" * FILE_BYTES_MOST, {}),
    "semicolons in headers": (a_form(*(a_part("name=x" + "; " * 1900) for _ in range(30))), {}),
    "quotes in headers": (a_form(*(a_part('name="' + "\\" * 3900) for _ in range(30))), {}),
}


@pytest.mark.parametrize(("body", "how"), BOMBS.values(), ids=BOMBS.keys())
def test_bombs_are_refused_at_once(body: bytes, how: dict[str, Any]) -> None:
    begun = time.process_time()
    with pytest.raises(GatewayError) as refused:
        read(body, **how)
    print(f"cpu_milliseconds={1000 * (time.process_time() - begun):.1f}")
    assert refused.value.status in {400, 413}


@pytest.mark.parametrize(
    "filling", [b"\0", b"\r\n--", b"\r\n--" + BOUNDARY.encode()[:-1]], ids=["zeros", "dashes", "near"]
)
def test_a_large_file_is_read_in_linear_time(filling: bytes) -> None:
    content = filling * (FILE_BYTES_MOST // len(filling))
    cut = list(pieces(DASHES + content + b"\r\n" + MODEL_PART + END))
    reader = UploadReader(content_type(BOUNDARY))
    begun = time.process_time()
    for piece in cut:
        reader.feed(piece)
    upload = reader.upload()
    print(f"cpu_milliseconds={1000 * (time.process_time() - begun):.1f}")
    assert upload.file == content


# What a caller may have written: quotes and all alphabets, but no percent sign, which browsers do not escape.
CONTROLS = "".join(map(chr, (*range(32), *range(127, 160), 0x2028, 0x2029)))
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=CONTROLS + "%\\/"), min_size=1, max_size=64)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\r\n\t"), max_size=500)


@given(
    fields=st.dictionaries(NAMES, TEXTS, max_size=20),
    listed=st.lists(TEXTS, max_size=5),
    file=st.binary(max_size=5000) | st.binary(max_size=20).map(lambda some: some + b"\r\n--" + BOUNDARY[:9].encode()),
    filename=NAMES,
    size=st.integers(1, 3000),
)
def test_what_is_written_is_read_back(
    fields: dict[str, str], listed: list[str], file: bytes, filename: str, size: int
) -> None:
    once = {
        name.casefold(): (name, value) for name, value in fields.items() if name.casefold() not in {"file", "model"}
    }
    pairs = (MODEL, *once.values(), *(("list[]", value) for value in listed))
    body = b"".join(written(pairs, file, filename, "audio/mpeg", BOUNDARY))
    assert read(body, size=size) == Upload(fields=pairs, file=bytearray(file), filename=filename)
