"""A priced case: one call, and by hand what it must cost."""

from collections.abc import Callable

import msgspec

from proofs.media.http_call import Answer, Order

SPEECH, IMAGES = "/audio/speech", "/images/generations"
TRANSCRIPTIONS, TRANSLATIONS = "/audio/transcriptions", "/audio/translations"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`units` are characters, seconds or images; `charged` is in micro-quota, of which a quota token has a million."""

    name: str
    # Made when it is sent: some are large.
    order: Callable[[], Order]
    # Raises AssertionError where the answer is not what was asked for.
    check: Callable[[Answer], None]
    units: int
    charged: int
