"""Gemini's embeddings as our protocol has them. Pure.

Rules of this file
1. Vectors keep their order and their numbers; in base64 they are 32-bit floats, little-endian, as the protocol has it.
2. Where the vendor does not report its usage, the usage is what we counted, and says so: our own meter takes it for no
   report.
"""

import base64
import math
import struct
from collections.abc import Sequence

import msgspec

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, an_object, decode, is_count, objects
from tollkeeper.core.calls.meter import NotAnAnswer

# True and false are of a type of their own.
NUMBERS = frozenset[type]({int, float})

encode = msgspec.json.Encoder().encode


def embedding_answer(body: bytes, model: str, *, wants_base64: bool, inputs: int, counted_tokens: int) -> bytes:
    """Raise NotAnAnswer where there are other than so many vectors."""
    try:
        answer = an_object(decode(body))
    except NOT_READ:
        raise NotAnAnswer from None
    embeddings = objects(answer.get("embeddings"))
    # First, so that of a vendor's vectors no more are looked at than anybody can have asked for.
    if len(embeddings) != inputs:
        raise NotAnAnswer
    vectors = [_vector(each.get("values")) for each in embeddings]
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if wants_base64 else vector}
        for index, vector in enumerate(vectors)
    ]
    return encode({"object": "list", "data": data, "model": model, "usage": _usage(answer, counted_tokens)})


def _vector(values: object) -> list[float]:
    if not isinstance(values, list) or not values:
        raise NotAnAnswer
    if not set(map(type, values)) <= NUMBERS or not _are_finite(values):
        raise NotAnAnswer
    return values


def _are_finite(values: Sequence[float]) -> bool:
    try:
        return all(map(math.isfinite, values))
    except OverflowError:
        # A whole number of more digits than any float has.
        return False


def _base64(vector: Sequence[float]) -> str:
    try:
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    except (OverflowError, struct.error):
        # A number that no 32-bit float can be.
        raise NotAnAnswer from None


def _usage(answer: JsonObject, counted_tokens: int) -> JsonObject:
    tokens = an_object(answer.get("usageMetadata")).get("promptTokenCount")
    if is_count(tokens):
        return {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"prompt_tokens": counted_tokens, "total_tokens": counted_tokens, "estimated": True}
