"""The catalog: `model list`, `show`, `add`, `set`, `hide`, `unhide`, `remove`."""

from typing import Annotated, Any

import msgspec
import typer
from msgspec import UNSET

from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, show_fields, show_json, show_list
from tollkeeper.cli.model_words import HEAD, fields, line
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.price_options import UsdOption, multiplier_in, usd_in, with_parts
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.core.catalog.models import Kind
from tollkeeper.office.models import (
    AddedModel,
    ModelChangeWish,
    ModelReason,
    ModelsWish,
    ModelWish,
    NewModelWish,
    SizePrice,
    change_model,
    hide_model,
    list_models,
    remove_model,
    show_model,
    unhide_model,
)
from tollkeeper.office.models import add_model as add_act
from tollkeeper.office.price_wishes import FiguresWish, wish_for
from tollkeeper.ports.catalog.prices import NewFigures, NewParts

model_app = typer.Typer(help="The model catalog.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(model_app, name="model")


def _tokens(what_for: str) -> Any:
    return typer.Option(metavar="TOKENS", min=1, max=2**31 - 1, help=what_for)


ModelIdArgument = Annotated[str, typer.Argument(metavar="ID", help="The model's id.")]
ForGroup = Annotated[str, typer.Option(metavar="GROUP", help="What its accounts may use, and what they pay.")]
Context = _tokens("The model's context: no report of more usage is believed.")
MaxOutput = _tokens("The most it can answer.")
HoldOutput = _tokens("Held for the answer where the caller names no maximum.")
HoldPart = _tokens("Held for each image, audio clip or file in a message.")
ImagesMost = typer.Option(min=1, max=100, help="How many images one call may ask for.")
CharactersMost = typer.Option(min=1, max=10**6, help="How long a text to speak may be.")


@model_app.command("list")
@command()
async def show_all(
    kind: Annotated[Kind | None, typer.Option(help="Only models of this kind.")] = None,
    for_group: ForGroup = "",
    as_json: AsJson = False,
) -> None:
    """Every model with its price in USD, its limits, who may use it, and whether it is offered."""
    found = await every_page(list_models, ModelsWish(kind=kind, group=for_group))
    show_list(
        found,
        head=HEAD,
        line=line,
        record=msgspec.structs.asdict,
        as_json=as_json,
        none="There are no models.",
    )


@model_app.command("show")
@command()
async def show(model_id: ModelIdArgument, for_group: ForGroup = "", as_json: AsJson = False) -> None:
    """One model: what it costs in USD, what is announced, and its limits."""
    found = await perform(show_model, ModelWish(model=model_id, group=for_group))
    if as_json:
        show_json(msgspec.structs.asdict(found))
    else:
        show_fields(fields(found))


@model_app.command("add")
@command(ValueError)
@with_parts
async def add_model(
    model_id: Annotated[str, typer.Argument(metavar="ID", help="The id that callers use.")],
    kind: Annotated[Kind, typer.Option(help="What kind of calls it takes.")] = Kind.CHAT,
    multiplier: Annotated[
        str | None, typer.Option(help="Quota tokens per input token, character or second. Without: 1.")
    ] = None,
    completion: Annotated[
        str | None, typer.Option(help="How many input tokens an output token costs. Without: 1.")
    ] = None,
    cached: Annotated[
        str | None, typer.Option(help="How many input tokens a cached input token costs. Without: 1, of Claude 0.1.")
    ] = None,
    usd: UsdOption = None,
    group: Annotated[list[str] | None, typer.Option(help="A group that may use it; repeat it. Without: all.")] = None,
    context: Annotated[int, Context] = 128_000,
    max_output: Annotated[int, MaxOutput] = 16_384,
    hold_output: Annotated[int, HoldOutput] = 4_096,
    hold_part: Annotated[int, HoldPart] = 2_000,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE=QUOTA",
            help="Of images: quota tokens for one, as 1792x1024=40000 or '1792x1024 hd=60000'; or USD, as "
            "1792x1024=$0.08.",
        ),
    ] = None,
    by_token: Annotated[
        bool, typer.Option(help="Of images: priced by token, as the provider reports them, and not by size.")
    ] = False,
    images_most: Annotated[int, ImagesMost] = 10,
    characters_most: Annotated[int, CharactersMost] = 4_096,
    voice: Annotated[list[str] | None, typer.Option(help="A voice that it has; repeat it. Without: the usual.")] = None,
    hidden_reasoning: Annotated[bool, typer.Option(help="It thinks before it speaks, and its thoughts count.")] = False,
    reason: MaybeReason = "",
    *,
    parts: NewParts,
) -> None:
    """Offer a model, priced from now on. Of what a vendor is known to price apart, parts are proposed."""
    wish = NewModelWish(
        model=model_id,
        kind=kind,
        price=msgspec.structs.replace(_figures(multiplier, completion, cached, parts), usd=usd_in(usd)),
        sizes=[_size(text) for text in price or ()],
        by_token=by_token,
        only_groups=group,
        context_tokens=context,
        max_output_tokens=max_output,
        hold_output_tokens=hold_output,
        hold_part_tokens=hold_part,
        hidden_reasoning=hidden_reasoning,
        images_most=images_most,
        characters_most=characters_most,
        voices=voice,
        reason=reason,
    )
    added = await perform(add_act, wish)
    say(f"model {model_id} added")
    _show_proposals(added)


@model_app.command("set")
@command(ValueError)
async def set_limits(
    model_id: ModelIdArgument,
    group: Annotated[list[str] | None, typer.Option(help="A group that may use it, and no other; repeat it.")] = None,
    all_groups: Annotated[bool, typer.Option("--all-groups", help="Everybody may use it.")] = False,
    context: Annotated[int | None, Context] = None,
    max_output: Annotated[int | None, MaxOutput] = None,
    hold_output: Annotated[int | None, HoldOutput] = None,
    hold_part: Annotated[int | None, HoldPart] = None,
    images_most: Annotated[int | None, ImagesMost] = None,
    characters_most: Annotated[int | None, CharactersMost] = None,
    voice: Annotated[list[str] | None, typer.Option(help="A voice that it has, and no other; repeat it.")] = None,
    hidden_reasoning: Annotated[
        bool | None, typer.Option(help="Whether it thinks before it speaks, and its thoughts count.")
    ] = None,
    reason: MaybeReason = "",
) -> None:
    """Change a model's limits, or who may use it, on every node within two seconds. What is not said stays."""
    if group and all_groups:
        raise Mistake("Say --group or --all-groups, not both. Nothing was done.")
    wish = ModelChangeWish(
        model=model_id,
        only_groups=None if all_groups else group or UNSET,
        context_tokens=context,
        max_output_tokens=max_output,
        hold_output_tokens=hold_output,
        hold_part_tokens=hold_part,
        hidden_reasoning=hidden_reasoning,
        images_most=images_most,
        characters_most=characters_most,
        voices=voice or None,
        reason=reason,
    )
    done = await perform(change_model, wish)
    say(f"model {model_id} is changed" if done.changed else f"model {model_id} is as it was before")


@model_app.command("hide")
@command(ValueError)
async def hide(model_id: ModelIdArgument, reason: Reason) -> None:
    """Offer it no longer: calls to it are refused as to one that does not exist. Its prices stay in the book."""
    done = await perform(hide_model, ModelReason(model=model_id, reason=reason))
    say(f"model {model_id} is hidden" + ("" if done.changed else ", as it was before"))


@model_app.command("unhide")
@command(ValueError)
async def unhide(model_id: ModelIdArgument, reason: Reason) -> None:
    """Offer it again, at the price that its book has for now."""
    done = await perform(unhide_model, ModelReason(model=model_id, reason=reason))
    say(f"model {model_id} is offered" + ("" if done.changed else ", as it was before"))


@model_app.command("remove")
@command(ValueError)
async def remove(model_id: ModelIdArgument, reason: Reason) -> None:
    """Remove a model that was never called, with its prices. It must have been hidden for a minute."""
    await perform(remove_model, ModelReason(model=model_id, reason=reason))
    say(f"model {model_id} is removed")


def _show_proposals(added: AddedModel) -> None:
    """What was filled in that nobody named."""
    if added.proposed:
        say(f"proposed and set: {', '.join(added.proposed)} ({added.source})")
        say(f"to change it: tollkeeper price enter {added.model} {' '.join(added.undone_by)}")
        say("a new model can be given its own: name these options, with a multiplier or with the word none")
    if added.hint:
        say(f"not set, but to be thought of: {added.hint}")


def _figures(multiplier: str | None, completion: str | None, cached: str | None, parts: NewParts) -> FiguresWish:
    model, output, again = (None if text is None else multiplier_in(text) for text in (multiplier, completion, cached))
    return wish_for(NewFigures(model=model, completion=output, cached=again, parts=parts))


def _size(text: str) -> SizePrice:
    variant, equals, quota = text.rpartition("=")
    if not equals:
        raise Mistake(f"'{text}' is not the price of an image: write 1792x1024=40000, or '1792x1024 hd=60000'.")
    if quota.startswith("$"):
        return SizePrice(variant=variant, usd=quota[1:])
    return SizePrice(variant=variant, quota_tokens=f"{multiplier_in(quota):f}")
