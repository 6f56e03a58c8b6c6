"""The audit trail: `audit list`, `verify`."""

from typing import Annotated

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.office.audit import AuditWish, list_audit, verify_audit
from tollkeeper.office.lists import ROWS_MOST, ROWS_USUAL
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.audit import AuditRow

app = typer.Typer(help="The audit trail: what was done, by whom and why.", no_args_is_help=True)

FIELDS = ("id", "at", "actor", "action", "subject", "detail", "hash")


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="audit")


@app.command("list")
@command(ValueError)
async def list_rows(
    actor: Annotated[str, typer.Option(help="Who acted, as operator:anna.")] = "",
    action: Annotated[str, typer.Option(help="An action, or its beginning: 'account.'")] = "",
    subject: Annotated[str, typer.Option(help="To whom or what, as account:4711.")] = "",
    after: Annotated[str, typer.Option(help="Go on behind this place, as the last page said.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=ROWS_MOST, help="How many rows.")] = ROWS_USUAL,
    as_json: AsJson = False,
) -> None:
    """What was done, by whom and why: the newest first."""
    wish = AuditWish(actor=actor, action=action, subject=subject, after=after, limit=limit)
    page = await perform(list_audit, wish)
    show_list(
        page.data,
        head=("row", "time", "who", "what", "to whom or what", "detail"),
        line=_line,
        record=lambda row: fields_of(row, *FIELDS),
        as_json=as_json,
        none="Nothing of that kind is on record.",
        more={"next": page.next},
    )
    if page.next is not None and not as_json:
        say(f"There may be more: --after {page.next}")


@app.command("verify")
@command()
async def verify() -> None:
    """Follow the chain of hashes from the first row to the last. Exit code 1: it is broken."""
    found = await perform(verify_audit, NoWish())
    if not found.is_whole:
        raise Mistake(
            f"The audit trail was changed behind our back: row {found.first_break} does not follow from the one before."
        )
    say("The audit trail is whole.")


def _line(row: AuditRow) -> tuple[str, ...]:
    detail = ", ".join(f"{name} {value}" for name, value in row.detail.items() if value is not None)
    return (str(row.id), moment(row.at), row.actor, row.action, row.subject, detail)
