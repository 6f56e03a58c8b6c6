"""Which calls are of one conversation."""

import gc
import json
from types import CellType

import pytest

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.conversation import ID_CHARACTERS_MOST, TEXT_CHARACTERS_MOST, TEXTS_MOST
from tollkeeper.core.calls.json_fields import encode
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_messages

SYSTEM = {"role": "system", "content": "You are an agent."}
FIRST = {"role": "user", "content": "Mend the file."}
LATER = [{"role": "assistant", "content": "Which?"}, {"role": "user", "content": "That one."}]


def conversation(*messages: object, **fields: object) -> bytes:
    return read_chat(json.dumps({"model": "m", "messages": messages, **fields}).encode()).conversation()


def test_a_conversation_that_goes_on_is_the_same() -> None:
    assert (
        conversation(SYSTEM, FIRST) == conversation(SYSTEM, FIRST, *LATER) == conversation(SYSTEM, FIRST, stream=True)
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([SYSTEM, {"role": "user", "content": "Read the file."}], id="first message"),
        pytest.param([{"role": "system", "content": "You are a poet."}, FIRST], id="what stands before it"),
        pytest.param([FIRST], id="nothing before it"),
        pytest.param(
            [{"role": "user", "content": "You are an agent.Mend the file."}], id="the same text in one message"
        ),
    ],
)
def test_conversations_that_begin_otherwise_are_others(other: list[object]) -> None:
    assert conversation(*other) != conversation(SYSTEM, FIRST)


def test_parts_of_a_message_are_its_beginning_too() -> None:
    parts = [{"type": "text", "text": "Mend the file."}, {"type": "text", "text": "Please."}]
    assert conversation({"role": "user", "content": parts}) != conversation(FIRST)
    assert conversation({"role": "user", "content": parts}, *LATER) == conversation({"role": "user", "content": parts})


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"prompt_cache_key": "session 7"}, id="prompt_cache_key"),
        pytest.param({"metadata": {"session_id": "session 7", "other": "x"}}, id="metadata.session_id"),
        pytest.param({"prompt_cache_key": "session 7", "metadata": {"session_id": "8"}, "user": "u"}, id="both"),
    ],
)
def test_an_id_says_it_whatever_the_messages_are(fields: dict[str, object]) -> None:
    assert conversation(SYSTEM, FIRST, **fields) == conversation(*LATER, prompt_cache_key="session 7")
    assert conversation(SYSTEM, FIRST, **fields) != conversation(SYSTEM, FIRST)


def test_a_user_tells_the_same_beginnings_apart_and_is_no_conversation() -> None:
    assert conversation(FIRST, user="one") != conversation(FIRST, user="other")
    assert conversation(FIRST, user="one") != conversation(*LATER, user="one")
    assert conversation(FIRST, user="one") == conversation(FIRST, *LATER, user="one")


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_cache_key": 7},
        {"prompt_cache_key": ""},
        {"prompt_cache_key": None},
        {"metadata": "x"},
        {"metadata": {"session_id": 7}},
        {"metadata": None},
        {"user": ["x"]},
    ],
)
def test_what_is_no_id_is_none(fields: dict[str, object]) -> None:
    assert conversation(SYSTEM, FIRST, **fields) == conversation(SYSTEM, FIRST)


def test_of_long_texts_only_the_start_is_looked_at() -> None:
    long = {"role": "system", "content": "x" * 10_000_000}
    many = [{"role": "system", "content": "x" * 10_000}] * 1_000
    assert len(conversation(long, FIRST, user="u" * 10_000)) < 2 * TEXT_CHARACTERS_MOST + ID_CHARACTERS_MOST
    assert len(conversation(*many, FIRST)) < (TEXTS_MOST + 1) * TEXT_CHARACTERS_MOST
    assert len(conversation(FIRST, prompt_cache_key="k" * 10_000)) < 2 * ID_CHARACTERS_MOST


def test_it_is_forgotten_with_the_content() -> None:
    order = read_chat(json.dumps({"model": "m", "messages": [FIRST]}).encode())
    order.forget_content()
    assert order.conversation() == b""


LONG = "word " * 10_000
SAID_AT_LENGTH = {"model": "m", "messages": [{"role": "user", "content": LONG}]}
BY_A_LONG_USER = {"model": "m", "max_tokens": 1, "messages": [FIRST], "metadata": {"user_id": LONG}}


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(read_chat(encode(SAID_AT_LENGTH)), id="a message"),
        pytest.param(read_messages(Spoken(encode(BY_A_LONG_USER))), id="a user of the Messages API"),
    ],
)
def test_a_long_text_is_not_kept_to_name_its_conversation(order: ChatOrder) -> None:
    """Whoever counts the texts lets go of them: what is kept besides would be bounded by nothing."""
    name, order.texts = order.conversation(), ()
    kept: list[object] = [order.conversation]
    for each in kept:
        # What a function or a partial refers to, and those in turn, but no modules.
        kept += [found for found in gc.get_referents(each) if isinstance(found, str | bytes | tuple | list | CellType)]
    assert max(len(each) for each in kept if isinstance(each, str | bytes)) <= len(name)
