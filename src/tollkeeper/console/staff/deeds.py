"""Deeds: an act on one thing, as a page of its own. It shows what the thing is and what the act does, asks for what the
act wants to know, and does it.

Rules of this file
1. A deed is a row: its page, its form and its answer are made from it.
2. What the address names is looked at before anything is done: a key of another account than it says is none.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from starlette.responses import Response

from tollkeeper.console.pages import Handler, Page, staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.visit import Visit
from tollkeeper.office.act import Act, Why


class DeedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the act's wish. A `date` is its first moment, UTC; a `box` is ticked or not."""

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    value: str = ""
    required: bool = True
    placeholder: str = ""


REASONS = {
    Why.NEEDED: (DeedField(name="reason", label="Reason", hint="It stays on the record, with your name."),),
    Why.WELCOME: (DeedField(name="reason", label="Reason", hint="It stays on the record.", required=False),),
    Why.NOT_ASKED: (),
}


class DeedSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What a deed is about: as it is called, and what there is to know of it. `choices`: what a field can be."""

    name: str
    facts: Sequence[tuple[str, object]] = ()
    choices: Mapping[str, Sequence[str]] = {}
    # Why it cannot be done by whoever looks; empty: it can.
    hindrance: str = ""


LookAt: TypeAlias = Callable[[Visit], Awaitable[DeedSubject]]


class StaffDeed(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    act: Act[Any, Any]
    look: LookAt
    title: str
    # What will happen, in a sentence or two.
    words: str
    button: str
    # Where to go back to, and on to: with the address's own parts, as {account}.
    back: str
    # The name of the note that is shown there.
    done: str = "done"
    # Beside the reason, which is asked for where the act takes one. A field of that name asks in its own words.
    fields: Sequence[DeedField] = ()
    is_grave: bool = False

    @property
    def asked(self) -> Sequence[DeedField]:
        own_words = any(field.name == "reason" for field in self.fields)
        return self.fields if own_words else (*self.fields, *REASONS[self.act.asks_why])


def pages_of(deeds: Sequence[StaffDeed]) -> tuple[Page, ...]:
    """A page that asks, and one that does, of each."""
    found: list[Page] = []
    for deed in deeds:
        act = deed.act
        found.append(staff_get(deed.path, _asking(deed), act.scope))
        found.append(staff_post(deed.path, _doing(deed), act.scope, once=act.moves_money))
    return tuple(found)


def _asking(deed: StaffDeed) -> Handler:
    async def ask(visit: Visit) -> Response:
        return _page(visit, deed, await deed.look(visit))

    return ask


def _doing(deed: StaffDeed) -> Handler:
    async def do(visit: Visit) -> Response:
        subject = await deed.look(visit)
        if await acted(visit, deed.act, **_given(visit, deed)) is None:
            return _page(visit, deed, subject)
        return visit.go(_back(visit, deed), done=deed.done)

    return do


def _given(visit: Visit, deed: StaffDeed) -> dict[str, Any]:
    """What the address says, and days as moments."""
    wanted = {field.name for field in msgspec.structs.fields(deed.act.wish)}
    given = {name: value for name, value in visit.request.path_params.items() if name in wanted}
    for field in deed.fields:
        if field.kind == "date" and (day := visit.form.text(field.name)):
            given[field.name] = f"{day}T00:00:00Z"
    return given


def _back(visit: Visit, deed: StaffDeed) -> str:
    return deed.back.format(**visit.request.path_params)


def _page(visit: Visit, deed: StaffDeed, subject: DeedSubject) -> Response:
    return visit.page("deed.html", deed=deed, subject=subject, back=_back(visit, deed))
