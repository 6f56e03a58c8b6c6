"""Stage directions: how one call is to be answered, written into what the caller says so that they pass any gateway.

They stand in the last user message, in the prompt of images and transcripts, in the input of speech.

`[[tokens=200 chunk_ms=5]]`: names and values; a value with spaces stands in double quotes. Several blocks add up, the
later wins. A block with `only=NAME` speaks to the simulator of that `--name` alone, which is how one call fails here
and succeeds there. Text in double brackets that is not made of `name=value` is nobody's direction.
"""

import re
from functools import lru_cache
from typing import Literal

import msgspec

_BLOCK = re.compile(r"\[\[\s*(\w+=(?:\"[^\"]*\"|[^\s\"\]]+)(?:\s+\w+=(?:\"[^\"]*\"|[^\s\"\]]+))*)\s*\]\]")
_PAIR = re.compile(r"(\w+)=(?:\"([^\"]*)\"|(\S+))")

TOKENS_MOST = 1_000_000
IMAGES_MOST = 1_000

UsageSaid = Literal["right", "no", "absurd", "negative", "zero", "huge", "twice", "string"]


class Directions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call's directions, in every format alike.

    `*_at=K` means after K content chunks (0: after the headers, before any event); thoughts that are shown are content.
    Content chunks of other calls than chat are whole images, chunks of sound, runs of words.
    """

    # What is said, and how fast: tokens are words of a transcript and of a revised prompt, too.
    tokens: int = 16
    per_chunk: int = 1
    delay_ms: float = 0
    first_chunk_ms: float = 0
    chunk_ms: float = 0
    echo: bool = False
    # In each content chunk, beside the content, when it was sent: `sent_ns`, by this machine's monotonic clock.
    stamped: bool = False
    # Images, whatever was asked for; bytes of each image's base64, or of a sound.
    images: int | None = None
    bytes: int | None = None
    # Tokens of thoughts before it; without: as the caller's request has it.
    thinking: int | None = None
    # An answer that is withheld: after its words, or (where a vendor does that) before any.
    safety: bool = False
    blocked: bool = False
    # What is said about it.
    usage: UsageSaid = "right"
    cached: int = 0
    cache_write: int = 0
    # An answer that is no answer.
    status: int = 200
    status_text: str | None = None
    error_type: str | None = None
    error_code: str | None = None
    retry_after: int | None = None
    redirect: str | None = None
    json_garbage: bool = False
    gzip_bomb: int = 0
    # A stream or body that ends badly.
    error_at: int | None = None
    cut_at: int | None = None
    half_close_at: int | None = None
    stall_at: int | None = None
    no_done: bool = False
    no_finish: bool = False
    wrong_length: bool = False
    # An early end of images comes before the end of one, and not between two.
    midway: bool = False
    # Events that are hard to read.
    drip: bool = False
    malformed_at: int | None = None
    comment: bool = False
    crlf: bool = False
    long_line: int = 0

    @property
    def refuses(self) -> bool:
        return self.status != 200 or self.redirect is not None

    @property
    def is_no_answer(self) -> bool:
        return self.refuses or self.json_garbage or bool(self.gzip_bomb)

    @property
    def is_uneventful(self) -> bool:
        """Whether the content is told in one breath and nothing happens meanwhile."""
        odd = self.chunk_ms or self.stamped or self.drip or self.comment or self.crlf or self.stops_early
        return not odd and self.error_at is None and self.malformed_at is None

    @property
    def stops_early(self) -> bool:
        return not (self.cut_at is None and self.half_close_at is None and self.stall_at is None)


class BadDirection(ValueError):
    """A direction that does not exist, or has a value it cannot have; the message names it."""


def read_directions(text: str, defaults: Directions, name: str = "") -> Directions:
    """The directions in `text` on top of the defaults."""
    if "[[" not in text:
        return defaults
    return _read(tuple(_BLOCK.findall(text)), defaults, name)


def without_directions(text: str) -> str:
    return _BLOCK.sub("", text)


@lru_cache(maxsize=1024)
def _read(blocks: tuple[str, ...], defaults: Directions, name: str) -> Directions:
    given: dict[str, object] = {}
    for block in blocks:
        pairs = {key: quoted or plain for key, quoted, plain in _PAIR.findall(block)}
        if pairs.pop("only", name) == name:
            given |= pairs
    try:
        chosen = msgspec.convert(msgspec.structs.asdict(defaults) | given, Directions, strict=False)
    except msgspec.ValidationError as problem:
        raise BadDirection(str(problem)) from None
    if not (0 <= chosen.tokens <= TOKENS_MOST and chosen.per_chunk >= 1 and 200 <= chosen.status <= 599):
        raise BadDirection(f"tokens are 0 to {TOKENS_MOST}, per_chunk is 1 or more, status 200 to 599")
    if not (0 <= (chosen.thinking or 0) <= TOKENS_MOST and chosen.cached >= 0 and chosen.cache_write >= 0):
        raise BadDirection(f"thinking is 0 to {TOKENS_MOST}, cached and cache_write are 0 or more")
    if not (0 <= (chosen.images or 0) <= IMAGES_MOST and (chosen.bytes or 0) >= 0):
        raise BadDirection(f"images are 0 to {IMAGES_MOST}, bytes are 0 or more")
    return chosen
