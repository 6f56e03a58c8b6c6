"""How the service is doing: `house` now, `attention`: what wants a person, `figures` by hour, model or failure."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.account_words import amount_fields
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, fields_of, show_fields, show_json, show_list
from tollkeeper.office.attention import HouseView, list_attention, show_house
from tollkeeper.office.figures import (
    HOURS_MOST,
    FigureSums,
    HoursWish,
    list_failures,
    list_figures_by_hour,
    list_figures_by_model,
    show_figures,
)
from tollkeeper.office.wishes import NoWish

SUMS = ("attempts", "failed", "answered", "revenue USD", "cost USD", "margin USD", "first byte p50 / p99")
NO_CALLS = "No provider was called in that time."


class Grouping(StrEnum):
    ALL = "all"
    HOUR = "hour"
    MODEL = "model"
    FAILURE = "failure"


def register(app: typer.Typer) -> None:
    app.command("house")(house)
    app.command("attention")(attention)
    app.command("figures")(figures)


@command()
async def house(as_json: AsJson = False) -> None:
    """How the service is at this moment: open holds, the stores, our own latency, and what waits for staff."""
    found = await perform(show_house, NoWish())
    if as_json:
        show_json(_house_record(found))
        return
    redis = "does not answer" if found.redis_ms is None else f"{found.redis_ms:.1f} ms"
    lapsing = f"{found.lapsing_lots} lots of {found.lapsing_accounts} accounts, {found.lapsing.usd} USD"
    show_fields(
        [
            ("open holds", f"{found.open_holds}, {found.held.usd} USD, the oldest {found.oldest_hold_seconds:.0f} s"),
            ("overdue holds", str(found.overdue_holds)),
            ("database", f"{found.database_ms:.1f} ms"),
            ("Redis", redis),
            ("processes of the gateway", str(found.processes)),
            ("our own part of calls, p50 / p99", f"{_ms(found.own_p50_ms)} / {_ms(found.own_p99_ms)}"),
            ("lapse within seven days", lapsing),
            ("open disputes", str(found.open_disputes)),
            ("resets that wait", str(found.waiting_resets)),
            ("open withdrawals", str(found.open_withdrawals)),
            ("announced prices", str(len(found.announced_prices))),
        ]
    )


@command()
async def attention(as_json: AsJson = False) -> None:
    """What wants a person now: books that are not clean, provider accounts that are out, jobs that are late, …"""
    show_list(
        (await perform(list_attention, NoWish())).data,
        head=("about", "which", "what it is"),
        line=lambda matter: (matter.kind.value, matter.subject, matter.told),
        record=lambda matter: fields_of(matter, "kind", "subject", "told"),
        as_json=as_json,
        none="Nothing wants you now.",
    )


@command()
async def figures(
    by: Annotated[Grouping, typer.Option(help="All together, or by what.")] = Grouping.ALL,
    hours: Annotated[int, typer.Option(min=1, max=HOURS_MOST, help="How many, besides the one that runs.")] = 24,
    provider: Annotated[str, typer.Option(metavar="NAME", help="Of one provider account. Without: of all.")] = "",
    as_json: AsJson = False,
) -> None:
    """Calls, failures, latency, revenue, cost and margin of the last hours."""
    wish = HoursWish(hours=hours, account=provider)
    if by is Grouping.ALL:
        found = await perform(show_figures, wish)
        if as_json:
            show_json(_sums_record(found))
        else:
            show_fields(zip(SUMS, _sums(found), strict=True))
    elif by is Grouping.HOUR:
        show_list(
            (await perform(list_figures_by_hour, wish)).data,
            head=("hour", *SUMS),
            line=lambda each: (moment(each.hour), *_sums(each.figures)),
            record=lambda each: {"hour": each.hour, **_sums_record(each.figures)},
            as_json=as_json,
            none=NO_CALLS,
        )
    elif by is Grouping.MODEL:
        show_list(
            (await perform(list_figures_by_model, wish)).data,
            head=("provider account", "model", *SUMS),
            line=lambda each: (each.account, each.model, *_sums(each.figures)),
            record=lambda each: {**fields_of(each, "account", "model"), **_sums_record(each.figures)},
            as_json=as_json,
            none=NO_CALLS,
        )
    else:
        await _show_failures(wish, as_json=as_json)


async def _show_failures(wish: HoursWish, *, as_json: bool) -> None:
    show_list(
        (await perform(list_failures, wish)).data,
        head=("hour", "failure", "times", "for callers", "unanswered"),
        line=lambda each: (
            moment(each.hour),
            each.failure,
            str(each.times),
            str(each.for_callers),
            str(each.unanswered),
        ),
        record=lambda each: fields_of(each, "hour", "failure", "times", "for_callers", "unanswered"),
        as_json=as_json,
        none="No attempt at a provider failed in that time.",
    )


def _house_record(house: HouseView) -> dict[str, Any]:
    plain = {name: value for name, value in msgspec.structs.asdict(house).items() if name not in ("held", "lapsing")}
    return plain | amount_fields(held=house.held, lapsing=house.lapsing)


def _sums(sums: FigureSums) -> tuple[str, ...]:
    counts = (str(sums.attempts), str(sums.failed), str(sums.delivered))
    money = (sums.revenue.usd, sums.cost.usd, sums.margin.usd)
    return (*counts, *money, f"{_ms(sums.first_byte_p50_ms)} / {_ms(sums.first_byte_p99_ms)}")


def _sums_record(sums: FigureSums) -> dict[str, Any]:
    counts = fields_of(sums, "attempts", "failed", "delivered", "input_units", "output_units")
    money = amount_fields(revenue=sums.revenue, cost=sums.cost, margin=sums.margin)
    return counts | money | fields_of(sums, "first_byte_p50_ms", "first_byte_p99_ms")


def _ms(milliseconds: float | None) -> str:
    """Where there was no call there is nothing to tell."""
    return "–" if milliseconds is None else f"{milliseconds:,.0f} ms"
