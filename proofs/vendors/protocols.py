"""Acts in other protocols than chat: Messages and Responses of each vendor's model, whole and streamed, and embeddings
of the vendors that have them.

Rules of this file
1. A question has the same words and the same figures in each protocol (`by_hand`): what a call comes to does not depend
   on how it was asked. Where a protocol tells less, that is written down here.
2. Round trips of tools and rejections are judged by the truth alone, as in chat.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.catalog import Model
from proofs.vendors.acts import ACTS_OF_EACH, VENDORS
from proofs.vendors.by_hand import EPHEMERAL, FIGURES, QUESTIONS, SHOW_THOUGHTS
from proofs.vendors.figures import Expected, Figures

MANNERS = ("whole", "streamed")
# By the protocol, the questions that can be asked in it, and what goes along with each.
ASKED: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "messages": {
        "cached": {},
        "cache write": {"cache_control": EPHEMERAL},
        "cache write for an hour": {"cache_control": EPHEMERAL | {"ttl": "1h"}},
        "images": {},
        "long": {},
        # The effort is what other vendors know of it.
        "thinking": {"thinking": {"type": "enabled", "budget_tokens": 1_024}, "output_config": {"effort": "low"}},
    },
    "responses": {
        "cached": {},
        "cache write": {"prompt_cache_key": "a-session"},
        "images": {},
        "long": {},
        "thinking": {"reasoning": {"effort": "low", "summary": "auto"}},
    },
}
# Anthropic does not tell tokens of images apart, and the simulated one counts none: 2.5 × (19 + 20 × 5).
NO_IMAGES = Figures(19, 0, 20, 0, 297_500_000)
OTHERWISE: Mapping[tuple[str, str, str], Figures] = {
    ("messages", "anthropic", "images"): NO_IMAGES,
    ("responses", "anthropic", "images"): NO_IMAGES,
    # Nor does OpenAI in Responses: 1.25 × (19 + 20 × 4).
    ("responses", "openai", "images"): Figures(19, 0, 20, 0, 123_750_000),
}
# Words that are played by a check of their own.
CHECKS = {"images": "picture", "thinking": "thoughts"}

TEXTS = ["The river is wide.", "A stone", "Two stones, and a bird"]
INPUTS: Mapping[str, Mapping[str, Any]] = {
    "a text": {},
    "texts as floats": {"input": TEXTS, "encoding_format": "float", "dimensions": 5},
    "lists of tokens": {"input": [[1, 2], [3, 4, 5, 6]]},
}
EMBEDDING_MODELS = {
    vendor: Model(id=f"embedding-{vendor}", kind="embedding", multiplier=Decimal(multiplier))
    for vendor, multiplier in (("openai", "0.5"), ("azure", "0.25"), ("gemini", "2"))
}
# Multiplier × tokens. Gemini takes no lists of tokens.
EMBEDDED: Mapping[str, Mapping[str, Figures]] = {
    "openai": {
        "a text": Figures(6, 0, 0, 0, 3_000_000),
        "texts as floats": Figures(13, 0, 0, 0, 6_500_000),
        "lists of tokens": Figures(6, 0, 0, 0, 3_000_000),
    },
    "azure": {
        "a text": Figures(6, 0, 0, 0, 1_500_000),
        "texts as floats": Figures(13, 0, 0, 0, 3_250_000),
        "lists of tokens": Figures(6, 0, 0, 0, 1_500_000),
    },
    "gemini": {
        "a text": Figures(6, 0, 0, 0, 12_000_000),
        "texts as floats": Figures(13, 0, 0, 0, 26_000_000),
    },
}


class Questions(msgspec.Struct):
    """The acts of a protocol, and what they come to, where that is written down."""

    acts: dict[str, Act]
    expected: dict[str, Expected]


def _in_protocol(protocol: str) -> Questions:
    made = Questions({}, {})
    for vendor in VENDORS:
        for question, more in ASKED[protocol].items():
            comes_to = OTHERWISE.get((protocol, vendor, question)) or FIGURES[vendor].get(question)
            if comes_to is None:
                continue
            act = Act(prompt=QUESTIONS[question].prompt, more=more, tells_usage=True)
            thinking = None if protocol == "messages" else comes_to.thinking_tokens
            for name, played in _in_each_manner(vendor, protocol, question, act):
                made.acts[name] = played
                made.expected[name] = Expected(comes_to, (comes_to.cached_tokens, thinking))
        for name in ("tool round trip", "vendor error"):
            made.acts |= _in_each_manner(vendor, protocol, name, ACTS_OF_EACH[name])
    return made


def _in_each_manner(vendor: str, protocol: str, name: str, act: Act) -> Iterator[tuple[str, Act]]:
    check = act.check or CHECKS.get(name) or ("words" if name in QUESTIONS else name)
    if check == "thoughts" and not (vendor in SHOW_THOUGHTS or (protocol, vendor) == ("responses", "openai")):
        check = "words"
    for manner in MANNERS:
        played = msgspec.structs.replace(act, check=f"{protocol}: {check}: {manner}", model=VENDORS[vendor].model.id)
        yield f"{vendor}: {protocol}: {name}: {manner}", played


def _embeddings() -> Questions:
    made = Questions({}, {})
    for vendor, figures in EMBEDDED.items():
        model = EMBEDDING_MODELS[vendor].id
        for name, comes_to in figures.items():
            act = Act(
                check="embedding", prompt="A river and a stone.", model=model, more=INPUTS[name], tells_usage=True
            )
            made.acts[f"{vendor}: embeddings: {name}"] = act
            made.expected[f"{vendor}: embeddings: {name}"] = Expected(comes_to, None)
    return made


MESSAGES, RESPONSES, EMBEDDINGS = _in_protocol("messages"), _in_protocol("responses"), _embeddings()
