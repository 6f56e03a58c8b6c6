"""Sealed thoughts: what the vendor gives out, and knows again when it comes back."""

from hashlib import blake2b

START = "gAAAAAB"
_SECRET = b"sealed thoughts of the simulator"


def seal(name: str) -> str:
    """Seal the thoughts of the answer of this name."""
    return f"{START}{name}.{_mark(name)}"


def is_ours(sealed: str) -> bool:
    name, _, mark = sealed.removeprefix(START).rpartition(".")
    return sealed.startswith(START) and mark == _mark(name)


def _mark(name: str) -> str:
    return blake2b(name.encode(), digest_size=16, key=_SECRET).hexdigest()
