"""Changes of single bytes in an answer: in its first JSON object, in its choices, before its words."""

import re
from collections.abc import Callable

from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.usage import Restatement, as_json

MEGABYTE = 1_048_576
BOM = b"\xef\xbb\xbf"
LETTERS = {"": b"", "surrogate": rb"\ud800", "invalid_utf8": b"\xff\xc0\xaf", "nul": rb"\u0000", "control": b"\x01\x00"}

Change = Callable[[bytes], bytes]

_INDEX = re.compile(rb'("index":)\d+')
_LOGPROB = b'{"token":"x","logprob":-0.5,"bytes":[120],"top_logprobs":[]}'


def aside_of(chosen: Hostile) -> bytes:
    """Members that stand first in the first JSON object."""
    members = {
        b'"murmur":"%b",' % (b"x" * chosen.answer_mb * MEGABYTE): chosen.answer_mb,
        b'"deep":%b%b,' % (b"[" * chosen.deep, b"]" * chosen.deep): chosen.deep,
        b'"number":%b,' % (b"7" * chosen.digits): chosen.digits,
        b'"choices":[],"candidates":[],"content":[],"usage":{"prompt_tokens":0,"completion_tokens":0},"id":1,"id":2,': (
            chosen.duplicate_keys
        ),
    }
    return b"".join(member for member, is_wanted in members.items() if is_wanted)


def changes_of(chosen: Hostile) -> list[Change]:
    """What is done to every part of an answer."""
    changes: list[Change] = [Restatement(chosen)]
    if chosen.index:
        changes.append(lambda data: _INDEX.sub(rb"\g<1>" + as_json(chosen.index), data, count=1))
    return changes


class Logprobs:
    """Very many log probabilities, in the first choice that has none."""

    def __init__(self, chosen: Hostile) -> None:
        self._megabytes = chosen.logprobs_mb

    def __call__(self, data: bytes) -> bytes:
        if not self._megabytes or b'"logprobs":null' not in data:
            return data
        size, self._megabytes = self._megabytes * MEGABYTE, 0
        many = b",".join([_LOGPROB] * (size // len(_LOGPROB)))
        return data.replace(b'"logprobs":null', b'"logprobs":{"content":[%b]}' % many, 1)
