"""How prices read in commands: USD first, then the multipliers of the book."""

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import COUNTED
from tollkeeper.core.catalog.priced import PLAIN
from tollkeeper.core.money.price_words import parts_in_words
from tollkeeper.office.price_views import PriceFigures

# What the figures of a row are for.
FOR = {
    Kind.CHAT: "a million input / cached / output",
    Kind.IMAGE: "an image",
    Kind.SPEECH: "a million characters",
    Kind.TRANSCRIPTION: "an hour",
    Kind.EMBEDDING: "a million input tokens",
}


def in_words(price: PriceFigures) -> str:
    usd = ", ".join(f"{tag.usd} USD for {tag.each}" for tag in price.usd)
    return f"{usd}; {multipliers(price)}"


def cells(price: PriceFigures) -> tuple[str, str]:
    """The same, for a table. What else the row has figures for stands beside its multipliers."""
    # An image's price without a size is for tokens, as those of chat are.
    unit = Kind.CHAT if price.kind is Kind.IMAGE and not price.variant else price.kind
    plain = price.usd[: 1 if unit in COUNTED else len(PLAIN)]
    return " / ".join(tag.usd for tag in plain), FOR[unit]


def multipliers(price: PriceFigures) -> str:
    book = price.multipliers
    plain = f"model {book.model}, completion {book.completion}, cached {book.cached}"
    return plain + parts_in_words(price.parts_millionths)
