"""Words of pages: what is to be translated, what is missing, and what is not marked.

`python -m tools.words` says what is missing. `python -m tools.words PART` writes it, untranslated, into
`console/words/*/PART.po`, for you to fill in, and takes out what is said no more. The part `gateway` is that of the
gateway's own pages, in `edge/pages/words`.

Rules of this file
1. Every sentence of a template stands in `trans` or `_()`, and every sentence of a module in `gettext()` or `marked()`.
2. A part of the console has a `.po` file of its own, so that several can be written at the same time.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

from tollkeeper.look.words import LANGUAGES, USUAL, read_catalog

SOURCE = Path(__file__).parent.parent / "src" / "tollkeeper"


class Room(NamedTuple):
    """A folder with pages: its modules, their templates, and their catalogs."""

    folder: Path
    templates: Path
    words: Path


CONSOLE = Room(SOURCE / "console", SOURCE / "console" / "pages_html", SOURCE / "console" / "words")
GATEWAY = Room(SOURCE / "edge" / "pages", SOURCE / "edge" / "pages" / "html", SOURCE / "edge" / "pages" / "words")
GATEWAY_PART = "gateway"
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None}
SPOKEN = ("aria-label", "title", "placeholder", "alt")
# Where text is no sentence of ours.
CODE = ("code", "pre", "script")
# Stands for whatever an expression says.
EXPRESSION = "\N{WHITE SQUARE}"

Id = str | tuple[str, ...]


def said(room: Room) -> set[Id]:
    """Every text that is to be translated."""
    found: set[Id] = set()
    for file in room.folder.rglob("*.py"):
        with file.open("rb") as opened:
            found |= {_text(text) for _, text, *_ in extract("python", opened, KEYWORDS)}
    for file in room.templates.rglob("*.html"):
        with file.open("rb") as opened:
            found |= {_text(text) for _, text, *_ in extract("jinja2", opened, KEYWORDS)}
    return found


def missing(room: Room, language: str) -> list[Id]:
    """What has no translation, or a fuzzy one."""
    catalog = read_catalog(room.words, language)
    return [text for text in sorted(said(room), key=str) if not _is_there(catalog.get(_key(text)))]


def stale(room: Room, language: str) -> list[Id]:
    """What is translated and said nowhere."""
    spoken, catalog = said(room), read_catalog(room.words, language)
    return [_text(message.id) for message in catalog if message.id and _text(message.id) not in spoken]


def unmarked(room: Room) -> Iterator[str]:
    """Sentences of templates that would be shown as they are."""
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    for file in sorted(room.templates.rglob("*.html")):
        reader = _Reader()
        for part in _parts(environment.parse(file.read_text())):
            reader.feed(part)
        for text in reader.texts:
            if any(character.isalpha() for character in text.replace(EXPRESSION, "")):
                yield f"{file.relative_to(room.templates)}: {' '.join(text.split())}"


def fill(part: str) -> None:
    room = GATEWAY if part == GATEWAY_PART else CONSOLE
    for language in set(LANGUAGES) - {USUAL}:
        file = room.words / language / f"{part}.po"
        catalog = Catalog(locale="zh_CN", fuzzy=False)
        if file.exists():
            with file.open("rb") as opened:
                catalog = read_po(opened, locale="zh_CN")
        spoken = said(room)
        for message in list(catalog):
            if message.id and _text(message.id) not in spoken:
                catalog.delete(message.id)
        for text in missing(room, language):
            catalog.add(_key(text), ("",) if isinstance(text, tuple) else "")
        file.parent.mkdir(exist_ok=True)
        with file.open("wb") as opened:
            write_po(opened, catalog, omit_header=True, sort_output=True, no_location=True, width=0)


def _parts(node: nodes.Node) -> Iterator[str]:
    """The text of a template in its order, with a mark for each expression."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.TemplateData):
            yield child.data
        elif isinstance(node, nodes.Output):
            yield EXPRESSION
        else:
            yield from _parts(child)


class _Reader(HTMLParser):
    """Texts, and attributes that are read to people."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in CODE:
            self._inside.append(tag)
        self.texts += [value or "" for name, value in attrs if name in SPOKEN]

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.texts.append(data)


def _is_there(message: Message | None) -> bool:
    if message is None or message.fuzzy:
        return False
    strings = message.string if isinstance(message.string, tuple | list) else (message.string,)
    return all(strings)


def _key(text: Id) -> str | tuple[str, str]:
    return text if isinstance(text, str) else (text[0], text[1])


def _text(key: str | tuple[str, ...] | list[str]) -> Id:
    return key if isinstance(key, str) else (key[0], key[1])


def main() -> None:
    if len(sys.argv) > 1:
        fill(sys.argv[1])
    for room in (CONSOLE, GATEWAY):
        for language in set(LANGUAGES) - {USUAL}:
            for text in missing(room, language):
                print(f"{language}: {text!r} is not translated")
        for told in unmarked(room):
            print(f"not marked: {told}")


if __name__ == "__main__":
    main()
