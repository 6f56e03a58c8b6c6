"""Members that stand twice in an object of an answer: readers see the last, and other readers may see the first.

An answer is passed on as it came, so what stands in the other one was delivered, and counts as text.
"""

import json
from typing import Any

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.answer_texts import NOT_READ, text_in
from tollkeeper.core.calls.json_numbers import read_float

# A larger answer is not looked through: that would keep other calls waiting.
LOOKED_THROUGH_BYTES_MOST = 2 * 1024 * 1024

decode = msgspec.json.Decoder(float_hook=read_float).decode
encode = msgspec.json.Encoder().encode


def text_said_twice(body: bytes) -> str:
    """The text of all members but the last of their name, at any depth. It is empty in any usual answer."""
    if len(body) > LOOKED_THROUGH_BYTES_MOST or not _loses_quotes(body):
        return ""
    lost: list[Any] = []

    def keep_lost(members: list[tuple[str, Any]]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, value in members:
            if name in kept:
                lost.append({name: kept[name]})
            kept[name] = value
        return kept

    try:
        text = body.decode("utf-8-sig", "replace")
        json.loads(text, object_pairs_hook=keep_lost, parse_float=str, strict=False)
        return text_in(Raw(json.dumps(lost, ensure_ascii=False).encode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return ""


def _loses_quotes(body: bytes) -> bool:
    """Whether what was read, and is written again, has fewer quotes than came: then a name was dropped. A quote that
    is written by its number is one more, so that it can hide none."""
    try:
        return encode(decode(body)).count(b'"') < body.count(b'"') + body.count(rb"\u0022")
    except NOT_READ:
        # Only a lenient reader reads it.
        return True
