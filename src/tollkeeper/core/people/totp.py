"""One-time codes: those of an app (TOTP, RFC 6238: six digits, 30 seconds, SHA-1) and recovery codes.

Rules of this file
1. A code of the app counts within its own 30 seconds and those before and after, for clocks that go wrong.
2. It counts once: codes of a step that was used, and of earlier ones, are spent.
3. A recovery code has 80 bits of chance and no look-alikes. How it is spaced, and its case, do not matter.
"""

import hmac
from collections.abc import Callable

import pyotp

STEP_SECONDS = 30
DIGITS = 6
SECRET_LENGTH = 32
RECOVERY_CODES = 10
RECOVERY_LENGTH = 16
RECOVERY_GROUP = 4

BASE_32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
WITHOUT_LOOK_ALIKES = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def mint_secret(choose: Callable[[str], str]) -> str:
    return "".join(choose(BASE_32) for _ in range(SECRET_LENGTH))


def mint_recovery_code(choose: Callable[[str], str]) -> str:
    characters = "".join(choose(WITHOUT_LOOK_ALIKES) for _ in range(RECOVERY_LENGTH))
    return "-".join(characters[at : at + RECOVERY_GROUP] for at in range(0, RECOVERY_LENGTH, RECOVERY_GROUP))


def link_for_app(secret: str, *, email: str, issuer: str) -> str:
    """What the app reads from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=issuer)


def plain(code: str) -> str:
    """A code as it is compared: without spaces and dashes, in capitals."""
    return "".join(code.split()).replace("-", "").upper()


def is_of_app(code: str) -> bool:
    return len(code) == DIGITS and code.isascii() and code.isdigit()


def is_recovery(code: str) -> bool:
    return len(code) == RECOVERY_LENGTH and set(code) <= set(WITHOUT_LOOK_ALIKES)


def matching_step(secret: str, code: str, *, now_seconds: int, last_step: int | None) -> int | None:
    """The step whose code this is, if it may still be used."""
    generator, this_step = pyotp.TOTP(secret), now_seconds // STEP_SECONDS
    found = None
    for step in (this_step - 1, this_step, this_step + 1):
        fits = hmac.compare_digest(generator.at(step * STEP_SECONDS), code)
        if fits and (last_step is None or step > last_step):
            found = step
    return found
