"""What is sold: `model add`."""

import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

from tollkeeper.app import office
from tollkeeper.cli.command import command
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.catalog import Kind
from tollkeeper.core.media import STANDARD, MediaLimits
from tollkeeper.core.quote import TokenLimits
from tollkeeper.ports import NewModel, NewPrice

_VARIANT = re.compile(r"\d{1,5}x\d{1,5}(?: [!-~]{1,40})?")

model_app = typer.Typer(help="The model catalog.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(model_app, name="model")


def _tokens(what_for: str) -> Any:
    return typer.Option(metavar="TOKENS", min=1, max=2**31 - 1, help=what_for)


@model_app.command("add")
@command()
async def add_model(
    model_id: Annotated[str, typer.Argument(metavar="ID", help="The id that callers use.")],
    kind: Annotated[Kind, typer.Option(help="What kind of calls it takes.")] = Kind.CHAT,
    multiplier: Annotated[str, typer.Option(help="Quota tokens per input token, character or second.")] = "1",
    completion: Annotated[str, typer.Option(help="How many input tokens an output token costs.")] = "1",
    cached: Annotated[str, typer.Option(help="How many input tokens a cached input token costs.")] = "1",
    group: Annotated[list[str] | None, typer.Option(help="A group that may use it; repeat it. Without: all.")] = None,
    context: Annotated[int, _tokens("The model's context: no report of more usage is believed.")] = 128_000,
    max_output: Annotated[int, _tokens("The most it can answer.")] = 16_384,
    hold_output: Annotated[int, _tokens("Held for the answer where the caller names no maximum.")] = 4_096,
    hold_part: Annotated[int, _tokens("Held for each image, audio clip or file in a message.")] = 2_000,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE=QUOTA", help="Of images: quota for one, as 1792x1024=40000 or '1792x1024 hd=60000'."
        ),
    ] = None,
    images_most: Annotated[int, typer.Option(min=1, max=100, help="How many images one call may ask for.")] = 10,
    characters_most: Annotated[int, typer.Option(min=1, max=10**6, help="How long a text to speak may be.")] = 4_096,
    voice: Annotated[list[str] | None, typer.Option(help="A voice that it has; repeat it. Without: the usual.")] = None,
    hidden_reasoning: Annotated[bool, typer.Option(help="It thinks before it speaks, and its thoughts count.")] = False,
) -> None:
    """Offer a model, priced from now on."""
    first, *more = _prices(kind, multiplier, completion, cached, price or [])
    limits = TokenLimits(
        context_tokens=context,
        max_output_tokens=max_output,
        hold_output_tokens=hold_output,
        hold_part_tokens=hold_part,
        hidden_reasoning=hidden_reasoning,
    )
    usual = MediaLimits()
    media = MediaLimits(
        images_most=images_most, characters_most=characters_most, voices=tuple(voice) if voice else usual.voices
    )
    model = NewModel(
        id=model_id, kind=kind, price=first, more_prices=more, limits=limits, media=media, only_groups=group
    )
    async with office(settings_or_complain()) as desk:
        await desk.catalog.add_model(model, actor=desk.actor)
    say(f"model {model_id} added")


def _prices(kind: Kind, multiplier: str, completion: str, cached: str, variants: list[str]) -> list[NewPrice]:
    """Images have a price for each size and quality, everything else has one."""
    if (kind is Kind.IMAGE) is not bool(variants):
        raise Mistake("A model for images needs its prices, and no other has such: --price SIZE=QUOTA, for each size.")
    if not variants:
        return [
            NewPrice(
                model=multiplier_in(multiplier), completion=multiplier_in(completion), cached=multiplier_in(cached)
            )
        ]
    prices = []
    for text in variants:
        variant, equals, quota = text.rpartition("=")
        if not equals or not _VARIANT.fullmatch(variant):
            raise Mistake(f"'{text}' is not the price of an image: write 1792x1024=40000, or '1792x1024 hd=60000'.")
        prices.append(NewPrice(model=multiplier_in(quota), variant=variant.removesuffix(f" {STANDARD}")))
    return prices


def multiplier_in(text: str) -> Decimal:
    try:
        multiplier = Decimal(text)
    except InvalidOperation:
        multiplier = Decimal(-1)
    if not multiplier.is_finite() or not 0 <= multiplier < 10**8 or multiplier != round(multiplier, 6):
        raise Mistake(f"'{text}' is not a multiplier: a number of 0 or more with at most six decimals.")
    return multiplier
