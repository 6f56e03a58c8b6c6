"""What people send: fields by name, each once, and what is wrong with them."""

import asyncio
import base64
from collections.abc import Iterator
from io import BytesIO
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

# As many as a form with a box for each model may have; the size of what is sent bounds them, too.
FIELDS_MOST = 2_000
SECONDS_MOST = 30.0
TOKEN_FIELD = "form_token"  # noqa: S105 (the name of a field)
ONCE_FIELD = "form_id"
JSON = "application/json"
UPLOAD = "multipart/form-data"
UPLOAD_FIELDS_MOST = 50
JSON_FIELD = "order"
TOKEN_HEADER = "x-form-token"  # noqa: S105 (the name of a header)
# Reading fields takes a second of this process for a few megabytes: what is larger comes as JSON.
FORM_BYTES_MOST = 64 * 1024


class BadForm(Exception):
    """What was sent is no form of ours."""


class FormTooLarge(Exception):
    """More was sent than the page takes."""


class Form:
    """Fields as they were sent, and one sentence for each that cannot be taken."""

    def __init__(self, fields: list[tuple[str, str]] | None = None) -> None:
        self._fields = fields or []
        self.errors: dict[str, str] = {}

    def text(self, name: str) -> str:
        """Without spaces around it; empty where it was not sent."""
        return self.exactly(name).strip()

    def exactly(self, name: str) -> str:
        """As it was sent: for passwords."""
        return next((value for key, value in self._fields if key == name), "")

    def every(self, name: str) -> list[str]:
        """Every value of a field: of boxes and lists."""
        return [value.strip() for key, value in self._fields if key == name]

    def ticked(self, name: str) -> bool:
        return bool(self.exactly(name))

    def refuse(self, name: str, words: str) -> None:
        """Say it beside the field; with an empty name, above the form. The first thing said stands."""
        self.errors.setdefault(name, words)

    @property
    def is_good(self) -> bool:
        return not self.errors


async def read_form(request: Request, *, bytes_most: int, takes_files: bool = False) -> Form:
    """Read what was sent; by a script: JSON, as one field, the token in a header. Raise BadForm, or FormTooLarge."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    large = (JSON, UPLOAD) if takes_files else (JSON,)
    body = await _read(request, bytes_most if kind in large else min(bytes_most, FORM_BYTES_MOST))
    if not body:
        return Form()
    if kind not in (*large, "application/x-www-form-urlencoded"):
        raise BadForm
    try:
        if kind == JSON:
            return Form([(TOKEN_FIELD, request.headers.get(TOKEN_HEADER, "")), (JSON_FIELD, body.decode())])
        if kind == UPLOAD:
            return Form(list(_uploaded(body, request.headers["content-type"])))
        return Form(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MOST))
    except (ValueError, MultipartError):
        raise BadForm from None


def _uploaded(body: bytes, content_type: str) -> Iterator[tuple[str, str]]:
    """Fields of a form with files; a file as Base64, or empty where none was chosen."""
    boundary = parse_options_header(content_type)[1].get("boundary", "")
    for part in MultipartParser(BytesIO(body), boundary, part_limit=UPLOAD_FIELDS_MOST, memory_limit=len(body)):
        is_file = part.filename is not None
        # A part may name any charset of Python's, and some of those take minutes.
        yield part.name, base64.b64encode(part.raw).decode() if is_file else part.raw.decode().replace("\r\n", "\n")


async def _read(request: Request, bytes_most: int) -> bytes:
    pieces, size = [], 0
    try:
        async with asyncio.timeout(SECONDS_MOST):
            async for piece in request.stream():
                size += len(piece)
                if size > bytes_most:
                    raise FormTooLarge
                pieces.append(piece)
    except (TimeoutError, ClientDisconnect):
        raise BadForm from None
    return b"".join(pieces)
