"""Gemini's embeddings: no answer, or as many vectors as were asked for, with the numbers and the usage that it told."""

import base64
import json
import struct
from typing import Any

from tollkeeper.core.calls.embedding import INPUTS_MOST as ORDERED_MOST
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.reporting_meters import EmbeddingMeter
from tollkeeper.core.money.prices import Usage
from tollkeeper.providers.vendors.gemini_to_embeddings import embedding_answer
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ANSWER_BYTES_MOST

INPUTS_MOST = 3
COUNTED_TOKENS = 77


def check(data: bytes) -> None:
    for inputs in range(1, INPUTS_MOST + 1):
        as_numbers, as_base64 = (_told(data, inputs, wants_base64=wanted) for wanted in (False, True))
        if as_numbers is None:
            assert as_base64 is None
            continue
        _check_metered(as_numbers, inputs)
        if as_base64 is not None:
            _check_metered(as_base64, inputs)
            _check_same(json.loads(as_numbers), json.loads(as_base64))


def _told(data: bytes, inputs: int, *, wants_base64: bool) -> bytes | None:
    try:
        return embedding_answer(data, "m", wants_base64=wants_base64, inputs=inputs, counted_tokens=COUNTED_TOKENS)
    except NotAnAnswer:
        return None


def _check_metered(told: bytes, inputs: int) -> None:
    """The relay hears the end, every vector, and the vendor's report, which is none where we have counted."""
    meter = EmbeddingMeter()
    meter.read(told)
    usage = json.loads(told)["usage"]
    assert meter.finished
    assert meter.images == inputs
    assert usage["prompt_tokens"] >= 0
    if "estimated" in usage:
        assert usage["prompt_tokens"] == COUNTED_TOKENS
        assert meter.reported is None
    else:
        assert meter.reported == Usage(usage["prompt_tokens"])


def _check_same(as_numbers: Any, as_base64: Any) -> None:
    assert as_numbers["usage"] == as_base64["usage"]
    for index, (one, other) in enumerate(zip(as_numbers["data"], as_base64["data"], strict=True)):
        assert one["index"] == other["index"] == index
        packed = base64.b64decode(other["embedding"])
        assert packed == struct.pack(f"<{len(one['embedding'])}f", *one["embedding"])


def work(data: bytes) -> None:
    """For each vector, so that a grown answer is translated to its end; of more than anybody may ask for, none is."""
    vectors = max(1, data.count(b'"values"'))
    _told(data, min(vectors, ORDERED_MOST), wants_base64=True)


_VALUES = b'{"embeddings":[{"values":['

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'{"embeddings":[{"values":[0.25,-1.5e-3,1,0]}],"usageMetadata":{"promptTokenCount":3}}',
        b'{"embeddings":[{"values":[0.1]},{"values":[2]}]}',
        b'{"embeddings":[{"values":[1e300]},{"values":[-0.0]},{"values":[1]}],"usageMetadata":{"promptTokenCount":-1}}',
        b'{"embeddings":[{"values":[NaN]}]}',
        b'{"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}',
    ),
    words=(b'"embeddings"', b'"values"', b'"usageMetadata"', b'"promptTokenCount"', b"[{", b"}]", b"1e39", b"null"),
    grown=(
        Grown(b"0.0123456789,", _VALUES, b"1]}]}"),
        Grown(b"1,", _VALUES, b"1]}]}"),
        Grown(b"9", _VALUES, b"]}]}"),
        Grown(b'{"values":[1]},', b'{"embeddings":[', b'{"values":[1]}]}'),
        Grown(b"{},", b'{"embeddings":[', b"{}]}"),
        Grown(b"[", _VALUES, b"]}]}", closing=b"]"),
        Grown(b"9", b'{"embeddings":[],"usageMetadata":{"promptTokenCount":', b"}}"),
    ),
    size_bytes_most=ANSWER_BYTES_MOST,
)
