"""Orders for embeddings as Gemini is sent them: refused in our own words, or every text once, in its order."""

import json

from tollkeeper.core.calls.embedding import EmbeddingOrder, read_embedding
from tollkeeper.core.errors import BadRequest
from tollkeeper.providers.vendors.embeddings_to_gemini import TEXTS_MOST
from tollkeeper.providers.vendors.gemini import Gemini
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ORDER_BYTES_MOST, account

VENDOR, ACCOUNT = Gemini(), account("gemini")


def check(data: bytes) -> None:
    if (found := _sent(data)) is None:
        return
    order, body = found
    requests = json.loads(body)["requests"]
    assert 1 <= len(requests) == order.inputs <= TEXTS_MOST
    for text, request in zip(order.texts, requests, strict=True):
        assert request["content"] == {"parts": [{"text": text}]}
        assert request["model"] == f"models/{order.model.removeprefix('models/')}"
        assert request.get("outputDimensionality") == order.dimensions
    # Another reader finds the same texts in what came.
    asked = json.loads(data)["input"]
    assert list(order.texts) == [_as_text(text) for text in ([asked] if isinstance(asked, str) else asked)]
    order.forget_content()
    assert not order.inputs


def _as_text(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _sent(data: bytes) -> tuple[EmbeddingOrder, bytes] | None:
    """The order and the body that goes out for it; None where the caller is to correct it."""
    try:
        order = read_embedding(data)
        address, _, body = VENDOR.media(order, ACCOUNT)
    except BadRequest:
        return None
    assert address.startswith("https://vendor.test/")
    assert address.isascii()
    assert not any(mark in address for mark in " \r\n#?")
    return order, body


def work(data: bytes) -> None:
    _sent(data)


_INPUT = b'{"model":"m","input":'

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        _INPUT + b'"A river"}',
        _INPUT + b'["A river","a h\xc3\xb6use \\ud83d\\ude00"],"dimensions":256,"encoding_format":"base64","user":"u"}',
        b'{"model":"models/text/embedding?x=1","input":["a"],"encoding_format":"float"}',
        _INPUT + b"[1,2,3]}",
        _INPUT + b'[[1,2],[3]],"dimensions":null}',
    ),
    words=(
        *(b'"model"', b'"input"', b'"dimensions"', b'"encoding_format"', b'"base64"', b'"float"', b'"user"'),
        *(b'"models/', b"[[", b"]]", b'"",'),
    ),
    grown=(
        Grown(b"a", _INPUT + b'"', b'"}'),
        Grown(b"\\ud83d\\ude00", _INPUT + b'"', b'"}'),
        Grown(b'"a",', _INPUT + b"[", b'"a"]}'),
        Grown(b"1,", _INPUT + b"[", b"1]}"),
        Grown(b"[1],", _INPUT + b"[", b"[1]]}"),
        Grown(b"[", _INPUT, b"}", closing=b"]"),
        Grown(b"9", _INPUT + b'"a","dimensions":', b"}"),
        Grown(b"/", b'{"input":"a","model":"', b'"}'),
    ),
    size_bytes_most=ORDER_BYTES_MOST,
)
