"""Tokens of forms, and what a page hands to the browser to be handed back unread.

Rules of this file
1. A form's token is bound to the session or, before there is one, to a cookie of chance: another's is no good.
2. What is sealed can be read by nobody but us, was made for one visitor and one purpose, and is over after minutes.
"""

import base64
import binascii
import hmac
import secrets
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEAL_SECONDS = 600
# Of forms that are taken once. That they were is remembered for longer.
FORM_SECONDS = 24 * 3600
NONCE_BYTES = 12


class Seals:
    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._box = AESGCM(hmac.digest(secret, b"seal", "sha256"))

    def form_token(self, visitor: str) -> str:
        """The same on every page of one visitor."""
        return self._mark("form", visitor)

    def is_form_token(self, visitor: str, given: str) -> bool:
        return bool(visitor) and hmac.compare_digest(self.form_token(visitor).encode(), given.encode())

    def form_id(self, visitor: str, path: str) -> str:
        """A new one for each form that is shown."""
        chance = f"{int(time.time())}-{secrets.token_hex(16)}"
        return f"{chance}.{self._mark('once', visitor, path, chance)}"

    def is_form_id(self, visitor: str, path: str, given: str) -> bool:
        chance, _, mark = given.partition(".")
        right = hmac.compare_digest(self._mark("once", visitor, path, chance).encode(), mark.encode())
        return right and int(chance.partition("-")[0]) > time.time() - FORM_SECONDS

    def seal(self, text: str, *, visitor: str, purpose: str) -> str:
        nonce = secrets.token_bytes(NONCE_BYTES)
        until = f"{int(time.time()) + SEAL_SECONDS}\n{text}".encode()
        sealed = self._box.encrypt(nonce, until, f"{purpose}\n{visitor}".encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def opened(self, given: str, *, visitor: str, purpose: str) -> str | None:
        """What was sealed for this visitor and purpose; None where that is over, or was never so."""
        try:
            raw = base64.urlsafe_b64decode(given.encode())
            text = self._box.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], f"{purpose}\n{visitor}".encode()).decode()
        except (binascii.Error, InvalidTag, ValueError):
            return None
        until, _, sealed = text.partition("\n")
        return sealed if int(until) > time.time() else None

    def _mark(self, *parts: str) -> str:
        return hmac.digest(self._secret, "\n".join(parts).encode(), "sha256").hex()
