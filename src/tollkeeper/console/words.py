"""The console's own words: one `.po` file in `words/` for each part of it."""

from functools import partial
from pathlib import Path

from tollkeeper.look import words
from tollkeeper.look.words import LANGUAGES, LOCALES, TAGS, USUAL, choose_language, marked

FOLDER = Path(__file__).parent / "words"

read_catalog = partial(words.read_catalog, FOLDER)
translations = partial(words.translations, FOLDER)

__all__ = [
    "FOLDER",
    "LANGUAGES",
    "LOCALES",
    "TAGS",
    "USUAL",
    "choose_language",
    "marked",
    "read_catalog",
    "translations",
]
