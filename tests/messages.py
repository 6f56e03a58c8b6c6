"""Messages calls for tests: asked over real sockets, and their events read."""

import json
from typing import Any

import msgspec

from tests.client import Answer, ask
from tools.node import Node

PATH = "/v1/messages"
VERSION = {"anthropic-version": "2023-06-01"}


class MessageEvent(msgspec.Struct, frozen=True):
    name: str
    data: dict[str, Any]


def order(model: str, text: str, **fields: object) -> dict[str, object]:
    return {"model": model, "max_tokens": 2_000, "messages": [{"role": "user", "content": text}], **fields}


def send(node: Node, key: str, body: object, *, path: str = PATH, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(node, path, method="POST", headers={"x-api-key": key, **VERSION, **named}, body=body)


def events(text: bytes) -> list[MessageEvent]:
    """Every event, but for pings."""
    found = []
    for block in text.decode().replace("\r\n", "\n").split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in lines and lines["event"] != "ping":
            found.append(MessageEvent(lines["event"], json.loads(lines["data"])))
    return found


def told(text: bytes, kind: str) -> str:
    """What the deltas of one kind say."""
    deltas = [event.data["delta"] for event in events(text) if event.name == "content_block_delta"]
    return "".join(delta[kind] for delta in deltas if kind in delta)
