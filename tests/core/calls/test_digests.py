"""Digests by which a call is known again."""

import hashlib

import msgspec

from tollkeeper.core.calls.digests import CallDigests
from tollkeeper.core.calls.media import Upload

DIGESTS = CallDigests(b"a secret")
BODY = b'{"model": "m"}'
UPLOAD = Upload(fields=(("model", "m"), ("language", "en")), file=bytearray(b"sound"), filename="a.wav")


def test_what_differs_by_a_byte_a_path_or_a_secret_has_another_digest() -> None:
    made = {
        DIGESTS.of_body("/v1/a", BODY),
        DIGESTS.of_body("/v1/b", BODY),
        DIGESTS.of_body("/v1/a", BODY + b" "),
        DIGESTS.of_body("/v1/", b"a" + BODY),
        CallDigests(b"another").of_body("/v1/a", BODY),
        DIGESTS.of_key(BODY.decode()),
        DIGESTS.of_cut(1, BODY),
        DIGESTS.of_cut(2, BODY),
        hashlib.sha256(BODY).digest(),
    }
    assert len(made) == 9
    assert {len(digest) for digest in made} == {32}


def test_a_form_is_known_by_its_fields_and_its_file() -> None:
    """However its boundary was written: that is not here any more."""
    same = msgspec.structs.replace(UPLOAD, file=bytearray(b"sound"))
    assert DIGESTS.of_body("/v1/a", same) == DIGESTS.of_body("/v1/a", UPLOAD)
    others = [
        msgspec.structs.replace(UPLOAD, file=bytearray(b"sounds")),
        msgspec.structs.replace(UPLOAD, filename="b.wav"),
        msgspec.structs.replace(UPLOAD, fields=(("model", "m"), ("languageen", ""))),
        msgspec.structs.replace(UPLOAD, fields=(("model", "m"),)),
    ]
    assert DIGESTS.of_body("/v1/a", UPLOAD) not in {DIGESTS.of_body("/v1/a", other) for other in others}
