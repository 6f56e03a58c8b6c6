"""The form of a key: what was typed, what that means, and what is wrong with it.

Rules of this file
1. An empty field is no limit.
2. A key works until the end of the day (UTC) that was chosen.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import msgspec

from tollkeeper.accounts.keys import NETWORKS_MOST, checked_name
from tollkeeper.console.forms import Form
from tollkeeper.console.visit import Visit
from tollkeeper.core.client_ip import Network, read_networks
from tollkeeper.core.keys import NAME_LENGTH_MOST
from tollkeeper.core.money.amounts import NotAnAmount, Quota, quota_from_usd, usd_exact
from tollkeeper.ports import KeyOnFile

AMOUNT = re.compile(r"\$?\s?([0-9]{1,9}(?:\.[0-9]{1,12})?)")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
LAST_YEAR = 9998


class KeyDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The fields as they are shown."""

    name: str = ""
    expires_on: str = ""
    quota: str = ""
    daily_budget: str = ""
    monthly_budget: str = ""
    some_models: bool = False
    models: Sequence[str] = ()
    networks: str = ""


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft means."""

    name: str
    expires_at: datetime | None
    quota: Quota | None
    daily_budget: Quota | None
    monthly_budget: Quota | None
    only_models: Sequence[str] | None
    only_networks: Sequence[Network] | None


async def models_on_offer(visit: Visit, key: KeyOnFile | None = None) -> Sequence[str]:
    """The models of the visitor's group, and those that the key has."""
    priced = {model.id for model in (await visit.price_book()).models}
    return sorted(priced | set(key.only_models or () if key else ()))


def draft_of(key: KeyOnFile) -> KeyDraft:
    return KeyDraft(
        name=key.name,
        expires_on="" if key.expires_at is None else _last_day(key.expires_at).isoformat(),
        quota=typed(key.quota),
        daily_budget=typed(key.daily_budget),
        monthly_budget=typed(key.monthly_budget),
        some_models=key.only_models is not None,
        models=key.only_models or (),
        networks="\n".join(map(str, key.only_networks or ())),
    )


def read_draft(form: Form) -> KeyDraft:
    return KeyDraft(
        name=form.text("name"),
        expires_on=form.text("expires_on"),
        quota=form.text("quota"),
        daily_budget=form.text("daily_budget"),
        monthly_budget=form.text("monthly_budget"),
        some_models=form.text("which_models") == "some",
        models=form.every("model"),
        networks=form.text("networks"),
    )


def read_limits(visit: Visit, draft: KeyDraft, on_offer: Sequence[str]) -> KeyLimits | None:
    """None where something cannot be taken: then the form says what."""
    limits = KeyLimits(
        name=_name(visit, draft.name),
        expires_at=_expiry(visit, draft.expires_on),
        quota=amount_in(visit, "quota", draft.quota),
        daily_budget=amount_in(visit, "daily_budget", draft.daily_budget),
        monthly_budget=amount_in(visit, "monthly_budget", draft.monthly_budget),
        only_models=_models(visit, draft, on_offer),
        only_networks=_networks(visit, draft.networks),
    )
    return limits if visit.form.is_good else None


def _name(visit: Visit, text: str) -> str:
    try:
        return checked_name(text)
    except ValueError:
        told = visit.gettext("A key needs a name: one line of 1 to %(most)s characters.", most=NAME_LENGTH_MOST)
        visit.form.refuse("name", told)
        return ""


def _expiry(visit: Visit, text: str) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None or day.year > LAST_YEAR:
        visit.form.refuse("expires_on", visit.gettext("This is no day. Write it as 2030-12-31."))
        return None
    return datetime.combine(day, time(), UTC) + timedelta(days=1)


def amount_in(visit: Visit, field: str, text: str) -> Quota | None:
    """None for an empty field, and for what is no amount: then the form says so."""
    found = AMOUNT.fullmatch(text)
    try:
        if found:
            return quota_from_usd(Decimal(found[1]))
    except NotAnAmount:
        pass
    if text:
        told = visit.gettext("This is no amount in USD. Write 5 or 12.50; leave it empty for no limit.")
        visit.form.refuse(field, told)
    return None


def _models(visit: Visit, draft: KeyDraft, on_offer: Sequence[str]) -> Sequence[str] | None:
    if not draft.some_models:
        return None
    if not draft.models or not set(draft.models) <= set(on_offer):
        visit.form.refuse("which_models", visit.gettext("Tick at least one model of this list, or choose every model."))
    return sorted(set(draft.models))


def _networks(visit: Visit, text: str) -> Sequence[Network] | None:
    found: list[Network] = []
    for each in text.split():
        try:
            found.extend(read_networks([each.rstrip(",;")]))
        except ValueError:
            visit.form.refuse(
                "networks",
                visit.gettext(
                    "“%(network)s” is no network. Write one address as 203.0.113.7, and many as 203.0.113.0/24.",
                    network=each[:50],
                ),
            )
    if len(found) > NETWORKS_MOST:
        visit.form.refuse("networks", visit.gettext("These are more than %(most)s networks.", most=NETWORKS_MOST))
    return found or None


def _last_day(expires_at: datetime) -> date:
    """The last one on which it works, even if not until its end."""
    return (expires_at.astimezone(UTC) - timedelta(microseconds=1)).date()


def typed(amount: Quota | None) -> str:
    """As one would type it: exact, without zeros at the end."""
    if amount is None:
        return ""
    text = usd_exact(amount)
    return text.rstrip("0").rstrip(".")
