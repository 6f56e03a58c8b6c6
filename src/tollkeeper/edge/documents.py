"""Documents that everybody may have and keep: made once, known by their hash."""

import hashlib

import msgspec

from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.server.application import Header


class Document(msgspec.Struct, frozen=True):
    body: bytes
    content_type: bytes
    etag: str


def document(body: bytes, content_type: bytes) -> Document:
    return Document(body, content_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def answer(exchange: Exchange, found: Document, headers: tuple[Header, ...], *, kept_seconds: int) -> Reply:
    """The document, or that the client has it already."""
    caching = b"public, max-age=%d" % kept_seconds
    headers = ((b"etag", found.etag.encode()), *headers)
    if _has(exchange.header(b"if-none-match"), found.etag):
        return Reply(b"", 304, headers, caching)
    return Reply(found.body, 200, ((b"content-type", found.content_type), *headers), caching)


def _has(if_none_match: str | None, etag: str) -> bool:
    named = (if_none_match or "").split(",")
    return any(each.strip().removeprefix("W/") in {etag, "*"} for each in named)
