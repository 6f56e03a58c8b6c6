"""Forms, well made and badly."""

import pytest

from tests.simulator.media.calls import BOUNDARY, FORM_HEADERS, form
from tollkeeper_simulator.media.answer import Fields, Upload
from tollkeeper_simulator.media.form import read_form
from tollkeeper_simulator.media.kinds import names_of
from tollkeeper_simulator.problem import Refused
from tollkeeper_simulator.request import Request


def read(body: bytes, content_type: str = FORM_HEADERS["Content-Type"]) -> Fields:
    return read_form(Request("POST", "/", {"content-type": content_type}, body))


def test_texts_are_text_and_a_file_is_its_name_and_size() -> None:
    data = b"\r\n\r\n--" + b"\xff\0" * 1_000 + f"--{BOUNDARY}".encode()
    assert read(form({"model": "m", "prompt": "zwei\r\nZeilen 👋"}, ("a b.mp3", data))) == {
        "model": "m",
        "prompt": "zwei\r\nZeilen 👋",
        "file": Upload("a b.mp3", len(data)),
    }


def test_what_stands_around_a_form_is_ignored() -> None:
    assert read(b"preface\r\n" + form({"model": "m"}, None) + b"epilogue") == {"model": "m"}
    assert read(f"--{BOUNDARY}--".encode()) == {}


def test_of_two_fields_with_a_name_the_last_counts() -> None:
    twice = form({"model": "one"}, None).removesuffix(f"--{BOUNDARY}--\r\n".encode()) + form({"model": "two"}, None)
    assert read(twice) == {"model": "two"}


def test_names_may_be_written_in_other_ways() -> None:
    body = f"--{BOUNDARY}\r\ncontent-disposition: form-data; name=file; filename*=utf-8''%C3%BC.mp3\r\n\r\nx\r\n"
    assert read(body.encode() + f"--{BOUNDARY}--".encode()) == {"file": Upload("ü.mp3", 1)}
    quoted = FORM_HEADERS["Content-Type"].replace(BOUNDARY, f'"{BOUNDARY}"')
    assert read(form({"model": "m"}, None), quoted) == {"model": "m"}


WHOLE = form({"model": "m"})
BROKEN = {
    "nothing": (b"", FORM_HEADERS["Content-Type"]),
    "no boundary": (WHOLE, "multipart/form-data"),
    "another boundary": (WHOLE, "multipart/form-data; boundary=other"),
    "not a form": (WHOLE, "application/json"),
    "no type": (WHOLE, ""),
    "no end": (WHOLE.removesuffix(f"--{BOUNDARY}--\r\n".encode()), FORM_HEADERS["Content-Type"]),
    "no end of a head": (f"--{BOUNDARY}\r\nx: y\r\n--{BOUNDARY}--".encode(), FORM_HEADERS["Content-Type"]),
    "no name": (f"--{BOUNDARY}\r\nx: y\r\n\r\nz\r\n--{BOUNDARY}--".encode(), FORM_HEADERS["Content-Type"]),
}


@pytest.mark.parametrize(("body", "content_type"), BROKEN.values(), ids=BROKEN)
def test_a_form_that_is_none_is_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(Refused) as refusal:
        read(body, content_type)
    assert refusal.value.problem.status == 400


def test_names_are_told_and_nothing_that_was_said() -> None:
    fields = {"model": "m", "file": Upload("a", 1), "timestamp_granularities[]": "word", "my secret: 123": ""}
    assert names_of(fields) == "?,file,model,timestamp_granularities[]"
