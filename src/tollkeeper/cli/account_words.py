"""Accounts, and what happened to them, in words and as JSON."""

from collections.abc import Mapping
from typing import Any

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.listing import fields_of, quota_fields
from tollkeeper.office.accounts import AccountRow, AccountView, TimelineRow
from tollkeeper.office.amounts import Amount

ACCOUNT_HEAD = ("account", "name", "e-mail", "group", "state", "since", "balance USD")
TIMELINE_HEAD = ("time (UTC)", "what", "by", "about", "USD", "detail")
AMOUNTS = ("balance", "free", "bound", "held", "debt", "used")


def account_line(row: AccountRow) -> tuple[str, ...]:
    state = f"{row.state.value}, restricted" if row.is_restricted else row.state.value
    told = (str(row.account), row.name, row.email or "–", row.group, state)
    return (*told, f"{row.created_at:%Y-%m-%d}", row.balance.usd)


def account_record(row: AccountRow) -> dict[str, Any]:
    told = fields_of(row, "name", "email", "group", "state", "is_restricted", "created_at")
    return {"account_id": row.account} | told | amount_fields(balance=row.balance)


def account_fields(found: AccountView) -> list[tuple[str, str]]:
    restricted = "no" if found.restricted_until is None else f"until {moment(found.restricted_until)}"
    factor = "with" if found.second_factor else "without"
    login = "none" if found.email is None else f"{found.email}, {found.role}, {factor} a second factor"
    return [
        ("account", str(found.account)),
        ("name", found.name),
        ("group", found.group),
        ("state", found.state.value),
        ("since", moment(found.created_at)),
        ("login", login),
        ("restricted", restricted),
        ("banned clients", ", ".join(found.banned_ips) or "none"),
        ("invited by", "nobody" if found.invited_by is None else f"account {found.invited_by}"),
        ("keys in use", str(found.keys_in_use)),
        ("balance", f"{found.balance.usd} USD"),
        ("  free", f"{found.free.usd} USD"),
        ("  bound to keys", f"{found.bound.usd} USD"),
        ("  owed", f"{found.debt.usd} USD"),
        ("held", f"{found.held.usd} USD, by calls under way"),
        ("used", f"{found.used.usd} USD, in all"),
        ("next expiry", "none" if found.next_expiry is None else moment(found.next_expiry)),
    ]


def account_view_record(found: AccountView) -> dict[str, Any]:
    of_account = fields_of(found, "name", "group", "state", "created_at", "email", "role", "second_factor")
    limits = fields_of(found, "restricted_until", "banned_ips", "invited_by", "keys_in_use", "next_expiry")
    amounts = amount_fields(**{name: getattr(found, name) for name in AMOUNTS})
    return {"account_id": found.account} | of_account | limits | amounts


def event_line(row: TimelineRow) -> tuple[str, ...]:
    amount = "" if row.amount is None else row.amount.usd
    return (f"{row.at:%Y-%m-%d %H:%M:%S}", row.what, row.by, row.subject, amount, _detail(row.detail))


def event_record(row: TimelineRow) -> dict[str, Any]:
    return fields_of(row, "at", "what", "by", "subject", "detail") | amount_fields(amount=row.amount)


def amount_fields(**amounts: Amount | None) -> dict[str, Any]:
    """`used=…` becomes `used_micro_quota` and `used_usd`."""
    return quota_fields(**{name: None if amount is None else amount.micro_quota for name, amount in amounts.items()})


def _detail(detail: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value not in (None, ""))
