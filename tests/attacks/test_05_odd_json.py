"""JSON that readers understand differently, or that is made to hurt one: 400, or passed on exactly as it was priced."""

import pytest

from tests.attacker import Attacker
from tests.client import Answer, ask
from tollkeeper.core.catalog.models import Kind

DEEP = 100_000
MESSAGES = '"messages":[{"role":"user","content":"Hi"}]'

# With a model and messages before it, and nothing after it but the closing brace.
MEMBERS = {
    "an array 10^5 deep": '"x":' + "[" * DEEP + "]" * DEEP,
    "objects 10^5 deep": '"metadata":' + '{"a":' * DEEP + "1" + "}" * DEEP,
    "an array 10^5 deep that does not end": '"stop":' + "[" * DEEP,
    "a schema 10^5 deep": '"tools":' + '[{"a":' * DEEP + "1" + "}]" * DEEP,
    "NaN": '"temperature":NaN',
    "Infinity": '"temperature":Infinity',
    "-Infinity": '"temperature":-Infinity',
    "1e999": '"temperature":1e999',
    "-1e999": '"top_p":-1e999',
    "1e999 deep inside": '"metadata":{"a":[{"b":1e999}]}',
    "an integer of 400 digits": '"max_tokens":' + "9" * 400,
    "an integer of 10^5 digits": '"seed":' + "7" * 100_000,
    "2^64 tokens": '"max_tokens":18446744073709551616',
    "-2^63 choices": '"n":-9223372036854775808',
    "hexadecimal": '"n":0x10',
    "a leading zero": '"n":01',
    "a plus sign": '"n":+1',
    "a bare fraction": '"temperature":.5',
    "the model twice": '"model":"other"',
    "the messages twice": MESSAGES,
    "n twice": '"n":1,"n":100',
    "a parameter twice, once escaped": '"n":1,"\\u006e":100',
    "a parameter in another case": '"N":100',
    "single quotes": "'n':1",
    "a comment": "/* hello */",
    "a trailing comma": '"n":1,',
    "a name that is no string": "1:1",
    "half a surrogate pair": '"user":"\\ud800"',
    "the other half": '"user":"\\udfff"',
    "halves in the wrong order": '"user":"\\udc00\\ud800"',
    "half a pair in a name": '"\\ud800":1',
    "a broken escape": '"user":"\\u12"',
    "an unknown escape": '"user":"\\x41"',
    "a raw control character": '"user":"a\nb"',
    "300 parameters": ",".join(f'"p{number}":1' for number in range(300)),
}
BODIES = {
    "nothing": b"",
    "a list": b"[]",
    "a text": b'"model"',
    "null": b"null",
    "two objects": b'{"model":"m"}{"model":"n"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"model":"m"}'.encode("utf-16"),
    "UTF-32": '{"model":"m"}'.encode("utf-32"),
    "not UTF-8": b'{"model":"\xff\xfe"}',
    "an overlong slash": b'{"model":"\xc0\xaf"}',
    "half a surrogate pair in UTF-8": b'{"model":"\xed\xa0\x80"}',
    "a NUL": b'{"model":"m"}\0',
    "a form": b"model=m&messages=Hi",
}
PATHS = (
    *("/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/v1/embeddings"),
    *("/v1/images/generations", "/v1/audio/speech", "/v2/quote"),
)


def order(attacker: Attacker, member: str) -> bytes:
    return f'{{"model":"{attacker.models[Kind.CHAT]}",{MESSAGES},{member}}}'.encode()


def asked(attacker: Attacker, body: bytes, path: str = PATHS[0]) -> Answer:
    return ask(attacker.node, path, method="POST", key=attacker.key, body=body)


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS.keys())
def test_a_strange_member_is_400(attacker: Attacker, member: str) -> None:
    answer = asked(attacker, order(attacker, member))
    assert answer.status == 400, answer.text
    assert answer.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_what_is_no_json_object_is_400(attacker: Attacker, path: str, body: bytes) -> None:
    assert asked(attacker, body, path).status == 400


@pytest.mark.parametrize("content", ["\\ud800", "\\udc00 \\ud800", "a" * 2_000_000 + "\\ud800"])
def test_half_a_surrogate_pair_in_a_message_is_400(attacker: Attacker, content: str) -> None:
    body = f'{{"model":"{attacker.models[Kind.CHAT]}","messages":[{{"role":"user","content":"{content}"}}]}}'
    assert asked(attacker, body.encode()).status == 400


def test_nothing_came_of_any(attacker: Attacker) -> None:
    attacker.check_nothing_came_of()


def test_an_escaped_nul_passes_and_is_stored_nowhere(attacker: Attacker) -> None:
    """The database takes no NUL: a text that were stored would break the receipt."""
    honest = Attacker(attacker.node, attacker.simulator, attacker.witness, attacker.witness, attacker.models)
    answer = honest.chat("Hi \0 there [[echo=true]]", user="a\0b")
    assert answer.status == 200, answer.text
    assert answer.json["choices"][0]["message"]["content"].startswith("Hi \0 there")
    assert honest.simulator.wait_for(answer.headers["x-request-id"])["status"] == 200
