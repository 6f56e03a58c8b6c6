"""API keys: `key create`, `list`, `edit`, `rotate`, `pause`, `resume`, `revoke`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.account_words import amount_fields
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason, amount_of
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.core.client_ip import read_networks
from tollkeeper.office.amounts import Amount
from tollkeeper.office.customer_keys import (
    KeyChangeWish,
    KeyNumberWish,
    KeysWish,
    KeyView,
    NewKeyWish,
    RotateKeyWish,
    ShownKey,
    change_customer_key,
    create_customer_key,
    pause_customer_key,
    resume_customer_key,
    revoke_customer_key,
    rotate_customer_key,
)
from tollkeeper.office.customer_keys import list_keys as list_customer_keys

NONE = "none"
REASON_OF_KEYS = "on the command line"

app = typer.Typer(help="API keys.", no_args_is_help=True)

KeyId = Annotated[int, typer.Argument(metavar="KEY", max=MOST_ID, help="The key's number, not the key.")]
QuotaUsd = Annotated[str | None, typer.Option(help="Its own quota in USD; 'none' for unlimited.")]
Days = Annotated[str | None, typer.Option(help="Days from now until it expires; 'none' for never.")]
Models = Annotated[list[str] | None, typer.Option("--model", help="A model it may use; repeat it. 'none': all.")]
KeyNetworks = Annotated[
    list[str] | None,
    typer.Option("--network", help="A network it may be used from, as 203.0.113.0/24; repeat it. 'none': all."),
]
DailyUsd = Annotated[str | None, typer.Option(help="What it may use in a day (UTC), in USD; 'none' for no limit.")]
MonthlyUsd = Annotated[str | None, typer.Option(help="What it may use in a month (UTC), in USD; 'none' for no limit.")]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="key")


@app.command("create")
@command(ValueError)
async def create(
    account: AccountId,
    name: Annotated[str, typer.Argument(help="What to call the key.")],
    quota_usd: QuotaUsd = None,
    days: Days = None,
    model: Models = None,
    network: KeyNetworks = None,
    daily_usd: DailyUsd = None,
    monthly_usd: MonthlyUsd = None,
    reason: Reason = REASON_OF_KEYS,
) -> None:
    """Make an API key. It is shown once, now."""
    wish = NewKeyWish(
        account=account,
        name=name,
        reason=reason,
        quota_usd=_usd_in(quota_usd),
        expires_at=_expiry(days),
        only_models=_all_or(model),
        only_networks=_networks(network),
        daily_usd=_usd_in(daily_usd),
        monthly_usd=_usd_in(monthly_usd),
    )
    _show_once(await perform(create_customer_key, wish))


@app.command("list")
@command(ValueError)
async def list_keys(account: AccountId, as_json: AsJson = False) -> None:
    """The keys of an account, without their texts."""
    keys = await every_page(list_customer_keys, KeysWish(account=account))
    head = ("key", "name", "looks like", "state", "quota USD", "used USD", "a day", "a month", "models", "networks")
    none = f"Account {account} has no keys."
    show_list(keys, head=head, line=_row, record=_record, as_json=as_json, none=none)


@app.command("edit")
@command(ValueError)
async def edit(
    key: KeyId,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    quota_usd: QuotaUsd = None,
    days: Days = None,
    model: Models = None,
    network: KeyNetworks = None,
    daily_usd: DailyUsd = None,
    monthly_usd: MonthlyUsd = None,
) -> None:
    """Change what a key may do, on every node within two seconds. What is not named stays."""
    unset = msgspec.UNSET
    wish = KeyChangeWish(
        key=key,
        name=unset if name is None else name,
        quota_usd=unset if quota_usd is None else _usd_in(quota_usd),
        expires_at=unset if days is None else _expiry(days),
        only_models=unset if model is None else _all_or(model),
        only_networks=unset if network is None else _networks(network),
        daily_usd=unset if daily_usd is None else _usd_in(daily_usd),
        monthly_usd=unset if monthly_usd is None else _usd_in(monthly_usd),
    )
    changed = await perform(change_customer_key, wish)
    say(f"key {changed.key} '{changed.name}' changed")


@app.command("rotate")
@command(ValueError)
async def rotate(
    key: KeyId,
    keep_hours: Annotated[int, typer.Option(min=0, max=168, help="For how long the old text is accepted, too.")] = 0,
    reason: Reason = REASON_OF_KEYS,
) -> None:
    """Give a key another text; its quota, budgets and history stay. It is shown once, now."""
    _show_once(await perform(rotate_customer_key, RotateKeyWish(key=key, keep_hours=keep_hours, reason=reason)))


@app.command("pause")
@command(ValueError)
async def pause(key: KeyId) -> None:
    """Refuse a key until it is resumed, on every node within two seconds. Calls that run go on."""
    done = await perform(pause_customer_key, KeyNumberWish(key=key))
    say(f"key {key} paused" if done.changed else f"key {key} was paused before")


@app.command("resume")
@command(ValueError)
async def resume(key: KeyId) -> None:
    """Accept a paused key again, on every node within two seconds."""
    done = await perform(resume_customer_key, KeyNumberWish(key=key))
    say(f"key {key} resumed" if done.changed else f"key {key} was not paused")


@app.command("revoke")
@command(ValueError)
async def revoke(key: KeyId) -> None:
    """Refuse a key from now on, on every node within two seconds."""
    done = await perform(revoke_customer_key, KeyNumberWish(key=key))
    say(f"key {key} revoked" if done.changed else f"key {key} was revoked before")


def _show_once(issued: ShownKey) -> None:
    say(f"key {issued.key}\n{issued.text}")
    say("Copy it now: it is not kept and cannot be shown again.")


def _row(key: KeyView) -> list[str]:
    now = datetime.now(UTC)
    if key.revoked_at is not None:
        state = f"revoked {key.revoked_at:%Y-%m-%d}"
    elif key.expires_at is not None:
        state = f"{'expired' if key.expires_at <= now else 'until'} {key.expires_at:%Y-%m-%d}"
    else:
        state = "live"
    if key.paused_at is not None and key.revoked_at is None:
        state = f"paused {key.paused_at:%Y-%m-%d}" + ("" if state == "live" else f", {state}")
    if key.former_until is not None and key.former_until > now:
        state += f", old text until {moment(key.former_until)}"
    limits = [_usd(key.quota), key.used.usd, _usd(key.daily_budget), _usd(key.monthly_budget)]
    models = "all" if key.only_models is None else ", ".join(key.only_models)
    networks = "all" if key.only_networks is None else ", ".join(key.only_networks)
    return [str(key.key), key.name, key.hint, state, *limits, models, networks]


def _record(key: KeyView) -> dict[str, Any]:
    times = ("created_at", "rotated_at", "former_until", "expires_at", "paused_at", "revoked_at")
    amounts = amount_fields(
        quota=key.quota,
        used=key.used,
        held=key.held,
        daily_budget=key.daily_budget,
        counted_today=key.counted_today,
        monthly_budget=key.monthly_budget,
        counted_this_month=key.counted_this_month,
    )
    numbers = {"key_id": key.key, "account_id": key.account}
    named = fields_of(key, "name", "hint", "for_chat", *times)
    return numbers | named | amounts | fields_of(key, "only_models", "only_networks")


def _usd(amount: Amount | None) -> str:
    return "–" if amount is None else amount.usd


def _usd_in(usd: str | None) -> str | None:
    """An amount as it was typed, where it is one."""
    if usd is None or usd == NONE:
        return None
    amount_of(usd)
    return usd


def _all_or(names: list[str] | None) -> list[str] | None:
    return None if not names or names == [NONE] else names


def _networks(texts: list[str] | None) -> list[str] | None:
    chosen = _all_or(texts)
    try:
        read_networks(chosen or ())
    except ValueError as problem:
        raise Mistake(f"{problem}. Nothing was done.") from None
    return chosen


def _expiry(days: str | None) -> datetime | None:
    if days is None or days == NONE:
        return None
    if not days.isdigit() or not 1 <= int(days) <= 36_500:
        raise Mistake(f"'{days}' is not a number of days from 1 to 36500. Nothing was done.")
    return datetime.now(UTC) + timedelta(days=int(days))
