"""Legal pages: plain Markdown as HTML, on the server.

Rules of this file
1. Everything is escaped first: HTML in the text is shown as text.
2. It knows headings, paragraphs, lists, bold, and links to https and mailto. Whatever else there is stays as written.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from markupsafe import Markup, escape

_HEADING = re.compile(r"(#{1,4})\s+(.+)")
_ITEM = re.compile(r"(?:[-*]|(\d{1,3})\.)\s+(.+)")
# Of escaped text: quotes and angle brackets cannot come in it.
_LINK = re.compile(r"\[([^\[\]]{1,500})\]\(((?:https://|mailto:)[^\s()]{1,1000})\)")
_BOLD = re.compile(r"\*\*([^*]{1,1000})\*\*")


def rendered(text: str) -> Markup:
    return Markup("\n").join(_block(lines) for lines in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines without an empty one between them; a heading stands alone, and a list is apart from a paragraph."""
    for kind, lines in groupby(map(str.strip, text.splitlines()), key=_kind):
        found = list(lines)
        if kind == "heading":
            yield from ([line] for line in found)
        elif kind:
            yield found


def _kind(line: str) -> str:
    if not line:
        return ""
    if _HEADING.fullmatch(line):
        return "heading"
    item = _ITEM.fullmatch(line)
    return "text" if item is None else "numbers" if item[1] else "points"


def _block(lines: list[str]) -> Markup:
    kind = _kind(lines[0])
    heading = _HEADING.fullmatch(lines[0])
    if heading is not None:
        # The page's own title is the first.
        level = min(len(heading[1]) + 1, 4)
        return Markup("<h{0}>{1}</h{0}>").format(level, _inline(heading[2]))
    if kind == "text":
        return Markup("<p>{}</p>").format(Markup("<br>").join(map(_inline, lines)))
    items = [item[2] for line in lines if (item := _ITEM.fullmatch(line))]
    inside = Markup("").join(Markup("<li>{}</li>").format(_inline(item)) for item in items)
    return Markup("<{0}>{1}</{0}>").format("ol" if kind == "numbers" else "ul", inside)


def _inline(line: str) -> Markup:
    plain = str(escape(line))
    linked = _LINK.sub(r'<a href="\2" rel="noopener">\1</a>', plain)
    return Markup(_BOLD.sub(r"<strong>\1</strong>", linked))  # noqa: S704 (escaped above)
