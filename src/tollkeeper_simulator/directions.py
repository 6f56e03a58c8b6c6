"""Stage directions: how one call is to be answered, written into what the caller says so that they pass any gateway.

They stand in the last user message, in the prompt of images and transcripts, in the input of speech.

`[[tokens=200 chunk_ms=5]]`: names and values; a value with spaces stands in double quotes. Several blocks add up, the
later wins. A block with `only=NAME` speaks to the simulator of that `--name` alone, which is how one call fails here
and succeeds there. Text in double brackets that is not made of `name=value` is nobody's direction.

Of programs that call tools, a block with `turn=K` speaks where the conversation has the results of K tools so far, in
whichever of the user's messages it stands. A block with `once=WORD` speaks the first time that a simulator meets it.
"""

import base64
import re
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tollkeeper_simulator.hostile.directions import NAMES as HOSTILE_NAMES
from tollkeeper_simulator.hostile.directions import Hostile, range_problem

_BLOCK = re.compile(r"\[\[\s*(\w+=(?:\"[^\"]*\"|[^\s\"\]]+)(?:\s+\w+=(?:\"[^\"]*\"|[^\s\"\]]+))*)\s*\]\]")
_PAIR = re.compile(r"(\w+)=(?:\"([^\"]*)\"|(\S+))")

TOKENS_MOST = 1_000_000
IMAGES_MOST = 1_000

UsageSaid = Literal["right", "no", "absurd", "negative", "zero", "huge", "twice", "string"]


class Directions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call's directions, in every format alike; the reference page of directions is made from this table.

    `*_at=K` means after K content chunks (0: after the headers, before any event); thoughts that are shown are content.
    Content chunks of other calls than chat are whole images, chunks of sound, runs of words.
    """

    # What is said, and how fast.
    tokens: Annotated[int, Meta(description="Output tokens; words of a transcript and of a revised prompt, too.")] = 16
    per_chunk: Annotated[int, Meta(description="Tokens in each content chunk.")] = 1
    delay_ms: Annotated[float, Meta(description="The wait before the headers.")] = 0
    first_chunk_ms: Annotated[float, Meta(description="The wait between the headers and the first event.")] = 0
    chunk_ms: Annotated[float, Meta(description="The wait between content chunks.")] = 0
    echo: Annotated[bool, Meta(description="Say what the caller said, without its directions.")] = False
    stamped: Annotated[
        bool,
        Meta(description="In the `obfuscation` of a stream's content chunks: when, by the monotonic clock, in ns."),
    ] = False
    timeline: Annotated[
        bool, Meta(description="The truth has `made_at`: pairs of monotonic seconds and the tokens sent by then.")
    ] = False
    call: Annotated[str | None, Meta(description="The tool that is called, where the order has tools.")] = None
    arguments: Annotated[
        str | None, Meta(description="What that tool is called with: JSON in base64, as it stands in addresses.")
    ] = None
    images: Annotated[int | None, Meta(description="How many images, whatever was asked for.")] = None
    bytes: Annotated[
        int | None, Meta(description="Bytes of each image's base64, or of a sound; of hostile endless things, too.")
    ] = None
    thinking: Annotated[
        int | None, Meta(description="Tokens of thoughts before the answer; without it, as the request has it.")
    ] = None
    safety: Annotated[bool, Meta(description="The answer is withheld after its words.")] = False
    blocked: Annotated[bool, Meta(description="The answer is withheld before any word, where a vendor does that.")] = (
        False
    )
    # What is said about it.
    usage: Annotated[UsageSaid, Meta(description="What the usage says, or how often.")] = "right"
    cached: Annotated[int, Meta(description="Input tokens that came from the cache.")] = 0
    remembers: Annotated[
        bool,
        Meta(description="From the cache came what this account was sent before: the first messages of the request."),
    ] = False
    cache_write: Annotated[
        int, Meta(description="Input tokens written to the cache, where a vendor tells of that.")
    ] = 0
    cache_write_1h: Annotated[int, Meta(description="The same into a cache that lives for an hour, beside those.")] = 0
    image_in: Annotated[int, Meta(description="Input tokens of images, beside those of the text.")] = 0
    audio_in: Annotated[int, Meta(description="Input tokens of audio, beside those of the text.")] = 0
    image_out: Annotated[int, Meta(description="Of the output, tokens that are told to be of images.")] = 0
    audio_out: Annotated[int, Meta(description="Of the output, tokens that are told to be of audio.")] = 0
    tool_uses: Annotated[int, Meta(description="Searches of the web by the vendor's own tool.")] = 0
    # An answer that is no answer.
    status: Annotated[int, Meta(description="An error with this status instead of an answer.")] = 200
    status_text: Annotated[str | None, Meta(description="The message of the error.")] = None
    error_type: Annotated[str | None, Meta(description="The type of the error.")] = None
    error_code: Annotated[str | None, Meta(description="The code of the error.")] = None
    retry_after: Annotated[int | None, Meta(description="Seconds in the error's `retry-after`.")] = None
    redirect: Annotated[str | None, Meta(description="Redirect to this address, with status 302.")] = None
    json_garbage: Annotated[bool, Meta(description="HTML where JSON should be.")] = False
    gzip_bomb: Annotated[int, Meta(description="A body that gzip unpacks to this many bytes.")] = 0
    # A stream or body that ends badly.
    error_at: Annotated[int | None, Meta(description="An error event ends the stream.")] = None
    cut_at: Annotated[int | None, Meta(description="The connection is reset.")] = None
    half_close_at: Annotated[int | None, Meta(description="The provider closes its side of the connection.")] = None
    stall_at: Annotated[int | None, Meta(description="Nothing more comes, until the caller goes.")] = None
    no_done: Annotated[bool, Meta(description="The stream ends without its last mark.")] = False
    no_finish: Annotated[bool, Meta(description="The stream ends without a finish reason and usage.")] = False
    wrong_length: Annotated[bool, Meta(description="The length promises more than comes.")] = False
    midway: Annotated[bool, Meta(description="An early end of images comes in one, and not between two.")] = False
    # Events that are hard to read.
    drip: Annotated[bool, Meta(description="Every byte comes alone.")] = False
    malformed_at: Annotated[int | None, Meta(description="An event whose JSON breaks off.")] = None
    comment: Annotated[bool, Meta(description="A comment line before each event.")] = False
    crlf: Annotated[bool, Meta(description="Lines of a stream end in CR LF.")] = False
    long_line: Annotated[int, Meta(description="One event of this many bytes before the content.")] = 0
    # Those of a malicious provider, which are a table of their own.
    hostile: Hostile | None = None

    @property
    def refuses(self) -> bool:
        if self.hostile is not None and self.hostile.refuses:
            return True
        return self.status != 200 or self.redirect is not None

    @property
    def is_no_answer(self) -> bool:
        return self.refuses or self.json_garbage or bool(self.gzip_bomb)

    @property
    def is_uneventful(self) -> bool:
        """Whether the content is told in one breath and nothing happens meanwhile."""
        odd = self.chunk_ms or self.stamped or self.drip or self.comment or self.crlf or self.stops_early
        return not odd and self.error_at is None and self.malformed_at is None and self.hostile is None

    @property
    def ignores_cap(self) -> bool:
        return self.hostile is not None and self.hostile.ignore_cap

    @property
    def stops_early(self) -> bool:
        return not (self.cut_at is None and self.half_close_at is None and self.stall_at is None)


class BadDirection(ValueError):
    """A direction that does not exist, or has a value it cannot have; the message names it."""


class Asking(NamedTuple):
    """Who is asked, and how far the conversation has come."""

    # Of the simulator.
    name: str = ""
    # Of tools, so far.
    results: int = 0
    takes_hostile: bool = False


NOBODY = Asking()


def read_directions(
    text: str, defaults: Directions, asking: Asking = NOBODY, met: set[str] | None = None
) -> Directions:
    """The directions in `text` on top of the defaults. `met`: the words of blocks that speak once; they are added."""
    if "[[" not in text:
        return defaults
    blocks = tuple(_BLOCK.findall(text))
    if "once=" in text:
        blocks = tuple(block for block in blocks if _speaks_now(block, asking, set() if met is None else met))
    return _read(blocks, defaults, asking)


def _speaks_now(block: str, asking: Asking, met: set[str]) -> bool:
    pairs = _pairs(block)
    word = pairs.get("once")
    if word is None or not _is_for(pairs, asking):
        return True
    is_new = word not in met
    met.add(word)
    return is_new


def _pairs(block: str) -> dict[str, str]:
    return {key: quoted or plain for key, quoted, plain in _PAIR.findall(block)}


def _is_for(pairs: dict[str, str], asking: Asking) -> bool:
    turn = pairs.get("turn")
    return pairs.get("only", asking.name) == asking.name and turn in (None, str(asking.results))


def without_directions(text: str) -> str:
    return _BLOCK.sub("", text)


@lru_cache(maxsize=1024)
def _read(blocks: tuple[str, ...], defaults: Directions, asking: Asking) -> Directions:
    given: dict[str, object] = {}
    for pairs in map(_pairs, blocks):
        if _is_for(pairs, asking):
            given |= {name: value for name, value in pairs.items() if name not in ("only", "turn", "once")}
    hostile = {key: given.pop(key) for key in sorted(HOSTILE_NAMES & given.keys())}
    if hostile and not asking.takes_hostile:
        raise BadDirection(f"'{next(iter(hostile))}' is hostile. Start the demo provider with --hostile to allow it")
    try:
        chosen = msgspec.convert(msgspec.structs.asdict(defaults) | given, Directions, strict=False)
        if hostile:
            chosen = msgspec.structs.replace(chosen, hostile=msgspec.convert(hostile, Hostile, strict=False))
    except msgspec.ValidationError as problem:
        raise BadDirection(str(problem)) from None
    if (wrong := _range_problem(chosen)) is not None:
        raise BadDirection(wrong)
    return chosen


def arguments_in(given: str) -> bytes:
    """Raise ValueError for what is no JSON in base64."""
    arguments = base64.urlsafe_b64decode(given)
    msgspec.json.decode(arguments)
    return arguments


def _range_problem(chosen: Directions) -> str | None:
    """What is wrong with the numbers, if anything is."""
    if not (0 <= chosen.tokens <= TOKENS_MOST and chosen.per_chunk >= 1 and 200 <= chosen.status <= 599):
        return f"tokens are 0 to {TOKENS_MOST}, per_chunk is 1 or more, status 200 to 599"
    if not (0 <= (chosen.thinking or 0) <= TOKENS_MOST and chosen.cached >= 0 and chosen.cache_write >= 0):
        return f"thinking is 0 to {TOKENS_MOST}, cached and cache_write are 0 or more"
    if min(chosen.cache_write_1h, chosen.image_in, chosen.audio_in) < 0:
        return "cache_write_1h, image_in and audio_in are 0 or more"
    if min(chosen.image_out, chosen.audio_out, chosen.tool_uses) < 0:
        return "image_out, audio_out and tool_uses are 0 or more"
    if not (0 <= (chosen.images or 0) <= IMAGES_MOST and (chosen.bytes or 0) >= 0):
        return f"images are 0 to {IMAGES_MOST}, bytes are 0 or more"
    of_hostile = None if chosen.hostile is None else range_problem(chosen.hostile)
    return _problem_of_arguments(chosen.arguments) or of_hostile


def _problem_of_arguments(given: str | None) -> str | None:
    if given is not None:
        try:
            arguments_in(given)
        except ValueError:
            return "arguments are JSON in base64"
    return None
