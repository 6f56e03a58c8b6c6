"""The meter of images: however an answer is cut, the same count, and the count of any other reader of JSON."""

import json
from typing import Any

from tollkeeper.core.calls.image_meter import ImageMeter
from tollkeeper.core.calls.meter import NotAnAnswer
from tools.fuzz.pieces import PIECE_BYTES, ways_to_cut
from tools.fuzz.target import Grown, Target


class Twice(ValueError):
    """A name that stands twice in an object: readers differ."""


def check(data: bytes) -> None:
    whole = _read([data])
    for pieces in ways_to_cut(data):
        assert _read(pieces) == whole
    if whole is None or not whole[1]:
        return
    try:
        told = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return
    images = told.get("data")
    assert isinstance(images, list)
    assert whole[0] == sum(map(_is_image, images))


def _read(pieces: list[bytes]) -> tuple[int, bool] | None:
    meter = ImageMeter()
    try:
        for piece in pieces:
            meter.read(piece)
    except NotAnAnswer:
        return None
    assert meter.characters == sum(map(len, pieces))
    return meter.images, meter.finished


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise Twice
    return dict(pairs)


def _is_image(image: Any) -> bool:
    pictures = [image.get(name) for name in ("url", "b64_json")] if isinstance(image, dict) else []
    return any(isinstance(picture, str) and picture for picture in pictures)


def work(data: bytes) -> None:
    """One piece."""
    _read([data])


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'{"created":1,"data":[{"url":"https://img.example/a","prompt":"a \\"cat\\""},{"b64_json":"iVBORw0="}]}',
        b'{ "data" : [ { "b64_json" : "" }, {"url":null}, {"a":[{"url":"x"}]} ] , "usage" : {"total_tokens":1.5e2} }\n',
        b'{"error":{"message":"no"}}',
    ),
    words=(b'"data"', b'"url"', b'"b64_json"', b'"error"', b"[{", b"}]", b'\\"', b"null"),
    grown=(
        Grown(b"a", b'{"data":[{"b64_json":"', b'"}]}'),
        Grown(b"\\n", b'{"data":[{"b64_json":"', b'"}]}'),
        Grown(b'{"url":"a"},', b'{"data":[', b"{}]}"),
        Grown(b"[", b'{"data":', b"}", closing=b"]"),
        Grown(b"[],", b'{"data":[', b"[]]}"),
        Grown(b" ", b'{"data":[{"url":"a"}]}'),
        Grown(b",", b'{"data":['),
    ),
    # Half a piece: of nothing but marks, each takes about a microsecond.
    size_bytes_most=PIECE_BYTES // 2,
)
