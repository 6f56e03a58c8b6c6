"""The protocol's parameters, and what each kind of vendor makes of them. The reference page is generated from here.

Rules of this file
1. What a vendor cannot do is refused, by name. It is left out only where the answer is the same without it, or where
   the protocol promises nothing.
2. What would cost the operator more than the model's price says, keep a caller's words at a provider, or read what the
   operator has there, is not passed on to anybody. What a vendor charges more for by itself (writing to its cache, very
   long input) is for the price to include.
3. A value that asks for nothing (`n` of 1, a penalty of 0) is as good as none.
4. Parameters that are not listed pass to vendors that speak the protocol, for we do not own it; where an order must be
   translated they are refused, for nobody could say what became of them.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Raw

from tollkeeper.core.errors import UnsupportedParameter


class Form(StrEnum):
    """A form that orders are sent in."""

    COMPATIBLE = "compatible"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class Verdict(StrEnum):
    TAKEN = "taken"
    DROPPED = "left out"
    REFUSED = "refused"


class Treatment(msgspec.Struct, frozen=True):
    """What becomes of a parameter, and in words why, or how."""

    verdict: Verdict
    note: str = ""


class Field(msgspec.Struct, frozen=True):
    """One parameter: what becomes of it in each form, and the values that ask for nothing."""

    compatible: Treatment
    anthropic: Treatment
    gemini: Treatment
    idle: tuple[object, ...] = ()

    def in_form(self, form: Form) -> Treatment:
        treatment: Treatment = getattr(self, form.value)
        return treatment


def dropped(note: str) -> Treatment:
    return Treatment(Verdict.DROPPED, note)


def refused(note: str) -> Treatment:
    return Treatment(Verdict.REFUSED, note)


def taken(note: str) -> Treatment:
    return Treatment(Verdict.TAKEN, note)


PASSES = Treatment(Verdict.TAKEN)
EVERYWHERE = Field(PASSES, PASSES, PASSES)

NO_SUCH_THING = refused("this model's provider has no such setting")
UNKNOWN = refused("it is not a parameter that can be translated for this model's provider")
NO_PROMISE = dropped("the protocol promises nothing by it")
NOT_STORED = dropped("answers are not stored")
NO_TIERS = refused("it changes what the provider charges, and this service has one price; send auto or default")
NOT_OURS = refused("it would have the provider read what is this service's own")
NO_SEARCH = refused("searches are charged beside tokens, and this service does not sell them")
NO_SPEECH = refused("spoken answers are charged otherwise than text; use /v1/audio/speech")
USE_TOOLS = refused("it is the old form of tools; send tools and tool_choice")

FIELDS: Mapping[str, Field] = {
    "model": EVERYWHERE,
    "messages": Field(
        PASSES,
        taken("texts, images, documents, tools; not audio, nor names of speakers"),
        taken("texts, images, audio, documents, tools; images and documents as data, not by address"),
    ),
    "stream": EVERYWHERE,
    "stream_options": EVERYWHERE,
    "max_tokens": EVERYWHERE,
    "max_completion_tokens": EVERYWHERE,
    "stop": EVERYWHERE,
    "temperature": Field(PASSES, taken("from 0 to 1"), PASSES),
    "top_p": EVERYWHERE,
    "top_k": Field(taken("where the provider has it"), PASSES, PASSES),
    "tools": Field(PASSES, taken("functions"), taken("functions")),
    "tool_choice": Field(PASSES, taken("not lists of allowed tools"), taken("not lists of allowed tools")),
    "parallel_tool_calls": Field(PASSES, PASSES, taken("of several calls at once, the first is passed on"), (True,)),
    "response_format": Field(PASSES, taken("json_schema; a plain json_object is refused"), PASSES),
    "reasoning_effort": EVERYWHERE,
    "thinking": Field(taken("where the provider has it"), taken("as the vendor defines it"), UNKNOWN),
    "cache_control": Field(taken("where the provider has it"), taken("for 5 minutes"), NO_PROMISE),
    "n": Field(PASSES, refused("this model's provider gives one answer to a call"), PASSES, (1,)),
    "seed": Field(PASSES, NO_PROMISE, PASSES),
    "frequency_penalty": Field(PASSES, NO_SUCH_THING, PASSES, (0,)),
    "presence_penalty": Field(PASSES, NO_SUCH_THING, PASSES, (0,)),
    "logit_bias": Field(PASSES, NO_SUCH_THING, NO_SUCH_THING, ({},)),
    "logprobs": Field(PASSES, NO_SUCH_THING, refused("it is not translated for this model's provider"), (False,)),
    "top_logprobs": Field(PASSES, NO_SUCH_THING, refused("it is not translated for this model's provider"), (0,)),
    "verbosity": Field(PASSES, NO_SUCH_THING, NO_SUCH_THING, ("medium",)),
    "prediction": Field(PASSES, NO_PROMISE, NO_PROMISE),
    "user": Field(PASSES, taken("as metadata.user_id"), NO_PROMISE),
    "safety_identifier": Field(PASSES, taken("as metadata.user_id"), NO_PROMISE),
    "prompt_cache_key": Field(PASSES, NO_PROMISE, NO_PROMISE),
    "prompt_cache_options": Field(PASSES, NO_PROMISE, NO_PROMISE),
    "prompt_cache_retention": Field(NOT_STORED, NO_PROMISE, NO_PROMISE),
    "functions": Field(PASSES, USE_TOOLS, USE_TOOLS),
    "function_call": Field(PASSES, USE_TOOLS, USE_TOOLS),
    "store": Field(NOT_STORED, NOT_STORED, NOT_STORED, (False,)),
    "metadata": Field(NOT_STORED, NOT_STORED, NOT_STORED, ({},)),
    "service_tier": Field(NO_TIERS, NO_TIERS, NO_TIERS, ("auto", "default")),
    "data_sources": Field(NOT_OURS, NOT_OURS, NOT_OURS),
    "web_search_options": Field(NO_SEARCH, NO_SEARCH, NO_SEARCH),
    "audio": Field(NO_SPEECH, NO_SPEECH, NO_SPEECH),
    "modalities": Field(NO_SPEECH, NO_SPEECH, NO_SPEECH, (["text"],)),
}

# What must be looked at in an order that otherwise passes as it came.
WATCHED = frozenset(name for name, field in FIELDS.items() if field.compatible.verdict is not Verdict.TAKEN)
# What an account can be said not to take, although its vendor does; nobody can be asked anything without the others.
CAN_BE_REJECTED = FIELDS.keys() - {"model", "messages", "stream"}
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

decode = msgspec.json.Decoder().decode


def fitting(fields: Mapping[str, Raw], form: Form, rejects: frozenset[str]) -> dict[str, Raw]:
    """What of an order's parameters goes out in this form, to an account that `rejects` some. Raise
    UnsupportedParameter."""
    kept: dict[str, Raw] = {}
    for name, value in fields.items():
        if name in OTHER_NAMES and (name in rejects or OTHER_NAMES[name] in rejects):
            # The one that has a value counts, under the name that is known.
            known = OTHER_NAMES[name] if name in rejects else name
            if bytes(value) != b"null" and (name == known or known not in kept):
                kept[known] = value
            continue
        treatment = _treatment(name, form, rejects)
        if treatment.verdict is Verdict.TAKEN:
            kept[name] = value
        elif treatment.verdict is Verdict.REFUSED and not _asks_for_nothing(name, value):
            raise UnsupportedParameter(name, treatment.note)
    return kept


def _treatment(name: str, form: Form, rejects: frozenset[str]) -> Treatment:
    if name in rejects:
        return NO_PROMISE if name in CAN_BE_SPARED else NOT_BY_THIS_ONE
    field = FIELDS.get(name)
    if field is None:
        return PASSES if form is Form.COMPATIBLE else UNKNOWN
    return field.in_form(form)


def _asks_for_nothing(name: str, value: Raw) -> bool:
    """As null does in any place."""
    if bytes(value) == b"null":
        return True
    field = FIELDS.get(name)
    return field is not None and bool(field.idle) and decode(value) in field.idle
