"""How many tokens a text and a request have, in the simulator's truth. Proofs call the same functions.

Rules of this file
1. A request counts, for each message, 3, its role, its text, and its name and 1 where it has one; then 3 at the end.
2. Images, audio and files count nothing. `tools` counts as the JSON text that the caller sent.
3. The same holds in every format. A system text beside the messages counts as a message of role `system`. What a tool
   gave back is a message of role `tool`: its text, or its JSON without spaces. Thoughts and calls of tools that are
   sent back count nothing.
"""

import re
from functools import lru_cache

from tollkeeper.core.calls import tokens
from tollkeeper_simulator.order import Asked, Message

PER_MESSAGE = 3
PER_NAME = 1
AT_THE_END = 3

REMEMBERED_CHARACTERS = 4_000

# Where the encoding begins a new token in any case, so that counts on both sides add up.
_BORDER = re.compile(r'(?<=[A-Za-z0-9])(?=[ ",:{}\[\]])')


def count_input(order: Asked) -> int:
    """The input tokens of a request."""
    total = AT_THE_END + sum(count_message(message) for message in order.messages)
    return total + count_text(order.tools_text) if order.tools_text else total


def count_text(text: str) -> int:
    """The o200k tokens of a text."""
    return _count_short(text) if len(text) <= REMEMBERED_CHARACTERS else tokens.count(text)


def split_tokens(text: str) -> list[tuple[str, int]]:
    """The text in small pieces, each with its tokens."""
    return [(piece, count_text(piece)) for piece in _BORDER.split(text) if piece]


def count_message(message: Message) -> int:
    counted = PER_MESSAGE + count_text(message.role) + sum(count_text(text) for text in message.texts())
    return counted + PER_NAME + count_text(message.name) if message.name else counted


@lru_cache(maxsize=4096)
def _count_short(text: str) -> int:
    return tokens.count(text)
