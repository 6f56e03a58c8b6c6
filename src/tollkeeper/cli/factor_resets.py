"""Second factors and passkeys that staff were asked to drop: `reset list`, `show`, `confirm`, `refuse`. They are asked
for by `login drop-second-factor` and `login drop-passkeys`."""

from typing import Annotated

import msgspec
import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, Reason
from tollkeeper.cli.listing import AsJson, show_fields, show_json, show_list
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import say
from tollkeeper.core.people.logins import LoginRefusal
from tollkeeper.office.factor_resets import (
    DecideResetWish,
    ResetNumber,
    ResetsWish,
    ResetView,
    list_resets,
    show_reset,
)
from tollkeeper.office.factor_resets import confirm_reset as confirm_it
from tollkeeper.office.factor_resets import refuse_reset as refuse_it

HEAD = ("reset", "account", "what", "asked", "by", "why", "now")
ResetId = Annotated[int, typer.Argument(metavar="RESET", min=1, max=MOST_ID, help="The reset's number.")]

reset_app = typer.Typer(help="Second factors and passkeys that staff were asked to drop.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(reset_app, name="reset")


@reset_app.command("list")
@command()
async def list_waiting(
    everything: Annotated[bool, typer.Option("--all", help="Those that are done, refused or void too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Resets that wait for a second person, the newest first."""
    show_list(
        await every_page(list_resets, ResetsWish(all=everything), LISTED_MOST),
        head=HEAD,
        line=_line,
        record=msgspec.structs.asdict,
        as_json=as_json,
        none="No reset waits for a second person.",
    )


@reset_app.command("show")
@command()
async def show(reset: ResetId, as_json: AsJson = False) -> None:
    """Who asked for it and why, and who decided."""
    found = await perform(show_reset, ResetNumber(reset=reset))
    if as_json:
        show_json(msgspec.structs.asdict(found))
        return
    show_fields(list(zip(HEAD, _line(found), strict=True)))
    if found.decided_by:
        say(f"{found.state} by {found.decided_by}: {found.decide_reason}")


@reset_app.command("confirm")
@command(LoginRefusal)
async def confirm(reset: ResetId, reason: Reason) -> None:
    """Drop what another member of staff asked to drop. The owner is told, and their sessions end."""
    done = await perform(confirm_it, DecideResetWish(reset=reset, reason=reason_in(reason)))
    say(f"reset {done.id} done: account {done.account}, {_what(done)} dropped")


@reset_app.command("refuse")
@command(LoginRefusal)
async def refuse(reset: ResetId, reason: Reason) -> None:
    """Leave everything as it is. Whoever asked takes it back by this."""
    done = await perform(refuse_it, DecideResetWish(reset=reset, reason=reason_in(reason)))
    say(f"reset {done.id} refused: nothing was dropped")


def _line(each: ResetView) -> tuple[str, ...]:
    now = f"waits until {moment(each.expires_at)}" if each.state == "waiting" else each.state
    return (str(each.id), str(each.account), _what(each), moment(each.asked_at), each.asked_by, each.reason, now)


def _what(each: ResetView) -> str:
    return each.what.value.replace("_", " ")
