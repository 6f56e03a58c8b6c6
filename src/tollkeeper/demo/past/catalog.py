"""What is sold in the demo, at the usual prices: a multiplier of 1 is 2 USD for a million input tokens."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from tollkeeper.core.calls.media import MediaLimits
from tollkeeper.core.catalog.models import Kind
from tollkeeper.ports import NewModel, NewPrice
from tollkeeper.ports.catalog.prices import NewFigures


def _chat(name: str, multiplier: str, completion: str, cached: str) -> NewModel:
    price = NewPrice(model=Decimal(multiplier), completion=Decimal(completion), cached=Decimal(cached))
    return NewModel(id=name, kind=Kind.CHAT, price=price)


def _by_unit(name: str, kind: Kind, quota: str) -> NewModel:
    return NewModel(id=name, kind=kind, price=NewPrice(model=Decimal(quota)))


def _images(name: str, prices: Mapping[str, int], *, most: int) -> NewModel:
    first, *more = [NewPrice(model=Decimal(quota), variant=variant) for variant, quota in prices.items()]
    media = MediaLimits(images_most=most)
    return NewModel(id=name, kind=Kind.IMAGE, price=first, more_prices=more, media=media)


MODELS = (
    # Those that the guides ask.
    _chat("claude-opus-5", "2.5", "5", "0.1"),
    _chat("gpt-5", "0.625", "8", "0.1"),
    _chat("claude-sonnet-4.5", "1.5", "5", "0.1"),
    _chat("gpt-4o", "1.25", "4", "0.5"),
    _chat("gpt-5-mini", "0.125", "8", "0.1"),
    _chat("gpt-4o-mini", "0.075", "4", "0.5"),
    _chat("gemini-2.5-flash", "0.15", "8.333333", "0.25"),
    _by_unit("tts-1", Kind.SPEECH, "7.5"),
    _by_unit("tts-1-hd", Kind.SPEECH, "15"),
    _by_unit("whisper-1", Kind.TRANSCRIPTION, "50"),
    _by_unit("text-embedding-3-small", Kind.EMBEDDING, "0.01"),
    _images("dall-e-2", {"256x256": 8_000, "512x512": 9_000, "1024x1024": 10_000}, most=10),
    _images(
        "dall-e-3",
        {
            "1024x1024": 20_000,
            "1024x1024 hd": 40_000,
            "1792x1024": 40_000,
            "1024x1792": 40_000,
            "1792x1024 hd": 60_000,
            "1024x1792 hd": 60_000,
        },
        most=1,
    ),
)


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A price that changes, by days before today: below zero, it is still to come."""

    model: str
    figures: NewFigures
    announced_days_back: float
    effective_days_back: float


CHANGES = (
    PlannedChange(
        model="gpt-5-mini",
        figures=NewFigures(model=Decimal("0.1")),
        announced_days_back=21,
        effective_days_back=18,
    ),
    PlannedChange(
        model="gpt-4o",
        figures=NewFigures(model=Decimal("1.1"), cached=Decimal("0.4")),
        announced_days_back=0.9,
        effective_days_back=-3,
    ),
)
