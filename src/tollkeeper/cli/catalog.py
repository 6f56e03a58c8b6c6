"""What is sold: `model add`."""

import re
from decimal import Decimal
from typing import Annotated, Any

import typer

from tollkeeper.accounts.price_parts import PriceRefused
from tollkeeper.accounts.price_proposals import FilledFigures, filled
from tollkeeper.accounts.prices import first_parts
from tollkeeper.app import office
from tollkeeper.cli.command import command
from tollkeeper.cli.price_options import multiplier_in, with_parts
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.calls.media import STANDARD, MediaLimits
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.ports import NewModel, NewPrice
from tollkeeper.ports.catalog.prices import NewFigures, NewParts

_VARIANT = re.compile(r"\d{1,5}x\d{1,5}(?: [!-~]{1,40})?")

model_app = typer.Typer(help="The model catalog.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(model_app, name="model")


def _tokens(what_for: str) -> Any:
    return typer.Option(metavar="TOKENS", min=1, max=2**31 - 1, help=what_for)


@model_app.command("add")
@command(PriceRefused)
@with_parts
async def add_model(
    model_id: Annotated[str, typer.Argument(metavar="ID", help="The id that callers use.")],
    kind: Annotated[Kind, typer.Option(help="What kind of calls it takes.")] = Kind.CHAT,
    multiplier: Annotated[str, typer.Option(help="Quota tokens per input token, character or second.")] = "1",
    completion: Annotated[str, typer.Option(help="How many input tokens an output token costs.")] = "1",
    cached: Annotated[
        str | None, typer.Option(help="How many input tokens a cached input token costs. Without: 1, of Claude 0.1.")
    ] = None,
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
    by_token: Annotated[
        bool, typer.Option(help="Of images: priced by token, as the provider reports them, and not by size.")
    ] = False,
    images_most: Annotated[int, typer.Option(min=1, max=100, help="How many images one call may ask for.")] = 10,
    characters_most: Annotated[int, typer.Option(min=1, max=10**6, help="How long a text to speak may be.")] = 4_096,
    voice: Annotated[list[str] | None, typer.Option(help="A voice that it has; repeat it. Without: the usual.")] = None,
    hidden_reasoning: Annotated[bool, typer.Option(help="It thinks before it speaks, and its thoughts count.")] = False,
    *,
    parts: NewParts,
) -> None:
    """Offer a model, priced from now on. Of what a vendor is known to price apart, parts are proposed."""
    figures = _figures(multiplier, completion, cached, parts)
    by_tokens = kind is Kind.CHAT or by_token
    found = filled(model_id, figures) if by_tokens else FilledFigures(figures=figures)
    first, *more = _prices(found.figures, _sizes(kind, price or [], by_token=by_token))
    caps = TokenCaps(
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
        id=model_id, kind=kind, price=first, more_prices=more, token_caps=caps, media=media, only_groups=group
    )
    async with office(settings_or_complain()) as desk:
        await desk.catalog.add_model(model, actor=desk.actor)
    say(f"model {model_id} added")
    _show(model_id, found)


def _show(model_id: str, found: FilledFigures) -> None:
    """What was filled in that nobody named."""
    if found.proposed:
        say(f"proposed and set: {', '.join(found.proposed)} ({found.source})")
        say(f"to change it: tollkeeper price enter {model_id} {' '.join(found.undone_by)}")
        say("a new model can be given its own: name these options, with a multiplier or with the word none")
    if found.hint:
        say(f"not set, but to be thought of: {found.hint}")


def _figures(multiplier: str, completion: str, cached: str | None, parts: NewParts) -> NewFigures:
    return NewFigures(
        model=multiplier_in(multiplier),
        completion=multiplier_in(completion),
        cached=None if cached is None else multiplier_in(cached),
        parts=parts,
    )


def _sizes(kind: Kind, sizes: list[str], *, by_token: bool) -> list[str]:
    """What images are priced by is never left to chance."""
    if by_token and (kind is not Kind.IMAGE or sizes):
        raise Mistake("Only a model for images is added --by-token, and without a --price for each size.")
    if not by_token and (kind is Kind.IMAGE) is not bool(sizes):
        raise Mistake(
            "A model for images needs its prices, and no other has such: --price SIZE=QUOTA, for each size; or "
            "--by-token, with its multipliers."
        )
    return sizes


def _prices(figures: NewFigures, variants: list[str]) -> list[NewPrice]:
    """Images have a price for each size and quality, or one by token; everything else has one."""
    if not variants:
        return [_price(figures)]
    if figures.parts != NewParts():
        raise Mistake("The price of an image has no parts: it is the whole of what the image costs.")
    prices = []
    for text in variants:
        variant, equals, quota = text.rpartition("=")
        if not equals or not _VARIANT.fullmatch(variant):
            raise Mistake(f"'{text}' is not the price of an image: write 1792x1024=40000, or '1792x1024 hd=60000'.")
        prices.append(NewPrice(model=multiplier_in(quota), variant=variant.removesuffix(f" {STANDARD}")))
    return prices


def _price(figures: NewFigures) -> NewPrice:
    """The only one. Raise PriceRefused."""
    model, completion, cached = (
        Decimal(1) if figure is None else figure for figure in (figures.model, figures.completion, figures.cached)
    )
    return NewPrice(model=model, completion=completion, cached=cached, parts=first_parts(figures))
