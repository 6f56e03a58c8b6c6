"""What a thought is signed with, so that a block that was changed on its way back is noticed."""

import base64
from hashlib import sha256

_SECRET = b"the simulator's own"


def signature_of(thought: str) -> str:
    return base64.b64encode(sha256(_SECRET + thought.encode()).digest()).decode()
