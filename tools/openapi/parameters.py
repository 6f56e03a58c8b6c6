"""What may be sent: schemas of request bodies, made from the tables by which the gateway itself judges them.

Rules of this file
1. A parameter is listed because the gateway's table has it, never because this file does: `TYPES` adds its type alone.
2. Parameters that every vendor's accounts refuse are not listed.
"""

from collections.abc import Iterable, Mapping

from tollkeeper.core.dialects.messages.fields import COUNTED, PASSING
from tollkeeper.core.dialects.responses.form import LEFT_OUT
from tollkeeper.core.dialects.responses.form import PASSING as RESPONSES_PASSING
from tollkeeper.edge.quotes import QUOTED
from tollkeeper.providers.vendors.fields import FIELDS, Field, FieldVerdict, WireFormat
from tollkeeper.providers.vendors.media_fields import (
    AUDIO_FIELDS,
    EMBEDDING_FIELDS,
    IMAGE_EDIT_FIELDS,
    IMAGE_FIELDS,
    SPEECH_FIELDS,
)

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
LIST: Schema = {"type": "array"}
TEXT_OR_LIST: Schema = {"type": ["string", "array"]}
FILE: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
TYPES: Mapping[str, Schema] = {
    "model": {"type": "string", "description": "As GET /v1/models lists it."},
    "messages": {"type": "array", "items": OBJECT, "minItems": 1},
    **dict.fromkeys(
        ("stream", "parallel_tool_calls", "logprobs", "store", "enable_thinking", "include_reasoning"), FLAG
    ),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens", "n", "seed", "top_k"), WHOLE),
    **dict.fromkeys(("top_logprobs", "dimensions", "output_compression", "max_tool_calls", "min_tokens"), WHOLE),
    **dict.fromkeys(("temperature", "top_p", "frequency_penalty", "presence_penalty", "min_p", "speed"), NUMBER),
    **dict.fromkeys(("stream_options", "response_format", "metadata", "text", "reasoning"), OBJECT),
    **dict.fromkeys(("user", "prompt", "size", "quality", "style", "voice", "instructions", "language"), TEXT),
    **dict.fromkeys(("safety_identifier", "prompt_cache_key", "encoding_format", "background"), TEXT),
    **dict.fromkeys(("tools", "stop_sequences", "include"), LIST),
    **dict.fromkeys(("stop", "input", "system"), TEXT_OR_LIST),
}
# Where a name means something else than in chat.
IN_MEDIA: Mapping[str, Schema] = {"response_format": TEXT}
IN_SPEECH: Mapping[str, Schema] = {"response_format": TEXT, "input": TEXT}


def request_schemas() -> dict[str, Schema]:
    """By name, for `components`."""
    chat = _body({name: _told(field) for name, field in FIELDS.items() if _is_taken_somewhere(field)})
    responses = sorted(RESPONSES_PASSING | LEFT_OUT | {"tools"})
    return {
        "ChatCompletionRequest": chat | {"required": ["model", "messages"]},
        "MessagesRequest": _plain(sorted(PASSING)) | {"required": ["max_tokens", "messages", "model"]},
        "CountTokensRequest": _plain(sorted(COUNTED)) | {"required": ["messages", "model"]},
        "ResponsesRequest": _plain(responses) | {"required": ["input", "model"]},
        "EmbeddingsRequest": _plain(EMBEDDING_FIELDS) | {"required": ["input", "model"]},
        "ImageGenerationRequest": _plain(IMAGE_FIELDS, IN_MEDIA) | {"required": ["model", "prompt"]},
        "ImageEditRequest": _upload(IMAGE_EDIT_FIELDS, ("image", "image[]", "mask"), ["model", "prompt"]),
        "SpeechRequest": _plain(SPEECH_FIELDS, IN_SPEECH) | {"required": ["input", "model", "voice"]},
        "AudioRequest": _upload(AUDIO_FIELDS, ("file",), ["file", "model"]),
        "QuoteRequest": {
            "description": "The body of the call that is meant, with its path as `endpoint`.",
            "type": "object",
            "properties": {"endpoint": {"enum": list(QUOTED)}, "model": TYPES["model"]},
            "required": ["model"],
        },
        "KeyRequest": {"type": "object", "properties": {"api_key": TEXT}, "required": ["api_key"]},
    }


def _is_taken_somewhere(field: Field) -> bool:
    return any(field.in_form(form).verdict is not FieldVerdict.REFUSED for form in WireFormat)


def _told(field: Field) -> str:
    """What becomes of a parameter, where that differs."""
    treatments = {form.value: field.in_form(form) for form in WireFormat}
    if len(set(treatments.values())) == 1 and not field.compatible.note:
        return ""
    told = (f"{form}: {each.verdict}{each.note and ', '}{each.note}" for form, each in treatments.items())
    return "; ".join(told)


def _body(told: Mapping[str, str], types: Mapping[str, Schema] = TYPES) -> Schema:
    properties = {
        name: dict(types.get(name, {})) | ({"description": words} if words else {}) for name, words in told.items()
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _plain(names: Iterable[str], own: Mapping[str, Schema] | None = None) -> Schema:
    return _body(dict.fromkeys(names, ""), {**TYPES, **(own or {})})


def _upload(names: Iterable[str], files: Iterable[str], required: list[str]) -> Schema:
    return _plain([*names, *files], {**IN_MEDIA, **dict.fromkeys(files, FILE)}) | {"required": required}
