"""Multipart uploads: a file, or several, and the text fields beside them, read as they arrive.

Rules of this file
1. Nothing is written to disk. Files are collected once, in memory, and refused at the first byte too many.
2. What a form costs to read is bounded by its size, and by how many parts, headers and fields of what length it has.
3. A form is never passed on: it is written anew (`core/calls/multipart_form`), so that what is priced is what is sent.
"""

import re
from collections.abc import Collection
from copy import copy

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser, parse_options_header

from tollkeeper.core.calls.image_edit import FILES as IMAGE_FILES
from tollkeeper.core.calls.image_edit import ImageForm
from tollkeeper.core.calls.media import PROMPT_CHARACTERS_MOST, Upload
from tollkeeper.core.errors import BodyTooLarge, InvalidParameter, MalformedBody, MissingParameter
from tollkeeper.edge.http.body import KeptBody

FILE_BYTES_MOST = 25 * 1024 * 1024
UPLOAD_BYTES_MOST = FILE_BYTES_MOST + 64 * 1024
PARTS_MOST = 32
HEADERS_MOST = 8
HEADER_BYTES_MOST = 4096
FIELD_BYTES_MOST = 8192
NAME_CHARACTERS_MOST = 64
CONTENT_TYPE_CHARACTERS_MOST = 1024

# What every form must have.
FILE, MODEL = "file", "model"
# A name that ends so stands for a list, and may be sent more than once.
LIST_MARK = "[]"

PLAIN_CHARSETS = {"utf-8", "utf8", "us-ascii"}
PLAIN_ENCODINGS = {"binary", "8bit", "7bit", "identity"}

# RFC 2046, 5.1.1: up to 70 of these characters, the last of them no space.
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SEPARATOR = re.compile(r"[/\\]")

NOT_A_FORM = "This endpoint takes multipart/form-data with a boundary. Send the header Content-Type accordingly."
WRONG_BOUNDARY = "The boundary in Content-Type must have 1 to 70 of the characters of RFC 2046. Choose another."
BROKEN = "The multipart form is broken or ends too early. Send each part with its headers, and the closing boundary."
TOO_MANY = (
    f"The multipart form has more than {PARTS_MOST} parts, or part headers of more than {HEADER_BYTES_MOST:,} bytes. "
    "Send only what the endpoint takes."
)
TWICE = "A part of the multipart form has the same header twice. Send each once."
ENCODED = "The parts of the multipart form must be plain bytes, and their text UTF-8. Send them without an encoding."
NAMELESS = (
    f"Each part of the multipart form needs a name of at most {NAME_CHARACTERS_MOST} characters, "
    "without backslashes and control characters."
)


async def read_upload(body: KeptBody, content_type: str | None) -> Upload:
    """The form in a body, which was made with the limit UPLOAD_BYTES_MOST."""
    reader = UploadReader(content_type)
    await body.read_into(reader.feed)
    return reader.upload()


async def read_image_form(body: KeptBody, content_type: str | None) -> ImageForm:
    """The same, of a form with images in it."""
    reader = UploadReader(content_type, IMAGE_FILES, field_bytes_most=4 * PROMPT_CHARACTERS_MOST)
    await body.read_into(reader.feed)
    return reader.form()


class UploadReader:
    """Takes the pieces of one form in their order, however they are cut."""

    def __init__(
        self, content_type: str | None, files: Collection[str] = (FILE,), *, field_bytes_most: int = FIELD_BYTES_MOST
    ) -> None:
        """`files`: the names under which files may come."""
        boundary = _boundary(content_type)
        self._file_names = files
        self._field_bytes_most = field_bytes_most
        self._parser = PushMultipartParser(
            boundary,
            max_header_size=HEADER_BYTES_MOST,
            max_header_count=HEADERS_MOST,
            max_segment_count=PARTS_MOST,
            strict=True,
        )
        self._whole = False
        # What has come while it is less than the first boundary; None afterwards.
        self._opening: bytearray | None = bytearray()
        self._first_lines = f"--{boundary}".encode(), f"\r\n--{boundary}".encode()
        # In small letters: what differs in nothing else is the same to somebody.
        self._names: set[str] = set()
        self._fields: list[tuple[str, str]] = []
        # By the name of each; and how large they are together.
        self._files: list[tuple[str, bytearray]] = []
        self._file_bytes = 0
        self._filename = ""
        # The part that is arriving.
        self._name = ""
        self._text = bytearray()

    def feed(self, piece: bytes) -> None:
        piece = self._from_the_first_boundary(piece)
        # What comes after the closing boundary means nothing.
        if self._whole or not piece:
            return
        ended = False
        try:
            for event in self._parser.parse(piece):
                ended = event is None
                if event is None:
                    self._end_part()
                elif isinstance(event, MultipartSegment):
                    self._begin_part(event)
                else:
                    self._take(event)
        except ParserLimitReached:
            raise MalformedBody(TOO_MANY) from None
        except MultipartError:
            raise MalformedBody(BROKEN) from None
        self._whole = ended and _is_whole(self._parser)

    def _from_the_first_boundary(self, piece: bytes) -> bytes:
        """The form, once its first boundary has come. The parser would pass over words before it, but only if they come
        in the same piece."""
        if self._opening is None:
            return piece
        self._opening += piece
        if len(self._opening) < len(self._first_lines[-1]):
            return b""
        opening, self._opening = bytes(self._opening), None
        if not opening.startswith(self._first_lines):
            raise MalformedBody(BROKEN)
        return opening

    def upload(self) -> Upload:
        """After the last piece, of a form with one file."""
        form = self.form()
        if not form.files:
            raise MissingParameter(FILE)
        upload = Upload(fields=form.fields, file=form.files[0][1], filename=self._filename)
        if upload.value(MODEL) is None:
            raise MissingParameter(MODEL)
        return upload

    def form(self) -> ImageForm:
        """After the last piece."""
        if not self._whole:
            raise MalformedBody(BROKEN)
        return ImageForm(fields=tuple(self._fields), files=tuple(self._files))

    def _begin_part(self, part: MultipartSegment) -> None:
        _check_headers(part)
        name = _name_of(part)
        if name.casefold() in self._names and not name.endswith(LIST_MARK):
            raise InvalidParameter(name, "must be sent once")
        if name in self._file_names:
            self._filename = _filename_of(name, part)
            self._files.append((name, bytearray()))
        elif part.filename is not None:
            raise InvalidParameter(name, "must be a text, sent without a file name")
        self._names.add(name.casefold())
        self._name, self._text = name, bytearray()

    def _take(self, content: bytes) -> None:
        if self._name in self._file_names:
            self._file_bytes += len(content)
            if self._file_bytes > FILE_BYTES_MOST:
                raise BodyTooLarge(FILE_BYTES_MOST)
            self._files[-1][1].extend(content)
        else:
            if len(self._text) + len(content) > self._field_bytes_most:
                raise InvalidParameter(self._name, f"must have at most {self._field_bytes_most:,} bytes")
            self._text += content

    def _end_part(self) -> None:
        if self._name not in self._file_names:
            self._fields.append((self._name, _text_of(self._name, self._text)))


def _boundary(content_type: str | None) -> str:
    if content_type is None or len(content_type) > CONTENT_TYPE_CHARACTERS_MOST:
        raise MalformedBody(NOT_A_FORM)
    kind, options = parse_options_header(content_type)
    if kind != "multipart/form-data" or "boundary" not in options:
        raise MalformedBody(NOT_A_FORM)
    boundary: str = options["boundary"]
    if not _BOUNDARY.fullmatch(boundary):
        raise MalformedBody(WRONG_BOUNDARY)
    return boundary


def _is_whole(parser: PushMultipartParser) -> bool:
    """Whether the closing boundary has been read. The parser tells that only by how it closes, so a copy is closed."""
    try:
        copy(parser).close()
    except MultipartError:
        return False
    return True


def _check_headers(part: MultipartSegment) -> None:
    names = [name for name, _ in part.headerlist]
    if sum(len(name) + len(value) for name, value in part.headerlist) > HEADER_BYTES_MOST:
        raise MalformedBody(TOO_MANY)
    if len(set(names)) < len(names):
        raise MalformedBody(TWICE)
    encodings = {part.header(name, "binary").lower() for name in ("Content-Encoding", "Content-Transfer-Encoding")}
    if not encodings <= PLAIN_ENCODINGS or (part.charset or "utf-8").lower() not in PLAIN_CHARSETS:
        raise MalformedBody(ENCODED)


def _name_of(part: MultipartSegment) -> str:
    name: str = part.name
    if not 0 < len(name) <= NAME_CHARACTERS_MOST or "\\" in name or _CONTROL.search(name):
        raise MalformedBody(NAMELESS)
    return name


def _filename_of(name: str, part: MultipartSegment) -> str:
    filename: str = part.filename or ""
    if not filename or _SEPARATOR.search(filename) or _CONTROL.search(filename):
        raise InvalidParameter(name, "must be sent with a plain file name: no folders and no control characters")
    return filename


def _text_of(name: str, text: bytearray) -> str:
    try:
        value = text.decode()
    except UnicodeDecodeError:
        raise InvalidParameter(name, "must be text in UTF-8") from None
    if _CONTROL_IN_TEXT.search(value):
        raise InvalidParameter(name, "must be text without control characters")
    return value
