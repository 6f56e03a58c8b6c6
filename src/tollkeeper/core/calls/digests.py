"""Digests by which a call is known again.

Rules of this file
1. Every digest is made under a secret (HMAC-SHA256): who reads the table cannot try bodies or keys on it.
2. What is digested is what came: a body byte by byte, of a form its fields and files, for boundaries are made anew with
   every attempt. Each part is preceded by its length, so that no two calls are written alike.
"""

import hashlib
import hmac

import msgspec


class CallDigests(msgspec.Struct, frozen=True):
    """`secret`: the same on every node, for as long as calls are to be known again."""

    secret: bytes

    def of_body(self, path: str, came: object) -> bytes:
        return self._digest("body", path, came)

    def of_key(self, idempotency_key: str) -> bytes:
        return self._digest("idempotency key", idempotency_key)

    def of_cut(self, key_id: int, body: bytes) -> bytes:
        """The digest of a call that was cut: `body` is its body's digest, `key_id` the API key that made it."""
        return self._digest("cut", key_id, body)

    def _digest(self, *parts: object) -> bytes:
        made = hmac.new(self.secret, digestmod=hashlib.sha256)
        _feed(made, parts)
        return made.digest()


def _feed(made: hmac.HMAC, part: object) -> None:
    if isinstance(part, bytes | bytearray):
        made.update(b"b%d:" % len(part))
        made.update(part)
    elif isinstance(part, tuple | list):
        made.update(b"l%d:" % len(part))
        for each in part:
            _feed(made, each)
    elif isinstance(part, msgspec.Struct):
        _feed(made, msgspec.structs.astuple(part))
    else:
        written = str(part).encode("utf-8", "surrogatepass")
        made.update(b"s%d:" % len(written))
        made.update(written)
