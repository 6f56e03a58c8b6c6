"""How an answer is told to a caller who asked in a dialect of their own.

Chat is the pivot: the meter and the bill read chat, whoever answers and whoever asked. One `Telling` tells one answer
of one provider account: by its `pass_…` methods where that account speaks the dialect, by the others where what it
said was made into chat first.

Rules of this file
1. A telling never raises on what a provider could send: what it does not know, it leaves out.
2. Tellings are pure: what they need is given when they are made (`AnswerHeading`), or at the end (`Closing`).
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.prices import Usage


class AnswerHeading(msgspec.Struct, frozen=True, kw_only=True):
    """What a telling knows before the first event."""

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
    # What the call costs, where it is told in the answer.
    cost: Quota | None = None


class Telling(Protocol):
    """One answer in a caller's dialect."""

    def tell(self, data: bytes) -> bytes:
        """The next chunk of a streamed chat answer, its report of usage included: events of the dialect."""
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

    def tell_whole(self, body: bytes, closing: Closing) -> bytes:
        """A whole chat answer."""
        ...

    def pass_whole(self, body: bytes) -> bytes:
        """The whole answer of a provider that speaks the dialect: as it came, but for the model's name."""
        ...


NewTelling = Callable[[AnswerHeading], Telling]
