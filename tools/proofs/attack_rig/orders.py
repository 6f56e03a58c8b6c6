"""Forms of orders: everything a caller can ask for that changes how an answer is counted."""

import json
import random
from collections.abc import Mapping

import msgspec

from tools.proofs.attack_rig.answers import AnswerForm
from tools.proofs.sdks.stage import PICTURE

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


class OrderForm(msgspec.Struct, frozen=True, kw_only=True):
    stream: bool
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
        return f"{'stream' if self.stream else 'whole'} {json.dumps(chosen) if chosen else ''}".strip()

    def body(self, model: str, text: str, tokens: int) -> bytes:
        content: object = text if not self.media else [{"type": "text", "text": text}, MEDIA[self.media]]
        capped = {"max_tokens": max(1, tokens * self.cap_percent // 100)} if self.cap_percent else {}
        asked = {"model": model, "messages": [{"role": "user", "content": content}], "stream": self.stream}
        return json.dumps({**asked, **self.fields, **capped}).encode()


def draw_order(answer: AnswerForm, chance: random.Random) -> OrderForm:
    """A form of order to which this form of answer can come."""
    of_thinker = chance.random() < (0.5 if answer.thinks else 0.1)
    switches = LOUD if answer.thinks and not of_thinker else (*QUIET, *LOUD)
    fields = dict(chance.choice(switches) if answer.thinks or chance.random() < 0.4 else {})
    stream = answer.only_streamed or chance.random() < 0.8
    if chance.random() < 0.25:
        fields["n"] = chance.choice((2, 3))
    if stream and chance.random() < 0.4:
        fields["stream_options"] = {"include_usage": True}
    if chance.random() < 0.15:
        fields["tools"] = [TOOL]
    if chance.random() < 0.1:
        fields |= {"logprobs": True, "top_logprobs": 2}
    return OrderForm(
        stream=stream,
        fields=fields,
        media=chance.choice(("image", "file")) if chance.random() < 0.15 else "",
        of_thinker=of_thinker,
        cap_percent=chance.choice((0, 0, 50, 200, 100)),
    )
