"""The form of what stands inside a chat order: kinds of content parts, media, tools, marks for caches.

Rules of this file
1. A list of what is known, not of what is bad. What a provider would make of anything else (fetch it, charge for it
   beside tokens, read it uncounted) nobody here can say, so it is refused by its place.
2. Members are told apart to the letter: a provider may read `Content` as `content`.
3. Only a picture may be given by address, and only by a public one (`core/outward`). We fetch nothing.
4. A value may be 30 MB of base64. No more than its beginning is read.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw

from tollkeeper.core.errors import InvalidParameter
from tollkeeper.core.outward import URL_CHARACTERS_MOST, is_public_url

PartKind = Literal["text", "refusal", "image_url", "input_audio", "file"]
ToolKind = Literal["function", "custom"]
# Kinds of content parts that are text, each in a field of its own name.
TEXT_PARTS = ("text", "refusal")
# How many bytes of another part, as it is sent, may come to one token: of a picture many, and of speech there is one
# for every 40 ms. A compressed document of any size may come to all that a model can read.
BYTES_PER_TOKEN = {"image_url": 64, "input_audio": 16}
ALL_IT_CAN_READ = 10**9
WORD_CHARACTERS_MOST = 256
# What is not counted is short.
Word = Annotated[str, Meta(max_length=WORD_CHARACTERS_MOST)]

# What a data URL says of itself stands here, if anywhere.
BEGINNING_BYTES = 256
_PICTURE = re.compile(rb'"data:image/(?!svg)[\w.+-]+(?:;[\w=.+-]+)*,', re.IGNORECASE)
_FILE = re.compile(rb'"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*,', re.IGNORECASE)
# Base64 as it is, in lines or in one, or in a data URL.
_SOUND = re.compile(rb'"(?:data:[\w.+/-]*(?:;[\w=.+-]+)*,)?(?:[a-z0-9+/=_-]|\\[nr])*(?:"|\\?$)', re.IGNORECASE)

WANTED_OF_PICTURES = (
    "must be a data URL of a picture, or its public http or https address, with a plain host name and no user"
)
WANTED_OF_FILES = "must be a data URL: files are sent in the message itself"
WANTED_OF_SOUNDS = "must be base64: sounds are sent in the message itself"
# By the kind of a part: where its data stands, and what it must be.
MEDIA = {
    "image_url": ("url", WANTED_OF_PICTURES),
    "input_audio": ("data", WANTED_OF_SOUNDS),
    "file": ("file_data", WANTED_OF_FILES),
}

decode_text = msgspec.json.Decoder(str).decode


class CheckedCacheControl(msgspec.Struct, forbid_unknown_fields=True):
    """A mark for a vendor's cache. A longer life must have a price of its own (`chat_extras`)."""

    type: Literal["ephemeral"] = "ephemeral"
    ttl: Literal["5m", "1h"] | None = None


class PromptCache(msgspec.Struct, forbid_unknown_fields=True):
    """The same in another vendor's words."""

    mode: Word | None = None
    ttl: Literal["30m"] | None = None


class CheckedImageUrl(msgspec.Struct, forbid_unknown_fields=True):
    url: Raw = Raw()
    detail: Word | None = None


class CheckedInputAudio(msgspec.Struct, forbid_unknown_fields=True):
    data: Raw = Raw()
    format: Word | None = None


class CheckedFile(msgspec.Struct, forbid_unknown_fields=True):
    """A file in a message. One that lies at the provider is whoever's put it there: our callers have none."""

    file_data: Raw = Raw()
    filename: Word | None = None
    file_id: None = None


class CheckedPart(msgspec.Struct, forbid_unknown_fields=True):
    type: PartKind
    text: str | None = None
    refusal: str | None = None
    image_url: CheckedImageUrl | None = None
    input_audio: CheckedInputAudio | None = None
    file: CheckedFile | None = None
    cache_control: CheckedCacheControl | None = None
    prompt_cache_breakpoint: PromptCache | None = None

    @property
    def media_tokens(self) -> int:
        """The most that this part may come to, by its size; 0 of text."""
        if self.image_url is not None:
            data = self.image_url.url
        elif self.input_audio is not None:
            data = self.input_audio.data
        else:
            return 0 if self.file is None else ALL_IT_CAN_READ
        return -(-len(memoryview(data)) // BYTES_PER_TOKEN[self.type])


class CheckedFunction(msgspec.Struct, forbid_unknown_fields=True):
    name: Raw = Raw()
    description: Raw = Raw()
    parameters: Raw = Raw()
    strict: bool | None = None
    # What it gives back, as some tools describe themselves.
    returns: Raw = msgspec.field(default=Raw(), name="return")
    cache_control: CheckedCacheControl | None = None


class CheckedTool(msgspec.Struct, forbid_unknown_fields=True):
    """A tool that the caller has. Those that the provider has (searches, interpreters, remote servers) are charged
    beside tokens."""

    type: ToolKind = "function"
    function: CheckedFunction | None = None
    custom: Raw = Raw()
    cache_control: CheckedCacheControl | None = None


class StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


WANTED_OF_WORDS = f"must be a text of at most {WORD_CHARACTERS_MOST} characters"
# What to send instead of what is wrong, by the end of its place; the first that fits.
WANTED_AT_END = {
    ".file_id": "cannot be used: files are sent in the message itself, as file_data",
    ".ttl": "cannot be used: caches live for 5m or 1h, or for the vendor's usual time; leave it out",
    **dict.fromkeys((".filename", ".detail", ".format", ".mode"), WANTED_OF_WORDS),
    ".audio": "cannot be used: a spoken answer cannot be referred to here; send what was said as text",
}
WANTED_OF_TOOLS = (
    "must be a tool of type function or custom: tools that a vendor runs are charged beside tokens, and can be had "
    "through /v1/messages and /v1/responses, where the model's price has them"
)
WANTED_OF_PARTS = "must be text, refusal, image_url, input_audio or file: nothing else is counted here"
WANTED_OF_CACHES = "must be a mark for a cache as its vendor defines it, without a life of its own"


def wanted_inside(place: str) -> str | None:
    """What to send instead of what is wrong inside of messages, tools or marks; None where nothing special is."""
    for end, wanted in WANTED_AT_END.items():
        if place.endswith(end):
            return wanted
    if place.startswith("tools"):
        return WANTED_OF_TOOLS
    if place.startswith(("cache_control", "prompt_cache_options")):
        return WANTED_OF_CACHES
    return WANTED_OF_PARTS if place.endswith("].type") else None


def check_media(parts: Sequence[CheckedPart], place: str) -> None:
    """Raise InvalidParameter where one is not of the kind that it says, or leads a provider elsewhere."""
    for at, part in enumerate(parts):
        if (medium := part.image_url or part.input_audio or part.file) is None:
            continue
        given = [kind for kind in MEDIA if getattr(part, kind) is not None]
        if given != [part.type]:
            raise InvalidParameter(f"{place}[{at}]", f"must be a part of the type {given[0]}, with nothing else in it")
        member, wanted = MEDIA[part.type]
        if not _is_sound(medium):
            raise InvalidParameter(f"{place}[{at}].{part.type}.{member}", wanted)


def _is_sound(medium: CheckedImageUrl | CheckedInputAudio | CheckedFile) -> bool:
    """Whether it is here as data, or is a picture at a public address. What is missing is for the provider to miss."""
    if isinstance(medium, CheckedInputAudio):
        return not medium.data or _SOUND.match(_beginning(medium.data)) is not None
    if isinstance(medium, CheckedFile):
        return not medium.file_data or _FILE.match(_beginning(medium.file_data)) is not None
    if _PICTURE.match(_beginning(medium.url)):
        return True
    # Escapes make an address at most six times as long.
    return len(memoryview(medium.url)) <= 6 * URL_CHARACTERS_MOST and is_public_url(_text(medium.url))


def _beginning(value: Raw) -> bytes:
    """With the one escape that writers of JSON put into data URLs."""
    return bytes(memoryview(value)[:BEGINNING_BYTES]).replace(b"\\/", b"/")


def _text(value: Raw) -> str:
    """Nothing, where it is no text."""
    try:
        return decode_text(value)
    except msgspec.MsgspecError:
        return ""
