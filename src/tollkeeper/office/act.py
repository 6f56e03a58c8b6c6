"""An act: something that staff can do, with all that its callers must know of it.

Rules of this file
1. What a wish says in `reason` is checked here, and stands in every row that the act puts on record. A wish whose
   `reason` has no default needs one. Which acts ask for it is said in `office/reasons`.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import cached_property
from typing import Generic, TypeVar, get_type_hints

import msgspec

from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.people.reasons import because
from tollkeeper.office.desks import Office
from tollkeeper.office.wishes import ReasonText

# Requests of these methods have no body: what they ask for stands in the address.
WITHOUT_BODY = ("GET", "DELETE")
IN_PATH = re.compile(r"{(\w+)}")

Wish = TypeVar("Wish", bound=msgspec.Struct)
Result = TypeVar("Result", bound=msgspec.Struct)
Deed = Callable[[Office, Wish, Actor], Awaitable[Result]]


class Why(StrEnum):
    """Whether whoever acts says why."""

    NEEDED = "needed"
    WELCOME = "welcome"
    NOT_ASKED = "not asked"


class OnceWish(msgspec.Struct, frozen=True, kw_only=True):
    """What every act is asked that moves money. `once`: the name of this very request; a second one of the same name
    moves nothing and gets the answer of the first. Over HTTP it comes as `Idempotency-Key`, never in the body. (The
    answers are kept: acts that show a secret cannot be asked this way, and are done once by what they do.)"""

    once: str


class MoneyWish(OnceWish, frozen=True, kw_only=True):
    """What staff decide about money, and why."""

    reason: ReasonText


class Act(Generic[Wish, Result]):
    def __init__(self, method: str, path: str, scope: Scope, deed: Deed[Wish, Result]) -> None:
        hints = get_type_hints(deed)
        self.method = method
        # Below /admin/v1: /accounts/{account}; what stands in braces is a field of the wish.
        self.path = path
        self.scope = scope
        self.deed = deed
        self.name = deed.__name__
        self.summary = " ".join(inspect.cleandoc(deed.__doc__ or "").split())
        self.wish: type[Wish] = hints["wish"]
        self.result: type[Result] = hints["return"]

    async def __call__(self, office: Office, wish: Wish, by: Actor) -> Result:
        """Raise ValueError for a reason that is missing or will not do, and whatever the deed raises."""
        with because(self._reason(wish)):
            return await self.deed(office, wish, by)

    @cached_property
    def asks_why(self) -> Why:
        for field in msgspec.structs.fields(self.wish):
            if field.name == "reason":
                return Why.NEEDED if field.required else Why.WELCOME
        return Why.NOT_ASKED

    def _reason(self, wish: Wish) -> str:
        said: str = getattr(wish, "reason", "")
        return checked_reason(said) if said or self.asks_why is Why.NEEDED else ""

    @property
    def moves_money(self) -> bool:
        return issubclass(self.wish, OnceWish)

    @property
    def has_body(self) -> bool:
        return self.method not in WITHOUT_BODY

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The fields of the wish that stand in the path."""
        return tuple(IN_PATH.findall(self.path))

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The other fields of the wish that a request names, in its body or after the question mark."""
        elsewhere = {*self.in_path, *(("once",) if self.moves_money else ())}
        return tuple(field.name for field in msgspec.structs.fields(self.wish) if field.name not in elsewhere)


def act(method: str, path: str, scope: Scope) -> Callable[[Deed[Wish, Result]], Act[Wish, Result]]:
    """Make an act of a coroutine function: its docstring tells people what it does."""

    def decorate(deed: Deed[Wish, Result]) -> Act[Wish, Result]:
        return Act(method, path, scope, deed)

    return decorate
