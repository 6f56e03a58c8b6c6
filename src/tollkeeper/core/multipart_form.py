"""Multipart forms, written: a file and the text fields beside it, as bytes for a provider.

Rules of this file
1. Nothing that a caller wrote can end a header. Names are escaped as browsers do it (quote, CR, LF), and the backslash
   too, which some readers take for an escape of its own. A percent sign is left alone, as browsers leave it.
2. The file's bytes are not copied: a form is the pieces that are sent one after the other.
"""

import re
from collections.abc import Iterable

# In names and file names. The backslash is ours; the others stand in the HTML standard, "multipart form data".
_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A", "\\": "%5C"})
_BOUNDARY = re.compile(r"[0-9A-Za-z_-]{16,70}")
_MEDIA_TYPE = re.compile(r"[0-9a-z.+-]+/[0-9a-z.+-]+")


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
    if not _BOUNDARY.fullmatch(boundary) or not _MEDIA_TYPE.fullmatch(media_type):
        raise ValueError("a boundary or media type that cannot stand in a header")
    head = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name.translate(_ESCAPES)}"\r\n\r\n{value}\r\n'
        for name, value in fields
    ]
    head.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{filename.translate(_ESCAPES)}"\r\n'
        f"Content-Type: {media_type}\r\n\r\n"
    )
    return "".join(head).encode(), file, f"\r\n--{boundary}--\r\n".encode()
