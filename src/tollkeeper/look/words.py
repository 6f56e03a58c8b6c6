"""Languages of pages: English as it is written in the source, others by catalogs.

Rules of this file
1. A catalog is a folder of `.po` files, one for each part, read when the process starts.
2. The language is what was asked for by name, or what was kept, or the first of the browser's that we have.
"""

import io
from collections.abc import Mapping
from functools import cache
from gettext import GNUTranslations, NullTranslations
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

# As each calls itself.
LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "简体中文"}
# As HTML and Babel name them.
TAGS: Mapping[str, str] = {"en": "en", "zh": "zh-Hans"}
LOCALES: Mapping[str, str] = {"en": "en_US", "zh": "zh_Hans_CN"}
USUAL = "en"


def marked(text: str) -> str:
    """For words in tables: they are translated where they are shown."""
    return text


def read_catalog(folder: Path, language: str) -> Catalog:
    """Every `.po` file that a folder has of a language, as one."""
    whole = Catalog(locale="zh_CN" if language == "zh" else language)
    for file in sorted((folder / language).glob("*.po")):
        with file.open("rb") as opened:
            for message in read_po(opened, locale=whole.locale, abort_invalid=True):
                if message.id:
                    whole[message.id] = message
    return whole


@cache
def translations(folder: Path, language: str) -> NullTranslations:
    if language == USUAL:
        return NullTranslations()
    compiled = io.BytesIO()
    write_mo(compiled, read_catalog(folder, language))
    compiled.seek(0)
    return GNUTranslations(compiled)


def choose_language(*, asked: str, kept: str, accepted: str) -> str:
    """`accepted` is the browser's Accept-Language."""
    if asked in LANGUAGES:
        return asked
    if kept in LANGUAGES:
        return kept
    weighed = sorted(map(_weighed, accepted[:500].split(",")), reverse=True, key=lambda each: each[0])
    return next((tag for weight, tag in weighed if weight > 0 and tag in LANGUAGES), USUAL)


def _weighed(item: str) -> tuple[float, str]:
    tag, _, quality = item.partition(";")
    try:
        weight = float(quality.strip().removeprefix("q=")) if quality else 1.0
    except ValueError:
        weight = 0.0
    return weight, tag.strip().partition("-")[0].lower()
