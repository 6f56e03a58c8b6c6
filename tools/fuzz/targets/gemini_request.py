"""Orders for chat as Gemini is sent them: refused in our own words, or within what was priced."""

import json

from tollkeeper.providers.vendors.gemini import Gemini
from tools.fuzz.examples import CHAT_GROWN, CHAT_SEEDS, CHAT_WORDS
from tools.fuzz.target import Target
from tools.fuzz.vendors import ORDER_BYTES_MOST, account, sent

VENDOR, ACCOUNT = Gemini(), account("gemini")


def check(data: bytes) -> None:
    if (found := sent(VENDOR, ACCOUNT, data)) is None:
        return
    order, body = found
    told = json.loads(body)
    config = told.get("generationConfig", {})
    assert config.get("candidateCount", 1) == order.n
    assert (config.get("maxOutputTokens") or 0) <= (order.max_output_tokens or 0)
    assert told["contents"]
    assert {content["role"] for content in told["contents"]} <= {"user", "model"}
    assert all(content["parts"] for content in told["contents"])


def work(data: bytes) -> None:
    sent(VENDOR, ACCOUNT, data)


TARGET = Target(
    check=check, work=work, seeds=CHAT_SEEDS, words=CHAT_WORDS, grown=CHAT_GROWN, size_bytes_most=ORDER_BYTES_MOST
)
