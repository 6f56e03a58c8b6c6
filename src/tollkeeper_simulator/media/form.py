"""Requests as fields: a JSON object, or a form with a file in it."""

from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value

import msgspec

from tollkeeper_simulator.dialects.openai import NOT_JSON
from tollkeeper_simulator.media.answer import Fields, Upload
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.request import Request

NOT_A_FORM = "Could not parse multipart form."
WRONG_TYPE = (
    "Unsupported content type: '{0}'. This API method only accepts 'multipart/form-data' requests, but you specified "
    "the header 'Content-Type: {0}'. Please try again with a supported content type."
)
_objects = msgspec.json.Decoder(dict[str, object])
_headers = BytesHeaderParser()


def read_json(request: Request) -> Fields:
    """Raise Refused for what is no JSON object."""
    try:
        return _objects.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(Problem(400, NOT_JSON)) from None


def read_form(request: Request) -> Fields:
    """Text of fields, and files as `Upload`; of several texts with one name the last. Raise Refused for no form."""
    said = request.headers.get("content-type", "")
    kind = Message()
    kind["content-type"] = said
    if kind.get_content_type() != "multipart/form-data":
        raise Refused(Problem(400, WRONG_TYPE.format(said)))
    boundary = kind.get_boundary()
    if not boundary:
        raise Refused(Problem(400, NOT_A_FORM))
    fields: dict[str, object] = {}
    for start, end in _places(request.body, boundary.encode("latin-1")):
        name, value = _field(request.body, start, end)
        # Of a list of files every one counts.
        while name in fields and isinstance(value, Upload):
            name = f"{name.removesuffix('[]')}_"
        fields[name] = value
    return fields


def _places(body: bytes, boundary: bytes) -> list[tuple[int, int]]:
    """Where the fields are, headers included."""
    first, between = b"--" + boundary, b"\r\n--" + boundary
    at = 0 if body.startswith(first) else body.find(between) + 2
    if not body.startswith(first, at):
        raise Refused(Problem(400, NOT_A_FORM))
    places, at = [], at + len(first)
    while not body.startswith(b"--", at):
        end = body.find(between, at)
        if end < 0:
            raise Refused(Problem(400, NOT_A_FORM))
        places.append((at, end))
        at = end + len(between)
    return places


def _field(body: bytes, start: int, end: int) -> tuple[str, str | Upload]:
    head_end = body.find(b"\r\n\r\n", start, end)
    if head_end < 0:
        raise Refused(Problem(400, NOT_A_FORM))
    head = _headers.parsebytes(body[start:head_end].lstrip() + b"\r\n\r\n")
    name = head.get_param("name", header="content-disposition")
    if name is None:
        raise Refused(Problem(400, NOT_A_FORM))
    filename = head.get_filename()
    value_start = head_end + 4
    if filename is not None:
        return collapse_rfc2231_value(name), Upload(filename, end - value_start)
    return collapse_rfc2231_value(name), body[value_start:end].decode("utf-8", "replace")
