"""An answer that is no chat: bytes of one type, in parts, so that its size costs nothing here."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from tollkeeper_simulator.directions import Directions

JSON = b"application/json"


class Part(NamedTuple):
    """Some bytes; `images` and `tokens` of output are whole with them, and a content chunk where it ends here."""

    data: bytes
    images: int = 0
    ends_chunk: bool = False
    tokens: int = 0


class Answer(NamedTuple):
    """What is sent when nothing goes wrong."""

    content_type: bytes
    length: int
    parts: Iterable[Part]
    # How many content chunks there are: images, runs of words, pieces of sound.
    content_chunks: int
    # Sent in chunks, without a length.
    chunked: bool = False


class Setting(NamedTuple):
    """What an answer depends on beside the order."""

    directions: Directions
    created: int
    answer_id: str
    # Members that this vendor adds to each image.
    image_extras: bytes = b""


class Upload(NamedTuple):
    """A file in a form. What it contains is nobody's concern."""

    name: str
    size_bytes: int


# The fields of a request as they came, the model in the address among them: JSON values, or text and files of a form.
Fields = Mapping[str, object]


class MediaOrder(Protocol):
    """What a caller asked for."""

    @property
    def model(self) -> str: ...

    @property
    def asked(self) -> str:
        """Where the directions are."""

    @property
    def characters(self) -> int:
        """Code points to be spoken."""

    @property
    def file_bytes(self) -> int: ...

    @property
    def tokens(self) -> int:
        """Tokens of the input, where that is what is priced."""

    def answer(self, setting: Setting) -> Answer:
        """Raise Refused for what only shows now."""
