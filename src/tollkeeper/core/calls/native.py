"""Orders in a dialect other than chat: the caller's own parameters, beside their translation into chat."""

from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat_extras import Extra, refusal_of
from tollkeeper.core.calls.thinking import within_cap
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.core.money.prices import Price


class Dialect(StrEnum):
    """A protocol beside chat in which callers may ask."""

    MESSAGES = "messages"
    RESPONSES = "responses"


# Of those that an order may offer: more than any provider takes.
TOOLS_MOST = 4_096
TOO_MANY_TOOLS = f"must have at most {TOOLS_MOST:,} tools"
# What caps an answer in each.
CAP = {Dialect.MESSAGES: "max_tokens", Dialect.RESPONSES: "max_output_tokens"}


class Spoken(msgspec.Struct, frozen=True):
    """What came in, where more than the body belongs to the order: the body, and headers by their names in small
    letters."""

    body: bytes
    headers: Mapping[str, str] = {}


class Native(msgspec.Struct, kw_only=True):
    """An order as its caller wrote it. A provider that speaks the dialect is sent this; all others, and whatever counts
    or prices the order, go by the translation."""

    dialect: Dialect
    # Every parameter as bytes; what is not to be passed on to anybody is not here.
    fields: Mapping[str, Raw]
    # Headers of the dialect that go with it.
    headers: tuple[tuple[str, str], ...] = ()
    # A parameter that has no translation: only who speaks the dialect can be sent the order.
    only_here: str = ""
    # What the dialect's own providers may count of it beside what stands in the translation, at most.
    untranslated_tokens: int = 0
    # What providers of the dialect charge for: it must have a price to be sent to them. The translation has none of it.
    extras: tuple[Extra, ...] = ()
    # The first of those that has no price at the model that was found for the order.
    unpriced: Extra | None = None
    # Its input is to be counted, and nothing answered.
    counts_only: bool = False

    def check_price(self, price: Price) -> None:
        """Note what has no price. The order is refused only where nobody else than the dialect's providers is left."""
        self.unpriced = next((extra for extra in self.extras if not extra.has_price(price)), None)

    def refusal(self) -> UnsupportedParameter | None:
        """Why a provider of the dialect cannot be sent the order."""
        return None if self.unpriced is None else refusal_of(self.unpriced)

    def keep_tools(self, priced: Collection[str]) -> frozenset[str]:
        """The model's price has these tools of the vendor's. Who can do without the others leaves them out here, and
        tells those that stay."""
        return frozenset()

    def limit_output(self, most_tokens: int) -> None:
        self.fields = {**within_cap(self.fields, most_tokens), CAP[self.dialect]: Raw(b"%d" % most_tokens)}

    def forget_content(self) -> None:
        self.fields = {}
