"""Nothing is shown that is not in the visitor's language."""

import pytest

from tollkeeper.console.refusals import WORDS
from tollkeeper.core.people.logins import LoginRefusal
from tollkeeper.look.words import LANGUAGES, USUAL, choose_language, read_catalog
from tools.words import CONSOLE, GATEWAY, Room, missing, said, stale, unmarked

TRANSLATED = sorted(set(LANGUAGES) - {USUAL})

in_every_room = pytest.mark.parametrize(
    "room", [pytest.param(CONSOLE, id="console"), pytest.param(GATEWAY, id="gateway")]
)


@in_every_room
@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_and_none_is_in_doubt(room: Room, language: str) -> None:
    assert len(said(room)) > (100 if room is CONSOLE else 50)
    assert missing(room, language) == []


@in_every_room
@pytest.mark.parametrize("language", TRANSLATED)
def test_nothing_is_translated_that_is_said_nowhere(room: Room, language: str) -> None:
    assert stale(room, language) == []


@in_every_room
@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_name_the_same_values(room: Room, language: str) -> None:
    catalog = read_catalog(room.words, language)
    assert [(message.id, list(message.check())) for message in catalog if list(message.check())] == []


@in_every_room
def test_every_text_of_a_template_is_marked(room: Room) -> None:
    assert list(unmarked(room)) == []


def test_every_refusal_has_words() -> None:
    def kinds(kind: type[LoginRefusal]) -> set[type[LoginRefusal]]:
        return {kind, *(below for child in kind.__subclasses__() for below in kinds(child))}

    assert kinds(LoginRefusal) - {LoginRefusal} == set(WORDS)


@pytest.mark.parametrize(
    ("asked", "kept", "accepted", "language"),
    [
        ("", "", "", "en"),
        ("zh", "en", "en", "zh"),
        ("xx", "zh", "en", "zh"),
        ("", "", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "", "fr, en;q=0.5, zh;q=0.9", "zh"),
        ("", "", "zh;q=0, en;q=0.1", "en"),
        ("", "", "zh;q=nonsense,,;", "en"),
    ],
)
def test_the_language_is_the_first_that_was_asked_for(asked: str, kept: str, accepted: str, language: str) -> None:
    assert choose_language(asked=asked, kept=kept, accepted=accepted) == language
