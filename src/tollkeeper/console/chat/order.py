"""What the chat page sends, and what the gateway is asked for it.

Rules of this file
1. Text and pictures, and nothing else: no parameter, and no address from which anybody would have to fetch something.
2. Messages, characters and pictures are bounded here; what a model takes is for the gateway to say.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

BODY_BYTES_MOST = 4 * 1024 * 1024
MESSAGES_MOST = 200
CHARACTERS_MOST = 400_000
PICTURES_MOST = 8
PICTURE_CHARACTERS_MOST = 1_500_000

# As browsers write what was made from a file; the base64 is the provider's to judge.
Picture = Annotated[
    str,
    Meta(
        max_length=PICTURE_CHARACTERS_MOST, pattern=r"^data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}\Z"
    ),
]


class ChatMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    role: Literal["user", "assistant"]
    text: Annotated[str, Meta(max_length=CHARACTERS_MOST)]
    pictures: Annotated[list[Picture], Meta(max_length=PICTURES_MOST)] = []

    def as_asked(self) -> Mapping[str, object]:
        """In the gateway's protocol."""
        if not self.pictures:
            return {"role": self.role, "content": self.text}
        text = [{"type": "text", "text": self.text}] if self.text else []
        pictures = [{"type": "image_url", "image_url": {"url": picture}} for picture in self.pictures]
        return {"role": self.role, "content": [*text, *pictures]}


class ChatWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: Annotated[str, Meta(min_length=1, max_length=128)]
    messages: Annotated[list[ChatMessage], Meta(min_length=1, max_length=MESSAGES_MOST)]

    @property
    def is_bounded(self) -> bool:
        """Whether all of it together is no more than a chat may send at once."""
        characters = sum(len(message.text) for message in self.messages)
        pictures = sum(len(message.pictures) for message in self.messages)
        return characters <= CHARACTERS_MOST and pictures <= PICTURES_MOST

    @property
    def body(self) -> bytes:
        """The request to the gateway."""
        return msgspec.json.encode(
            {
                "model": self.model,
                "messages": [message.as_asked() for message in self.messages],
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        )


decode_wish = msgspec.json.Decoder(ChatWish).decode


def read_wish(text: str) -> ChatWish | None:
    """None where it is not what our page would send, or too much of it."""
    try:
        wish = decode_wish(text)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    return wish if wish.is_bounded and wish.messages[-1].role == "user" else None
