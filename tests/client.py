"""A plain HTTP client for tests: real sockets, nothing added that a test did not ask for."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from tools.node import Node


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    text: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any]:
        told: dict[str, Any] = self.json["error"]
        return told


def ask(
    node: Node,
    path: str,
    *,
    method: str = "GET",
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes | object | None = None,
) -> Answer:
    sent = dict(headers or {})
    if key is not None:
        sent["Authorization"] = f"Bearer {key}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
    try:
        connection.request(method, path, body=body, headers=sent)
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, received, response.read())
    finally:
        connection.close()
