"""Envelopes: provider keys at rest, sealed with AES-256-GCM.

Layout: format (1 byte) · master key version (2) · nonce (12) · sealed data key (48) · nonce (12) · sealed secret.

Rules of this file
1. Each secret has a data key of its own; the master key seals data keys only, so rotating it rewrites 48 bytes a row.
2. An envelope opens only for the name it was sealed for.
"""

import os
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = 1
NONCE_BYTES = 12
SEALED_DATA_KEY_BYTES = 32 + 16


class EnvelopeKeys(msgspec.Struct, frozen=True):
    """The master keys, by version. New envelopes use the chosen one: the oldest, unless somebody said that all nodes
    know a newer one by now."""

    by_version: Mapping[int, bytes]
    chosen: int = 0

    @property
    def in_use(self) -> int:
        return self.chosen or min(self.by_version)


class CannotOpen(ValueError):
    """This envelope cannot be opened: wrong master key, wrong name, or altered bytes."""


def seal(secret: str, keys: EnvelopeKeys, *, sealed_for: str) -> bytes:
    version = keys.in_use
    head = bytes([FORMAT]) + version.to_bytes(2)
    bound_to = head + sealed_for.encode()
    data_key = AESGCM.generate_key(256)
    key_nonce, secret_nonce = os.urandom(NONCE_BYTES), os.urandom(NONCE_BYTES)
    sealed_key = AESGCM(keys.by_version[version]).encrypt(key_nonce, data_key, bound_to)
    sealed_secret = AESGCM(data_key).encrypt(secret_nonce, secret.encode(), bound_to)
    return head + key_nonce + sealed_key + secret_nonce + sealed_secret


def version_of(envelope: bytes) -> int:
    """The version of the master key under which it is sealed."""
    return int.from_bytes(envelope[1:3])


def unseal(envelope: bytes, keys: EnvelopeKeys, *, sealed_for: str) -> str:
    head, rest = envelope[:3], envelope[3:]
    key_nonce, rest = rest[:NONCE_BYTES], rest[NONCE_BYTES:]
    sealed_key, rest = rest[:SEALED_DATA_KEY_BYTES], rest[SEALED_DATA_KEY_BYTES:]
    secret_nonce, sealed_secret = rest[:NONCE_BYTES], rest[NONCE_BYTES:]
    master_key = keys.by_version.get(version_of(head))
    if head[:1] != bytes([FORMAT]) or master_key is None:
        raise CannotOpen(CannotOpen.__doc__)
    bound_to = head + sealed_for.encode()
    try:
        data_key = AESGCM(master_key).decrypt(key_nonce, sealed_key, bound_to)
        return AESGCM(data_key).decrypt(secret_nonce, sealed_secret, bound_to).decode()
    except (InvalidTag, ValueError):
        raise CannotOpen(CannotOpen.__doc__) from None
