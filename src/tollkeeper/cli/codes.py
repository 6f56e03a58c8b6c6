"""Redemption codes: `codes make`, `list`, `revoke`, and `redeem`."""

import csv
import secrets
import sys
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from tollkeeper.accounts.money.codes import CODES_MOST, BatchWish, IssuedCodes, hand_out, make_codes, revoke_codes
from tollkeeper.accounts.money.redeem import RedeemWish
from tollkeeper.accounts.money.redeem import redeem as redeem_code
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import CURRENT_TERM_MONTHS, MOST_ID, AccountId, Reason
from tollkeeper.cli.listing import AsJson, cash_fields, fields_of, show_list
from tollkeeper.cli.numbers import usd_typed
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.money.amounts import NotAnAmount, usd_exact
from tollkeeper.core.partner.plan import MicroUsd, micros_from_usd, usd_of_micros
from tollkeeper.ports.customers.redemption import BatchRecord

codes_app = typer.Typer(help="Redemption codes.", no_args_is_help=True)


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
    file: Annotated[Path | None, typer.Option(help="A new file to write them to. Without it: standard output.")] = None,
) -> None:
    """Make a batch of codes, as CSV. They are shown once, now; only their digests are kept."""
    wish = BatchWish(codes=count, usd_micros=usd_in(usd), months=months, note=note, rewards=rewards)
    with nullcontext(sys.stdout) if file is None else _new_file(file) as into:
        async with office(settings_or_complain()) as desk:
            issued = await make_codes(wish, secrets.choice, desk.codes, by=desk.operator)
            _write(issued, wish, into)
            # Activated only after they are written out: a code that was never handed out is not accepted.
            await hand_out(issued.batch_id, desk.codes, by=desk.operator)
    told = (
        f"batch {issued.batch_id}: {count} codes of {usd_of_micros(wish.usd_micros)} USD. They cannot be shown again."
    )
    typer.echo(told, err=file is None)


@codes_app.command("list")
@command()
async def list_batches(as_json: AsJson = False) -> None:
    """Every batch, the newest first; of its codes only how many there are."""
    async with office(settings_or_complain()) as desk:
        batches = await desk.codes.batches()
    show_list(
        batches,
        head=("batch", "made", "by", "codes", "redeemed", "USD each", "months", "note", "now"),
        line=_line,
        record=_record,
        as_json=as_json,
        none="There are no codes.",
    )


@codes_app.command("revoke")
@command()
async def revoke(
    batch: Annotated[int, typer.Argument(metavar="BATCH", max=MOST_ID, help="The batch's number.")],
    reason: Reason,
) -> None:
    """Refuse what is left of a batch from now on. What was redeemed stays."""
    why = reason_in(reason)
    async with office(settings_or_complain()) as desk:
        stopped = await revoke_codes(batch, why, desk.codes, by=desk.operator)
    say(f"batch {batch} was revoked before" if stopped is None else f"batch {batch} revoked: {stopped} codes")


@command(ValueError)
def redeem(
    account: AccountId,
    gift_code: Annotated[
        str | None, typer.Option(help="Of whoever told them of us: five characters, or the invite link.")
    ] = None,
) -> Coroutine[None, None, None]:
    """Redeem a code for an account. It is read from the terminal or from standard input."""
    return _redeem(RedeemWish(account_id=account, code=secret_line("Code"), gift_code=gift_code, ip=None))


async def _redeem(wish: RedeemWish) -> None:
    async with office(settings_or_complain()) as desk:
        redeemed = await redeem_code(wish, desk.referral_terms, desk.redemptions, actor=desk.actor)
    top_up = redeemed.top_up
    gift = f", and {usd_exact(top_up.gift)} USD as a gift" if top_up.gift else ""
    amount, expires = usd_of_micros(top_up.usd_micros), f"{top_up.lot_expires_at:%Y-%m-%d}"
    if redeemed.before:
        say(f"This account redeemed the code before, and nothing was added now: {amount} USD, top-up {top_up.id}")
        return
    say(f"{amount} USD topped up{gift}: top-up {top_up.id}, lot {top_up.lot_id}, expires {expires}")


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


def _write(issued: IssuedCodes, wish: BatchWish, into: TextIO) -> None:
    rows = csv.writer(into)
    rows.writerow(("code", "usd", "months", "batch"))
    rows.writerows((code, usd_of_micros(wish.usd_micros), wish.months, issued.batch_id) for code in issued.codes)
    into.flush()


def _line(batch: BatchRecord) -> tuple[str, ...]:
    numbers = (str(batch.codes), str(batch.redeemed), usd_of_micros(batch.usd_micros), str(batch.months))
    return (str(batch.id), moment(batch.made_at), batch.made_by, *numbers, batch.note, _standing(batch))


def _record(batch: BatchRecord) -> dict[str, Any]:
    counted = fields_of(batch, "id", "made_at", "made_by", "codes", "redeemed", "months", "note", "rewards")
    ended = fields_of(batch, "exported_at", "revoked_at", "revoked_by", "revoke_reason")
    return counted | cash_fields(each=batch.usd_micros) | ended


def _standing(batch: BatchRecord) -> str:
    if batch.revoked_at is not None:
        return f"revoked {moment(batch.revoked_at)} by {batch.revoked_by}: {batch.revoke_reason}"
    accepted = "accepted" if batch.exported_at is not None else "never handed out, not accepted"
    return accepted if batch.rewards else f"{accepted}, without rewards"
