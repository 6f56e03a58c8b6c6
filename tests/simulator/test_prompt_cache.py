"""The prompt cache of each account."""

import json

from tollkeeper_simulator.order import read_order
from tollkeeper_simulator.prompt_cache import PromptCache
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.tokens import count_message

SYSTEM, FIRST = {"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Mend the file."}
ANSWER, SECOND = {"role": "assistant", "content": "Which?"}, {"role": "user", "content": "That one."}


def known(cache: PromptCache, *messages: object, key: str = "sk-1", model: str = "m") -> int:
    body = json.dumps({"model": model, "messages": messages}).encode()
    return cache.known_tokens(Request("POST", "/", {"authorization": f"Bearer {key}"}), read_order(body))


def tokens_of(*messages: object) -> int:
    return sum(map(count_message, read_order(json.dumps({"model": "m", "messages": messages}).encode()).messages))


def test_what_an_account_was_sent_before_is_known() -> None:
    cache = PromptCache()
    assert known(cache, SYSTEM, FIRST) == 0
    assert known(cache, SYSTEM, FIRST, ANSWER, SECOND) == tokens_of(SYSTEM, FIRST)
    assert known(cache, SYSTEM, SECOND) == tokens_of(SYSTEM)
    assert known(cache, FIRST) == 0


def test_another_account_and_another_model_know_nothing_of_it() -> None:
    cache = PromptCache()
    known(cache, SYSTEM, FIRST)
    assert known(cache, SYSTEM, FIRST, key="sk-2") == 0
    assert known(cache, SYSTEM, FIRST, model="n") == 0
