"""The parameters of orders that are not for chat, as far as they pass to a provider. All others are refused, by name.

Rules of this file
1. Listed is what changes neither the price nor where anything comes from. `core/calls/media` looks at the values of
   what is priced.
2. Names in forms are listed with their brackets, as SDKs write lists and objects.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.embedding import EmbeddingOrder
from tollkeeper.core.calls.image_edit import ImageEditOrder
from tollkeeper.core.calls.media import AudioOrder, ImageOrder, MediaOrder, SpeechOrder
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.providers.vendors.fields import not_listed

IMAGE_FIELDS = (
    *("model", "prompt", "n", "size", "quality", "stream", "response_format", "style", "background"),
    *("output_format", "output_compression", "moderation", "user", "safety_identifier"),
)
IMAGE_EDIT_FIELDS = (
    *("model", "prompt", "n", "size", "quality", "stream", "response_format", "background", "input_fidelity"),
    *("output_format", "output_compression", "moderation", "user", "safety_identifier"),
)
EMBEDDING_FIELDS = ("model", "input", "encoding_format", "dimensions", "user")
SPEECH_FIELDS = ("model", "input", "voice", "response_format", "speed", "stream_format", "instructions")
AUDIO_FIELDS = (
    *("model", "response_format", "stream", "language", "languages", "languages[]", "prompt", "temperature"),
    *("timestamp_granularities", "timestamp_granularities[]", "include", "include[]", "keywords", "keywords[]"),
    "chunking_strategy",
    *(f"chunking_strategy[{name}]" for name in ("type", "threshold", "prefix_padding_ms", "silence_duration_ms")),
)
MEDIA_FIELDS: Mapping[type[MediaOrder], frozenset[str]] = {
    ImageOrder: frozenset(IMAGE_FIELDS),
    ImageEditOrder: frozenset(IMAGE_EDIT_FIELDS),
    EmbeddingOrder: frozenset(EMBEDDING_FIELDS),
    SpeechOrder: frozenset(SPEECH_FIELDS),
    AudioOrder: frozenset(AUDIO_FIELDS),
}


def fitting_media(order: MediaOrder, passes: frozenset[str]) -> MediaOrder:
    """The order with what goes out of its parameters, to an account that the operator lets some more pass to. Raise
    UnsupportedParameter."""
    known = MEDIA_FIELDS[type(order)]
    if isinstance(order, AudioOrder | ImageEditOrder):
        for name, _ in (order.upload if isinstance(order, AudioOrder) else order.form).fields:
            _check(name, known, passes)
        return order
    if order.fields.keys() <= known:
        return order
    return msgspec.structs.replace(order, fields=_fitting(order.fields, known, passes))


def _fitting(fields: Mapping[str, Raw], known: frozenset[str], passes: frozenset[str]) -> dict[str, Raw]:
    """Null asks for nothing."""
    asking = {name: value for name, value in fields.items() if name in known or bytes(value) != b"null"}
    for name in asking:
        _check(name, known, passes)
    return asking


def _check(name: str, known: frozenset[str], passes: frozenset[str]) -> None:
    if name not in known and name not in passes:
        raise UnsupportedParameter(name, not_listed(name, known).note)
