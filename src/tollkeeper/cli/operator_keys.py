"""Operator keys: `operator-key create`, `list`, `show`, `revoke`."""

from typing import Annotated

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, JsonRecord, fields_of, show_fields, show_json, show_list
from tollkeeper.cli.speak import say
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.operator_keys import (
    DAYS_MOST,
    NewOperatorKeyWish,
    OperatorKeyName,
    OperatorKeyView,
    create_operator_key,
    list_operator_keys,
    revoke_operator_key,
    show_own_operator_key,
)
from tollkeeper.office.wishes import NoWish

app = typer.Typer(help="Operator keys: what staff and their programs act with.", no_args_is_help=True)

FIELDS = (
    *("name", "hint", "scopes", "only_networks", "created_at", "created_by", "expires_at", "revoked_at"),
    *("last_used_at", "account"),
)
OperatorKeyArgument = Annotated[str, typer.Argument(metavar="NAME", help="Its name, which the audit trail has.")]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="operator-key")


@app.command("create")
@command(ValueError)
async def create(
    name: OperatorKeyArgument,
    scope: Annotated[list[Scope], typer.Option(help="What it may do; repeat it. Each scope includes reading.")],
    days: Annotated[int, typer.Option(min=1, max=DAYS_MOST, help="Days from now until it expires.")] = 90,
    network: Annotated[
        list[str] | None, typer.Option(help="A network it may be used from, as 203.0.113.0/24; repeat it.")
    ] = None,
    account: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_ID, help="The staff login it belongs to: it never may do more than that."),
    ] = None,
    reason: MaybeReason = "",
) -> None:
    """Make an operator key. It is shown once, now."""
    wish = NewOperatorKeyWish(
        name=name, scopes=scope, days=days, only_networks=network or None, account=account, reason=reason
    )
    made = await perform(create_operator_key, wish)
    say(f"operator key {made.name}, until {moment(made.expires_at)}\n{made.key}")
    say("Copy it now: it is not kept and cannot be shown again.")


@app.command("list")
@command()
async def list_keys(as_json: AsJson = False) -> None:
    """The live operator keys, then those that ended in the last 90 days."""
    found = await perform(list_operator_keys, NoWish())
    show_list(
        found.data,
        head=("name", "looks like", "scopes", "state", "used last", "made by"),
        line=_line,
        record=_record,
        as_json=as_json,
        none="There are no operator keys.",
    )


@app.command("show")
@command()
async def show(as_json: AsJson = False) -> None:
    """The operator key that this command acts with (TOLLKEEPER_OPERATOR_KEY)."""
    own = await perform(show_own_operator_key, NoWish())
    if as_json:
        show_json(_record(own))
        return
    networks = "any" if own.only_networks is None else ", ".join(own.only_networks)
    show_fields(
        [
            ("name", own.name),
            ("looks like", own.hint),
            ("scopes", ", ".join(own.scopes)),
            ("networks", networks),
            ("state", _state(own)),
            ("made by", own.created_by),
        ]
    )


@app.command("revoke")
@command(ValueError)
async def revoke(name: OperatorKeyArgument, reason: Reason) -> None:
    """Refuse an operator key from now on."""
    done = await perform(revoke_operator_key, OperatorKeyName(name=name, reason=reason))
    say(f"operator key {name} is revoked" + ("" if done.changed else ", as it was before"))


def _state(key: OperatorKeyView) -> str:
    return f"until {moment(key.expires_at)}" if key.revoked_at is None else f"revoked {moment(key.revoked_at)}"


def _line(key: OperatorKeyView) -> tuple[str, ...]:
    used = "never" if key.last_used_at is None else moment(key.last_used_at)
    return (key.name, key.hint, ", ".join(key.scopes), _state(key), used, key.created_by)


def _record(key: OperatorKeyView) -> JsonRecord:
    return fields_of(key, *FIELDS)
