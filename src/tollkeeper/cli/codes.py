"""Redemption codes: `codes make`, `export`, `list`, `show`, `revoke`, and `redeem`."""

import csv
import sys
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO
from uuid import uuid4

import typer

from tollkeeper.accounts.money.codes import CODES_MOST
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import CURRENT_TERM_MONTHS, MOST_ID, REASON_HERE, AccountId, Reason
from tollkeeper.cli.listing import AsJson, cash_fields, fields_of, show_fields, show_json, show_list
from tollkeeper.cli.numbers import usd_typed
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.core.money.amounts import NotAnAmount
from tollkeeper.core.partner.plan import MicroUsd, micros_from_usd
from tollkeeper.office.codes import (
    DAYS_MOST,
    BatchNumber,
    BatchReason,
    BatchView,
    ExportedBatch,
    NewBatchWish,
    RedeemForWish,
    export_batch,
    list_batches,
    make_codes,
    redeem_for,
    revoke_batch,
    show_batch,
)
from tollkeeper.office.lists import Paging

codes_app = typer.Typer(help="Redemption codes.", no_args_is_help=True)


BatchId = Annotated[int, typer.Argument(metavar="BATCH", max=MOST_ID, help="The batch's number.")]


def register(app: typer.Typer) -> None:
    app.add_typer(codes_app, name="codes")
    app.command()(redeem)


@codes_app.command("make")
@command(ValueError)
async def make(
    count: Annotated[int, typer.Option(metavar="N", min=1, max=CODES_MOST, help="How many.")],
    usd: Annotated[str, typer.Option(metavar="USD", help="What each brings, in USD: for example 10 or 2.50.")],
    months: Annotated[
        int, typer.Option(min=1, max=120, help="Calendar months until what it brought expires.")
    ] = CURRENT_TERM_MONTHS,
    note: Annotated[str, typer.Option(help="What they are for, or for whom.")] = "",
    rewards: Annotated[
        bool, typer.Option("--rewards/--no-rewards", help="Whether inviters and gift codes earn by them.")
    ] = True,
    valid_days: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=DAYS_MOST, help="Days until they are accepted no more.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A new file to write them to. Without it: standard output.")] = None,
    reason: Reason = REASON_HERE,
) -> None:
    """Make a batch of codes, as CSV. They are shown once, now; only their digests are kept."""
    usd_in(usd)
    wish = NewBatchWish(
        once=str(uuid4()),
        codes=count,
        usd=usd,
        months=months,
        note=note,
        rewards=rewards,
        valid_days=valid_days,
        reason=reason,
    )
    with nullcontext(sys.stdout) if file is None else _new_file(file) as into:
        made = await perform(make_codes, wish)
        exported = await _export(made.batch, reason, into)
    told = f"batch {made.batch}: {count} codes of {exported.each.usd} USD. They cannot be shown again."
    typer.echo(told, err=file is None)


@codes_app.command("export")
@command(ValueError)
async def export(
    batch: BatchId,
    file: Annotated[Path | None, typer.Option(help="A new file to write them to. Without it: standard output.")] = None,
    reason: Reason = REASON_HERE,
) -> None:
    """Show the codes of a batch that was made and never shown, as CSV. From now on they are accepted."""
    with nullcontext(sys.stdout) if file is None else _new_file(file) as into:
        exported = await _export(batch, reason, into)
    told = f"batch {batch}: {len(exported.codes)} codes of {exported.each.usd} USD. They cannot be shown again."
    typer.echo(told, err=file is None)


@codes_app.command("list")
@command()
async def list_all(as_json: AsJson = False) -> None:
    """Every batch, the newest first; of its codes only how many there are."""
    show_list(
        await every_page(list_batches, Paging(), LISTED_MOST),
        head=("batch", "made", "by", "codes", "redeemed", "USD each", "months", "note", "now"),
        line=_line,
        record=_record,
        as_json=as_json,
        none="There are no codes.",
    )


@codes_app.command("show")
@command()
async def show(batch: BatchId, as_json: AsJson = False) -> None:
    """A batch: what its codes bring, how many were redeemed, and until when they are accepted."""
    found = await perform(show_batch, BatchNumber(batch=batch))
    if as_json:
        show_json(_record(found))
        return
    names = ("batch", "made", "by", "codes", "redeemed", "USD each", "months", "note", "now")
    show_fields(zip(names, _line(found), strict=True))


@codes_app.command("revoke")
@command()
async def revoke(batch: BatchId, reason: Reason) -> None:
    """Refuse what is left of a batch from now on. What was redeemed stays."""
    done = await perform(revoke_batch, BatchReason(batch=batch, reason=reason_in(reason)))
    say(f"batch {batch} was revoked before" if done.codes is None else f"batch {batch} revoked: {done.codes} codes")


@command(ValueError)
def redeem(
    account: AccountId,
    gift_code: Annotated[
        str | None, typer.Option(help="Of whoever told them of us: five characters, or the invite link.")
    ] = None,
    reason: Reason = REASON_HERE,
) -> Coroutine[None, None, None]:
    """Redeem a code for an account. It is read from the terminal or from standard input."""
    wish = RedeemForWish(
        once=str(uuid4()), account=account, code=secret_line("Code"), gift_code=gift_code, reason=reason
    )
    return _redeem(wish)


async def _redeem(wish: RedeemForWish) -> None:
    done = await perform(redeem_for, wish)
    if done.was_before:
        say(
            "This account redeemed the code before, and nothing was added now: "
            f"{done.paid.usd} USD, top-up {done.top_up}"
        )
        return
    gift = f", and {done.gift.usd} USD as a gift" if done.gift.micro_quota else ""
    expires = f"{done.expires_at:%Y-%m-%d}"
    say(f"{done.paid.usd} USD topped up{gift}: top-up {done.top_up}, lot {done.lot}, expires {expires}")


async def _export(batch: int, reason: str, into: TextIO) -> ExportedBatch:
    """Codes that could not be written out are nobody's: their batch is revoked."""
    exported = await perform(export_batch, BatchReason(batch=batch, reason=reason))
    try:
        _write(exported, into)
    except OSError:
        await perform(revoke_batch, BatchReason(batch=batch, reason="its codes could not be written out"))
        raise
    return exported


def usd_in(text: str) -> MicroUsd:
    try:
        return micros_from_usd(usd_typed(text))
    except NotAnAmount as problem:
        raise Mistake(f"{problem} Nothing was done.") from None


def reason_in(text: str) -> str:
    try:
        return checked_reason(text)
    except ValueError as problem:
        raise Mistake(str(problem)) from None


def secret_line(what: str) -> str:
    """From the terminal or from standard input, never from the command line, which others can see."""
    line: str = typer.prompt(what, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    return line.strip()


@contextmanager
def _new_file(file: Path) -> Iterator[TextIO]:
    """For its owner alone to read. Where it is not finished it is gone again: half of the codes are no batch."""
    try:
        file.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        raise Mistake(f"{file} is there already. Nothing was done.") from None
    with ExitStack() as unfinished:
        unfinished.callback(file.unlink, missing_ok=True)
        with file.open("w", encoding="utf-8", newline="") as into:
            yield into
        unfinished.pop_all()


def _write(exported: ExportedBatch, into: TextIO) -> None:
    rows = csv.writer(into)
    rows.writerow(("code", "usd", "months", "batch"))
    rows.writerows((code, exported.each.usd, exported.months, exported.batch) for code in exported.codes)
    into.flush()


def _line(batch: BatchView) -> tuple[str, ...]:
    numbers = (str(batch.codes), str(batch.redeemed), batch.each.usd, str(batch.months))
    return (str(batch.id), moment(batch.made_at), batch.made_by, *numbers, batch.note, _standing(batch))


def _record(batch: BatchView) -> dict[str, Any]:
    counted = fields_of(batch, "id", "made_at", "made_by", "codes", "redeemed", "months", "note", "rewards")
    ended = fields_of(batch, "exported_at", "expires_at", "revoked_at", "revoked_by", "revoke_reason")
    return counted | cash_fields(each=batch.each.micro_usd) | ended


def _standing(batch: BatchView) -> str:
    if batch.revoked_at is not None:
        return f"revoked {moment(batch.revoked_at)} by {batch.revoked_by}: {batch.revoke_reason}"
    accepted = "accepted" if batch.exported_at is not None else "never handed out, not accepted"
    if batch.exported_at is not None and batch.expires_at is not None:
        accepted = f"accepted until {moment(batch.expires_at)}"
    return accepted if batch.rewards else f"{accepted}, without rewards"
