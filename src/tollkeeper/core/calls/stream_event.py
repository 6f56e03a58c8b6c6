"""What an event of a streamed answer is."""

from enum import Enum, auto


class Event(Enum):
    """What an event of a stream is, for the one who relays it."""

    PASSES = auto()
    USAGE = auto()
    # Nothing that callers wait for: a report on the way, a vendor's remark before the first word.
    ASIDE = auto()
    DONE = auto()
    ERROR = auto()
    MALFORMED = auto()


# What does not reach the caller, and does not end the answer either.
NOT_PASSED_ON = frozenset({Event.USAGE, Event.ASIDE})
