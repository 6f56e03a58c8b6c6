"""Orders for images and speech: refused in our own words, or read as any other reader of JSON would read them."""

import contextlib
import json
from typing import Any

from tollkeeper.core.calls.media import ImageOrder, MediaLimits, MediaOrder, SpeechOrder, read_image, read_speech
from tollkeeper.core.errors import BadRequest
from tollkeeper.providers.vendors.media_request import media_request
from tools.fuzz.target import Grown, Target

SIZE_BYTES_MOST = 1024 * 1024
LIMITS = MediaLimits()


def check(data: bytes) -> None:
    for read in (read_image, read_speech):
        try:
            order: MediaOrder = read(data)
        except BadRequest:
            continue
        _, _, body = media_request(order, order.model)
        sent = read(body)
        assert [getattr(sent, name) for name in sent.__struct_fields__[:2]] == [order.model, order.variant]
        _check_limits(order)
        # The other reader reads nothing that is nested deeper than this one goes.
        with contextlib.suppress(RecursionError):
            # The first of two, and the last of two.
            _check_reading(order, json.loads(body, object_pairs_hook=lambda pairs: dict(reversed(pairs))))
            _check_reading(order, json.loads(data))
            assert order.fields.keys() == json.loads(data).keys()


def _check_reading(order: MediaOrder, read: Any) -> None:
    """Against another reader."""
    assert order.model == read["model"]
    if isinstance(order, ImageOrder):
        assert order.n == (1 if read.get("n") is None else read["n"])
        assert order.size == (read.get("size") or "1024x1024")
    if isinstance(order, SpeechOrder):
        assert order.characters == len(read["input"].encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        assert order.voice == read["voice"]
        assert order.speed == (1.0 if read.get("speed") is None else float(read["speed"]))


def _check_limits(order: MediaOrder) -> None:
    try:
        order.check(LIMITS)
    except BadRequest:
        return
    if isinstance(order, ImageOrder):
        assert 1 <= order.n <= LIMITS.images_most
    if isinstance(order, SpeechOrder):
        assert 0 < order.characters <= LIMITS.characters_most


def work(data: bytes) -> None:
    """A call is read as the one or the other."""
    with contextlib.suppress(BadRequest):
        read_image(data) if b'"prompt"' in data else read_speech(data)


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'{"model":"i","prompt":"a cat","n":2,"size":"1024x1792","quality":"hd","response_format":"url","user":"u"}',
        b'{"model":"i","prompt":"a d\xc3\xb6g","stream":false}',
        b'{"model":"t","input":"Hello \\ud83d\\ude00","voice":"alloy","response_format":"wav","speed":1.25}',
        b'{"model":"t","input":"Hi","voice":"nova","stream_format":"audio","instructions":"kindly"}',
        b'{"model":"i","prompt":"h","x":' + b'[{"a":' * 400 + b"1" + b"}]" * 400 + b"}",
    ),
    words=(b'"model"', b'"prompt"', b'"n"', b'"size"', b'"quality"', b'"input"', b'"voice"', b'"speed"', b'"stream"'),
    grown=(
        Grown(b"a", b'{"model":"i","prompt":"', b'"}'),
        Grown(b"\\ud83d\\ude00", b'{"model":"t","voice":"nova","input":"', b'"}'),
        Grown(b"9", b'{"model":"i","prompt":"a","n":', b"}"),
        Grown(b"[", b'{"model":"i","prompt":"a","x":', b"}", closing=b"]"),
        Grown(b'"a":1,', b"{", b'"model":"m"}'),
    ),
    size_bytes_most=SIZE_BYTES_MOST,
)
