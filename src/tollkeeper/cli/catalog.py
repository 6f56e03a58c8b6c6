"""What is sold: `model add`."""

import asyncio
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

from tollkeeper.app import office
from tollkeeper.cli.speak import complain, say, settings_or_complain
from tollkeeper.core.catalog import Kind
from tollkeeper.core.quote import TokenLimits
from tollkeeper.ports import NewModel, NewPrice

model_app = typer.Typer(help="The model catalog.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(model_app, name="model")


def _tokens(what_for: str) -> Any:
    return typer.Option(metavar="TOKENS", min=1, max=2**31 - 1, help=what_for)


@model_app.command("add")
def add_model(
    model_id: Annotated[str, typer.Argument(metavar="ID", help="The id that callers use.")],
    kind: Annotated[Kind, typer.Option(help="What kind of calls it takes.")] = Kind.CHAT,
    multiplier: Annotated[str, typer.Option(help="The model multiplier: quota tokens per input token.")] = "1",
    completion: Annotated[str, typer.Option(help="How many input tokens an output token costs.")] = "1",
    cached: Annotated[str, typer.Option(help="How many input tokens a cached input token costs.")] = "1",
    group: Annotated[list[str] | None, typer.Option(help="A group that may use it; repeat it. Without: all.")] = None,
    context: Annotated[int, _tokens("The model's context: no report of more usage is believed.")] = 128_000,
    max_output: Annotated[int, _tokens("The most it can answer.")] = 16_384,
    hold_output: Annotated[int, _tokens("Held for the answer where the caller names no maximum.")] = 4_096,
    hold_part: Annotated[int, _tokens("Held for each image, audio clip or file in a message.")] = 2_000,
    hidden_reasoning: Annotated[bool, typer.Option(help="It thinks before it speaks, and its thoughts count.")] = False,
) -> None:
    """Offer a model, priced from now on."""
    price = NewPrice(
        model=multiplier_in(multiplier), completion=multiplier_in(completion), cached=multiplier_in(cached)
    )
    limits = TokenLimits(
        context_tokens=context,
        max_output_tokens=max_output,
        hold_output_tokens=hold_output,
        hold_part_tokens=hold_part,
        hidden_reasoning=hidden_reasoning,
    )
    model = NewModel(id=model_id, kind=kind, price=price, limits=limits, only_groups=group)

    async def work() -> None:
        async with office(settings_or_complain()) as desk:
            await desk.catalog.add_model(model, actor=desk.actor)

    asyncio.run(work())
    say(f"model {model_id} added")


def multiplier_in(text: str) -> Decimal:
    try:
        multiplier = Decimal(text)
    except InvalidOperation:
        multiplier = Decimal(-1)
    if not multiplier.is_finite() or not 0 <= multiplier < 10**8 or multiplier != round(multiplier, 6):
        complain(f"'{text}' is not a multiplier: a number of 0 or more with at most six decimals.")
        raise typer.Exit(1)
    return multiplier
