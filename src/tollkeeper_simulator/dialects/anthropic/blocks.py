"""Content blocks: what each may consist of, in which messages it may stand, and the text that is in it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tollkeeper_simulator.dialects.anthropic.fields import base64_text, boolean, items, members, one_of, refuse, text

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
ID_PATTERN = "^[a-zA-Z0-9_-]+$"
_ID_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

Block = dict[str, Any]


class Shape(NamedTuple):
    """The fields of a block beside its type, and the check of their values."""

    roles: tuple[str, ...]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    check: Callable[[Block, str], None]


def read_content(value: object, path: str, role: str) -> list[Block]:
    """The blocks of a message's content, checked; a text alone is one block."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    blocks = items(value, path)
    for index, block in enumerate(blocks):
        _check_block(block, f"{path}.{index}", role)
    return blocks


def texts_of(blocks: list[Block]) -> Iterator[str]:
    return (block["text"] for block in blocks if block["type"] == "text")


def is_identifier(value: str) -> bool:
    return bool(value) and _ID_LETTERS.issuperset(value)


def _check_block(block: object, path: str, role: str) -> None:
    if not isinstance(block, dict):
        refuse(path, "Input should be a valid dictionary or object to extract fields from")
    if "type" not in block:
        refuse(f"{path}.type", "Field required")
    kinds = [kind for kind, shape in SHAPES.items() if role in shape.roles]
    if block["type"] not in kinds:
        tags = ", ".join(f"'{kind}'" for kind in kinds)
        refuse(path, f"Input tag '{block['type']}' found using 'type' does not match any of the expected tags: {tags}")
    shape = SHAPES[block["type"]]
    place = f"{path}.{block['type']}"
    members(block, place, ("type", *shape.required), ("cache_control", *shape.optional))
    if block.get("cache_control") is not None:
        cache = members(block["cache_control"], f"{place}.cache_control", ("type",), ("ttl", "scope"))
        one_of(cache["type"], f"{place}.cache_control.type", ("ephemeral",))
    shape.check(block, place)


def _check_text(block: Block, path: str) -> None:
    if not text(block["text"], f"{path}.text"):
        refuse("messages", "text content blocks must be non-empty")


def _check_image(block: Block, path: str) -> None:
    _check_source(block["source"], f"{path}.source", {"base64": IMAGE_TYPES, "url": None, "file": None})


def _check_document(block: Block, path: str) -> None:
    kinds = {"base64": ("application/pdf",), "text": ("text/plain",), "url": None, "file": None, "content": None}
    _check_source(block["source"], f"{path}.source", kinds)


def _check_source(source: object, path: str, kinds: Mapping[str, tuple[str, ...] | None]) -> None:
    kind = source.get("type") if isinstance(source, dict) else None
    if not isinstance(source, dict) or not isinstance(kind, str) or kind not in kinds:
        tags = ", ".join(f"'{name}'" for name in kinds)
        refuse(path, f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}")
    place = f"{path}.{kind}"
    data_field = {"url": "url", "file": "file_id", "content": "content"}.get(kind)
    if data_field is not None:
        given = members(source, place, ("type", data_field))
        if kind == "url" and not text(given["url"], f"{place}.url").startswith(("https://", "http://")):
            refuse(f"{place}.url", "Only HTTPS URLs are supported.")
        return
    members(source, place, ("type", "media_type", "data"))
    one_of(source["media_type"], f"{place}.media_type", kinds[kind] or ())
    if kind == "base64":
        base64_text(source["data"], f"{place}.data")


def _check_tool_use(block: Block, path: str) -> None:
    _check_identifier(block["id"], f"{path}.id")
    text(block["name"], f"{path}.name")
    if not isinstance(block["input"], dict):
        refuse(f"{path}.input", "Input should be a valid dictionary")


def _check_tool_result(block: Block, path: str) -> None:
    _check_identifier(block["tool_use_id"], f"{path}.tool_use_id")
    if "is_error" in block:
        boolean(block["is_error"], f"{path}.is_error")
    if not isinstance(block.get("content", ""), str):
        read_content(block["content"], f"{path}.content", "tool_result")


def _check_identifier(value: object, path: str) -> None:
    if not is_identifier(text(value, path)):
        refuse(path, f"String should match pattern '{ID_PATTERN}'")


def _check_thinking(block: Block, path: str) -> None:
    text(block["thinking"], f"{path}.thinking")
    text(block["signature"], f"{path}.signature")


def _check_redacted(block: Block, path: str) -> None:
    text(block["data"], f"{path}.data")


SHAPES = {
    "text": Shape(("user", "assistant", "system", "tool_result"), ("text",), ("citations",), _check_text),
    "image": Shape(("user", "tool_result"), ("source",), ("transformations",), _check_image),
    "document": Shape(("user", "tool_result"), ("source",), ("title", "context", "citations"), _check_document),
    "tool_result": Shape(("user",), ("tool_use_id",), ("content", "is_error", "toolset_name"), _check_tool_result),
    "tool_use": Shape(("assistant",), ("id", "name", "input"), ("caller", "toolset_name"), _check_tool_use),
    "thinking": Shape(("assistant",), ("thinking", "signature"), (), _check_thinking),
    "redacted_thinking": Shape(("assistant",), ("data",), (), _check_redacted),
}
