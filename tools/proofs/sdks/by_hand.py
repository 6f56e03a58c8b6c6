"""Calls by hand: answers with cached input, with thoughts and with tool calls, whole and streamed, of each vendor.

Rules of this file
1. What each comes to is written down, not reckoned: tokens as our protocol tells them, and the charge in micro-quota.
2. A charge is multiplier × (input - cached + cached × its multiplier + output × completion), prices in `vendor_acts`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tollkeeper.demo.speech import text_of, thoughts_of
from tools.proofs.sdks.acts import Act
from tools.proofs.sdks.casting import Part
from tools.proofs.sdks.judge import Evidence, Said, Verdict, named
from tools.proofs.sdks.plain_http import Heard, Json, ask
from tools.proofs.sdks.stage import CITY, WEATHER
from tools.proofs.sdks.vendor_acts import VENDORS

PLAYER = "by hand"
WORDS, THOUGHTS = 20, 30
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}


class Figures(msgspec.Struct, frozen=True):
    """What a call comes to."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thinking_tokens: int
    charged: int


class Question(msgspec.Struct, frozen=True):
    """What is asked, besides the model and how the answer is to come."""

    prompt: str
    more: Json = {}


QUESTIONS = {
    "cached": Question(f"{text_of(40)} [[tokens={WORDS} cached=32]]"),
    "cache write": Question(f"{text_of(40)} [[tokens={WORDS} cached=32 cache_write=16]]"),
    "thinking": Question(f"Think first. [[tokens={WORDS} thinking={THOUGHTS}]]", {"reasoning_effort": "low"}),
    "tool call": Question("Please call the tool.", {"tools": [TOOL]}),
}
# The text, the message, its role and the end of the prompt are counted, and tools as each vendor is sent them. Charges:
#   openai     1.25 × (input - cached + cached × 0.5 + output × 4)
#   azure      1.5 × (input - cached + cached × 0.25 + output × 3)
#   anthropic  2.5 × (input - cached + cached × 0.1 + output × 5); what it writes to its cache is input like any other
#   gemini     1 × (input - cached + cached × 0.2 + output × 6)
FIGURES = {
    "openai": {
        "cached": Figures(55, 32, 20, 0, 148_750_000),
        "thinking": Figures(18, 0, 50, 30, 272_500_000),
        "tool call": Figures(59, 0, 8, 0, 113_750_000),
    },
    "azure": {
        "cached": Figures(55, 32, 20, 0, 136_500_000),
        "thinking": Figures(18, 0, 50, 30, 252_000_000),
        "tool call": Figures(59, 0, 8, 0, 124_500_000),
    },
    "anthropic": {
        "cached": Figures(55, 32, 20, 0, 315_500_000),
        "cache write": Figures(59, 32, 20, 0, 325_500_000),
        "thinking": Figures(18, 0, 50, 30, 670_000_000),
        "tool call": Figures(48, 0, 8, 0, 220_000_000),
    },
    "gemini": {
        "cached": Figures(55, 32, 20, 0, 149_400_000),
        "thinking": Figures(18, 0, 50, 30, 318_000_000),
        "tool call": Figures(54, 0, 8, 0, 102_000_000),
    },
}
SHOW_THOUGHTS = frozenset({"anthropic", "gemini"})
UNTOLD = "streamed without usage"
MANNERS: Mapping[str, Json] = {
    "whole": {},
    "streamed": {"stream": True, "stream_options": {"include_usage": True}},
    UNTOLD: {"stream": True},
}
ACTS = {
    f"{vendor}: {question}: {manner}": Act(
        prompt=QUESTIONS[question].prompt, model=VENDORS[vendor].model.id, tells_usage=manner != UNTOLD
    )
    for vendor, figures in FIGURES.items()
    for question in figures
    for manner in MANNERS
}


def play(base: str, parts: Sequence[Part]) -> list[Said]:
    return [said_of(base, part) for part in parts if part.player == PLAYER]


def said_of(base: str, part: Part) -> Said:
    vendor, question, manner = part.name.split(": ")
    order = {"model": part.act.model, "messages": [{"role": "user", "content": part.act.prompt}]}
    try:
        heard = ask(base, part.key, order | QUESTIONS[question].more | MANNERS[manner])
        check_answer(heard, question, vendor)
        if manner == UNTOLD:
            assert heard.usage is None, heard.usage
            return Said(part.name, ok=True, detail="no usage, as asked")
        return told_in(heard.usage or {}, part.name)
    except (AssertionError, LookupError, OSError, ValueError) as problem:
        return Said(part.name, ok=False, detail=repr(problem))


def check_answer(heard: Heard, question: str, vendor: str) -> None:
    """Words, thoughts and calls of tools are each where they belong."""
    thoughts = thoughts_of(THOUGHTS) if question == "thinking" and vendor in SHOW_THOUGHTS else ""
    calls = [(name, json.loads(arguments)) for name, arguments in heard.tool_calls]
    told = heard.content, heard.thoughts, calls, heard.finish_reason
    if question == "tool call":
        assert told == ("", "", [("get_weather", {"city": CITY})], "tool_calls"), heard
    else:
        assert told == (text_of(WORDS), thoughts, [], "stop"), heard


def told_in(usage: Json, act: str) -> Said:
    tokens = usage["prompt_tokens"], usage["completion_tokens"]
    assert usage["total_tokens"] == sum(tokens), usage
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    thinking = usage["completion_tokens_details"]["reasoning_tokens"]
    return Said(act, ok=True, detail=json.dumps(usage), usage=tokens, parts_of_usage=(cached, thinking))


def judge_figures(evidence: Evidence) -> Iterator[Verdict]:
    """What was told, what is true and what was charged are all as it is written above."""
    charged = {receipt.key_id: receipt.charged for receipt in evidence.receipts}
    for part in evidence.parts:
        if part.player != PLAYER:
            continue
        vendor, question, manner = part.name.split(": ")
        expected = FIGURES[vendor][question]
        found = [
            Figures(
                truth.input_tokens,
                truth.cached_tokens,
                truth.output_tokens,
                truth.thinking_tokens,
                charged.get(part.key_id or 0, -1),
            )
            for truth in evidence.truths_of(part)
        ]
        said = evidence.of(part)
        told = said and said.parts_of_usage
        right = None if manner == UNTOLD else (expected.cached_tokens, expected.thinking_tokens)
        holds = found == [expected] and told == right
        yield Verdict(f"{named(part)}: figures", holds, f"told {told}, {found}, expected {expected}")
