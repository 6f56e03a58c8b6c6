"""Moments of leaving: when a caller hangs up, drawn anew for each call."""

import random
import re
from enum import StrEnum

from proofs.rig.raw_calls import Leaving

FINISH = re.compile(
    rb'"finish_reason":"(?:stop|length|tool_calls|content_filter)"'
    rb'|"stop_reason":"(?:end_turn|max_tokens|tool_use)"|"type":"response\.(?:completed|incomplete)"'
)
FIRST_EVENT = re.compile(rb"\r\n\r\n(?s:.)*\n\n")
LATE_SECONDS = 0.6
BEFORE_SECONDS = 0.12
SOON_SECONDS = 0.05


class Moment(StrEnum):
    NEVER = "never"
    BEFORE = "before the first byte"
    FIRST_EVENT = "after the first event"
    BYTE = "at a random byte"
    FINISH = "after the finish reason"
    UNREAD = "without reading"
    SOON = "within 50 ms"
    LATE = "late"


OF_WHOLE = (Moment.NEVER, Moment.BEFORE, Moment.UNREAD, Moment.SOON, Moment.LATE)


def draw_leaving(moment: Moment, size_bytes: int, chance: random.Random) -> Leaving:
    """`size_bytes`: what the whole answer has, about."""
    after_seconds = {
        Moment.BEFORE: (0.05 * BEFORE_SECONDS, 0.9 * BEFORE_SECONDS),
        Moment.UNREAD: (0.1, LATE_SECONDS),
        Moment.SOON: (0.001, SOON_SECONDS),
        Moment.LATE: (0.4 * LATE_SECONDS, 1.1 * LATE_SECONDS),
    }
    return Leaving(
        after_bytes=chance.randint(1, max(1, size_bytes)) if moment is Moment.BYTE else None,
        after_seconds=chance.uniform(*after_seconds[moment]) if moment in after_seconds else None,
        after={Moment.FIRST_EVENT: FIRST_EVENT, Moment.FINISH: FINISH}.get(moment),
        reads=moment is not Moment.UNREAD,
        by_reset=chance.random() < 0.5,
    )


def pace(moment: Moment, tokens: int, per_chunk: int, chance: random.Random) -> str:
    """Directions by which an answer is under way when its caller leaves."""
    chunks = max(1, tokens // per_chunk)
    match moment:
        case Moment.BEFORE:
            return f"delay_ms={BEFORE_SECONDS * 1_000:.0f}"
        case Moment.SOON:
            return f"chunk_ms={chance.choice((0, 60 / chunks)):.2f}"
        case Moment.LATE:
            return f"chunk_ms={LATE_SECONDS * 1_000 / chunks:.2f}"
        case Moment.FINISH:
            return "stall_after_finish=200" if chance.random() < 0.5 else ""
        case _:
            return f"chunk_ms={chance.choice((0, 0, 250 / chunks)):.2f}"
