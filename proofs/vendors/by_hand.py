"""Calls by hand: answers with cached and written input, thoughts, tool calls, media, searches and long input, whole and
streamed, of each vendor that tells such a thing.

Rules of this file
1. What each comes to is written down, not reckoned: tokens as our protocol tells them, and the charge in micro-quota.
2. A charge is multiplier × (plain input + each part of input × its multiplier + plain output × completion + each part
   of output × its multiplier), and what searches cost; prices in `acts`.
"""

import json
from collections.abc import Mapping, Sequence

import msgspec

from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.casting import Part
from proofs.rig.sdks.judge import Said
from proofs.rig.sdks.plain_http import Heard, Json, ask
from proofs.rig.sdks.stage import CITY, WEATHER
from proofs.vendors.acts import VENDORS
from proofs.vendors.figures import Expected, Figures
from tollkeeper_simulator.speech import text_of, thoughts_of

PLAYER = "by hand"
WORDS, THOUGHTS = 20, 30
EPHEMERAL = {"type": "ephemeral"}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}


class Question(msgspec.Struct, frozen=True):
    """What is asked, besides the model and how the answer is to come."""

    prompt: str
    more: Json = {}


QUESTIONS = {
    "cached": Question(f"{text_of(40)} [[tokens={WORDS} cached=32]]"),
    "cache write": Question(f"{text_of(40)} [[tokens={WORDS} cached=32 cache_write=16]]", {"cache_control": EPHEMERAL}),
    "cache write for an hour": Question(
        f"{text_of(40)} [[tokens={WORDS} cached=20 cache_write=10 cache_write_1h=15]]",
        {"cache_control": EPHEMERAL | {"ttl": "1h"}},
    ),
    "images": Question(f"Look here. [[tokens={WORDS} image_in=258]]"),
    "sounds": Question(f"Listen. [[tokens={WORDS} audio_in=100 audio_out=15]]"),
    "a picture": Question(f"Paint. [[tokens={WORDS} image_out=15]]"),
    "searches": Question(f"Search. [[tokens={WORDS} tool_uses=3]]"),
    "long": Question(f"{text_of(1_100)} [[tokens={WORDS} cached=600]]"),
    "thinking": Question(f"Think first. [[tokens={WORDS} thinking={THOUGHTS}]]", {"reasoning_effort": "low"}),
    "tool call": Question("Please call the tool.", {"tools": [TOOL]}),
}
# The text, the message, its role and the end of the prompt are counted, and tools as each vendor is sent them. Charges,
# and those of input longer than 1,000 tokens:
#   openai     1.25 × (plain + cached × 0.5 + written × 1.2 + images × 1.6 + sounds × 8 + output × 4 + spoken × 16)
#              2 × (plain + cached × 0.5 + output × 3)
#   azure      1.5 × (plain + cached × 0.25 + written × 1.4 + images × 2 + sounds × 10 + output × 3 + spoken × 20)
#              3 × (plain + cached × 0.5 + output × 2)
#   anthropic  2.5 × (plain + cached × 0.1 + written × 1.25 + written for an hour × 2 + output × 5); a search has a
#              price, but nobody has ordered those that are told
#              5 × (plain + cached × 0.2 + output × 4)
#   gemini     1 × (plain + cached × 0.2 + images × 1.5 + sounds × 3 + output × 6 + pictures × 40); what is spoken has
#              no price of its own, and costs what output does
#              2 × (plain + cached × 0.1 + output × 4.5)
FIGURES = {
    "openai": {
        "cached": Figures(55, 32, 20, 0, 148_750_000),
        "cache write": Figures(59, 32, 20, 0, 157_750_000),
        "images": Figures(277, 0, 20, 0, 639_750_000),
        "sounds": Figures(122, 0, 20, 0, 1_352_500_000),
        "long": Figures(1_115, 600, 20, 0, 1_750_000_000),
        "thinking": Figures(18, 0, 50, 30, 272_500_000),
        "tool call": Figures(59, 0, 8, 0, 113_750_000),
    },
    "azure": {
        "cached": Figures(55, 32, 20, 0, 136_500_000),
        "cache write": Figures(59, 32, 20, 0, 152_100_000),
        "images": Figures(277, 0, 20, 0, 892_500_000),
        "sounds": Figures(122, 0, 20, 0, 2_005_500_000),
        "long": Figures(1_115, 600, 20, 0, 2_565_000_000),
        "thinking": Figures(18, 0, 50, 30, 252_000_000),
        "tool call": Figures(59, 0, 8, 0, 124_500_000),
    },
    "anthropic": {
        "cached": Figures(55, 32, 20, 0, 315_500_000),
        "cache write": Figures(59, 32, 20, 0, 335_500_000),
        "cache write for an hour": Figures(66, 20, 20, 0, 413_750_000),
        "searches": Figures(19, 0, 20, 0, 297_500_000),
        "long": Figures(1_115, 600, 20, 0, 3_575_000_000),
        "thinking": Figures(18, 0, 50, 30, 670_000_000),
        "tool call": Figures(48, 0, 8, 0, 220_000_000),
    },
    "gemini": {
        "cached": Figures(55, 32, 20, 0, 149_400_000),
        "images": Figures(277, 0, 20, 0, 526_000_000),
        "sounds": Figures(122, 0, 20, 0, 442_000_000),
        "a picture": Figures(18, 0, 20, 0, 648_000_000),
        "long": Figures(1_115, 600, 20, 0, 1_330_000_000),
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
EXPECTED = {
    f"{vendor}: {question}: {manner}": Expected(
        comes_to, None if manner == UNTOLD else (comes_to.cached_tokens, comes_to.thinking_tokens)
    )
    for vendor, figures in FIGURES.items()
    for question, comes_to in figures.items()
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
