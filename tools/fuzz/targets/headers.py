"""Headers of requests, and of answers: whatever stands in them, they are read or refused in our own words.

The first line of an input is the peer's address; each of the others is a header.
"""

from contextlib import suppress
from uuid import UUID

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.client_ip import client_ip, read_networks, written
from tollkeeper.core.errors import BadRequest
from tollkeeper.core.keys import has_key_form, hint
from tollkeeper.core.money.codes import code_digest, read_gift_code
from tollkeeper.core.people.emails import LENGTH_MOST, NotAnEmail, canonical
from tollkeeper.core.traceparent import read_traceparent
from tollkeeper.edge.guard import HOPS_BYTES_MOST
from tollkeeper.edge.http.body import BodyReader
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.edge.http.upload import UploadReader
from tollkeeper.relay.dispatch.provider_refusal import seconds_in
from tools.asked import Asked
from tools.fuzz.target import Grown, Target

# As much as the server takes of headers, about.
SIZE_BYTES_MOST = 64 * 1024
# More than that the server does not take.
HEADERS_MOST = 100
TRUSTED = read_networks(["10.0.0.0/8", "fd00::/8", "::ffff:192.168.0.0/112"])
BOOK = AddressBook({Address.MAIN: ["api.example", "[::1]:8080"], Address.BACKUP: ["backup.example"]})
BODIES = BodyReader(reading_bytes_most=1, seconds_most=1.0)
KNOWN = (
    b"host",
    b"authorization",
    b"traceparent",
    b"content-type",
    b"content-length",
    b"transfer-encoding",
    b"x-forwarded-for",
)


def exchange_of(data: bytes) -> Exchange:
    peer, *lines = data.split(b"\n")
    pairs = [line.partition(b":")[::2] for line in lines[:HEADERS_MOST]]
    headers = [(name.strip().lower(), value.strip()) for name, value in pairs]
    return Exchange(Asked(headers=headers, peer=(peer.decode("latin-1"), 1)), 0, UUID(int=0))


def check(data: bytes) -> None:
    exchange = exchange_of(data)
    for name in KNOWN:
        lines = exchange.header_lines(name)
        assert list(lines) == [value for header, value in exchange.headers if header == name]
        try:
            value = exchange.header(name)
        except BadRequest:
            assert len(lines) > 1 or not all(map(bytes.isascii, lines))
            continue
        assert [value] == [line.decode() for line in lines] or (value is None and not lines)
        _check_value(value or "")
    _check_client(exchange)


def _check_value(value: str) -> None:
    assert BOOK.find(value) in {Address.MAIN, Address.BACKUP, None}
    assert BOOK.find(value.upper()) == BOOK.find(value)
    seconds = seconds_in(value)
    assert seconds is None or 0 < seconds < float("inf")
    assert len(hint(value)) <= 9
    assert not has_key_form(value) or value.isalnum() or value.startswith("sk-")
    assert len(code_digest(value)) == 32
    assert read_gift_code(value) in {None, ""} or len(read_gift_code(value) or "") == 5
    parent = read_traceparent([value.encode()])
    if parent is not None:
        assert f"-{parent.trace_id:032x}-{parent.span_id:016x}-" in value
    try:
        assert len(canonical(value)) <= LENGTH_MOST
    except NotAnEmail:
        return
    assert canonical(canonical(value)) == canonical(value)


def _check_client(exchange: Exchange) -> None:
    hops = [line.decode("latin-1") for line in exchange.header_lines(b"x-forwarded-for")]
    client = client_ip(exchange.peer, hops, TRUSTED)
    name = written(client)
    assert (client is None) == (not name)
    assert len(name) <= len("ffff:ffff:ffff:ffff::/64")
    if client_ip(exchange.peer, [], TRUSTED) is not None:
        # Nobody who is not trusted can say who he is.
        assert client == client_ip(exchange.peer, [], TRUSTED)
    work_on(exchange)


def work(data: bytes) -> None:
    exchange = exchange_of(data)
    work_on(exchange)
    for line in exchange.headers:
        text = line[1].decode("latin-1")
        BOOK.find(text)
        seconds_in(text)
        client_ip("10.0.0.1", [text[-HOPS_BYTES_MOST:]], TRUSTED)
        read_gift_code(text)
        read_traceparent([line[1]])
        try:
            canonical(text)
        except NotAnEmail:
            continue


def work_on(exchange: Exchange) -> None:
    with suppress(BadRequest):
        BODIES.refuse(exchange)
    with suppress(BadRequest):
        UploadReader(exchange.header(b"content-type"))


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b"203.0.113.9\nhost: api.example:8080\nauthorization: Bearer sk-a0123456789\ncontent-length: 12",
        b"10.1.2.3\nhost: [::1]:8080\nx-forwarded-for: 198.51.100.7, 10.0.0.9\nx-forwarded-for: [2001:db8::1]:443",
        b"::ffff:10.0.0.1\nhost: BACKUP.example\nx-forwarded-for: 2001:db8::1%eth0,192.168.0.1:80,fd00::1",
        b"::1\ncontent-type: multipart/form-data; boundary=\"b0\"; a*=utf-8''b\nhost: someone@example.com",
        b"1.2.3.4\nauthorization: 1.5e3\ntransfer-encoding: chunked\ncontent-type: application/json",
        b"1.2.3.4\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\nhost: api.example",
        b"\nhost: TK-ABCD-EFGH-JKLM-NPQR-STUV-WXYZ-2345\nauthorization: https://console.example/i/AB2CD/",
    ),
    words=(
        b"\nx-forwarded-for: ",
        b"\nhost: ",
        b"\ncontent-length: ",
        b"\ncontent-type: ",
        b"multipart/form-data",
        b"nan",
    ),
    grown=(
        Grown(b"9", b"10.0.0.1\ncontent-length: "),
        Grown(b"9", b"10.0.0.1\nhost: a:"),
        Grown(b"10.0.0.1,", b"10.0.0.1\nx-forwarded-for: "),
        Grown(b":", b"10.0.0.1\nx-forwarded-for: "),
        Grown(b",", b"10.0.0.1\nx-forwarded-for: "),
        Grown(b"\nx-forwarded-for: 10.0.0.1", b"10.0.0.1"),
        Grown(b"\nhost: a", b"10.0.0.1"),
        Grown(b"a.", b"10.0.0.1\nhost: ", b"@a"),
        Grown(b"a@", b"10.0.0.1\nhost: "),
        Grown(b"; a=b", b"10.0.0.1\ncontent-type: multipart/form-data"),
    ),
    size_bytes_most=SIZE_BYTES_MOST,
)
