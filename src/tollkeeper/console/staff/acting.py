"""From a form of staff to an act: its fields become the wish, and what the act refuses stands on the form.

Rules of this file
1. Fields of a form are named as those of the wish. One that was left empty is not asked for.
2. An act that moves money is named by the form's id: a form that is sent twice moves money once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from tollkeeper.console.admin.refusals import judged
from tollkeeper.console.forms import ONCE_FIELD
from tollkeeper.console.visit import Visit
from tollkeeper.office.act import Act, Result, Wish
from tollkeeper.ports import NotOnFile

LISTS = (inspect.ListType, inspect.VarTupleType)

# As msgspec says where something is wrong: "Expected `str` of length >= 1 - at `$.reason`"
_PLACE = re.compile(r" - at `\$\.?(\w*)[^`]*`$")


async def acted(visit: Visit, act: Act[Wish, Result], **given: Any) -> Result | None:
    """Do what the form asks for, or the address of a page that lists or shows. `given`: fields of the wish that come
    from elsewhere. None: it was refused, and the form says why; the page is to be shown with it. A page of something
    that is not there raises NotOnFile, and so is none."""
    try:
        return await act(visit.desks.office, _wish_of(visit, act, given), visit.by)
    except msgspec.ValidationError as problem:
        place = _PLACE.search(str(problem))
        visit.form.refuse(place[1] if place else "", f"{_PLACE.sub('', str(problem))}. Nothing was done.")
    except Exception as problem:  # What is no refusal goes on as it came.
        if visit.request.method == "GET" and isinstance(problem, NotOnFile):
            raise
        found = judged(problem)
        words = found[2] if found else visit.desks.database_words(problem)
        if words is None:
            raise
        visit.form.refuse("", words)
    return None


def _wish_of(visit: Visit, act: Act[Wish, Result], given: Mapping[str, Any]) -> Wish:
    sent = visit.form.every if visit.request.method == "POST" else _in_address(visit)
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(act.wish):
        texts = [text for text in sent(field.name) if text]
        if field.name in given:
            values[field.name] = given[field.name]
        elif field.name == "once" and act.moves_money:
            values["once"] = f"{visit.actor}:{visit.form.exactly(ONCE_FIELD)}"
        elif texts:
            values[field.name] = texts if _is_list(field.type) else texts[0]
        elif field.name == "reason" and field.required:
            # The act says in its own words that it needs one.
            values["reason"] = ""
    return msgspec.convert(values, act.wish, strict=False)


def _in_address(visit: Visit) -> Callable[[str], list[str]]:
    return lambda name: [text.strip() for text in visit.request.query_params.getlist(name)]


def _is_list(kind: Any) -> bool:
    return any(isinstance(each, LISTS) for each in _alternatives(inspect.type_info(kind)))


def _alternatives(kind: inspect.Type) -> Sequence[inspect.Type]:
    return kind.types if isinstance(kind, inspect.UnionType) else [kind]
