"""The usage log: `usage list`, `chart`, `total`, `export`, `clean`."""

import csv
import os
import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
import typer

from tollkeeper.accounts.usage import filled_page, pages
from tollkeeper.app.log_site import log_site_of, usage_to_clean
from tollkeeper.app.office import office
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_json, show_list
from tollkeeper.cli.progress import progress
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.catalog.models import Unit
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.usage.log import (
    CHART_DAYS,
    CSV_HEAD,
    UnitSum,
    UsageDay,
    UsageFilter,
    UsageLine,
    UsageSum,
    csv_row,
)
from tollkeeper.jobs.clean_usage_log import clean_usage_log
from tollkeeper.ports.usage import DayChanged, LogSiteFailed

EXPORTED_AT_ONCE = 1_000
BAR_CHARACTERS = 40
MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]

usage_app = typer.Typer(help="The usage log.", no_args_is_help=True)

OfAccount = Annotated[int | None, typer.Option(metavar="ACCOUNT", max=MOST_ID, help="Calls of this account alone.")]
OfKey = Annotated[int | None, typer.Option(metavar="KEY", max=MOST_ID, help="Calls with this key alone.")]
OfModel = Annotated[str | None, typer.Option(metavar="MODEL", help="Calls of this model alone.")]
EndedAs = Annotated[Ending | None, typer.Option("--ending", help="Calls that ended so.")]
BegunSince = Annotated[
    datetime | None, typer.Option("--from", formats=MOMENTS, help="Calls that began at this time (UTC) or later.")
]
Until = Annotated[
    datetime | None, typer.Option("--until", formats=MOMENTS, help="Calls that began before this time (UTC).")
]


def register(app: typer.Typer) -> None:
    app.add_typer(usage_app, name="usage")


@usage_app.command("list")
@command()
async def list_calls(
    account: OfAccount = None,
    key: OfKey = None,
    model: OfModel = None,
    ending: EndedAs = None,
    since: BegunSince = None,
    until: Until = None,
    request_id: Annotated[UUID | None, typer.Option("--id", help="The call with this x-request-id.")] = None,
    after: Annotated[UUID | None, typer.Option(help="Go on behind this call, as the last page said.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many calls.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Calls, the newest first."""
    wanted = UsageFilter(
        account_id=account,
        key_id=key,
        model_id=model,
        ending=ending,
        request_id=request_id,
        since=in_utc(since),
        until=in_utc(until),
    )
    async with office(settings_or_complain()) as desk:
        page = await filled_page(desk.usage_log, wanted, after, limit)
    show_list(
        page.lines,
        head=("time (UTC)", "call", "account", "key", "model", "unit", "in", "cached", "out", "USD", "ending"),
        line=_line,
        record=_record,
        as_json=as_json,
        none="There are no such calls in the usage log.",
        more={"next": page.next},
    )
    if page.next is not None and not as_json:
        say(f"There may be more: --after {page.next}")


@usage_app.command("chart")
@command()
async def chart(
    account: OfAccount = None,
    key: OfKey = None,
    model: OfModel = None,
    ending: EndedAs = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="How many days, up to today.")] = CHART_DAYS,
    as_json: AsJson = False,
) -> None:
    """What was charged on each of the last days (UTC), as bars."""
    wanted = UsageFilter(account_id=account, key_id=key, model_id=model, ending=ending)
    async with office(settings_or_complain()) as desk:
        found = await desk.usage_log.chart(wanted, days=days)
    if as_json:
        show_json({"data": [{"day": each.day} | _sum_record(each.sum) for each in found]})
        return
    for line in bars(found):
        say(line)


@usage_app.command("total")
@command()
async def total(account: AccountId, as_json: AsJson = False) -> None:
    """What an account consumed: by the usage log as far as it goes back, and in all by the ledger."""
    async with office(settings_or_complain()) as desk:
        found = await desk.usage_log.consumed(account)
    if as_json:
        ledger = quota_fields(lifetime=found.lifetime)
        show_json({"account_id": account, "in_log": _sum_record(found.in_log), "since": found.since} | ledger)
        return
    since = "" if found.since is None else f", which goes back to {found.since}"
    say(f"total consumed   {usd_exact(found.in_log.charged)} USD in {found.in_log.calls} calls of the usage log{since}")
    say(f"in all           {usd_exact(Quota(found.lifetime))} USD, by the ledger")


@usage_app.command("export")
@command()
async def export(
    account: OfAccount = None,
    key: OfKey = None,
    model: OfModel = None,
    ending: EndedAs = None,
    since: BegunSince = None,
    until: Until = None,
) -> None:
    """Calls as CSV, the newest first, to standard output."""
    wanted = UsageFilter(
        account_id=account, key_id=key, model_id=model, ending=ending, since=in_utc(since), until=in_utc(until)
    )
    rows = csv.writer(sys.stdout)
    try:
        rows.writerow(CSV_HEAD)
        count = 0
        async with office(settings_or_complain()) as desk:
            with progress("exporting") as note:
                async for page in pages(desk.usage_log, wanted, EXPORTED_AT_ONCE):
                    rows.writerows(map(csv_row, page.lines))
                    count += len(page.lines)
                    note(f"{count} calls")
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe. Buffered output must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@usage_app.command("clean")
@command()
async def clean(
    before: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Clean the days before this one. Default: as the settings say."),
    ] = None,
) -> None:
    """Copy old days of the usage log to the log site, in place of the copy before, and drop them from the log."""
    settings = settings_or_complain()
    site = log_site_of(settings)
    if site is None:
        raise Mistake("TOLLKEEPER_LOG_SITE does not say where the copy goes. Nothing was done.")
    try:
        async with usage_to_clean(settings) as usage:
            kept_from = (await usage.now()).date() - timedelta(days=settings.usage_days)
            with progress("copying and dropping old days"):
                cleaned = await clean_usage_log(usage, site, kept_from if before is None else before.date())
    except LogSiteFailed as problem:
        raise Mistake(f"{problem} No day was dropped that the log site has no copy of.") from None
    except DayChanged as problem:
        raise Mistake(f"{problem} It is in the log as before. Look at what wrote to it, then clean again.") from None
    for each in cleaned.days:
        say(f"{each.day}  {each.rows} calls copied and dropped")
    if cleaned.left:
        raise Mistake(f"{len(cleaned.left)} days are copied, but somebody reads the log: clean again to drop them.")
    if not cleaned.days:
        say("There was nothing to clean.")


def bars(days: list[UsageDay]) -> list[str]:
    most = max((each.sum.charged for each in days), default=0)
    return [
        f"{each.day}  {_bar(each.sum.charged, most):{BAR_CHARACTERS}}  {usd_exact(each.sum.charged)} USD"
        f"  {each.sum.calls} calls{''.join(_counted(unit, found) for unit, found in each.sum.by_unit.items())}"
        for each in days
    ]


def _counted(unit: Unit, found: UnitSum) -> str:
    came = f", {found.output_units} out" if found.output_units else ""
    return f"  {found.input_units} {unit}{'' if found.input_units == 1 else 's'} in{came}"


def in_utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.replace(tzinfo=UTC)


def _bar(amount: int, most: int) -> str:
    return "█" * max(1, amount * BAR_CHARACTERS // most) if amount else ""


def _line(line: UsageLine) -> tuple[str, ...]:
    counts = (line.unit or "", str(line.input_units), str(line.cached_units), str(line.output_units))
    whose = (str(line.account_id), f"{line.key_id} {line.key_name}".strip(), line.model_id)
    began = f"{line.started_at:%Y-%m-%d %H:%M:%S}"
    return (began, str(line.request_id), *whose, *counts, usd_exact(line.charged), line.ending.value)


def _record(line: UsageLine) -> dict[str, Any]:
    whose = ("request_id", "started_at", "account_id", "key_id", "key_name", "model_id")
    counted = ("unit", "input_units", "cached_units", "output_units", "usage_source", "ending", "seconds")
    return fields_of(line, *whose, *counted) | quota_fields(charged=line.charged)


def _sum_record(found: UsageSum) -> dict[str, Any]:
    counted = {
        "calls": found.calls,
        "by_unit": {unit: msgspec.structs.asdict(sums) for unit, sums in found.by_unit.items()},
    }
    return counted | quota_fields(charged=found.charged)
