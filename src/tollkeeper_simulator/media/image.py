"""Images: signed addresses, or a tiny picture in base64, or as much base64 as is wanted."""

import base64
import hashlib
import random
import struct
import time
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from tollkeeper_simulator.directions import without_directions
from tollkeeper_simulator.media.answer import JSON, Answer, Fields, Part, Setting, Upload
from tollkeeper_simulator.media.refusal import check_choice, check_range, check_text, converted, missing, wrong
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.speech import escape, text_of
from tollkeeper_simulator.tokens import count_text

HOST = "demoimages.blob.example.net"
SIGNED_SECONDS = 3_600
IMAGES_MOST = 10
UNNAMED_MODEL = "dall-e-2"


class Offer(NamedTuple):
    """What one model paints."""

    prompt_characters: int
    images: int
    sizes: tuple[str, ...]
    qualities: tuple[str, ...]


# Priced by token, with a report: by size and quality, and what `auto` makes of both.
TOKENS = {"low": 272, "medium": 1_056, "high": 4_160, "auto": 1_056}
TOKEN_SIZES = {"1024x1024": 2, "1024x1536": 3, "1536x1024": 3, "auto": 2}
INPUT_IMAGE_TOKENS = 323
OFFERS = {
    "dall-e-2": Offer(1_000, IMAGES_MOST, ("256x256", "512x512", "1024x1024"), ("standard",)),
    "dall-e-3": Offer(4_000, 1, ("1024x1024", "1792x1024", "1024x1792"), ("standard", "hd")),
}
PROMPT_CHARACTERS_MOST = 32_000

N_IS_ONE = "You must provide n=1 for this model."
BLOCKED = (
    "Your request was rejected as a result of our safety system. Your prompt may contain text that is not allowed by "
    "our safety system."
)


class ImageOrder(msgspec.Struct):
    """A request for images."""

    model: str = UNNAMED_MODEL
    prompt: str | None = None
    n: int = 1
    size: str | None = None
    quality: str | None = None
    response_format: str = "url"

    characters = 0

    @property
    def file_bytes(self) -> int:
        return 0

    @property
    def files(self) -> int:
        return 0

    @property
    def asked(self) -> str:
        return self.prompt or ""

    @property
    def is_by_token(self) -> bool:
        return self.model.startswith("gpt-image")

    @property
    def tokens(self) -> int:
        """Tokens of its input, where it is priced by token."""
        return count_text(self.asked) + INPUT_IMAGE_TOKENS * self.files if self.is_by_token else 0

    @property
    def tokens_each(self) -> int:
        if not self.is_by_token:
            return 0
        return TOKENS[self.quality or "auto"] * TOKEN_SIZES[self.size or "auto"] // 2

    def usage(self, count: int, said: str) -> bytes:
        if not self.is_by_token or said == "no":
            return b""
        images, output = INPUT_IMAGE_TOKENS * self.files, self.tokens_each * count
        if said == "absurd":
            output += 10**9
        return (
            b',"usage":{"input_tokens":%d,"input_tokens_details":{"image_tokens":%d,"text_tokens":%d},'
            b'"output_tokens":%d,"total_tokens":%d}'
        ) % (self.tokens, images, self.tokens - images, output, self.tokens + output)

    def answer(self, setting: Setting) -> Answer:
        directions = setting.directions
        if directions.blocked and not directions.refuses:
            raise Refused(Problem(400, BLOCKED, "image_generation_user_error", "content_policy_violation"))
        count = self.n if directions.images is None else directions.images
        text = without_directions(self.asked) if directions.echo else text_of(directions.tokens)
        revised = b'%b"revised_prompt":"%b",' % (setting.image_extras, escape(text))
        if self.response_format == "b64_json" or self.is_by_token:
            picture = Picture(b'{%b"b64_json":"' % revised, b'"}', directions.bytes, self.tokens_each)
            pictures = [picture] * count
        else:
            addresses = (address(setting, index).encode() for index in range(count))
            pictures = [Picture(b'{%b"url":"%b' % (revised, url), b'"}', 0) for url in addresses]
        start, end = b'{"created":%d,"data":[' % setting.created, b"]%b}" % self.usage(count, directions.usage)
        length = len(start) + sum(picture.length for picture in pictures) + max(count - 1, 0) + len(end)
        return Answer(JSON, length, _parts(start, pictures, end), count)


class EditOrder(ImageOrder):
    """A request for changed images, out of a form: numbers are text there."""

    images: list[Upload] = []

    @property
    def file_bytes(self) -> int:
        return sum(image.size_bytes for image in self.images)

    @property
    def files(self) -> int:
        return len(self.images)


Asked = TypeVar("Asked", bound=ImageOrder)


class Picture(NamedTuple):
    """One object of the answer: base64 of a size (without: a tiny picture) between what stands around it."""

    before: bytes
    after: bytes
    size: int | None
    tokens: int = 0

    @property
    def length(self) -> int:
        return len(self.before) + (len(TINY) if self.size is None else self.size) + len(self.after)

    def parts(self) -> Iterator[Part]:
        yield Part(self.before)
        yield from (Part(block) for block in ((TINY,) if self.size is None else base64_of(self.size)))
        yield Part(self.after, images=1, ends_chunk=True, tokens=self.tokens)


def read_image_order(fields: Fields) -> ImageOrder:
    """Raise Refused for what the vendor would not take."""
    return _checked(converted(fields, ImageOrder))


def _checked(order: Asked) -> Asked:
    offer = OFFERS.get(order.model)
    check_text("prompt", order.prompt, offer.prompt_characters if offer else PROMPT_CHARACTERS_MOST)
    check_range("n", order.n, 1, IMAGES_MOST)
    check_choice("response_format", order.response_format, ("url", "b64_json"))
    if offer is not None:
        if order.n > offer.images:
            raise Refused(Problem(400, N_IS_ONE, param="n"))
        check_choice("size", order.size or "1024x1024", offer.sizes)
        check_choice("quality", order.quality or "standard", offer.qualities)
    if order.is_by_token:
        check_choice("size", order.size or "auto", TOKEN_SIZES)
        check_choice("quality", order.quality or "auto", TOKENS)
    return order


def read_edit_order(fields: Fields) -> EditOrder:
    """The same for an edit. Raise Refused for what the vendor would not take."""
    images = [value for name, value in fields.items() if isinstance(value, Upload) and name != "mask"]
    if not images:
        raise missing("image")
    asked = {name: value for name, value in fields.items() if not isinstance(value, Upload)}
    count = asked.get("n", "1")
    if not isinstance(count, str) or not count.isdigit():
        raise wrong("n", "it must be a number.", "invalid_type")
    files = [value for value in fields.values() if isinstance(value, Upload)]
    return _checked(converted({**asked, "n": int(count), "images": files}, EditOrder))


def address(setting: Setting, index: int) -> str:
    """Where a picture would be for a while."""
    name = hashlib.sha256(f"{setting.answer_id}/{index}".encode())
    begins, ends = (_moment(setting.created + shift) for shift in (-SIGNED_SECONDS, SIGNED_SECONDS))
    signature = quote(base64.b64encode(name.digest()), safe="")
    return (
        f"https://{HOST}/private/org-demo/user-demo/img-{name.hexdigest()[:24]}.png?st={begins}&se={ends}&sp=r"
        f"&sv=2024-08-04&sr=b&rscd=inline&rsct=image/png&sks=b&skv=2024-08-04&sig={signature}"
    )


def base64_of(size: int) -> Iterator[bytes]:
    """So many characters of base64; they can be decoded if their number is a multiple of four."""
    for left in range(size, 0, -len(BLOCK)):
        yield BLOCK[:left]


def _parts(start: bytes, pictures: list[Picture], end: bytes) -> Iterator[Part]:
    yield Part(start)
    for index, picture in enumerate(pictures):
        yield from chain((Part(b","),) if index else (), picture.parts())
    yield Part(end)


def _moment(seconds: int) -> str:
    return quote(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)), safe="")


def _png() -> bytes:
    """One grey pixel."""
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\x80")),
        (b"IEND", b""),
    )
    framed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


TINY = base64.b64encode(_png())
BLOCK = base64.b64encode(random.Random(1).randbytes(49_152))  # noqa: S311 - a pattern, not a secret
