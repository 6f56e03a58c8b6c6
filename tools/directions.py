"""The reference page of the demo provider's directions, made from the tables that read them."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec

from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.forms import ALL
from tollkeeper_simulator.hostile.wording import FORMS

# What the places of a form are called at each vendor.
VENDORS = {
    "openai": {
        "message": "in the message or delta",
        "choice": "in the choice",
        "top": "beside the choices",
        "alone": "the whole, without choices",
    },
    "anthropic": {"message": "a content block"},
    "gemini": {"message": "a part"},
}


INTRODUCTION = """# Directions of the demo provider

`tollkeeper demo provider` answers as the caller's last user message says, or the prompt of an image or a transcript, or
the input of speech: `[[tokens=200 chunk_ms=5]]`. A value with spaces stands in double quotes. Several blocks add up,
and the later wins. A block with `only=NAME` is for the provider of that `--name` alone. `*_at=K` means after K content
chunks; 0 is before any event.

Without any it says plain words. It calls a tool where the caller insists on one (`tool_choice` is `required`, or names
it) or writes "call the tool". What it calls it with, and what it says where `response_format` has a schema, fits that
schema and means nothing; `pattern` is not kept to. Its speech is silence, which can be played and transcribed as mp3
and wav. `tollkeeper demo` runs one behind a whole gateway ([start](../guides/start.md)).
"""
HOSTILE_INTRODUCTION = """
## Of a malicious provider

These need `--hostile`; without it a call that has one is refused. In values that are JSON, single quotes stand for
double ones: `usage_value="'7':[1]:1e400"`. The truth counts what was sent, in whatever form it was, and whatever the
usage says.
"""
FORMS_INTRODUCTION = f"""
## Forms in which output hides

The words of the answer stand where `@` is, in streams and in whole answers alike. `azure` has the forms of `openai`.
With `hide={ALL}` those of `openai` take turns.
"""


def directions_page() -> Iterator[str]:
    yield INTRODUCTION
    yield from _table(Directions)
    yield HOSTILE_INTRODUCTION
    yield from _table(Hostile)
    yield FORMS_INTRODUCTION
    yield "| vendor | form | where | |\n|---|---|---|---|"
    for vendor, places in VENDORS.items():
        for name, form in FORMS[vendor].items():
            yield f"| {vendor} | `{name}` | {places[form.place]} | `{_shortened(form.template)}` |"


def _table(of: type[msgspec.Struct]) -> Iterator[str]:
    yield "| direction | type | default | what it does |\n|---|---|---|---|"
    for field in msgspec.structs.fields(of):
        kind, *notes = get_args(field.type)
        told = [note.description for note in notes if isinstance(note, msgspec.Meta)]
        # The hostile ones are a member of the others without a description: no direction of that name exists.
        if told:
            yield f"| `{field.name}` | {_type(kind)} | {_default(field.default)} | {told[0]} |"


def _type(kind: Any) -> str:
    if isinstance(kind, type):
        return {"int": "number", "float": "number", "str": "text", "bool": "true or false"}[kind.__name__]
    values = get_args(kind)
    if get_origin(kind) is not None and all(isinstance(value, str) for value in values):
        return ", ".join(f"`{value}`" for value in values if value)
    return next(_type(value) for value in values if value is not type(None))


def _default(value: object) -> str:
    return "" if value is None or value == "" else f"`{str(value).lower()}`"


def _shortened(template: bytes) -> str:
    text = template.decode()
    return text if len(text) <= 120 else f"{text[:30]}…@…{text[-10:]}"
