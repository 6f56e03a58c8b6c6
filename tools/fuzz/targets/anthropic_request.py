"""Orders for chat as Anthropic is sent them: refused in our own words, or within what was priced."""

import json
from itertools import pairwise

from tollkeeper.providers.vendors.anthropic import Anthropic
from tools.fuzz.examples import CHAT_GROWN, CHAT_SEEDS, CHAT_WORDS
from tools.fuzz.target import Target
from tools.fuzz.vendors import ORDER_BYTES_MOST, OUTPUT_TOKENS_MOST, account, sent

VENDOR, ACCOUNT = Anthropic(), account("anthropic")


def check(data: bytes) -> None:
    if (found := sent(VENDOR, ACCOUNT, data)) is None:
        return
    order, body = found
    told = json.loads(body)
    assert told["model"] == order.model
    assert 1 <= told["max_tokens"] <= (order.max_output_tokens or OUTPUT_TOKENS_MOST)
    assert order.n == 1
    assert bool(told.get("stream")) == order.stream
    roles = [message["role"] for message in told["messages"]]
    assert all(before != behind for before, behind in pairwise(roles))
    assert set(roles) <= {"user", "assistant"}
    assert all(message["content"] for message in told["messages"])


def work(data: bytes) -> None:
    sent(VENDOR, ACCOUNT, data)


TARGET = Target(
    check=check, work=work, seeds=CHAT_SEEDS, words=CHAT_WORDS, grown=CHAT_GROWN, size_bytes_most=ORDER_BYTES_MOST
)
