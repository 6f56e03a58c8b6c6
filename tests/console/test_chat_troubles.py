"""Why there is no answer: every refusal that a chat can meet has words of its own."""

from collections.abc import Iterator

from tollkeeper.console.chat.troubles import WORDS
from tollkeeper.core.errors import GatewayError

# What the page sends has nothing that could be refused so.
NEVER_MET = {
    "bad_request": "the name of a family",
    "forbidden": "the name of a family",
    "not_found": "the name of a family",
    "made_before": "the name of a family",
    "malformed_header": "our own headers",
    "invalid_header": "our own headers",
    "input_above_max_charge": "no x-max-charge-usd is sent",
    "different_api_keys": "one key is sent",
    "call_running": "no Idempotency-Key is sent",
    "call_repeated": "no Idempotency-Key is sent",
    "idempotency_key_reused": "no Idempotency-Key is sent",
    "unexpected_body": "the endpoint takes one",
    "malformed_body": "our own JSON",
    "compressed_body": "it is not compressed",
    "missing_parameter": "all are there",
    "answer_would_be_too_large": "the answer is streamed",
    "network_not_allowed": "the key of a chat has no networks",
    "key_budget_exceeded": "the key of a chat has no budgets",
    "endpoint_not_found": "our own address",
    "address_unknown": "our own address",
    "method_not_allowed": "our own address",
    "responses_not_stored": "another protocol",
    "call_not_found": "another endpoint",
}


def refusals(of: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    for refusal in of.__subclasses__():
        yield refusal
        yield from refusals(refusal)


def test_every_refusal_that_a_chat_can_meet_has_words() -> None:
    # Those of 429 and of 500 and more are told by their status.
    codes = {refusal.code for refusal in refusals() if refusal.status < 500 and refusal.status != 429}
    assert codes - set(WORDS) == set(NEVER_MET)


def test_a_chat_that_has_grown_too_long_is_told_to_begin_anew() -> None:
    assert WORDS["context_length_exceeded"].startswith("This chat has grown longer than the model can read. Begin")
