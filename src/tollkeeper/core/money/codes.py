"""Redemption codes and gift codes: their form, how they are read from what people type, and what is kept of them.

Rules of this file
1. Both are written in 32 characters without look-alikes. A redemption code is `TK-` and seven groups of four (140 bits
   of chance); a gift code is the five characters at the end of an invite link.
2. Case, spaces and dashes do not matter, and a one or an I is read as the L that it must be.
3. Nothing but its SHA-256 is kept of a redemption code: there is too much chance in it for guessing.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
PREFIX = "TK"
GROUPS = 7
GROUP_LENGTH = 4
CHANCE_LENGTH = GROUPS * GROUP_LENGTH
GIFT_CODE_LENGTH = 5
# More than anybody types for a code or pastes for a link.
TYPED_MOST = 500

_GIFT_CODE = re.compile(f"[{ALPHABET}]{{{GIFT_CODE_LENGTH}}}")
_LOOK_ALIKES = str.maketrans("1I", "LL")


def mint_code(choose: Callable[[str], str]) -> str:
    """Make a new redemption code; `choose` picks one character of a string by chance fit for secrets."""
    groups = ("".join(choose(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS))
    return "-".join((PREFIX, *groups))


def code_digest(typed: str) -> bytes:
    """The digest under which a code is filed. Text that is no code has a digest too, which finds nothing."""
    read = _read(typed)
    if len(read) == len(PREFIX) + CHANCE_LENGTH:
        read = read.removeprefix(PREFIX)
    return hashlib.sha256(f"redemption code {read}".encode()).digest()


def read_gift_code(typed: str | None) -> str | None:
    """The gift code in what was typed, or in an invite link; None where nothing was. What has not the form of one is
    read as empty, which nobody's is."""
    if typed is None or not typed.strip():
        return None
    read = _read(typed.rstrip().rstrip("/").rpartition("/")[2])
    return read if _GIFT_CODE.fullmatch(read) else ""


def invite_link(console_url: str, gift_code: str) -> str:
    """What a customer sends to others: it ends in the gift code."""
    return f"{console_url.rstrip('/')}/i/{gift_code}"


def _read(typed: str) -> str:
    # Full-width letters are letters, and dashes come in many kinds.
    plain = unicodedata.normalize("NFKC", typed[:TYPED_MOST]).upper()
    return "".join(character for character in plain if character.isalnum()).translate(_LOOK_ALIKES)
