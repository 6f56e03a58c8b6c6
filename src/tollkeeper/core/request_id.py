"""Request ids: UUIDv7, so that they sort by time and keep indexes dense."""

from uuid import UUID


def uuid7(unix_milliseconds: int, chance: bytes) -> UUID:
    return UUID(bytes=uuid7_bytes(unix_milliseconds, chance))


def uuid7_bytes(unix_milliseconds: int, chance: bytes) -> bytes:
    """Lay out 48 bits of time, then 74 bits taken from ten bytes of `chance`, as RFC 9562 wants them."""
    bits = int.from_bytes(chance[:10])
    head = (unix_milliseconds & (1 << 48) - 1) << 80
    version_and_a = (0x7000 | bits & 0x0FFF) << 64
    variant_and_b = 0b10 << 62 | (bits >> 12) & (1 << 62) - 1
    return (head | version_and_a | variant_and_b).to_bytes(16)
