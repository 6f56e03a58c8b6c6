"""The kinds of calls beside chat: how each is read."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from tollkeeper_simulator.media.answer import Fields, MediaOrder
from tollkeeper_simulator.media.embedding import read_batch_order, read_embedding_order
from tollkeeper_simulator.media.form import read_form, read_json
from tollkeeper_simulator.media.image import read_edit_order, read_image_order
from tollkeeper_simulator.media.sound import read_speech_order
from tollkeeper_simulator.media.transcript import read_transcript_order, read_translation_order
from tollkeeper_simulator.request import Request

Kind = Literal["image", "edit", "speech", "transcription", "translation", "embedding", "batch"]

# What a caller calls a field is told only if it looks like one.
_NAME = re.compile(r"[A-Za-z_]{1,40}(\[\])?")


class Reading(NamedTuple):
    """Fields out of a request, and an order out of fields."""

    fields: Callable[[Request], Fields]
    order: Callable[[Fields], MediaOrder]


READINGS: dict[Kind, Reading] = {
    "image": Reading(read_json, read_image_order),
    "edit": Reading(read_form, read_edit_order),
    "embedding": Reading(read_json, read_embedding_order),
    "batch": Reading(read_json, read_batch_order),
    "speech": Reading(read_json, read_speech_order),
    "transcription": Reading(read_form, read_transcript_order),
    "translation": Reading(read_form, read_translation_order),
}


def names_of(fields: Fields) -> str:
    """The names of the fields that came, and nothing of what was in them."""
    return ",".join(sorted(name if _NAME.fullmatch(name) else "?" for name in fields))
