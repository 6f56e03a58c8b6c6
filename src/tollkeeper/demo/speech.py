"""What is said: runs of pieces whose tokens are known before they are sent.

Rules of this file
1. The same number of tokens is always the same text, and that text has exactly that many o200k tokens.
2. A piece is whole tokens, so what was sent can be counted piece by piece.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tollkeeper.demo.directions import Directions, without_directions
from tollkeeper.demo.order import Function, Order
from tollkeeper.demo.tokens import count_text, split_tokens

# Each is one token, with and without a space before it.
WORDS = [
    "river",
    "stone",
    "garden",
    "window",
    "paper",
    "bridge",
    "silver",
    "winter",
    "summer",
    "forest",
    "music",
    "letter",
    "engine",
    "planet",
    "market",
    "castle",
    "mirror",
    "basket",
    "button",
    "orange",
    "purple",
    "yellow",
    "signal",
    "pattern",
    "number",
    "circle",
    "square",
    "corner",
    "center",
    "border",
    "margin",
    "column",
    "record",
    "ledger",
    "figure",
    "report",
    "answer",
    "question",
    "reason",
    "method",
    "system",
]

TOOL_CUE = "call the tool"


class Piece(NamedTuple):
    """Text, escaped as inside a JSON string, and its tokens."""

    escaped: bytes
    tokens: int


class Speech:
    """One choice of an answer."""

    def __init__(self, pieces: Sequence[Piece], finish_reason: str, tool_name: str | None = None) -> None:
        self.pieces = pieces
        self.finish_reason = finish_reason
        self.tool_name = tool_name
        # A tool's name is sent with the first event.
        self.opening_tokens = count_text(tool_name) if tool_name else 0
        self.joined = Piece(b"".join(piece.escaped for piece in pieces), sum(piece.tokens for piece in pieces))
        self.tokens = self.opening_tokens + self.joined.tokens


def speech_for(order: Order, directions: Directions) -> Speech:
    """What this caller is told, in each of the choices."""
    asked = order.last_user_text()
    if order.tools_text and TOOL_CUE in asked.lower() and (function := order.first_function()) is not None:
        return _tool_call(function)
    if directions.echo:
        return _echo(without_directions(asked), directions.per_chunk, order.most_tokens)
    if order.most_tokens is not None and order.most_tokens < directions.tokens:
        return _words(order.most_tokens, directions.per_chunk, "length")
    return _words(directions.tokens, directions.per_chunk, "stop")


def text_of(tokens: int) -> str:
    """The text that has this many tokens."""
    return " ".join(WORDS[index % len(WORDS)] for index in range(tokens))


@lru_cache(maxsize=256)
def _words(tokens: int, per_chunk: int, finish_reason: str) -> Speech:
    words = [(" " if index else "") + WORDS[index % len(WORDS)] for index in range(tokens)]
    runs = [words[start : start + per_chunk] for start in range(0, tokens, per_chunk)]
    return Speech(tuple(Piece("".join(run).encode(), len(run)) for run in runs), finish_reason)


def _echo(text: str, per_chunk: int, most_tokens: int | None) -> Speech:
    units = split_tokens(text)
    kept, total = 0, 0
    while kept < len(units) and (most_tokens is None or total + units[kept][1] <= most_tokens):
        total += units[kept][1]
        kept += 1
    runs = [units[start : min(start + per_chunk, kept)] for start in range(0, kept, per_chunk)]
    pieces = [Piece(escape("".join(word for word, _ in run)), sum(held for _, held in run)) for run in runs]
    return Speech(pieces, "length" if kept < len(units) else "stop")


def _tool_call(function: Function) -> Speech:
    arguments = msgspec.json.encode(_arguments(function.parameters or {})).decode()
    pieces = [Piece(escape(text), held) for text, held in split_tokens(arguments)]
    return Speech(pieces, "tool_calls", function.name)


def _arguments(schema: dict[str, object]) -> dict[str, object]:
    """A value of the right type for each property of a tool's JSON schema."""
    samples: dict[object, object] = {"string": "river stone", "integer": 3, "number": 1.5, "boolean": True, "array": []}
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: samples.get(kind.get("type")) if isinstance(kind, dict) else None for name, kind in properties.items()
    }


def escape(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]
