"""Names and remarks are one line of printable characters.

A name is shown in tables, logs and mails. One that holds a line break, an escape sequence of terminals or an override
of the writing direction (bidi) could make those say what nobody wrote: another row, another colour, another name.
"""

import re

from tollkeeper.core.errors import ForOperators

# Control characters (C0, C1), separators of lines and paragraphs, overrides of the direction, halves of characters.
UNSHOWABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class NotOneLine(ForOperators, ValueError):
    """Text that cannot be a name; the message says what it was for, and never quotes it."""


def one_line(text: str, what: str) -> str:
    """The text itself. `what`: the beginning of a sentence, as "A key's name"."""
    if not text.isprintable():
        raise NotOneLine(f"{what} is one line of printable characters. Nothing was changed.")
    return text


def shown(text: str) -> str:
    """Text of whatever origin as it may be sent to a terminal: line breaks stay, what cannot be shown is marked."""
    return UNSHOWABLE.sub("\ufffd", text)
