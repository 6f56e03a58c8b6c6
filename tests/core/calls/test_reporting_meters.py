"""Reports are found in answers that pass, however they are cut."""

import json
import time
from typing import Any

import pytest

from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.reporting_meters import USAGE_BYTES_MOST, EmbeddingMeter, ReportingMeter, TokenImageMeter
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage

FLOATS = {"object": "embedding", "index": 0, "embedding": [0.5, -1e-07, 3]}
PACKED = {"embedding": "AACAPgAAAL8=", "index": 1, "object": "embedding"}
IMAGE = {"b64_json": "iVBORw0KGgo=", "revised_prompt": '{"usage": {"input_tokens": 9}}'}
PIECES = pytest.mark.parametrize("piece_bytes", [1, 2, 7, 1 << 20])


def read(meter: ReportingMeter, answer: Any, piece_bytes: int = 1 << 20) -> None:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    for start in range(0, len(body), piece_bytes):
        meter.read(body[start : start + piece_bytes])


@PIECES
@pytest.mark.parametrize(
    ("answer", "vectors", "reported"),
    [
        pytest.param({"data": [FLOATS], "usage": {"prompt_tokens": 7}}, 1, 7, id="floats"),
        pytest.param({"usage": {"x": {"y": []}, "prompt_tokens": 7}, "data": [PACKED, FLOATS]}, 2, 7, id="both"),
        pytest.param({"data": [FLOATS], "usage": {"prompt_tokens": 0}}, 1, 0, id="zero"),
        pytest.param({"data": [FLOATS]}, 1, None, id="no report"),
        pytest.param({"data": [FLOATS], "usage": None}, 1, None, id="null"),
        pytest.param({"data": [FLOATS], "usage": {"prompt_tokens": "7"}}, 1, None, id="in a string"),
        pytest.param({"data": [FLOATS], "usage": {"prompt_tokens": True}}, 1, None, id="true"),
        pytest.param({"data": [FLOATS], "usage": {"prompt_tokens": 7.5}}, 1, None, id="half a token"),
        pytest.param({"data": [FLOATS], "usage": {"prompt_tokens": 7, "estimated": True}}, 1, None, id="ours"),
        pytest.param({"data": [{"usage": {"prompt_tokens": 9}, **FLOATS}]}, 1, None, id="elsewhere"),
        pytest.param({"data": [{"embedding": []}, {"embedding": ""}], "usage": {"prompt_tokens": 7}}, 1, 7, id="empty"),
        pytest.param(
            b'{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2}}', 1, 2, id="twice"
        ),
        pytest.param(b'{"usage":null {"prompt_tokens": 7},"data":[{"embedding":[1]}]}', 1, 7, id="after a null"),
        pytest.param(
            {"data": [FLOATS], "usage": {"x": "y" * USAGE_BYTES_MOST, "prompt_tokens": 7}}, 1, None, id="too long"
        ),
    ],
)
def test_vectors_are_counted_and_their_report_is_found(
    answer: Any, vectors: int, reported: int | None, piece_bytes: int
) -> None:
    meter = EmbeddingMeter()
    read(meter, answer, piece_bytes)
    assert (meter.finished, meter.images) == (True, vectors)
    assert meter.reported == (None if reported is None else Usage(reported))


@PIECES
@pytest.mark.parametrize("body", [b"[]", b"<html>", b'{"error": {"message": "x"}}', b'{"data": [}', b'{"data": []} x'])
def test_what_is_no_answer_is_told(body: bytes, piece_bytes: int) -> None:
    with pytest.raises(NotAnAnswer):
        read(EmbeddingMeter(), body, piece_bytes)


def test_before_its_end_an_answer_has_no_report() -> None:
    meter = EmbeddingMeter()
    meter.read(b'{"usage": {"prompt_tokens": 7}, "data": [{"embedding": [1]}]')
    assert (meter.finished, meter.reported) == (False, None)


def test_a_large_answer_is_passed_over_and_not_read() -> None:
    """Three million numbers: each looked at would take seconds."""
    one = b'{"embedding":[' + b",".join([b"-0.0123456789"] * 3_000) + b"]}"
    begun, meter = time.process_time(), EmbeddingMeter()
    meter.read(b'{"data":[' + b",".join([one] * 1_000) + b"]}")
    assert meter.images == 1_000
    assert time.process_time() - begun < 1


@PIECES
def test_images_have_the_parts_that_their_report_tells(piece_bytes: int) -> None:
    meter = TokenImageMeter(100)
    usage = {"input_tokens": 50, "input_tokens_details": {"text_tokens": 8, "image_tokens": 42}, "output_tokens": 272}
    read(meter, {"created": 1, "data": [IMAGE, IMAGE], "usage": usage}, piece_bytes)
    assert meter.reported == Usage(50, 272, 0, UsageParts(image_input=42))
    assert (meter.images, meter.output_tokens, meter.guessed_tokens) == (2, 200, 200)


@pytest.mark.parametrize(
    ("usage", "parts"),
    [
        ({"output_tokens_details": {"image_tokens": 6, "text_tokens": 1}}, UsageParts(image_output=6)),
        ({"input_tokens_details": {"image_tokens": 6}}, None),
        ({"input_tokens_details": {"image_tokens": -1}, "output_tokens_details": "x"}, None),
    ],
)
def test_details_that_cannot_be_are_not_believed(usage: dict[str, Any], parts: UsageParts | None) -> None:
    meter = TokenImageMeter(100)
    read(meter, {"data": [IMAGE], "usage": {"input_tokens": 5, "output_tokens": 7, **usage}})
    assert meter.reported == Usage(5, 7, 0, parts)
