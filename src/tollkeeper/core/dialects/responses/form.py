"""The form of a Responses order: its parameters, and what becomes of each.

Rules of this file
1. Nothing is stored, here or at a provider. What refers to something stored is refused, in words that say what to send
   instead.
2. Parameters that are not listed are refused, as in chat. Members of items that are not known cost nothing and pass;
   only parts that hold media must be known to the last member, for a provider could fetch what they name.
3. Names are told apart to the letter.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw

from tollkeeper.core.calls.chat import TOKENS_MOST, WANTED, WholeNumber
from tollkeeper.core.calls.chat_form import CheckedInputAudio, PromptCache, Word, wanted_inside
from tollkeeper.core.calls.json_numbers import read_float
from tollkeeper.core.errors import InvalidParameter, MalformedBody, UnsupportedParameter

NOTHING = Raw(b"null")
ENCRYPTED = "reasoning.encrypted_content"

# Sent on as they came to an account that speaks this protocol. Tools are chosen among, `store` is always false.
PASSING = frozenset(
    {
        *("model", "input", "instructions", "stream", "stream_options", "max_output_tokens", "temperature", "top_p"),
        *("tool_choice", "parallel_tool_calls", "text", "reasoning", "include", "truncation", "prompt_cache_key"),
        *("prompt_cache_options", "safety_identifier", "user", "max_tool_calls"),
    }
)
# What asks for nothing that anybody would miss: labels of stored answers, and how long they are kept.
LEFT_OUT = frozenset({"store", "metadata", "client_metadata", "prompt_cache_retention", "context_management"})
SEND_ALL = "nothing is stored here; send the whole conversation as input"
# By name: the values that ask for nothing, and why any other is refused.
REFUSED: Mapping[str, tuple[tuple[object, ...], str]] = {
    "previous_response_id": ((), SEND_ALL),
    "conversation": ((), SEND_ALL),
    "prompt": ((), "stored prompts lie at the provider, and are not yours; send their text as instructions or input"),
    "background": ((False,), "nothing is stored here that could be fetched later; stream the answer, or wait for it"),
    "service_tier": (
        ("auto", "default"),
        "it changes what the provider charges, and this service has one price; send auto or default",
    ),
    "moderation": ((), "it has the provider ask another model, which this service does not sell"),
    "top_logprobs": ((0,), "it is not passed on here; use /v1/chat/completions"),
    "access_programs": ((), "it is for the provider's own customers"),
    "image": ((), "this service does not pass it on"),
}


class ResponseStreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    include_obfuscation: bool | None = None


class TextFormat(msgspec.Struct):
    type: str = "text"
    name: Raw = NOTHING
    description: Raw = NOTHING
    schema: Raw = NOTHING
    strict: bool | None = None


class TextConfig(msgspec.Struct):
    format: TextFormat | None = None
    verbosity: Word | None = None


class ReasoningConfig(msgspec.Struct):
    effort: Word | None = None
    summary: Word | None = None
    # Any other has the provider make more than one answer, and charge for it.
    mode: Literal["standard"] | None = None


class ResponsesFields(msgspec.Struct):
    """The parameters that are priced, translated, or looked into."""

    model: str | None = None
    input: str | list[Raw] | None = None
    instructions: str | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    max_output_tokens: WholeNumber | None = None
    tools: list[Raw] | None = None
    tool_choice: Raw = NOTHING
    parallel_tool_calls: bool | None = None
    text: TextConfig | None = None
    reasoning: ReasoningConfig | None = None
    include: list[str] | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=1_024)] | None = None
    prompt_cache_options: PromptCache | None = None


class InputItem(msgspec.Struct):
    """One item of the input; what it may have beyond this says nothing that is priced."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    content: str | list[Raw] | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    # Of a function's call, and of a custom tool's.
    arguments: str | None = None
    input: Raw = NOTHING
    output: Raw = NOTHING
    encrypted_content: str | None = None


class InputPart(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None


class InputImage(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    image_url: Raw = NOTHING
    detail: Word | None = None
    file_id: None = None
    prompt_cache_breakpoint: PromptCache | None = None


class InputFile(msgspec.Struct, forbid_unknown_fields=True):
    """A file that stands in the input. One by address or id would be fetched by the provider, uncounted or not ours."""

    type: str
    file_data: Raw = NOTHING
    filename: Word | None = None
    detail: Word | None = None
    file_id: None = None
    file_url: None = None
    prompt_cache_breakpoint: PromptCache | None = None


class InputSound(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    input_audio: CheckedInputAudio


WANTED_OF_ITEMS = (
    "must be an item with a type that is known here: message, reasoning, function_call, function_call_output, "
    "custom_tool_call or custom_tool_call_output, and those of tools that you run yourself"
)
WANTED_OF_CONTENT = "must be input_text, output_text, refusal, input_image, input_file or input_audio"
WANTED_HERE = {
    "model": WANTED["model"],
    "stream": WANTED["stream"],
    "stream_options": WANTED["stream_options"],
    "max_output_tokens": f"must be a whole number from 1 to {TOKENS_MOST:,}",
    "input": "must be a text, or an array of at least one item",
    "instructions": "must be a text",
    "tools": "must be an array of tools",
    "parallel_tool_calls": "must be true or false",
    "text": "must be an object with a format",
    "reasoning": "must be an object with an effort, and of no other mode than standard",
    "include": "must be an array of texts",
    "prompt_cache_key": "must be a text of at most 1,024 characters",
}
ITEM_NAMES = frozenset(InputItem.__struct_fields__)

_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
DecodedValue = TypeVar("DecodedValue")

decode_asked = msgspec.json.Decoder(ResponsesFields).decode
decode_item = msgspec.json.Decoder(InputItem).decode
decode_part = msgspec.json.Decoder(InputPart).decode
decode_image = msgspec.json.Decoder(InputImage).decode
decode_file = msgspec.json.Decoder(InputFile).decode
decode_sound = msgspec.json.Decoder(InputSound).decode
decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
decode_text: Callable[[Raw], str] = msgspec.json.Decoder(str).decode
decode_anything = msgspec.json.Decoder(float_hook=read_float).decode


def wanted_here(place: str) -> str:
    """What to send instead of what is wrong at a place of the body."""
    return WANTED_HERE.get(place.partition(".")[0].partition("[")[0]) or wanted_inside(place) or "is not of this form"


def decode_at(decode: Callable[[Raw], DecodedValue], value: Raw, place: str, wanted: str) -> DecodedValue:
    """A value that stands at a place of the body. Raise InvalidParameter."""
    try:
        return decode(value)
    except msgspec.ValidationError as problem:
        inside = _PLACE.search(str(problem))
        name = f"{place}.{inside['place']}" if inside and inside["place"] else place
        raise InvalidParameter(name, wanted_inside(name) or wanted) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedBody from None


def check_parameters(fields: Mapping[str, Raw]) -> None:
    """Raise UnsupportedParameter for what is not listed, or asks for what nobody does here."""
    for name, value in fields.items():
        if name in PASSING or name in LEFT_OUT or name == "tools" or bytes(value) == b"null":
            continue
        if name not in REFUSED:
            raise UnsupportedParameter(name, "this service does not know it; leave it out")
        idle, because = REFUSED[name]
        if decode_anything(value) not in idle:
            raise UnsupportedParameter(name, because)
