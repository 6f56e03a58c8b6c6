"""The price book: `price enter`, `preview`, `list`, `history`, `withdraw`."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from tollkeeper.accounts.price_parts import PriceRefused
from tollkeeper.accounts.prices import (
    PriceWish,
    enter_price_change,
    preview_price_change,
    withdraw_price_change,
)
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, Reason
from tollkeeper.cli.listing import AsJson, show_json, show_list, show_table
from tollkeeper.cli.price_options import multiplier_in, with_parts
from tollkeeper.cli.price_records import preview_record, price_record
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.catalog.price_book import COUNTED, tags
from tollkeeper.core.catalog.priced import PLAIN
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.money.price_words import multiplier as written
from tollkeeper.core.money.price_words import parts_in_words
from tollkeeper.core.money.prices import MILLIONTHS, Price, in_force
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.catalog.prices import Effect, NewFigures, NewParts, PriceDesk, PriceRow

# What the figures of a row are for.
FOR = {
    Kind.CHAT: "a million input / cached / output",
    Kind.IMAGE: "an image",
    Kind.SPEECH: "a million characters",
    Kind.TRANSCRIPTION: "an hour",
    Kind.EMBEDDING: "a million input tokens",
}

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
@with_parts
async def enter(
    model: ModelId,
    multiplier: Multiplier = None,
    completion: Completion = None,
    cached: Cached = None,
    variant: Variant = "",
    since: Since = None,
    force: Annotated[str | None, typer.Option(metavar="REASON", help="Why it cannot wait for its notice.")] = None,
    *,
    parts: NewParts,
) -> None:
    """Enter a price change, which announces it. What is not named stays as it is."""
    settings = settings_or_complain()
    wish = PriceWish(
        model_id=model,
        variant=variant,
        figures=_figures(multiplier, completion, cached, parts),
        effective_from=None if since is None else moment_in(since),
        forced_because=None if force is None else reason_in(force),
    )
    notice = timedelta(hours=settings.price_notice_hours)
    async with office(settings) as desk:
        entered = await enter_price_change(wish, notice, desk.prices, actor=desk.actor)
        kind = await _kind(desk.prices, model)
    say(f"price {entered.price_id} of {model} entered and announced: in force from {moment(entered.effective_from)}")
    say(_in_words(kind, entered.price))


@price_app.command("preview")
@command(PriceRefused)
@with_parts
async def preview(
    model: ModelId,
    multiplier: Multiplier = None,
    completion: Completion = None,
    cached: Cached = None,
    variant: Variant = "",
    since: Since = None,
    as_json: AsJson = False,
    *,
    parts: NewParts,
) -> None:
    """What the calls of the last 7 days would have cost before a change, and after it. Nothing is changed."""
    settings = settings_or_complain()
    wish = PriceWish(
        model_id=model,
        variant=variant,
        figures=_figures(multiplier, completion, cached, parts),
        effective_from=None if since is None else moment_in(since),
    )
    async with office(settings) as desk:
        found = await preview_price_change(wish, timedelta(hours=settings.price_notice_hours), desk.prices)
        kind = await _kind(desk.prices, model)
    if as_json:
        show_json(preview_record(kind, found))
        return
    say(f"old: {_in_words(kind, found.old)}")
    say(f"new: {_in_words(kind, found.new)}")
    head = ("account", "calls", "charged USD", "old USD", "new USD", "change")
    show_table(head, map(_effect_line, (*found.accounts, found.total)))
    if found.accounts_in_all > len(found.accounts):
        say(f"{found.accounts_in_all} accounts used it; shown are those for whom it makes the most difference.")


@price_app.command("list")
@command()
async def list_prices(as_json: AsJson = False) -> None:
    """What every model costs now, and what is announced."""
    rows, now = await _rows(None)
    valid = [row for row in rows if row.withdrawn_at is None]
    prices = [row.price for row in valid]
    named = {(price.model_id, price.variant) for price in prices}
    held = {in_force([price for price in prices if price.model_id == model], now, variant) for model, variant in named}
    _show([row for row in valid if row.price in held or row.price.effective_from > now], now, as_json=as_json)


@price_app.command("history")
@command()
async def history(model: ModelId, as_json: AsJson = False) -> None:
    """Every price a model ever had, was to have, or will have."""
    rows, now = await _rows(model)
    if not rows:
        raise NotOnFile(f"There is no model '{model}', or it has no price.")
    _show(rows, now, as_json=as_json)


@price_app.command("withdraw")
@command(PriceRefused)
async def withdraw(
    price: Annotated[int, typer.Argument(metavar="PRICE", max=MOST_ID, help="The price's number.")],
    reason: Reason,
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


def _figures(multiplier: str | None, completion: str | None, cached: str | None, parts: NewParts) -> NewFigures:
    model, output, again = (None if text is None else multiplier_in(text) for text in (multiplier, completion, cached))
    return NewFigures(model=model, completion=output, cached=again, parts=parts)


def _show(rows: Iterable[PriceRow], now: datetime, *, as_json: bool) -> None:
    head = ("price", "model", "USD", "for", "multipliers", "from", "announced", "by", "now")
    line, record = partial(_row_line, now=now), partial(price_record, now=now)
    show_list(rows, head=head, line=line, record=record, as_json=as_json)


def _row_line(row: PriceRow, now: datetime) -> tuple[str, ...]:
    price = row.price
    return (
        str(price.id),
        f"{price.model_id} ({price.variant})" if price.variant else price.model_id,
        *_cells(row.kind, price),
        _multipliers(price),
        moment(price.effective_from),
        moment(row.announced_at),
        row.entered_by or "",
        _standing(row, now),
    )


def _standing(row: PriceRow, now: datetime) -> str:
    forced = f"; forced: {row.forced_because}" if row.forced_because else ""
    if row.withdrawn_at is not None:
        return f"withdrawn {moment(row.withdrawn_at)} by {row.withdrawn_by}: {row.withdraw_reason}"
    return ("announced" if row.price.effective_from > now else "has taken effect") + forced


async def _kind(desk: PriceDesk, model: str) -> Kind:
    """The kind of a model that has a price."""
    return (await desk.rows(model))[0].kind


def _in_words(kind: Kind, price: Price) -> str:
    """In USD for a group whose multiplier is 1."""
    usd = ", ".join(f"{tag.usd} USD for {tag.each}" for tag in tags(kind, price, MILLIONTHS))
    return f"{usd}; {_multipliers(price)}"


def _cells(kind: Kind, price: Price) -> tuple[str, str]:
    """The same, for a table. What else the row has figures for stands beside its multipliers."""
    unit = unit_of(kind, price)
    plain = list(tags(kind, price, MILLIONTHS))[: 1 if unit in COUNTED else len(PLAIN)]
    return " / ".join(tag.usd for tag in plain), FOR[unit]


def _multipliers(price: Price) -> str:
    plain = f"model {written(price.model)}, completion {written(price.completion)}, cached {written(price.cached)}"
    return plain + parts_in_words(price.parts)


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
