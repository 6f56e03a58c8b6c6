"""A page of the console: where it is, who may have it, and what makes it.

Rules of this file
1. Every page stands in one table (`table.py`). Routes, checks and tests are made from it.
2. What a page changes is changed by POST, and nothing by GET.
3. A form that moves money is taken once: its page says `once`.
4. Whoever reads as a customer sends nothing but what says `while_reading`: stopping, and signing out.
"""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeAlias

import msgspec
from starlette.responses import Response

from tollkeeper.console.forms import FORM_BYTES_MOST
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope

Handler: TypeAlias = Callable[[Visit], Awaitable[Response]]


class Who(StrEnum):
    ANYBODY = "anybody"
    # Whoever is signed in is sent home.
    STRANGER = "stranger"
    # Also staff whose session is good for nothing but setting up a second factor.
    SETTING_UP = "setting up"
    # A stranger is sent to sign in.
    SIGNED_IN = "signed in"
    # Whoever has a role with the page's scope. For customers there is no such page.
    STAFF = "staff"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    # As routes are written: /keys/{key_id:int}
    path: str
    who: Who
    make: Handler
    once: bool = False
    # Of what is sent to it.
    body_bytes_most: int = FORM_BYTES_MOST
    # Whether its form has files in it.
    takes_files: bool = False
    # For pages whose own address has a secret in it.
    no_referrer: bool = False
    # What staff must have to see it.
    scope: Scope = Scope.EVERYTHING
    # Of what is posted: whether staff may send it who read as a customer.
    while_reading: bool = False


def get(path: str, make: Handler, *, who: Who = Who.SIGNED_IN, no_referrer: bool = False) -> Page:
    return Page(method="GET", path=path, who=who, make=make, no_referrer=no_referrer)


def post(
    path: str, make: Handler, *, who: Who = Who.SIGNED_IN, once: bool = False, bytes_most: int = FORM_BYTES_MOST
) -> Page:
    return Page(method="POST", path=path, who=who, make=make, once=once, body_bytes_most=bytes_most)


def staff_get(path: str, make: Handler, scope: Scope) -> Page:
    return Page(method="GET", path=path, who=Who.STAFF, make=make, scope=scope)


def staff_post(path: str, make: Handler, scope: Scope, *, once: bool = False) -> Page:
    return Page(method="POST", path=path, who=Who.STAFF, make=make, scope=scope, once=once)


def staff_upload(path: str, make: Handler, scope: Scope, *, bytes_most: int) -> Page:
    """A form with files in it."""
    return Page(
        method="POST",
        path=path,
        who=Who.STAFF,
        make=make,
        scope=scope,
        body_bytes_most=bytes_most,
        takes_files=True,
    )
