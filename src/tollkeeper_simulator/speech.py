"""What is said: runs of pieces whose tokens are known before they are sent.

Rules of this file
1. The same number of tokens is always the same text, and that text has exactly that many o200k tokens.
2. A piece is whole tokens, so what was sent can be counted piece by piece.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import cycle, islice
from typing import NamedTuple

import msgspec

from tollkeeper_simulator.directions import Directions, arguments_in, without_directions
from tollkeeper_simulator.order import Asked, Function, Manner
from tollkeeper_simulator.samples import sample
from tollkeeper_simulator.tokens import count_text, split_tokens

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
    """Text, escaped as inside a JSON string, and its tokens; content, or what stands around it."""

    escaped: bytes
    tokens: int
    is_content: bool = False


class Thinking(NamedTuple):
    """Thoughts before an answer: pieces where they are shown, a number where they are not."""

    pieces: Sequence[Piece] = ()
    hidden_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.hidden_tokens + sum(piece.tokens for piece in self.pieces)


NO_THOUGHTS = Thinking()


class Speech:
    """One choice of an answer."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        finish_reason: str,
        tool_name: str | None = None,
        thinking: Thinking = NO_THOUGHTS,
    ) -> None:
        self.pieces = pieces
        self.finish_reason = finish_reason
        self.tool_name = tool_name
        self.thoughts = thinking.pieces
        self.hidden_tokens = thinking.hidden_tokens
        self.thinking_tokens = thinking.tokens
        self.name_tokens = count_text(tool_name) if tool_name else 0
        # A tool's name is sent with the first event, and what was hidden was thought before it.
        self.opening_tokens = self.name_tokens + self.hidden_tokens
        self.joined = joined(pieces)
        self.tokens = self.name_tokens + self.thinking_tokens + self.joined.tokens


def speech_for(order: Asked, asked: str, directions: Directions) -> Speech:
    """What this caller is told, who asked this last, in each of the choices."""
    most, manner = None if directions.ignores_cap else order.most_tokens, order.manner
    if directions.blocked and manner.blocks_prompts:
        return Speech((), "blocked")
    thoughts = manner.thoughts_unasked if directions.thinking is None else directions.thinking
    if thoughts and most is not None:
        # The cap is for thoughts and answer together.
        thoughts = min(thoughts, most)
        most -= thoughts
    if (function := _called(order, asked, directions)) is not None:
        thinking = _thinking(thoughts, directions.per_chunk, manner.shows_thoughts)
        return _tool_call(function, directions.arguments, manner, thinking)
    if (text := _given_text(order, asked, directions)) is not None:
        thinking = _thinking(thoughts, directions.per_chunk, manner.shows_thoughts)
        return _said(text, directions, most, thinking)
    tokens = directions.tokens if most is None else min(directions.tokens, most)
    reason = _reason(directions, is_capped=tokens < directions.tokens)
    return _words(tokens, directions.per_chunk, reason, thoughts, manner.shows_thoughts)


def _called(order: Asked, asked: str, directions: Directions) -> Function | None:
    """The tool that is called instead of saying anything."""
    if not order.tools_text:
        return None
    if directions.call is not None:
        return Function(directions.call)
    if (required := order.required_function()) is not None:
        return required
    return order.callable_function() if TOOL_CUE in asked.lower() else None


def _given_text(order: Asked, asked: str, directions: Directions) -> str | None:
    """What is said instead of plain words: what the caller said, or JSON that fits."""
    if directions.echo:
        return without_directions(asked)
    schema = order.wanted_json()
    return None if schema is None else msgspec.json.encode(sample(schema)).decode()


def joined(pieces: Sequence[Piece]) -> Piece:
    return Piece(b"".join(piece.escaped for piece in pieces), sum(piece.tokens for piece in pieces), is_content=True)


def text_of(tokens: int) -> str:
    """The text that has this many tokens."""
    return " ".join(WORDS[index % len(WORDS)] for index in range(tokens))


def thoughts_of(tokens: int) -> str:
    """The thoughts that have this many tokens: other words than the answer's, so that nobody takes them for it."""
    return " ".join(WORDS[-1 - index % len(WORDS)] for index in range(tokens))


@lru_cache(maxsize=256)
def _words(tokens: int, per_chunk: int, finish_reason: str, thoughts: int, shows_thoughts: bool) -> Speech:
    thinking = _thinking(thoughts, per_chunk, shows_thoughts)
    return Speech(_pieces(WORDS, tokens, per_chunk), finish_reason, thinking=thinking)


def _pieces(words: Sequence[str], tokens: int, per_chunk: int) -> Sequence[Piece]:
    """Words that go round, of a token each, in runs of so many."""

    def run(start: int) -> Piece:
        end = min(start + per_chunk, tokens)
        text = "".join((" " if index else "") + words[index % len(words)] for index in range(start, end))
        return Piece(text.encode(), end - start, is_content=True)

    starts = range(0, tokens, per_chunk)
    # But for the first and the last, a run is the same again after as many as there are words: an answer of a million
    # words is made in a moment, and keeps nobody else waiting.
    runs = islice(cycle([run(start) for start in starts[1 : len(words) + 1]]), max(0, len(starts) - 2))
    return (*(run(start) for start in starts[:1]), *runs, *(run(start) for start in starts[1:][-1:]))


@lru_cache(maxsize=256)
def _thinking(tokens: int, per_chunk: int, shown: bool) -> Thinking:
    return Thinking(_pieces(WORDS[::-1], tokens, per_chunk)) if shown else Thinking(hidden_tokens=tokens)


def _said(text: str, directions: Directions, most_tokens: int | None, thinking: Thinking) -> Speech:
    units = split_tokens(text)
    kept, total = 0, 0
    while kept < len(units) and (most_tokens is None or total + units[kept][1] <= most_tokens):
        total += units[kept][1]
        kept += 1
    per_chunk = directions.per_chunk
    runs = [units[start : min(start + per_chunk, kept)] for start in range(0, kept, per_chunk)]
    pieces = [
        Piece(escape("".join(word for word, _ in run)), sum(held for _, held in run), is_content=True) for run in runs
    ]
    return Speech(pieces, _reason(directions, is_capped=kept < len(units)), thinking=thinking)


def _tool_call(function: Function, given: str | None, manner: Manner, thinking: Thinking) -> Speech:
    arguments = _arguments(function) if given is None else arguments_in(given).decode()
    units = split_tokens(arguments) if manner.arguments_in_pieces else [(arguments, count_text(arguments))]
    pieces = [
        Piece(text.encode() if manner.arguments_are_raw else escape(text), held, is_content=True)
        for text, held in units
    ]
    return Speech(pieces, "tool_calls", function.name, thinking)


def _arguments(function: Function) -> str:
    return msgspec.json.encode(sample({"type": "object"} | (function.parameters or {}))).decode()


def _reason(directions: Directions, *, is_capped: bool) -> str:
    if directions.safety or directions.blocked:
        return "content_filter"
    return "length" if is_capped else "stop"


def escape(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]
