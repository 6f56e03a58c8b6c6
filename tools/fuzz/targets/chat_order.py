"""Orders for chat: refused in our own words, or read as any other reader of JSON would read them."""

import json
from typing import Any

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.errors import BadRequest
from tools.fuzz.examples import CHAT_GROWN, CHAT_SEEDS, CHAT_WORDS
from tools.fuzz.target import Target

# Enough for thousands of messages, of which each takes a few microseconds: what takes longer is none of theirs.
SIZE_BYTES_MOST = 512 * 1024
# What is told of the order beside its bodies: all that is priced.
ASKED = (
    *("model", "stream", "wants_usage", "n", "max_output_tokens", "media_parts", "framing_tokens", "texts"),
    *("thinks", "characters"),
)


def check(data: bytes) -> None:
    try:
        order = read_chat(data)
    except BadRequest:
        return
    for body in (data, order.body_with()):
        again = read_chat(body)
        assert [getattr(again, name) for name in ASKED] == [getattr(order, name) for name in ASKED]
    # The first of two, and the last of two.
    _check_reading(order, json.loads(data, object_pairs_hook=lambda pairs: dict(reversed(pairs))))
    _check_reading(order, json.loads(data))
    order.forget_content()


def _check_reading(order: ChatOrder, read: Any) -> None:
    """Against another reader."""
    assert order.model == read["model"]
    assert order.stream == bool(read.get("stream"))
    assert order.n == (read.get("n") or 1)
    assert (order.max_output_tokens or 0) == max(read.get("max_tokens") or 0, read.get("max_completion_tokens") or 0)
    assert order.fields.keys() == read.keys()
    assert order.framing_tokens >= 3 * len(read["messages"])


def work(data: bytes) -> None:
    try:
        order = read_chat(data)
    except BadRequest:
        return
    order.body_with(model="m")


TARGET = Target(
    check=check,
    work=work,
    seeds=CHAT_SEEDS,
    words=CHAT_WORDS,
    grown=CHAT_GROWN,
    size_bytes_most=SIZE_BYTES_MOST,
)
