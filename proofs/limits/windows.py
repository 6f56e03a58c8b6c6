"""The judge: how many admissions any window of time holds, at most and at least.

Rules of this file
1. A moment is Unix microseconds by the limiter's own clock. Moments may come in any order.
2. A window is half open: a call that came in at its begin is inside, one that came in at its end is not. So a limiter
   that lets a call in exactly when another leaves is right.
3. Every window is judged, not only those that begin at a round time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

US = 1_000_000


def most_in_window(moments_us: Sequence[int], span_us: int, *, since_us: int = 0) -> int:
    """The fullest of all windows of this span that begin at `since_us` or later."""
    moments = sorted(moments_us)
    # The fullest one can always be moved on until it begins with an admission.
    begins = range(bisect_left(moments, since_us), len(moments))
    return max((bisect_left(moments, moments[begin] + span_us) - begin for begin in begins), default=0)


def fewest_in_window(moments_us: Sequence[int], span_us: int, *, from_us: int, until_us: int) -> int | None:
    """The emptiest of all windows of this span that lie wholly between the two moments; None where none does."""
    if until_us - from_us < span_us:
        return None
    moments = sorted(moments_us)
    # The emptiest one can always be moved on until it begins where it just lost an admission.
    begins = [from_us - 1, *(moment for moment in moments if from_us <= moment < until_us - span_us)]
    return min(bisect_right(moments, begin + span_us) - bisect_right(moments, begin) for begin in begins)


def self_check() -> None:
    """A judge that sees nothing would prove anything."""
    span_us = 60 * US
    even = [number * US for number in range(300)]
    assert most_in_window(even, span_us) == 60
    assert fewest_in_window(even, span_us, from_us=0, until_us=even[-1]) == 60
    # Two bursts of sixty at a minute's edge, each right by the clock on the wall.
    edge = [59 * US + number for number in range(60)] + [60 * US + number for number in range(60)]
    assert most_in_window(edge, span_us) == 120
    assert most_in_window(edge, span_us, since_us=60 * US) == 60
    # One call a microsecond too early, among many that are right.
    early = [*even, 150 * US - 1]
    assert most_in_window(early[::-1], span_us) == 61
    # A burst each minute is right; a gap of more than a minute is not.
    bursts = [minute * span_us + number for minute in range(4) for number in range(60)]
    assert most_in_window(bursts, span_us) == 60
    assert fewest_in_window(bursts, span_us + US, from_us=0, until_us=180 * US) == 60
    late = [moment + (moment >= 120 * US) * 2 * US for moment in bursts]
    assert fewest_in_window(late, span_us + US, from_us=0, until_us=200 * US) == 0
    assert fewest_in_window(even, span_us, from_us=0, until_us=59 * US) is None
