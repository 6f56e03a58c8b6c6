"""From the gateway's events to the lines that the chat page reads: one JSON object each, with one thing to do.

{"call": id} · {"thought": text} · {"text": text} · {"end": reason} · {"trouble": {…}}
"""

from collections.abc import Iterator

import msgspec

from tollkeeper.core.calls.sse import data_of

DONE = b"[DONE]"
# Nothing to do. What passes shows that all who are on the way are still there.
STILL_THERE = b"\n"


class SaidDelta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None


class SaidChoice(msgspec.Struct, frozen=True):
    delta: SaidDelta = SaidDelta()
    finish_reason: str | None = None


class SaidError(msgspec.Struct, frozen=True):
    message: str = ""
    code: str | None = None


class Said(msgspec.Struct, frozen=True):
    choices: list[SaidChoice] = []
    error: SaidError | None = None


decode_said = msgspec.json.Decoder(Said).decode


class Listening:
    """One answer, as it comes."""

    def __init__(self) -> None:
        # Whether the stream has come to its proper end, or to the error that ends it.
        self.is_over = False
        self.error: SaidError | None = None
        self.reason = ""

    def lines(self, event: bytes) -> Iterator[bytes]:
        """What an event says to the page. Raise msgspec.MsgspecError where it cannot be read."""
        data = data_of(event)
        if data is None:
            yield STILL_THERE
            return
        if data == DONE:
            self.is_over = True
            return
        said = decode_said(data)
        self.error = said.error
        self.is_over = said.error is not None
        for choice in said.choices[:1]:
            self.reason = choice.finish_reason or self.reason
            if choice.delta.reasoning_content:
                yield line(thought=choice.delta.reasoning_content)
            if text := (choice.delta.content or "") + (choice.delta.refusal or ""):
                yield line(text=text)


def line(**told: object) -> bytes:
    return msgspec.json.encode(told) + b"\n"
