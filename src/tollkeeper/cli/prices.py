"""The price book: `price enter`, `preview`, `list`, `history`, `withdraw`."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tollkeeper.accounts.prices import (
    PriceRefused,
    PriceWish,
    enter_price_change,
    preview_price_change,
    withdraw_price_change,
)
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.catalog import multiplier_in
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID
from tollkeeper.cli.speak import Mistake, say, settings_or_complain, show
from tollkeeper.core.money import usd_exact
from tollkeeper.core.prices import Price, in_force
from tollkeeper.core.receipt import multiplier as written
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.prices import Effect, NewFigures, PriceRow

price_app = typer.Typer(help="The price book.", no_args_is_help=True)

ModelId = Annotated[str, typer.Argument(metavar="MODEL", help="The model's id.")]
Multiplier = Annotated[str | None, typer.Option(help="Quota tokens per input token, image, character or second.")]
Completion = Annotated[str | None, typer.Option(help="How many input tokens an output token costs.")]
Cached = Annotated[str | None, typer.Option(help="How many input tokens a cached input token costs.")]
Since = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="UTC: 2026-12-31T18:00. Without: as soon as the notice allows."),
]
Variant = Annotated[str, typer.Option(help="Of an image: its size and quality, as '1792x1024 hd'.")]


def register(app: typer.Typer) -> None:
    app.add_typer(price_app, name="price")


@price_app.command("enter")
@command(PriceRefused)
async def enter(
    model: ModelId,
    multiplier: Multiplier = None,
    completion: Completion = None,
    cached: Cached = None,
    variant: Variant = "",
    since: Since = None,
    force: Annotated[str | None, typer.Option(metavar="REASON", help="Why it cannot wait for its notice.")] = None,
) -> None:
    """Enter a price change, which announces it. What is not named stays as it is."""
    settings = settings_or_complain()
    wish = PriceWish(
        model_id=model,
        variant=variant,
        figures=_figures(multiplier, completion, cached),
        effective_from=None if since is None else moment_in(since),
        forced_because=None if force is None else reason_in(force),
    )
    notice = timedelta(hours=settings.price_notice_hours)
    async with office(settings) as desk:
        entered = await enter_price_change(wish, notice, desk.prices, actor=desk.actor)
    say(f"price {entered.price_id} of {model} entered and announced: in force from {moment(entered.effective_from)}")
    say(_multipliers(entered.price))


@price_app.command("preview")
@command(PriceRefused)
async def preview(
    model: ModelId,
    multiplier: Multiplier = None,
    completion: Completion = None,
    cached: Cached = None,
    variant: Variant = "",
    since: Since = None,
) -> None:
    """What the calls of the last 7 days would have cost before a change, and after it. Nothing is changed."""
    settings = settings_or_complain()
    wish = PriceWish(
        model_id=model,
        variant=variant,
        figures=_figures(multiplier, completion, cached),
        effective_from=None if since is None else moment_in(since),
    )
    async with office(settings) as desk:
        found = await preview_price_change(wish, timedelta(hours=settings.price_notice_hours), desk.prices)
    say(f"old: {_multipliers(found.old)}")
    say(f"new: {_multipliers(found.new)}")
    table = Table("account", "calls", "charged USD", "old USD", "new USD", "change")
    for effect in (*found.accounts, found.total):
        table.add_row(*map(Text, _effect_line(effect)))
    show(table)
    if found.accounts_in_all > len(found.accounts):
        say(f"{found.accounts_in_all} accounts used it; shown are those for whom it makes the most difference.")


@price_app.command("list")
@command()
async def list_prices() -> None:
    """What every model costs now, and what is announced."""
    rows, now = await _rows(None)
    valid = [row for row in rows if row.withdrawn_at is None]
    prices = [row.price for row in valid]
    named = {(price.model_id, price.variant) for price in prices}
    held = {in_force([price for price in prices if price.model_id == model], now, variant) for model, variant in named}
    _show([row for row in valid if row.price in held or row.price.effective_from > now], now)


@price_app.command("history")
@command()
async def history(model: ModelId) -> None:
    """Every price a model ever had, was to have, or will have."""
    rows, now = await _rows(model)
    if not rows:
        raise NotOnFile(f"There is no model '{model}', or it has no price.")
    _show(rows, now)


@price_app.command("withdraw")
@command(PriceRefused)
async def withdraw(
    price: Annotated[int, typer.Argument(metavar="PRICE", max=MOST_ID, help="The price's number.")],
    reason: Annotated[str, typer.Option(help="Why; it stays on the record.")],
) -> None:
    """Withdraw a change that is announced and has not taken effect. Whoever had a mail of it gets another."""
    why = reason_in(reason)
    async with office(settings_or_complain()) as desk:
        later = await withdraw_price_change(price, why, desk.prices, actor=desk.actor)
    say(f"price {price} is withdrawn")
    for each in later:
        what = f"{_multipliers(each)} from {moment(each.effective_from)}"
        say(f"look at price {each.id}, which was entered on top of it: {what}")


def moment_in(text: str) -> datetime:
    """A time as people write it; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Mistake(
            f"'{text}' is not a time: write one like 2026-12-31 or 2026-12-31T18:00. Nothing was done."
        ) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


async def _rows(model: str | None) -> tuple[Sequence[PriceRow], datetime]:
    async with office(settings_or_complain()) as desk:
        return await desk.prices.rows(model), await desk.prices.now()


def _figures(multiplier: str | None, completion: str | None, cached: str | None) -> NewFigures:
    model, output, again = (None if text is None else multiplier_in(text) for text in (multiplier, completion, cached))
    return NewFigures(model=model, completion=output, cached=again)


def _show(rows: Iterable[PriceRow], now: datetime) -> None:
    table = Table("price", "model", "multipliers", "from", "announced", "by", "now")
    for row in rows:
        price = row.price
        name = f"{price.model_id} ({price.variant})" if price.variant else price.model_id
        times = (moment(price.effective_from), moment(row.announced_at))
        cells = (str(price.id), name, _multipliers(price), *times, row.entered_by or "", _standing(row, now))
        table.add_row(*map(Text, cells))
    show(table)


def _standing(row: PriceRow, now: datetime) -> str:
    forced = f"; forced: {row.forced_because}" if row.forced_because else ""
    if row.withdrawn_at is not None:
        return f"withdrawn {moment(row.withdrawn_at)} by {row.withdrawn_by}: {row.withdraw_reason}"
    return ("announced" if row.price.effective_from > now else "has taken effect") + forced


def _multipliers(price: Price) -> str:
    return f"model {written(price.model)}, completion {written(price.completion)}, cached {written(price.cached)}"


def _effect_line(effect: Effect) -> tuple[str, ...]:
    who = "all" if effect.account_id is None else str(effect.account_id)
    amounts = (usd_exact(effect.charged), usd_exact(effect.old), usd_exact(effect.new))
    return (who, str(effect.calls), *amounts, _percent(effect.new - effect.old, effect.old))


def _percent(part: int, whole: int) -> str:
    """`+12.5 %`; nothing where there is nothing to compare with."""
    if not whole:
        return ""
    tenths = (2_000 * abs(part) + whole) // (2 * whole)
    return f"{'-' if part < 0 else '+'}{tenths // 10}.{tenths % 10} %"
