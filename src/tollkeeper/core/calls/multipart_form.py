"""Multipart forms, written: a file and the text fields beside it, as bytes for a provider.

Rules of this file
1. Nothing that a caller wrote can end a header. Names are escaped as browsers do it (quote, CR, LF), and the backslash
   too, which some readers take for an escape of its own. A percent sign is left alone, as browsers leave it.
2. The file's bytes are not copied: a form is the pieces that are sent one after the other.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# In names and file names. The backslash is ours; the others stand in the HTML standard, "multipart form data".
_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A", "\\": "%5C"})
_BOUNDARY = re.compile(r"[0-9A-Za-z_-]{16,70}")
_MEDIA_TYPE = re.compile(r"[0-9a-z.+-]+/[0-9a-z.+-]+")


class FormFile(NamedTuple):
    """A file in a form: under which name it stands there, and what it is said to be."""

    name: str
    filename: str
    media_type: str
    content: bytes | bytearray


def content_type(boundary: str) -> str:
    """The header that tells of such a form."""
    return f"multipart/form-data; boundary={boundary}"


def written(
    fields: Iterable[tuple[str, str]],
    file: bytes | bytearray,
    filename: str,
    media_type: str,
    boundary: str,
) -> tuple[bytes, bytes | bytearray, bytes]:
    """The form in three pieces: all before the file's bytes, those bytes themselves, and what closes the form.

    The boundary must be random: 16 characters that nobody can foresee stand in no file and in no field.
    """
    head, content, between, closing = written_with_files(
        fields, (FormFile("file", filename, media_type, file),), boundary
    )
    return bytes(head), content, bytes(between + closing)


def written_with_files(
    fields: Iterable[tuple[str, str]], files: Iterable[FormFile], boundary: str
) -> Iterator[bytes | bytearray]:
    """The form in pieces, for any number of files."""
    if not _BOUNDARY.fullmatch(boundary):
        raise ValueError("a boundary that cannot stand in a header")
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name.translate(_ESCAPES)}"\r\n\r\n{value}\r\n'
        for name, value in fields
    )
    for file in files:
        if not _MEDIA_TYPE.fullmatch(file.media_type):
            raise ValueError("a media type that cannot stand in a header")
        name, filename = file.name.translate(_ESCAPES), file.filename.translate(_ESCAPES)
        disposition = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'
        yield f"{head}--{boundary}\r\n{disposition}\r\nContent-Type: {file.media_type}\r\n\r\n".encode()
        yield file.content
        yield b"\r\n"
        head = ""
    yield f"{head}--{boundary}--\r\n".encode()
