"""Images are counted as they pass, however their answer is cut."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollkeeper.core.calls.image_meter import NAME_BYTES_MOST, ImageMeter
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.money.prices import Usage

TRICKY = 'a "data": [{"url": 1}] \\ {[ é \u2028'
URL = {"url": "https://pictures.test/x?a=[1]&b={2}", "revised_prompt": TRICKY}
BASE64 = {"b64_json": "iVBORw0KGgo/+A=="}


def metered(body: bytes, piece_bytes: int = 1 << 20) -> ImageMeter:
    meter = ImageMeter()
    for start in range(0, len(body), piece_bytes):
        meter.read(body[start : start + piece_bytes])
    return meter


@pytest.mark.parametrize("piece_bytes", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize(
    ("answer", "images"),
    [
        pytest.param({"created": 1, "data": [URL]}, 1, id="by address"),
        pytest.param({"created": 1, "data": [BASE64, BASE64, URL]}, 3, id="in the answer itself"),
        pytest.param({"data": []}, 0, id="none"),
        pytest.param({"data": [{"error": "x"}, {}, URL]}, 1, id="what has no picture is none"),
        pytest.param({"usage": {"details": [URL]}, "data": [URL]}, 1, id="elsewhere they are not looked for"),
        pytest.param({"more": [URL], "data": [URL, {"b64_json": "x", "more": [URL, {"url": 1}]}]}, 2, id="nor inside"),
        pytest.param({"data": "none", "x": [URL]}, 0, id="data of another form"),
        pytest.param({"x": "data", "y": [URL]}, 0, id="a value named data"),
        pytest.param({"data": [{"url": None, "b64_json": None}, {"url": ""}]}, 0, id="pictures of nothing"),
        pytest.param({"data": [{"revised_prompt": "url", "x": "y"}]}, 0, id="a value named url"),
        pytest.param({"error": None, "data": [URL]}, 1, id="no error"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_every_picture_in_the_data_counts(
    answer: dict[str, Any], images: int, piece_bytes: int, indent: int | None
) -> None:
    meter = metered(json.dumps(answer, indent=indent).encode(), piece_bytes)
    assert (meter.images, meter.reported) == (images, Usage(images))
    assert meter.finished is isinstance(answer.get("data"), list)


@pytest.mark.parametrize("piece_bytes", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("plain", range(12, 20))
def test_a_long_name_with_an_escape_is_read_alike_however_it_is_cut(plain: int, piece_bytes: int) -> None:
    body = b'{"%s": 1, "%s\\u0061%s": 2, "data": [{"url": "x"}]}' % (b"a" * 40, b"b" * plain, b"c" * 20)
    # An escape is looked for only as far as a name could be one of ours.
    if plain <= NAME_BYTES_MOST:
        with pytest.raises(NotAnAnswer):
            metered(body, piece_bytes)
    else:
        assert metered(body, piece_bytes).images == 1


def test_of_an_answer_that_breaks_off_what_came_whole_counts() -> None:
    body = json.dumps({"data": [URL, URL, URL]}).encode()
    meter = metered(body[: body.rindex(b'"url"') + 20])
    assert (meter.images, meter.finished) == (2, False)


@pytest.mark.parametrize(
    "body",
    [
        *(b"<html>", b"[]", b'"x"', b"null", b"  x", b'1{"data":[]}'),
        *(b'{"data":[}', b"{]", b'{"data":[]} x', b'{"data":[]}{}'),
        *(b'{"error":{}}', b'{"error":"x"}'),
        b"{" + b'"x":[' * 70,
        b'{"da\\u0074a":[]}',
    ],
)
def test_what_is_no_object_is_no_answer(body: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        metered(body)


@settings(max_examples=200, deadline=None)
@given(
    images=st.lists(st.dictionaries(st.sampled_from(["url", "b64_json", "x"]), st.text(max_size=12), max_size=3)),
    more=st.dictionaries(
        st.text("abcdt", max_size=6).filter(lambda name: name != "data"), st.text(max_size=6), max_size=2
    ),
    piece_bytes=st.integers(1, 40),
)
def test_it_counts_what_a_reader_of_the_whole_would(
    images: list[dict[str, str]], more: dict[str, str], piece_bytes: int
) -> None:
    meter = metered(json.dumps({**more, "data": images}).encode(), piece_bytes)
    assert meter.images == sum(bool(image.get("url") or image.get("b64_json")) for image in images)
    assert meter.finished


def test_of_two_data_the_second_counts_as_for_any_reader() -> None:
    assert metered(b'{"data":[{"url":"a"},{"url":"b"}],"data":[{"url":"c"}]}').images == 1


@pytest.mark.not_quick
def test_a_meter_stays_small_whatever_passes() -> None:
    meter = ImageMeter()
    meter.read(b'{"data":[{"revised_prompt":"')
    for _ in range(100):
        meter.read(b"\\n" * 10_000)
    assert sum(len(part or b"") for part in (meter._string, meter._open)) < 100
