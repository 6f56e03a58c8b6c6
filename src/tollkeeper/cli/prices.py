"""The price book: `price enter`, `preview`, `list`, `history`, `withdraw`."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, show_json, show_list, show_table
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.price_options import UsdOption, multiplier_in, usd_in, with_parts
from tollkeeper.cli.price_records import preview_record, price_record
from tollkeeper.cli.price_words import cells, in_words, multipliers
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.office.price_views import EffectView, PriceState, PriceView
from tollkeeper.office.price_wishes import FiguresWish, wish_for
from tollkeeper.office.prices import (
    DAYS_MOST,
    NewPriceWish,
    PriceHistoryWish,
    PriceNumber,
    PricePreviewWish,
    PricesWish,
    enter_price,
    list_price_history,
    preview_price,
    withdraw_price,
)
from tollkeeper.office.prices import list_prices as list_act
from tollkeeper.ports.catalog.prices import NewFigures, NewParts

price_app = typer.Typer(help="The price book.", no_args_is_help=True)

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="The model's id.")]
MultiplierOption = Annotated[str | None, typer.Option(help="Quota tokens per input token, image, character or second.")]
Completion = Annotated[str | None, typer.Option(help="How many input tokens an output token costs.")]
Cached = Annotated[str | None, typer.Option(help="How many input tokens a cached input token costs.")]
Since = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="UTC: 2026-12-31T18:00. Without: as soon as the notice allows."),
]
VariantOption = Annotated[str, typer.Option(help="Of an image: its size and quality, as '1792x1024 hd'.")]


def register(app: typer.Typer) -> None:
    app.add_typer(price_app, name="price")


@price_app.command("enter")
@command(ValueError)
@with_parts
async def enter(
    model: ModelArgument,
    multiplier: MultiplierOption = None,
    completion: Completion = None,
    cached: Cached = None,
    usd: UsdOption = None,
    variant: VariantOption = "",
    since: Since = None,
    force: Annotated[str | None, typer.Option(metavar="REASON", help="Why it cannot wait for its notice.")] = None,
    reason: MaybeReason = "",
    *,
    parts: NewParts,
) -> None:
    """Enter a price change, which announces it. What is not named stays as it is."""
    wish = NewPriceWish(
        model=model,
        variant=variant,
        **_fields(_figures(multiplier, completion, cached, parts)) | {"usd": usd_in(usd)},
        effective_from=None if since is None else moment_in(since),
        forced_because=None if force is None else reason_in(force),
        reason=reason,
    )
    entered = await perform(enter_price, wish)
    since_then = moment(entered.price.effective_from)
    say(f"price {entered.price_id} of {model} entered and announced: in force from {since_then}")
    say(in_words(entered.price))


@price_app.command("preview")
@command(ValueError)
@with_parts
async def preview(
    model: ModelArgument,
    multiplier: MultiplierOption = None,
    completion: Completion = None,
    cached: Cached = None,
    usd: UsdOption = None,
    variant: VariantOption = "",
    since: Since = None,
    days: Annotated[int, typer.Option(min=1, max=DAYS_MOST, help="Over the calls of so many days.")] = 7,
    as_json: AsJson = False,
    *,
    parts: NewParts,
) -> None:
    """What the calls of the last days would have cost before a change, and after it. Nothing is changed."""
    wish = PricePreviewWish(
        model=model,
        variant=variant,
        **_fields(_figures(multiplier, completion, cached, parts)) | {"usd": usd_in(usd)},
        effective_from=None if since is None else moment_in(since),
        days=days,
    )
    found = await perform(preview_price, wish)
    if as_json:
        show_json(preview_record(found))
        return
    say(f"old: {in_words(found.old)}")
    say(f"new: {in_words(found.new)}")
    head = ("account", "calls", "charged USD", "old USD", "new USD", "change")
    show_table(head, map(_effect_line, (*found.accounts, found.total)))
    say(f"dearer for {found.dearer_for} accounts, cheaper for {found.cheaper_for}")
    if found.calls_in_all > found.total.calls:
        say(f"a sample: {found.total.calls:,} of {found.calls_in_all:,} calls were read, and all figures are of these")
    if found.accounts_in_all > len(found.accounts):
        say(f"{found.accounts_in_all} accounts used it; shown are those for whom it makes the most difference.")


@price_app.command("list")
@command()
async def list_prices(as_json: AsJson = False) -> None:
    """What every model costs now, and what is announced."""
    _show(await every_page(list_act, PricesWish()), as_json=as_json)


@price_app.command("history")
@command()
async def history(model: ModelArgument, as_json: AsJson = False) -> None:
    """Every price a model ever had, was to have, or will have."""
    _show(await every_page(list_price_history, PriceHistoryWish(model=model)), as_json=as_json)


@price_app.command("withdraw")
@command(ValueError)
async def withdraw(
    price: Annotated[int, typer.Argument(metavar="PRICE", max=MOST_ID, help="The price's number.")],
    reason: Reason,
) -> None:
    """Withdraw a change that is announced and has not taken effect. Whoever had a mail of it gets another."""
    done = await perform(withdraw_price, PriceNumber(price=price, reason=reason_in(reason)))
    say(f"price {price} is withdrawn")
    for each in done.look_at:
        what = f"{multipliers(each.price)} from {moment(each.price.effective_from)}"
        say(f"look at price {each.price_id}, which was entered on top of it: {what}")


def moment_in(text: str) -> datetime:
    """A time as people write it; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Mistake(
            f"'{text}' is not a time: write one like 2026-12-31 or 2026-12-31T18:00. Nothing was done."
        ) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _figures(multiplier: str | None, completion: str | None, cached: str | None, parts: NewParts) -> FiguresWish:
    model, output, again = (None if text is None else multiplier_in(text) for text in (multiplier, completion, cached))
    return wish_for(NewFigures(model=model, completion=output, cached=again, parts=parts))


def _fields(figures: FiguresWish) -> dict[str, Any]:
    return msgspec.structs.asdict(figures)


def _show(rows: Iterable[PriceView], *, as_json: bool) -> None:
    head = ("price", "model", "USD", "for", "multipliers", "from", "announced", "by", "now")
    show_list(rows, head=head, line=_row_line, record=price_record, as_json=as_json)


def _row_line(row: PriceView) -> tuple[str, ...]:
    return (
        str(row.price_id),
        f"{row.model_id} ({row.variant})" if row.variant else row.model_id,
        *cells(row),
        multipliers(row),
        moment(row.effective_from),
        moment(row.announced_at),
        row.entered_by or "",
        _standing(row),
    )


def _standing(row: PriceView) -> str:
    forced = f"; forced: {row.forced_because}" if row.forced_because else ""
    if row.withdrawn_at is not None:
        return f"withdrawn {moment(row.withdrawn_at)} by {row.withdrawn_by}: {row.withdraw_reason}"
    return ("announced" if row.state is PriceState.ANNOUNCED else "has taken effect") + forced


def _effect_line(effect: EffectView) -> tuple[str, ...]:
    who = "all" if effect.account is None else str(effect.account)
    amounts = (effect.charged.usd, effect.old.usd, effect.new.usd)
    change = effect.new.micro_quota - effect.old.micro_quota
    return (who, str(effect.calls), *amounts, _percent(change, effect.old.micro_quota))


def _percent(part: int, whole: int) -> str:
    """`+12.5 %`; nothing where there is nothing to compare with."""
    if not whole:
        return ""
    tenths = (2_000 * abs(part) + whole) // (2 * whole)
    return f"{'-' if part < 0 else '+'}{tenths // 10}.{tenths % 10} %"
