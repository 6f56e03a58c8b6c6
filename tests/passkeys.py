"""A device that makes passkeys and signs with them, in software: it does whatever a test wants a bad one to do."""

import base64
import hashlib
import json
import secrets
from typing import Any

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import encode_cbor

ORIGIN = "https://console.example"
PRESENT, VERIFIED, WITH_CREDENTIAL = 1, 4, 64


class Ceremony(msgspec.Struct, kw_only=True):
    """Where and how a device is asked; a test changes what it wants to be wrong."""

    origin: str = ORIGIN
    # Instead of the host that the page names.
    host: str = ""
    flags: int = PRESENT | VERIFIED
    challenge: str = ""
    user_handle: bytes | None = None


class Device:
    """One passkey, once it is made."""

    def __init__(self, *, counts: bool = True) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._counts = counts
        self.credential_id = secrets.token_bytes(32)
        self.count = 0
        self.user_handle = b""

    def make(self, options: str, how: Ceremony | None = None) -> str:
        """The answer to a page that asks for a new passkey."""
        how, asked = how or Ceremony(), json.loads(options)
        self.user_handle = unwritten(asked["user"]["id"])
        credential = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id + encode_cbor(self._cose())
        data = self._data(how.host or asked["rp"]["id"], how.flags | WITH_CREDENTIAL) + credential
        statement = encode_cbor({"fmt": "none", "attStmt": {}, "authData": data})
        told = _client_data("webauthn.create", how.challenge or asked["challenge"], how.origin)
        return self._answer(attestationObject=written(statement), clientDataJSON=written(told), transports=["internal"])

    def sign(self, options: str, how: Ceremony | None = None) -> str:
        """The answer to a page that asks for a signature."""
        how, asked = how or Ceremony(), json.loads(options)
        self.count += self._counts
        data = self._data(how.host or asked["rpId"], how.flags)
        told = _client_data("webauthn.get", how.challenge or asked["challenge"], how.origin)
        signature = self._key.sign(data + hashlib.sha256(told).digest(), ec.ECDSA(hashes.SHA256()))
        handle = self.user_handle if how.user_handle is None else how.user_handle
        return self._answer(
            authenticatorData=written(data),
            clientDataJSON=written(told),
            signature=written(signature),
            userHandle=written(handle),
        )

    def _answer(self, **response: Any) -> str:
        name = written(self.credential_id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})

    def _data(self, host: str, flags: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def _cose(self) -> dict[int, int | bytes]:
        point = self._key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}


def _client_data(kind: str, challenge: str, origin: str) -> bytes:
    return json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode()


def written(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unwritten(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "===")
