"""Reading a request as the protocol has it: a body of known or unknown length, JSON or a multipart form.

Runs in the engines' environment.
"""

import json
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from io import BufferedIOBase
from typing import Any

BODY_BYTES_MOST = 32 * 1024 * 1024
LINE_BYTES_MOST = 1024


class Refused(Exception):
    """The request cannot be answered; the message says why."""


def read_body(headers: Message, source: BufferedIOBase) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return b"".join(chunks(source))
    length = int(headers.get("content-length", 0))
    if length > BODY_BYTES_MOST:
        raise Refused("the body is too long")
    return source.read(length)


def chunks(source: BufferedIOBase) -> Iterator[bytes]:
    """What a sender sends who does not know the length beforehand."""
    room = BODY_BYTES_MOST
    while size := int(source.readline(LINE_BYTES_MOST).partition(b";")[0], 16):
        room -= size
        if room < 0:
            raise Refused("the body is too long")
        yield source.read(size)
        source.readline(LINE_BYTES_MOST)
    while source.readline(LINE_BYTES_MOST).strip():
        continue


def read_json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as problem:
        raise Refused(f"the body is not JSON: {problem}") from problem
    if not isinstance(value, dict):
        raise Refused("the body is not an object")
    return value


def read_form(headers: Message, body: bytes) -> dict[str, bytes]:
    """The fields of a multipart form by their names, byte for byte; of fields with the same name the last."""
    boundary = headers.get_boundary()
    if headers.get_content_type() != "multipart/form-data" or not boundary:
        raise Refused("the body is not a form")
    first, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    if first or not parts or not parts.pop().startswith(b"--"):
        raise Refused("the form does not begin and end with its boundary")
    return dict(map(read_part, parts))


def read_part(part: bytes) -> tuple[str, bytes]:
    head, _, content = part.partition(b"\r\n\r\n")
    # The head begins with the line end that closes the boundary's own line.
    name = message_from_bytes(head.lstrip()).get_param("name", header="content-disposition")
    if not isinstance(name, str):
        raise Refused("a part of the form has no name")
    return name, content
