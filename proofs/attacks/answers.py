"""Forms of answers: in which ways a provider can say what it made, and whether it reports it.

Rules of this file
1. A form is a vendor and directions for it (docs/reference/directions.md). Length and pace are drawn for each call.
2. A report is what the provider would bill: `reported` says what of the truth that is.
3. Output that hides is tried with each of several reports of it.
"""

from collections.abc import Callable, Mapping

import msgspec

from tollkeeper_simulator.hostile.directions import NAMES as HOSTILE_NAMES
from tollkeeper_simulator.hostile.forms import ALL
from tollkeeper_simulator.hostile.wording import FORMS as HIDING_PLACES

VENDORS = ("openai", "azure", "anthropic", "gemini")
OPENAI_ALIKE = VENDORS[:2]
MORE = 16
# Scripts of hidden output whose tokens differ from the words they stand for, or that stand beside others of which the
# truth does not know: without a report they are estimated.
ESTIMATED = frozenset(
    {
        *("content_number", "content_booleans", "unknown_number", "audio_data", "images", "reasoning_data"),
        *("redacted_thinking", "inline_data", "signature", "thought_signature"),
        *("reasoning_beside", "filters", "obfuscation", "annotations", "logprobs", "function_response", "fingerprint"),
    }
)
# An id is free where it is as short as ids are: so many tokens of each choice, about.
FREE_TOKENS = {"call_id": 24}

Reported = Callable[[int], int | None]


def everything(made: int) -> int | None:
    return made


def nothing(_made: int) -> int | None:
    return None


def without_more(made: int) -> int | None:
    """The report is of the answer alone, not of what was added to it."""
    return made - MORE


def half(made: int) -> int | None:
    return made // 2


# Of output that hides, by the directions for it.
REPORTS_OF_HIDDEN: Mapping[str, Reported] = {"": everything, "usage=no": nothing, "usage=negative": nothing}


class AnswerForm(msgspec.Struct, frozen=True, kw_only=True):
    vendor: str
    directions: str
    reported: Reported = everything
    # Only for an order that may make a model think.
    thinks: bool = False
    only_streamed: bool = False
    # Without a report, its output can only be estimated.
    estimated: bool = False
    # So much of each choice is not charged without a report.
    free_tokens: int = 0
    # The report comes before the words, and so before it is true.
    reports_early: bool = False

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.directions or 'plain'}"

    @property
    def is_of_chat(self) -> bool:
        """Whether the provider bends the protocol of chat, and knows no such form of Responses."""
        named = {direction.partition("=")[0] for direction in self.directions.split()}
        return self.vendor in OPENAI_ALIKE and bool(named & HOSTILE_NAMES)


def forms() -> list[AnswerForm]:
    """Every form there is."""
    return [*_hidden(), *_bent()]


def _hidden() -> list[AnswerForm]:
    places = [(vendor, name) for vendor in VENDORS for name in HIDING_PLACES[vendor]]
    return [
        AnswerForm(
            vendor=vendor,
            directions=f"hide={name} {report}".strip(),
            reported=reported,
            estimated=name == ALL or name in ESTIMATED,
            free_tokens=0 if reported is everything else FREE_TOKENS.get(name, 0),
        )
        for vendor, name in (*places, ("openai", ALL))
        for report, reported in REPORTS_OF_HIDDEN.items()
    ]


def _bent() -> list[AnswerForm]:
    """What is not hidden, but late, early, twice, false, or oddly written."""
    found = []
    for vendor in VENDORS:
        anywhere = {
            **dict.fromkeys(("", "comment=true", "crlf=true", "drip=true", "bom=true", "no_space=true"), everything),
            **dict.fromkeys(("stall_after_finish=300", "usage=twice"), everything),
            **dict.fromkeys(("usage=no", "no_done=true usage=no"), nothing),
            **dict.fromkeys((f"usage={lie}" for lie in ("negative", "huge", "absurd")), nothing),
        }
        # Letters beside the words are tokens beside them.
        found += [
            AnswerForm(vendor=vendor, directions=f"letters={letters}", estimated=True)
            for letters in ("surrogate", "invalid_utf8", "nul", "control")
        ]
        # A report in words instead of numbers, or under a name that nobody knows, is text like any other.
        found += [
            AnswerForm(vendor=vendor, directions=said, reported=nothing, estimated=True)
            for said in ("usage=string", "usage_name=utilisation")
        ]
        found += [AnswerForm(vendor=vendor, directions=said, reported=told) for said, told in anywhere.items()]
        found += [
            AnswerForm(vendor=vendor, directions=f"thinking={count} {pause}".strip(), thinks=True)
            for count, pause in ((200, ""), (60, "stall_after_finish=200"))
        ]
    for vendor in OPENAI_ALIKE:
        for said in ("usage_place=before", "usage_place=every", "early_finish=true", "extra_choices=1"):
            early = said.startswith("usage_place")
            found.append(AnswerForm(vendor=vendor, directions=said, only_streamed=True, reports_early=early))
        found += [
            AnswerForm(
                vendor=vendor, directions=f"more={MORE} more_after={after}", reported=without_more, only_streamed=True
            )
            for after in ("finish", "usage", "done")
        ]
        found.append(AnswerForm(vendor=vendor, directions="told_twice=true", reported=half, only_streamed=True))
    return found
