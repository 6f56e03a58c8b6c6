"""Requests that two parsers could read differently (request smuggling), as raw bytes.

Most hide a second request, `GET /smuggled`, where a lenient parser would find one.
"""

from collections.abc import Iterator

import msgspec

HIDDEN = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"0\r\n\r\n" + HIDDEN
HOST = b"Host: localhost\r\n"
TYPE = b"Content-Type: application/json\r\n"
CONTROLS = (*range(0x01, 0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F)


class Case(msgspec.Struct, frozen=True):
    name: str
    # With `KEY` where the caller's key is to stand.
    raw: bytes


def cases() -> list[Case]:
    """All of them, by a name that is theirs alone."""
    groups = (_two_framings, _lengths, _codings, _line_ends, _folds, _characters, _hosts, _targets, _chunks, _versions)
    return [case for group in groups for case in group()]


def _post(headers: bytes, body: bytes, *, line: bytes = b"POST /v1/chat/completions HTTP/1.1\r\n") -> bytes:
    return line + HOST + b"Authorization: Bearer KEY\r\n" + TYPE + headers + b"\r\n" + body


def _get(headers: bytes = b"", *, line: bytes = b"GET /v1/models HTTP/1.1\r\n", host: bytes = HOST) -> bytes:
    return line + host + b"Authorization: Bearer KEY\r\n" + headers + b"\r\n"


def _two_framings() -> Iterator[Case]:
    """A length and chunks: which of the two is the body's?"""
    length, codings = (
        b"Content-Length: %d\r\n" % len(CHUNKED),
        (
            b"Transfer-Encoding: chunked\r\n",
            b"transfer-encoding: chunked\r\n",
            b"TRANSFER-ENCODING: CHUNKED\r\n",
            b"Transfer-Encoding:chunked\r\n",
            b"Transfer-Encoding: \tchunked \r\n",
        ),
    )
    for number, coding in enumerate(codings):
        yield Case(f"length then chunked {number}", _post(length + coding, CHUNKED))
        yield Case(f"chunked then length {number}", _post(coding + length, CHUNKED))
        yield Case(f"length 5 and chunked {number}", _post(b"Content-Length: 5\r\n" + coding, CHUNKED))
        yield Case(f"length 0 and chunked {number}", _post(coding + b"Content-Length: 0\r\n", CHUNKED))
    yield Case("GET with both", _get(length + codings[0]) + CHUNKED)
    yield Case("length, chunked, length", _post(length + codings[0] + b"Content-Length: 1\r\n", CHUNKED))


def _lengths() -> Iterator[Case]:
    """More than one length, or one that is not a number."""
    body = b"{}" + HIDDEN
    pairs = (("2", "2"), ("2", "3"), ("0", "2"), ("2", "0"), ("2", "02"), ("2", f"{len(body)}"), (f"{len(body)}", "2"))
    for first, second in pairs:
        two = f"Content-Length: {first}\r\nContent-Length: {second}\r\n".encode()
        yield Case(f"lengths {first} and {second}", _post(two, body))
        yield Case(
            f"lengths {first}, {second} in one line", _post(f"Content-Length: {first}, {second}\r\n".encode(), body)
        )
    odd = (
        "+2",
        "-2",
        "-0",
        "0x2",
        "2.0",
        "2 2",
        "2;",
        "2\t2",
        "two",
        "",
        '"2"',
        "2e0",
        "1_0",
        "\uff12",
        "2,",
        ",2",
        "18446744073709551618",
        "9" * 40,
        "9223372036854775808",
    )
    for text in odd:
        yield Case(f"length {text!r}", _post(f"Content-Length: {text}\r\n".encode(), body))


def _codings() -> Iterator[Case]:
    """Transfer codings that not everybody would take for chunks."""
    odd = (
        b"gzip, chunked",
        b"chunked, gzip",
        b"chunked, chunked",
        b"identity",
        b"identity, chunked",
        b"chunked, identity",
        b"gzip",
        b"xchunked",
        b"chunkedx",
        b"chunked;q=1",
        b"chunked;foo=bar",
        b'"chunked"',
        b"chunked,",
        b",chunked",
        b"chun ked",
        b"\x0bchunked",
        b"chunked\x00",
        b"chunked\x0b",
        b"",
        b"deflate, gzip, chunked",
        b"x, chunked",
    )
    for value in odd:
        yield Case(f"coding {value!r}", _post(b"Transfer-Encoding: " + value + b"\r\n", CHUNKED))
        if value:
            yield Case(
                f"coding {value!r} and a length",
                _post(b"Content-Length: 5\r\nTransfer-Encoding: " + value + b"\r\n", CHUNKED),
            )
    for first, second in (
        (b"chunked", b"chunked"),
        (b"chunked", b"identity"),
        (b"identity", b"chunked"),
        (b"gzip", b"chunked"),
    ):
        two = b"Transfer-Encoding: %s\r\nTransfer-Encoding: %s\r\n" % (first, second)
        yield Case(f"codings {first!r} and {second!r}", _post(two, CHUNKED))
    yield Case(
        "chunked on HTTP/1.0",
        _post(b"Transfer-Encoding: chunked\r\n", CHUNKED, line=b"POST /v1/chat/completions HTTP/1.0\r\n"),
    )


def _line_ends() -> Iterator[Case]:
    """Lines that end without a carriage return, or with one alone."""
    yield Case("bare LF after the request line", _get(line=b"GET /v1/models HTTP/1.1\n"))
    yield Case("bare LF after a header", _get(b"X-One: 1\nX-Two: 2\r\n"))
    yield Case("bare LF after Host", _get(host=b"Host: localhost\n"))
    yield Case("bare LF everywhere", _get().replace(b"\r\n", b"\n"))
    yield Case("bare LF at the head's end", _get()[:-2] + b"\n")
    yield Case("bare LF before a hidden coding", _post(b"X-One: 1\nTransfer-Encoding: chunked\r\n", CHUNKED))
    yield Case(
        "bare LF before a hidden length",
        _post(b"X-One: 1\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", CHUNKED),
    )
    yield Case("bare LF before the body", _post(b"Content-Length: 2\r\n", b"{}")[:-4] + b"\n{}")
    yield Case("bare CR after a header", _get(b"X-One: 1\rX-Two: 2\r\n"))
    yield Case("bare CR in a value", _get(b"X-One: 1\r2\r\n"))
    yield Case("bare CR before a hidden coding", _post(b"X-One: 1\rTransfer-Encoding: chunked\r\n", b""))
    yield Case("bare CR after the request line", _get(line=b"GET /v1/models HTTP/1.1\r"))
    yield Case("two CR before LF", _get(b"X-One: 1\r\r\n"))
    yield Case("LF and CR the wrong way round", _get(b"X-One: 1\n\rX-Two: 2\r\n"))


def _folds() -> Iterator[Case]:
    """Values that go on in the next line (obs-fold), and space where none may be."""
    for number, fold in enumerate((b"\r\n ", b"\r\n\t", b"\n ", b"\n\t")):
        yield Case(f"fold {number} in a header", _get(b"X-One: 1" + fold + b"2\r\n"))
        yield Case(f"fold {number} in a coding", _post(b"Transfer-Encoding:" + fold + b"chunked\r\n", CHUNKED))
        yield Case(f"fold {number} in a length", _post(b"Content-Length:" + fold + b"2\r\n", b"{}" + HIDDEN))
        yield Case(f"fold {number} before the first header", b"GET /v1/models HTTP/1.1" + fold + _get(line=b""))
    for space in (b" ", b"\t", b"\x0b", b"\x0c"):
        yield Case(
            f"{space!r} before the colon of a length", _post(b"Content-Length" + space + b": 2\r\n", b"{}" + HIDDEN)
        )
        yield Case(
            f"{space!r} before the colon of a coding", _post(b"Transfer-Encoding" + space + b": chunked\r\n", CHUNKED)
        )
        yield Case(f"{space!r} before the colon of Host", _get(host=b"Host" + space + b": localhost\r\n"))
        yield Case(f"{space!r} before a name", _post(space + b"Transfer-Encoding: chunked\r\n", CHUNKED))


def _characters() -> Iterator[Case]:
    """Characters that have no place in a head."""
    for byte in (0x00, *CONTROLS):
        one = bytes((byte,))
        yield Case(f"0x{byte:02x} in a value", _get(b"X-One: a" + one + b"b\r\n"))
    for byte in (0x00, 0x01, 0x0B, 0x1F, 0x7F):
        one = bytes((byte,))
        yield Case(f"0x{byte:02x} in a name", _get(b"X-O" + one + b"ne: a\r\n"))
        yield Case(f"0x{byte:02x} in the path", _get(line=b"GET /v1/mod" + one + b"els HTTP/1.1\r\n"))
        yield Case(f"0x{byte:02x} in the method", _get(line=b"GE" + one + b"T /v1/models HTTP/1.1\r\n"))
    for name in (b"X(One)", b"X,One", b"X/One", b"X@One", b"X[One]", b"X\xe9", b'"X"', b"{X}", b""):
        yield Case(f"header name {name!r}", _get(name + b": 1\r\n"))
    yield Case("a header without a colon", _get(b"X-One\r\n"))
    yield Case("a header without a colon before a coding", _post(b"X-One\r\nTransfer-Encoding: chunked\r\n", CHUNKED))


def _hosts() -> Iterator[Case]:
    two = HOST + b"Host: other.example\r\n"
    yield Case("no Host", _get(host=b""))
    yield Case("no Host on HTTP/1.0", _get(host=b"", line=b"GET /v1/models HTTP/1.0\r\n"))
    yield Case("two Hosts", _get(host=two))
    yield Case("two equal Hosts", _get(host=HOST + HOST))
    yield Case("an empty Host", _get(host=b"Host:\r\n"))
    yield Case("a Host of spaces", _get(host=b"Host:   \r\n"))
    yield Case("two Hosts in one line", _get(host=b"Host: localhost, other.example\r\n"))
    yield Case("a Host with a user", _get(host=b"Host: me@localhost\r\n"))
    yield Case("a Host with a path", _get(host=b"Host: localhost/v1\r\n"))
    yield Case("a Host with a space", _get(host=b"Host: local host\r\n"))
    yield Case("a Host with an odd port", _get(host=b"Host: localhost:x\r\n"))
    yield Case("a Host with a line end", _get(host=b"Host: localhost\\r\\nX: 1\r\n"))
    yield Case("a Host with a quote", _get(host=b'Host: local"host\r\n'))
    yield Case("a Host with a high byte", _get(host=b"Host: localh\xf6st\r\n"))


def _targets() -> Iterator[Case]:
    """Request targets other than a plain path."""
    targets = (
        b"http://localhost/v1/models",
        b"http://other.example/v1/models",
        b"https://localhost/v1/models",
        b"file:///v1/models",
        b"*",
        b"localhost:80",
        b"v1/models",
        b"\\v1\\models",
        b"/v1/models#x",
        b"/v1/mod els",
        b"/v1/models\xff",
        b"",
    )
    for target in targets:
        yield Case(f"target {target!r}", _get(line=b"GET " + target + b" HTTP/1.1\r\n"))
    yield Case("CONNECT", _get(line=b"CONNECT localhost:80 HTTP/1.1\r\n"))
    yield Case("a tab before the target", _get(line=b"GET\t/v1/models HTTP/1.1\r\n"))
    yield Case("two spaces before the target", _get(line=b"GET  /v1/models HTTP/1.1\r\n"))
    yield Case("two spaces after the target", _get(line=b"GET /v1/models  HTTP/1.1\r\n"))
    yield Case("a space after the version", _get(line=b"GET /v1/models HTTP/1.1 \r\n"))
    yield Case("a space before the method", _get(line=b" GET /v1/models HTTP/1.1\r\n"))


def _chunks() -> Iterator[Case]:
    """Chunks whose sizes or ends are read in more than one way."""
    coding, rest = b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN
    odd = (
        b"2\n{}\r\n",
        b"2\r\n{}\n",
        b"2\r{}\r\n",
        b"2\r\n{}",
        b"2\r\n{}\r",
        b"0x2\r\n{}\r\n",
        b"+2\r\n{}\r\n",
        b"-2\r\n{}\r\n",
        b"\r\n{}\r\n",
        b"g\r\n{}\r\n",
        b"2 2\r\n{}\r\n",
        b" 2\r\n{}\r\n",
        b"2\x00\r\n{}\r\n",
        b"1\r\n{}\r\n",
        b"3\r\n{}\r\n",
        b"10000000000000002\r\n{}\r\n",
        b"ffffffffffffffff\r\n{}\r\n",
        b"fffffffffffffffe\r\n{}\r\n",
        b"8000000000000000\r\n{}\r\n",
        b"f" * 64 + b"\r\n{}\r\n",
        b"2;" + b"x" * 70_000 + b"\r\n{}\r\n",
        b"2;a\nb\r\n{}\r\n",
        b"2;\n{}\r\n",
        b"2;\x00\r\n{}\r\n",
    )
    for start in odd:
        shown = start if len(start) < 40 else start[:20]
        yield Case(f"chunk {shown!r}", _post(coding, start + rest))
    yield Case("last chunk with bare LF", _post(coding, b"2\r\n{}\r\n0\n\n" + HIDDEN))
    yield Case("last chunk with half an end", _post(coding, b"2\r\n{}\r\n0\r\n\n" + HIDDEN))


def _versions() -> Iterator[Case]:
    for version in (
        b"HTTP/0.9",
        b"HTTP/1.2",
        b"HTTP/2.0",
        b"HTTP/3",
        b"http/1.1",
        b"HTTP/1.10",
        b"HTTP/11",
        b"HTP/1.1",
        b"HTTP/1,1",
        b"HTTP 1.1",
    ):
        yield Case(f"version {version!r}", _get(line=b"GET /v1/models " + version + b"\r\n"))
    yield Case("HTTP/0.9 without a version", b"GET /v1/models\r\n\r\n")
    yield Case("HTTP/2 with prior knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    yield Case("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100 + b"\r\n\r\n")
