"""What a call of a tool is signed with, so that a caller shows that it kept what belongs to the call."""

import base64
from hashlib import sha256

_SECRET = b"the simulator's own"
# Documented for calls that another model made.
DUMMIES = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")


def signature_of(function: str) -> bytes:
    return sha256(_SECRET + function.encode()).digest()


def signature_text(function: str) -> bytes:
    return base64.b64encode(signature_of(function))


def is_valid(sent: str, decoded: bytes, function: str) -> bool:
    """The dummies come as they are or, from clients that take them for bytes, in base64."""
    return sent.encode() in DUMMIES or decoded in (*DUMMIES, signature_of(function))
