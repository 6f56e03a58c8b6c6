"""The protocol's parameters, and what each kind of vendor makes of them. The reference page is generated from here.

Rules of this file
1. What a vendor cannot do is refused, by name. It is left out only where the answer is the same without it, or where
   the protocol promises nothing.
2. What would cost the operator more than the model's price says, keep a caller's words at a provider, or read what the
   operator has there, is not passed on to anybody. What has a price of its own passes where the model's price has it
   (`core/calls/chat_extras`).
3. A value that asks for nothing (`n` of 1, a penalty of 0) is as good as none.
4. Parameters that are not listed are refused: nobody could say what a provider would make of them, fetch for them or
   charge. An operator may let more pass to an account (`passes`), but nothing that stands here.
5. Names are told apart to the letter, for a provider may read `Service_Tier` as `service_tier`.
"""

import unicodedata
from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.json_numbers import read_float
from tollkeeper.core.errors import UnsupportedParameter


class WireFormat(StrEnum):
    """A form that orders are sent in."""

    COMPATIBLE = "compatible"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class FieldVerdict(StrEnum):
    TAKEN = "taken"
    DROPPED = "left out"
    REFUSED = "refused"


class Treatment(msgspec.Struct, frozen=True):
    """What becomes of a parameter, and in words why, or how."""

    verdict: FieldVerdict
    note: str = ""


class Field(msgspec.Struct, frozen=True):
    """One parameter: what becomes of it in each form, and the values that ask for nothing."""

    compatible: Treatment
    anthropic: Treatment
    gemini: Treatment
    idle: tuple[object, ...] = ()

    def in_form(self, form: WireFormat) -> Treatment:
        treatment: Treatment = getattr(self, form.value)
        return treatment


def dropped(note: str) -> Treatment:
    return Treatment(FieldVerdict.DROPPED, note)


def refused(note: str) -> Treatment:
    return Treatment(FieldVerdict.REFUSED, note)


def taken(note: str) -> Treatment:
    return Treatment(FieldVerdict.TAKEN, note)


PASSES = Treatment(FieldVerdict.TAKEN)
EVERYWHERE = Field(PASSES, PASSES, PASSES)

NO_SUCH_THING = refused("this model's provider has no such setting")
NOT_LISTED = refused("this service does not know it, and its operator has not let it pass; leave it out")
UNKNOWN = refused("it is not a parameter that can be translated for this model's provider")
NO_PROMISE = dropped("the protocol promises nothing by it")
NOT_STORED = dropped("answers are not stored")
IS_REPORTED = dropped("usage is reported anyway")
NO_TIERS = refused("it changes what the provider charges, and this service has one price; send auto or default")
NOT_OURS = refused("it would have the provider read what is this service's own")
NO_SEARCH = refused("it is not translated for this model's provider; use /v1/messages, or leave it out")
NOT_SOLD = refused("it has the provider ask another model, which this service does not sell")
NO_SPEECH = refused("this model's provider answers in text here; for speech use /v1/audio/speech")
WHERE_PRICED = taken("where the model's price has it")
UNCOUNTED = dropped("the answer is the same without it, and what is predicted wrongly would be charged as output")
NO_DETOUR = refused("where an order goes, and with whose key, is for this service to say")
ONE_MODEL = refused("a call is priced as one of one model; name it in model")
NO_PLUGINS = refused("what a provider adds to an order is charged beside its tokens or not counted")
USES_MORE = refused("it has the provider make more than it answers, and charge for that")
PUT_IT_IN_MESSAGES = refused("what it holds would not be counted; put it into messages")
WHERE_KNOWN = Field(taken("where the provider has it"), UNKNOWN, UNKNOWN)
NOWHERE = {
    **dict.fromkeys(("api_base", "base_url", "api_key", "api_version", "api_type", "organization"), NO_DETOUR),
    **dict.fromkeys(("headers", "extra_headers", "extra_query", "extra_body", "custom_llm_provider"), NO_DETOUR),
    **dict.fromkeys(("models", "fallbacks", "route", "provider", "preset"), ONE_MODEL),
    **dict.fromkeys(("plugins", "transforms", "tool_resources", "mcp_servers"), NO_PLUGINS),
    **dict.fromkeys(("best_of", "use_beam_search"), USES_MORE),
    "documents": PUT_IT_IN_MESSAGES,
    "chat_template": refused("how messages become a prompt is for the model's provider to say"),
}
USE_TOOLS = refused("it is the old form of tools; send tools and tool_choice")

FIELDS: Mapping[str, Field] = {
    "model": EVERYWHERE,
    "messages": Field(
        taken("texts, images, audio, documents, tools; of these, images by public address too"),
        taken("texts, images, documents, tools; not audio, nor names of speakers"),
        taken("texts, images, audio, documents, tools; images and documents as data, not by address"),
    ),
    "stream": EVERYWHERE,
    "stream_options": Field(taken("include_usage, include_obfuscation"), PASSES, PASSES),
    "max_tokens": EVERYWHERE,
    "max_completion_tokens": EVERYWHERE,
    "stop": EVERYWHERE,
    "temperature": Field(PASSES, taken("from 0 to 1"), PASSES),
    "top_p": EVERYWHERE,
    "top_k": Field(taken("where the provider has it"), PASSES, PASSES),
    "tools": Field(taken("functions and custom tools"), taken("functions"), taken("functions")),
    "tool_choice": Field(PASSES, taken("not lists of allowed tools"), taken("not lists of allowed tools")),
    "parallel_tool_calls": Field(PASSES, PASSES, taken("of several calls at once, the first is passed on"), (True,)),
    "response_format": Field(PASSES, taken("json_schema; a plain json_object is refused"), PASSES),
    "reasoning_effort": EVERYWHERE,
    "thinking": Field(taken("where the provider has it"), taken("as the vendor defines it"), UNKNOWN),
    "cache_control": Field(
        taken("where the provider has it, for 5 minutes, or for an hour where the model's price has it"),
        taken("for 5 minutes, or for an hour where the model's price has it"),
        NO_PROMISE,
    ),
    "reasoning": WHERE_KNOWN,
    "include_reasoning": WHERE_KNOWN,
    "reasoning_format": WHERE_KNOWN,
    "enable_thinking": WHERE_KNOWN,
    "thinking_budget": WHERE_KNOWN,
    "min_p": WHERE_KNOWN,
    "top_a": WHERE_KNOWN,
    "typical_p": WHERE_KNOWN,
    "repetition_penalty": WHERE_KNOWN,
    "min_tokens": WHERE_KNOWN,
    "stop_token_ids": WHERE_KNOWN,
    "n": Field(PASSES, refused("this model's provider gives one answer to a call"), PASSES, (1,)),
    "seed": Field(PASSES, NO_PROMISE, PASSES),
    "frequency_penalty": Field(PASSES, NO_SUCH_THING, PASSES, (0,)),
    "presence_penalty": Field(PASSES, NO_SUCH_THING, PASSES, (0,)),
    "logit_bias": Field(PASSES, NO_SUCH_THING, NO_SUCH_THING, ({},)),
    "logprobs": Field(PASSES, NO_SUCH_THING, refused("it is not translated for this model's provider"), (False,)),
    "top_logprobs": Field(PASSES, NO_SUCH_THING, refused("it is not translated for this model's provider"), (0,)),
    "verbosity": Field(PASSES, NO_SUCH_THING, NO_SUCH_THING, ("medium",)),
    "prediction": Field(UNCOUNTED, NO_PROMISE, NO_PROMISE),
    "user": Field(PASSES, taken("as metadata.user_id"), NO_PROMISE),
    "safety_identifier": Field(PASSES, taken("as metadata.user_id"), NO_PROMISE),
    "prompt_cache_key": Field(PASSES, NO_PROMISE, NO_PROMISE),
    "prompt_cache_options": Field(taken("for the vendor's usual time"), NO_PROMISE, NO_PROMISE),
    "prompt_cache_retention": Field(NOT_STORED, NO_PROMISE, NO_PROMISE),
    "functions": Field(PASSES, USE_TOOLS, USE_TOOLS),
    "function_call": Field(PASSES, USE_TOOLS, USE_TOOLS),
    "usage": Field(IS_REPORTED, IS_REPORTED, IS_REPORTED),
    "store": Field(NOT_STORED, NOT_STORED, NOT_STORED, (False,)),
    "metadata": Field(NOT_STORED, NOT_STORED, NOT_STORED, ({},)),
    "service_tier": Field(NO_TIERS, NO_TIERS, NO_TIERS, ("auto", "default")),
    "data_sources": Field(NOT_OURS, NOT_OURS, NOT_OURS),
    "web_search_options": Field(WHERE_PRICED, NO_SEARCH, NO_SEARCH),
    "audio": Field(WHERE_PRICED, NO_SPEECH, NO_SPEECH),
    "modalities": Field(WHERE_PRICED, NO_SPEECH, NO_SPEECH, (["text"],)),
    "moderation": Field(NOT_SOLD, NOT_SOLD, NOT_SOLD),
    **{name: Field(treatment, treatment, treatment) for name, treatment in NOWHERE.items()},
}

# An order with nothing else in it passes as it came.
PASSING = frozenset(name for name, field in FIELDS.items() if field.compatible.verdict is FieldVerdict.TAKEN)
# What an account can be said not to take, although its vendor does; nobody can be asked anything without the others.
CAN_BE_REJECTED = FIELDS.keys() - NOWHERE.keys() - {"model", "messages", "stream"}
# Without these an answer is the same, or as good as it can be.
CAN_BE_SPARED = frozenset(
    {
        *("stream_options", "temperature", "top_p", "top_k"),
        *(name for name, field in FIELDS.items() if NO_PROMISE in {field.anthropic, field.gemini}),
    }
)
# Who does not know one of these knows the other.
OTHER_NAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

NOT_BY_THIS_ONE = refused("the provider of this model does not take it")

decode = msgspec.json.Decoder(float_hook=read_float).decode


def fitting(
    fields: Mapping[str, Raw], form: WireFormat, *, rejects: frozenset[str], passes: frozenset[str] = frozenset()
) -> dict[str, Raw]:
    """What of an order's parameters goes out in this form, to an account that `rejects` some, and that the operator
    lets some more pass to. Raise UnsupportedParameter."""
    kept: dict[str, Raw] = {}
    for name, value in fields.items():
        if name in OTHER_NAMES and (name in rejects or OTHER_NAMES[name] in rejects):
            # The one that has a value counts, under the name that is known.
            known = OTHER_NAMES[name] if name in rejects else name
            if bytes(value) != b"null" and (name == known or known not in kept):
                kept[known] = value
            continue
        treatment = PASSES if name in passes else _treatment(name, form, rejects)
        if treatment.verdict is FieldVerdict.TAKEN:
            kept[name] = value
        elif treatment.verdict is FieldVerdict.REFUSED and not _asks_for_nothing(name, value):
            raise UnsupportedParameter(name, treatment.note)
    return kept


def _treatment(name: str, form: WireFormat, rejects: frozenset[str]) -> Treatment:
    if name in rejects:
        return NO_PROMISE if name in CAN_BE_SPARED else NOT_BY_THIS_ONE
    field = FIELDS.get(name)
    return field.in_form(form) if field is not None else not_listed(name, FIELDS)


def not_listed(name: str, known: Collection[str]) -> Treatment:
    meant = unicodedata.normalize("NFKC", name).casefold()
    if meant != name and meant in known:
        return refused(f"parameters are written as the protocol has them; send {meant}")
    return NOT_LISTED


def _asks_for_nothing(name: str, value: Raw) -> bool:
    """As null does in any place."""
    if bytes(value) == b"null":
        return True
    field = FIELDS.get(name)
    return field is not None and bool(field.idle) and decode(value) in field.idle
