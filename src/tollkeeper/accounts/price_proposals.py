"""Parts that a new model gets where its author names none: how vendors' public prices relate to their input price.

Rules of this file
1. What was named, or unset by name, stays: only what nobody spoke of is filled in.
2. Whatever is filled in is told, with where it is from. A part without a figure costs what plain input or output does,
   which is less than the vendor takes.
3. A figure that depends on the model's own multipliers is a hint in words, and never filled in.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec import UNSET

from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.price_words import PART_WORDS
from tollkeeper.ports.catalog.prices import NewFigures


class ModelFamily(msgspec.Struct, frozen=True, kw_only=True):
    """Models whose ids have `id_has` in them, at the beginning of a word, and nothing of `but_not`."""

    id_has: str
    but_not: Sequence[str] = ()
    cached: Decimal | None = None
    parts: Mapping[Part, Decimal] = msgspec.field(default_factory=dict)
    # Where the figures are from.
    source: str = ""
    hint: str = ""

    def has(self, model_id: str) -> bool:
        end = r"(?!\d)" if self.id_has[-1].isdigit() else ""
        found = re.search(rf"(?<![a-z0-9]){re.escape(self.id_has)}{end}", model_id)
        return found is not None and not any(word in model_id for word in self.but_not)


CLAUDE = ModelFamily(
    id_has="claude",
    cached=Decimal("0.1"),
    parts={Part.WRITTEN_5M: Decimal("1.25"), Part.WRITTEN_1H: Decimal(2)},
    source="Anthropic's public prices: of a cache, reading costs a tenth of the input, writing it for 5 minutes a "
    "quarter more than the input, and for an hour twice the input",
)
LONG_INPUT = "above 200,000 input tokens, input costs twice and output one and a half times as much."


def read_at(id_has: str, cached: str, *but_not: str) -> ModelFamily:
    """Models of OpenAI whose input costs less where it comes from a cache."""
    source = f"OpenAI's public prices: what is read from a cache costs {cached} of the input"
    return ModelFamily(id_has=id_has, but_not=but_not, cached=Decimal(cached), source=source)


def with_sound(id_has: str, audio_input: str, audio_output: str, *but_not: str) -> ModelFamily:
    parts = {Part.AUDIO_INPUT: Decimal(audio_input), Part.AUDIO_OUTPUT: Decimal(audio_output)}
    source = "OpenAI's public prices: tokens of sound, by the price of text"
    return ModelFamily(id_has=id_has, but_not=but_not, parts=parts, source=source)


def with_pictures(id_has: str, image_input: str, *but_not: str) -> ModelFamily:
    source = "OpenAI's public prices: tokens of pictures that are sent, by the price of text"
    return ModelFamily(id_has=id_has, but_not=but_not, parts={Part.IMAGE_INPUT: Decimal(image_input)}, source=source)


# The first that has a model is its family.
FAMILIES = (
    msgspec.structs.replace(
        CLAUDE,
        id_has="claude-sonnet-4",
        but_not=("4-6", "4.6"),
        hint=f"Anthropic's public prices: {LONG_INPUT} With a multiplier of 1.5 and a completion of 5 that is "
        "--tier 200000=3/3.75.",
    ),
    CLAUDE,
    ModelFamily(
        id_has="gemini-2.5-pro",
        hint=f"Google's public prices: {LONG_INPUT} With a multiplier of 0.625 and a completion of 8 that is "
        "--tier 200000=1.25/6.",
    ),
    ModelFamily(
        id_has="gemini-3-pro",
        but_not=("image",),
        hint=f"Google's public prices: {LONG_INPUT} With a multiplier of 1 and a completion of 6 that is "
        "--tier 200000=2/4.5.",
    ),
    # Rounded up where the vendor's prices do not divide.
    with_sound("gpt-audio-mini", "16.666667", "33.333334"),
    with_sound("gpt-audio", "12.8", "25.6"),
    with_sound("gpt-4o-mini-audio", "66.666667", "133.333334"),
    with_sound("gpt-4o-audio", "16", "32"),
    with_pictures("gpt-image-1-mini", "1.25"),
    with_pictures("gpt-image-1", "2", "gpt-image-1.5"),
    # What the vendor lists without a price for cached input is left out.
    read_at("gpt-5", "0.1", "pro", "image", "audio"),
    read_at("gpt-4.1", "0.25"),
    read_at("gpt-4o", "0.5", "2024-05-13", "latest", "search", "realtime", "transcribe", "tts"),
    read_at("o4-mini", "0.25"),
    read_at("o3-mini", "0.5"),
    read_at("o3", "0.25", "pro"),
    read_at("o1", "0.5", "pro"),
)


class FilledFigures(msgspec.Struct, frozen=True, kw_only=True):
    figures: NewFigures
    # What was filled in, as `cached 0.1`, and where it is from.
    proposed: Sequence[str] = ()
    source: str = ""
    hint: str = ""
    # The options by which all of that is unset.
    undone_by: Sequence[str] = ()


def filled(model_id: str, figures: NewFigures) -> FilledFigures:
    """The figures of a new model that is priced by token, with what its family proposes."""
    family = next((family for family in FAMILIES if family.has(model_id.lower())), None)
    if family is None:
        return FilledFigures(figures=figures)
    cached = family.cached if figures.cached is None else None
    parts = {part: own for part, own in family.parts.items() if getattr(figures.parts, part.value) is UNSET}
    told = [] if cached is None else [f"cached {cached}"]
    told += [f"{PART_WORDS[part]} {own}" for part, own in parts.items()]
    new = msgspec.structs.replace(
        figures,
        cached=figures.cached if cached is None else cached,
        parts=msgspec.structs.replace(figures.parts, **{part.value: own for part, own in parts.items()}),
    )
    hint = "" if figures.parts.tiers else family.hint
    undone_by = [] if cached is None else ["--cached 1"]
    undone_by += [f"--{part.value.replace('_', '-')} none" for part in parts]
    source = family.source if told else ""
    return FilledFigures(figures=new, proposed=told, source=source, hint=hint, undone_by=undone_by)
