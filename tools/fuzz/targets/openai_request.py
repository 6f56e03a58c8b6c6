"""Orders for chat as compatible vendors are sent them: what is priced is what is sent."""

import msgspec

from tollkeeper.core.calls.chat import read_chat
from tollkeeper.providers.vendors.openai import OpenAI
from tools.fuzz.examples import CHAT_GROWN, CHAT_SEEDS, CHAT_WORDS
from tools.fuzz.target import Target
from tools.fuzz.vendors import ORDER_BYTES_MOST, account, sent

VENDOR = OpenAI()
RENAMED = msgspec.structs.replace(account("openai"), models={"m": "theirs"})
PARTICULAR = msgspec.structs.replace(account("openai"), rejects=frozenset({"max_tokens", "stream_options", "top_k"}))
PRICED: tuple[str, ...] = ("stream", "n", "max_output_tokens", "media_parts", "framing_tokens", "texts", "thinks")


def check(data: bytes) -> None:
    for to in (RENAMED, PARTICULAR):
        if (found := sent(VENDOR, to, data)) is None:
            continue
        order, body = found
        if to.name_of(order.model) is None:
            # It would not have been asked.
            continue
        again = read_chat(body)
        names = PRICED
        if {"max_tokens", "max_completion_tokens"} <= order.fields.keys():
            # Of two caps the one goes out that this account knows; the larger was priced.
            names = tuple(name for name in PRICED if name != "max_output_tokens")
            assert (again.max_output_tokens or 0) <= (order.max_output_tokens or 0)
        assert [getattr(again, name) for name in names] == [getattr(order, name) for name in names]
        if order.stream and to is RENAMED:
            assert again.wants_usage


def work(data: bytes) -> None:
    sent(VENDOR, RENAMED, data)


TARGET = Target(
    check=check, work=work, seeds=CHAT_SEEDS, words=CHAT_WORDS, grown=CHAT_GROWN, size_bytes_most=ORDER_BYTES_MOST
)
