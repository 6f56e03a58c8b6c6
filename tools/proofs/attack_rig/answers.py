"""Forms of answers: in which ways a provider can say what it made, and whether it reports it.

Rules of this file
1. A form is a vendor and directions for it (docs/reference/directions.md). Length and pace are drawn for each call.
2. A report is what the provider would bill: `reported` says what of the truth that is.
"""

from collections.abc import Callable

import msgspec

from tollkeeper.demo.hostile.wording import FORMS as HIDING_PLACES

VENDORS = ("openai", "azure", "anthropic", "gemini")
MORE = 16
# Scripts of hidden output whose tokens differ from the words they stand for: without a report they are estimated.
ESTIMATED = frozenset(
    {
        *("content_number", "content_booleans", "unknown_number", "audio_data", "images", "reasoning_data"),
        *("redacted_thinking", "inline_data", "signature", "thought_signature"),
    }
)

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


class AnswerForm(msgspec.Struct, frozen=True, kw_only=True):
    vendor: str
    directions: str
    reported: Reported = everything
    # Only for an order that may make a model think.
    thinks: bool = False
    only_streamed: bool = False
    # Without a report, its output can only be estimated.
    estimated: bool = False
    # The report comes before the words, and so before it is true.
    reports_early: bool = False

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.directions or 'plain'}"


def forms() -> list[AnswerForm]:
    """Every form there is."""
    return [*_hidden(), *_bent()]


def _hidden() -> list[AnswerForm]:
    hidden = [
        AnswerForm(vendor=vendor, directions=f"hide={name}", estimated=name in ESTIMATED)
        for vendor in VENDORS
        for name in HIDING_PLACES[vendor]
    ]
    return [*hidden, AnswerForm(vendor="openai", directions="hide=all", estimated=True)]


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
    for vendor in VENDORS[:2]:
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
