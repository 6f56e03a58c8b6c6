"""Forms of orders: everything a caller can ask for that changes how an answer is counted."""

import json
import random
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from proofs.attacks.answers import AnswerForm
from proofs.rig.sdks.stage import PICTURE

THINKERS = "thinker"
# Switches of thinking, in spellings that some provider takes. Those that are refused are no ways.
QUIET: tuple[Mapping[str, object], ...] = (
    {},
    {"reasoning_effort": "none"},
    {"reasoning_effort": None},
    {"thinking": {"type": "disabled"}},
    {"thinking": None},
)
LOUD: tuple[Mapping[str, object], ...] = (
    {"reasoning_effort": "minimal"},
    {"reasoning_effort": "low"},
    {"reasoning_effort": "None"},
    {"reasoning_effort": "high"},
    {"thinking": {"type": "enabled", "note": "disabled"}},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"thinking": {"type": "Disabled"}},
    {"thinking": {"type": "disabled", "budget_tokens": 2048}},
    {"reasoning": {"exclude": True}},
    {"reasoning": {"effort": "none", "enabled": True}},
    {"enable_thinking": 0},
    {"chat_template_kwargs": {"enable_thinking": False, "thinking": True}},
)
TOOL = {
    "type": "function",
    "function": {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
}
FILE = "data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK"
MEDIA: Mapping[str, Mapping[str, object]] = {
    "image": {"type": "image_url", "image_url": {"url": PICTURE}},
    "file": {"type": "file", "file": {"filename": "a.pdf", "file_data": FILE}},
}


class OrderDialect(StrEnum):
    """In which protocol a caller asks; by its path."""

    CHAT = "/v1/chat/completions"
    MESSAGES = "/v1/messages"
    RESPONSES = "/v1/responses"


QUIET_BY_DIALECT: Mapping[OrderDialect, tuple[Mapping[str, object], ...]] = {
    OrderDialect.CHAT: QUIET,
    OrderDialect.MESSAGES: ({}, {"thinking": {"type": "disabled"}}, {"thinking": None}),
    OrderDialect.RESPONSES: ({}, {"reasoning": {"effort": "none"}}, {"reasoning": None}),
}
LOUD_BY_DIALECT: Mapping[OrderDialect, tuple[Mapping[str, object], ...]] = {
    OrderDialect.CHAT: LOUD,
    OrderDialect.MESSAGES: (
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "adaptive"}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024, "display": "omitted"}},
    ),
    OrderDialect.RESPONSES: (
        {"reasoning": {"effort": "minimal"}},
        {"reasoning": {"effort": "high"}},
        {"reasoning": {"effort": "low", "summary": "auto"}},
    ),
}
# Of orders that must have a cap: more than any answer has.
NO_CAP_TOKENS = 4_096
# Responses know no smaller cap.
RESPONSES_CAP_LEAST = 16
IN_OTHER_DIALECTS = 0.35


class OrderForm(msgspec.Struct, frozen=True, kw_only=True):
    stream: bool
    dialect: OrderDialect = OrderDialect.CHAT
    # Fields of the body beside model, messages and stream.
    fields: Mapping[str, object]
    # A part beside the text.
    media: str = ""
    # Whether the model is one whose thoughts are charged.
    of_thinker: bool = False
    # Of the words that are asked for, how many hundredths a cap lets through; 0: no cap.
    cap_percent: int = 0

    @property
    def name(self) -> str:
        told = {**self.fields, "media": self.media, "cap%": self.cap_percent, "thinker": self.of_thinker}
        chosen = {name: value for name, value in told.items() if value not in ("", 0, False)}
        asked = f"{self.dialect} {'stream' if self.stream else 'whole'}"
        return f"{asked} {json.dumps(chosen) if chosen else ''}".strip()

    def body(self, model: str, text: str, tokens: int) -> bytes:
        content: object = text if not self.media else [{"type": "text", "text": text}, MEDIA[self.media]]
        turns = [{"role": "user", "content": content}]
        cap = max(1, tokens * self.cap_percent // 100) if self.cap_percent else None
        asked: dict[str, object] = {"model": model, "stream": self.stream, **self.fields}
        match self.dialect:
            case OrderDialect.CHAT:
                asked |= {"messages": turns} | ({"max_tokens": cap} if cap else {})
            case OrderDialect.MESSAGES:
                asked |= {"messages": turns, "max_tokens": cap or NO_CAP_TOKENS}
            case OrderDialect.RESPONSES:
                asked |= {"input": turns} | ({"max_output_tokens": max(cap, RESPONSES_CAP_LEAST)} if cap else {})
        return json.dumps(asked).encode()


def draw_order(answer: AnswerForm, chance: random.Random) -> OrderForm:
    """A form of order to which this form of answer can come."""
    dialect = _draw_dialect(answer, chance)
    of_thinker = chance.random() < (0.5 if answer.thinks else 0.1)
    quiet, loud = QUIET_BY_DIALECT[dialect], LOUD_BY_DIALECT[dialect]
    switches = loud if answer.thinks and not of_thinker else (*quiet, *loud)
    fields = dict(chance.choice(switches) if answer.thinks or chance.random() < 0.4 else {})
    stream = answer.only_streamed or chance.random() < 0.8
    in_chat = dialect is OrderDialect.CHAT
    if in_chat:
        fields |= _fields_of_chat(chance, stream=stream)
    return OrderForm(
        stream=stream,
        dialect=dialect,
        fields=fields,
        media=chance.choice(("image", "file")) if in_chat and chance.random() < 0.15 else "",
        of_thinker=of_thinker,
        cap_percent=chance.choice((0, 0, 50, 200, 100)),
    )


def _draw_dialect(answer: AnswerForm, chance: random.Random) -> OrderDialect:
    others = [OrderDialect.MESSAGES] if answer.is_of_chat else [OrderDialect.MESSAGES, OrderDialect.RESPONSES]
    return chance.choice(others) if chance.random() < IN_OTHER_DIALECTS else OrderDialect.CHAT


def _fields_of_chat(chance: random.Random, *, stream: bool) -> dict[str, object]:
    fields: dict[str, object] = {}
    if chance.random() < 0.25:
        fields["n"] = chance.choice((2, 3))
    if stream and chance.random() < 0.4:
        fields["stream_options"] = {"include_usage": True}
    if chance.random() < 0.15:
        fields["tools"] = [TOOL]
    if chance.random() < 0.1:
        fields |= {"logprobs": True, "top_logprobs": 2}
    return fields
