"""API keys: `key create`, `list`, `edit`, `rotate`, `pause`, `resume`, `revoke`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
import typer

from tollkeeper.accounts.keys import IssuedKey, KeyWish, change_key, create_key, rotate_key
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, amount_of
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_list
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.client_ip import Network, read_networks
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.ports import KeyChange, KeyOnFile

NONE = "none"

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
) -> None:
    """Make an API key. It is shown once, now."""
    wish = KeyWish(
        account_id=account,
        name=name,
        quota=_quota(quota_usd),
        expires_at=_expiry(days),
        only_models=_all_or(model),
        only_networks=_networks(network),
        daily_budget=_quota(daily_usd),
        monthly_budget=_quota(monthly_usd),
    )
    async with office(settings_or_complain()) as desk:
        issued = await create_key(wish, desk.key_maker, desk.keys, actor=desk.actor)
    _show_once(issued)


@app.command("list")
@command(ValueError)
async def list_keys(account: AccountId, as_json: AsJson = False) -> None:
    """The keys of an account, without their texts."""
    async with office(settings_or_complain()) as desk:
        keys = await desk.keys.of_account(account, chat_too=True)
        if not keys:
            await desk.accounts.need(account)
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
    change = KeyChange(
        name=unset if name is None else name,
        quota=unset if quota_usd is None else _quota(quota_usd),
        expires_at=unset if days is None else _expiry(days),
        only_models=unset if model is None else _all_or(model),
        only_networks=unset if network is None else _networks(network),
        daily_budget=unset if daily_usd is None else _quota(daily_usd),
        monthly_budget=unset if monthly_usd is None else _quota(monthly_usd),
    )
    async with office(settings_or_complain()) as desk:
        account_id = await desk.keys.owner_of(key)
        changed = await change_key(key, change, desk.keys, account_id=account_id, actor=desk.actor)
    say(f"key {changed.key_id} '{changed.name}' changed")


@app.command("rotate")
@command(ValueError)
async def rotate(
    key: KeyId,
    keep_hours: Annotated[int, typer.Option(min=0, max=168, help="For how long the old text is accepted, too.")] = 0,
) -> None:
    """Give a key another text; its quota, budgets and history stay. It is shown once, now."""
    keep_seconds = keep_hours * 3_600
    async with office(settings_or_complain()) as desk:
        account_id = await desk.keys.owner_of(key)
        issued = await rotate_key(key, keep_seconds, desk.key_maker, desk.keys, account_id=account_id, actor=desk.actor)
    _show_once(issued)


@app.command("pause")
@command(ValueError)
async def pause(key: KeyId) -> None:
    """Refuse a key until it is resumed, on every node within two seconds. Calls that run go on."""
    async with office(settings_or_complain()) as desk:
        account_id = await desk.keys.owner_of(key)
        paused = await desk.keys.pause(key, account_id=account_id, actor=desk.actor)
    say(f"key {key} paused" if paused else f"key {key} was paused before")


@app.command("resume")
@command(ValueError)
async def resume(key: KeyId) -> None:
    """Accept a paused key again, on every node within two seconds."""
    async with office(settings_or_complain()) as desk:
        account_id = await desk.keys.owner_of(key)
        resumed = await desk.keys.resume(key, account_id=account_id, actor=desk.actor)
    say(f"key {key} resumed" if resumed else f"key {key} was not paused")


@app.command("revoke")
@command(ValueError)
async def revoke(key: KeyId) -> None:
    """Refuse a key from now on, on every node within two seconds."""
    async with office(settings_or_complain()) as desk:
        account_id = await desk.keys.owner_of(key)
        revoked = await desk.keys.revoke(key, account_id=account_id, actor=desk.actor)
    say(f"key {key} revoked" if revoked else f"key {key} was revoked before")


def _show_once(issued: IssuedKey) -> None:
    say(f"key {issued.key_id}\n{issued.key}")
    say("Copy it now: it is not kept and cannot be shown again.")


def _row(key: KeyOnFile) -> list[str]:
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
    limits = [_usd(key.quota), usd_exact(key.used), _usd(key.daily_budget), _usd(key.monthly_budget)]
    models = "all" if key.only_models is None else ", ".join(key.only_models)
    networks = "all" if key.only_networks is None else ", ".join(map(str, key.only_networks))
    return [str(key.key_id), key.name, key.hint, state, *limits, models, networks]


def _record(key: KeyOnFile) -> dict[str, Any]:
    times = ("created_at", "rotated_at", "former_until", "expires_at", "paused_at", "revoked_at")
    amounts = quota_fields(
        quota=key.quota,
        used=key.used,
        held=key.held,
        daily_budget=key.daily_budget,
        counted_today=key.counted_today,
        monthly_budget=key.monthly_budget,
        counted_this_month=key.counted_this_month,
    )
    networks = None if key.only_networks is None else list(map(str, key.only_networks))
    named = fields_of(key, "key_id", "account_id", "name", "hint", "for_chat", *times)
    return named | amounts | {"only_models": key.only_models, "only_networks": networks}


def _usd(quota: Quota | None) -> str:
    return "–" if quota is None else usd_exact(quota)


def _quota(usd: str | None) -> Quota | None:
    return None if usd is None or usd == NONE else amount_of(usd)


def _all_or(names: list[str] | None) -> list[str] | None:
    return None if not names or names == [NONE] else names


def _networks(texts: list[str] | None) -> tuple[Network, ...] | None:
    chosen = _all_or(texts)
    try:
        return None if chosen is None else read_networks(chosen)
    except ValueError as problem:
        raise Mistake(f"{problem}. Nothing was done.") from None


def _expiry(days: str | None) -> datetime | None:
    if days is None or days == NONE:
        return None
    if not days.isdigit() or not 1 <= int(days) <= 36_500:
        raise Mistake(f"'{days}' is not a number of days from 1 to 36500. Nothing was done.")
    return datetime.now(UTC) + timedelta(days=int(days))
