"""A caller without an SDK: JSON or a form with a file, sent as it is, and the whole answer."""

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from proofs.rig.patience import patience

SECONDS_MOST = 60
BOUNDARY = "tollkeeper-prove-media"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A call to be made: where to, and its body."""

    path: str
    body: bytes
    content_type: str = "application/json"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came, in how many seconds; status 0 where nothing did."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    seconds: float = 0

    @property
    def request_id(self) -> str:
        return self.headers.get("x-request-id", "")

    def json(self) -> Any:
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.status} {self.body[:300]!r} in {self.seconds:.1f} s"


def json_order(path: str, fields: Mapping[str, object], *, escaped: bool = False) -> Order:
    """Text goes as UTF-8, or escaped to ASCII."""
    return Order(path=path, body=json.dumps(fields, ensure_ascii=escaped).encode())


def form_order(path: str, fields: Mapping[str, str], filename: str, content: bytes) -> Order:
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts.append((f'name="file"; filename="{filename}"', content))
    pieces = [
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + value + b"\r\n"
        for head, value in parts
    ]
    body = b"".join([*pieces, f"--{BOUNDARY}--\r\n".encode()])
    return Order(path=path, body=body, content_type=f"multipart/form-data; boundary={BOUNDARY}")


def call(base: str, key: str, order: Order) -> Answer:
    address = urlsplit(base)
    headers = {"authorization": f"Bearer {key}", "content-type": order.content_type}
    connection = http.client.HTTPConnection(address.netloc, timeout=patience(SECONDS_MOST))
    started = time.monotonic()
    try:
        connection.request("POST", address.path + order.path, order.body, headers)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as problem:
        return Answer(status=0, body=repr(problem).encode(), seconds=time.monotonic() - started)
    finally:
        connection.close()
    told = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(status=answer.status, headers=told, body=body, seconds=time.monotonic() - started)
