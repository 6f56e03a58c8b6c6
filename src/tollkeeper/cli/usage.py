"""The usage log: `usage list`, `chart`, `total`, `export`, `clean`."""

import csv
import os
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table
from rich.text import Text

from tollkeeper.app import opened
from tollkeeper.app.log_site import log_site_of
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId
from tollkeeper.cli.speak import Mistake, say, settings_or_complain, show
from tollkeeper.core.charge import Ending
from tollkeeper.core.money import Quota, usd_exact
from tollkeeper.core.usage import CHART_DAYS, CSV_HEAD, UsageDay, UsageFilter, UsageLine, UsagePage, csv_row
from tollkeeper.jobs.clean_usage_log import clean_usage_log
from tollkeeper.ports.usage import DayChanged, LogSiteFailed, UsageLog
from tollkeeper.storage.database import Part
from tollkeeper.storage.usage_cleaning import SqlCleanUsage
from tollkeeper.storage.usage_log import SqlUsageLog

EXPORTED_AT_ONCE = 1_000
BAR_CHARACTERS = 40
MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]

usage_app = typer.Typer(help="The usage log.", no_args_is_help=True)

Account = Annotated[int | None, typer.Option(metavar="ACCOUNT", max=MOST_ID, help="Calls of this account alone.")]
Key = Annotated[int | None, typer.Option(metavar="KEY", max=MOST_ID, help="Calls with this key alone.")]
Model = Annotated[str | None, typer.Option(metavar="MODEL", help="Calls of this model alone.")]
EndedAs = Annotated[Ending | None, typer.Option("--ending", help="Calls that ended so.")]
Since = Annotated[
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
    account: Account = None,
    key: Key = None,
    model: Model = None,
    ending: EndedAs = None,
    since: Since = None,
    until: Until = None,
    request_id: Annotated[UUID | None, typer.Option("--id", help="The call with this x-request-id.")] = None,
    after: Annotated[UUID | None, typer.Option(help="Go on behind this call, as the last page said.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many calls.")] = 50,
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
    async with opened(settings_or_complain(), Part.CONSOLE) as database:
        page = await filled_page(SqlUsageLog(database), wanted, after, limit)
    if page.lines:
        show(_table(page.lines))
    else:
        say("There are no such calls in the usage log.")
    if page.next is not None:
        say(f"There may be more: --after {page.next}")


@usage_app.command("chart")
@command()
async def chart(
    account: Account = None,
    key: Key = None,
    model: Model = None,
    ending: EndedAs = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="How many days, up to today.")] = CHART_DAYS,
) -> None:
    """What was charged on each of the last days (UTC), as bars."""
    wanted = UsageFilter(account_id=account, key_id=key, model_id=model, ending=ending)
    async with opened(settings_or_complain(), Part.CONSOLE) as database:
        found = await SqlUsageLog(database).chart(wanted, days=days)
    for line in bars(found):
        say(line)


@usage_app.command("total")
@command()
async def total(account: AccountId) -> None:
    """What an account consumed: by the usage log as far as it goes back, and in all by the ledger."""
    async with opened(settings_or_complain(), Part.CONSOLE) as database:
        found = await SqlUsageLog(database).consumed(account)
    since = "" if found.since is None else f", which goes back to {found.since}"
    say(f"total consumed   {usd_exact(found.in_log.charged)} USD in {found.in_log.calls} calls of the usage log{since}")
    say(f"in all           {usd_exact(Quota(found.lifetime))} USD, by the ledger")


@usage_app.command("export")
@command()
async def export(
    account: Account = None,
    key: Key = None,
    model: Model = None,
    ending: EndedAs = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Calls as CSV, the newest first, to standard output."""
    wanted = UsageFilter(
        account_id=account, key_id=key, model_id=model, ending=ending, since=in_utc(since), until=in_utc(until)
    )
    rows = csv.writer(sys.stdout)
    try:
        rows.writerow(CSV_HEAD)
        async with opened(settings_or_complain(), Part.CONSOLE) as database:
            async for page in pages(SqlUsageLog(database), wanted, EXPORTED_AT_ONCE):
                rows.writerows(map(csv_row, page.lines))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has enough. What is still buffered must not fail once more at exit.
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
        async with opened(settings, Part.WORKER) as database:
            usage = SqlCleanUsage(database)
            kept_from = (await usage.now()).date() - timedelta(days=settings.usage_days)
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


async def pages(usage: UsageLog, wanted: UsageFilter, limit: int) -> AsyncIterator[UsagePage]:
    """Page after page, until there is nothing more."""
    after: UUID | None = None
    while True:
        page = await usage.page(wanted, after=after, limit=limit)
        yield page
        if page.next is None:
            return
        after = page.next


async def filled_page(usage: UsageLog, wanted: UsageFilter, after: UUID | None, limit: int) -> UsagePage:
    """As many calls as were asked for, if there are so many: pages that come back short are gone on from."""
    lines: list[UsageLine] = []
    while True:
        page = await usage.page(wanted, after=after, limit=limit - len(lines))
        lines += page.lines
        after = page.next
        if after is None or len(lines) >= limit:
            return UsagePage(lines, after)


def bars(days: list[UsageDay]) -> list[str]:
    most = max((each.sum.charged for each in days), default=0)
    return [
        f"{each.day}  {_bar(each.sum.charged, most):{BAR_CHARACTERS}}  {usd_exact(each.sum.charged)} USD"
        f"  {each.sum.calls} calls  {each.sum.input_tokens} in  {each.sum.output_tokens} out"
        for each in days
    ]


def in_utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.replace(tzinfo=UTC)


def _bar(amount: int, most: int) -> str:
    return "█" * max(1, amount * BAR_CHARACTERS // most) if amount else ""


def _table(lines: Sequence[UsageLine]) -> Table:
    table = Table("time (UTC)", "call", "account", "key", "model", "in", "cached", "out", "USD", "ending")
    for line in lines:
        counts = (str(line.input_tokens), str(line.cached_tokens), str(line.output_tokens))
        whose = (str(line.account_id), f"{line.key_id} {line.key_name}".strip(), line.model_id)
        began = f"{line.started_at:%Y-%m-%d %H:%M:%S}"
        cells = (began, str(line.request_id), *whose, *counts, usd_exact(line.charged), line.ending.value)
        table.add_row(*map(Text, cells))
    return table
