"""What a deed about a customer is about: the account, one of its keys, one of its lots."""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from tollkeeper.console import figures
from tollkeeper.console.staff.deeds import DeedSubject
from tollkeeper.console.visit import Visit
from tollkeeper.office.accounts import AccountView, show_account
from tollkeeper.office.act import Act
from tollkeeper.office.customer_keys import KeysWish, list_keys
from tollkeeper.office.groups import list_groups
from tollkeeper.office.lists import ROWS_MOST, Listed, PageRow, Paging
from tollkeeper.office.lots import LotsWish, list_lots
from tollkeeper.office.wishes import AccountWish
from tollkeeper.ports import NotOnFile

OnePage = TypeVar("OnePage", bound=Paging)


async def look_at_account(visit: Visit) -> DeedSubject:
    account = await _account(visit)
    facts = (
        ("E-mail", account.email),
        ("Group", account.group),
        ("Balance", figures.usd(account.balance.micro_quota)),
    )
    return DeedSubject(name=_name(account), facts=facts)


async def look_to_move(visit: Visit) -> DeedSubject:
    subject = await look_at_account(visit)
    groups = await list_groups(visit.desks.office, Paging(limit=ROWS_MOST), visit.by)
    return replace(subject, choices={"group": [group.name for group in groups.data]})


async def look_at_key(visit: Visit) -> DeedSubject:
    account, number = await _account(visit), visit.request.path_params["key"]
    wish = KeysWish(account=account.account, limit=ROWS_MOST)
    key = await _found(visit, list_keys, wish, lambda each: each.key == number)
    if key is None:
        raise NotOnFile(f"Account {account.account} has no key {number}.")
    facts = (("Key", key.name), ("Looks like", key.hint), ("Used", figures.usd(key.used.micro_quota, used=True)))
    return DeedSubject(name=_name(account), facts=facts)


async def look_at_lot(visit: Visit) -> DeedSubject:
    account, number = await _account(visit), visit.request.path_params["lot"]
    wish = LotsWish(account=account.account, limit=ROWS_MOST)
    lot = await _found(visit, list_lots, wish, lambda each: each.lot == number)
    if lot is None:
        raise NotOnFile(f"Account {account.account} has no lot {number}.")
    left, whole = figures.usd(lot.remaining.micro_quota), figures.usd(lot.granted.micro_quota)
    facts = (
        ("Lot", f"{lot.lot}, by {lot.source.replace('_', ' ')}"),
        ("Left", f"{left} of {whole}"),
        ("Expires", f"{lot.expires_at:%Y-%m-%d %H:%M} UTC"),
    )
    return DeedSubject(name=_name(account), facts=facts)


async def _found(
    visit: Visit, act: Act[OnePage, Listed[PageRow]], wish: OnePage, is_meant: Callable[[PageRow], bool]
) -> PageRow | None:
    """However many pages the list has."""
    while True:
        page = await act(visit.desks.office, wish, visit.by)
        row = next((each for each in page.data if is_meant(each)), None)
        if row is not None or page.next is None:
            return row
        wish = replace(wish, after=page.next)


async def _account(visit: Visit) -> AccountView:
    wish = AccountWish(account=visit.request.path_params["account"])
    return await show_account(visit.desks.office, wish, visit.by)


def _name(account: AccountView) -> str:
    return f"{account.name}, account {account.account}"
