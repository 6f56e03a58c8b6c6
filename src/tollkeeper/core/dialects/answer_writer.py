"""How an answer is written for a caller who asked in a dialect of their own (the trade says response encoder).

Chat is the pivot: the meter and the bill read chat, whoever answers and whoever asked. One `AnswerWriter` writes one
answer of one provider account: by its `pass_…` methods where that account speaks the dialect, by the others where
what it said was made into chat first.

Rules of this file
1. A writer never raises on what a provider could send: what it does not know, it leaves out.
2. Writers are pure: what they need is given when they are made (`AnswerHeading`), or at the end (`Closing`).
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.prices import Usage


class AnswerHeading(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer knows before the first event."""

    # In plain letters and digits: for ids of answers that we have translated.
    request_id: str
    # Our own name of the model, which callers know.
    model: str
    # The input as we have counted it.
    input_tokens: int
    # Whether the caller asked, in words of the dialect, for a model that thinks.
    asked_to_think: bool = False
    # Whether the answer may be ended before the provider ends it, in good order.
    may_end_short: bool = False


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when an answer has come to its end."""

    # As reported by the provider, or as counted where it did not report.
    usage: Usage
    # What the call costs, where the answer says so.
    cost: Quota | None = None


class AnswerWriter(Protocol):
    """One answer in a caller's dialect."""

    def write_chunk(self, data: bytes) -> bytes:
        """Translate the next chunk of a chat stream, its report of usage included, into events of the dialect."""
        ...

    def pass_event(self, data: bytes, closing: Closing | None) -> bytes:
        """The next event of a provider that speaks the dialect: as it came, but for the model's name. `closing`: from
        the event on that reports usage."""
        ...

    def end(self, closing: Closing) -> bytes:
        """The stream is complete: what is left to say."""
        ...

    def end_short(self, closing: Closing) -> bytes:
        """The stream ends here, before it is complete: as one that has reached its length."""
        ...

    def write_whole(self, body: bytes, closing: Closing) -> bytes:
        """Translate a whole chat answer."""
        ...

    def pass_whole(self, body: bytes) -> bytes:
        """The whole answer of a provider that speaks the dialect: as it came, but for the model's name."""
        ...


NewAnswerWriter = Callable[[AnswerHeading], AnswerWriter]
