"""Where a stream stands, until its `ending` is known or it failed.

AWAITED ──► PASSING ──► STOPPED
   ▲  └────────────────────┘ all of it came at once, or nothing did
   └── another provider account is asked: only before anything passed to the caller
"""

from enum import Enum, auto


class StreamState(Enum):
    # Nothing has passed to the caller.
    AWAITED = auto()
    # Events pass as they come.
    PASSING = auto()
    # Nothing more comes from the provider: it ended, it broke, or it said what ends an answer.
    STOPPED = auto()
