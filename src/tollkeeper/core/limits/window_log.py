"""Windows kept by one process: what it admitted itself. The same rules as the shared ones, for when those are away.

Time comes in as Unix microseconds. Nothing here waits, and nothing here is shared.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from tollkeeper.core.limits.windows import (
    SPAN_US,
    LimitOutcome,
    Measure,
    Window,
    Windows,
    WindowStanding,
    of_refused,
    tightest,
)

SECOND_US = 1_000_000


class _Seen(msgspec.Struct):
    used: int
    wait_us: int
    free_in_us: int


class WindowLog:
    """The windows of many accounts, by account and name."""

    def __init__(self, span_us: int = SPAN_US) -> None:
        self._span_us = span_us
        self._calls: dict[tuple[str, str], deque[int]] = {}
        self._tokens: dict[tuple[str, str], dict[int, int]] = {}
        self._running: dict[tuple[str, str], set[UUID]] = {}
        self._peaks: dict[str, int] = {}
        self._assumed: set[tuple[str, str]] = set()

    def recall_all(self, admitted: Iterable[tuple[int, Windows]]) -> None:
        """Count calls that were admitted before, in the order of time."""
        for at_us, windows in admitted:
            for name in windows.call_names:
                self._calls.setdefault((windows.whose, name), deque()).append(at_us)

    def recall_running(self, windows: Windows, request_id: UUID) -> None:
        for window in windows.each:
            if window.measure is Measure.RUNNING:
                self._running.setdefault((windows.whose, window.name), set()).add(request_id)

    def leave_room_for(self, whose: str, window: Window, remaining: int, now_us: int) -> None:
        """Once for each window: of what others may have taken nothing is known but that so many places remained for
        this process. The rest is taken, and becomes free evenly over the span."""
        place = (whose, window.name)
        if place in self._assumed:
            return
        self._assumed.add(place)
        calls = self._calls.setdefault(place, deque())
        taken = window.limit - remaining - len(calls)
        if taken > 0:
            step = self._span_us // taken
            self._calls[place] = deque(sorted([*calls, *(now_us - number * step for number in range(taken))]))

    def admit(
        self, whose: str, windows: Sequence[Window], now_us: int, *, tokens: int, request_id: UUID
    ) -> LimitOutcome:
        looks = {
            Measure.CALLS: self._look_calls,
            Measure.TOKENS: self._look_tokens,
            Measure.RUNNING: self._look_running,
        }
        seen = [looks[window.measure](whose, window, now_us, tokens) for window in windows]
        longest = max(seen, key=lambda one: one.wait_us, default=None)
        if longest is not None and longest.wait_us > 0:
            refused = windows[seen.index(longest)]
            standings = [
                WindowStanding(window, one.used, one.free_in_us) for window, one in zip(windows, seen, strict=True)
            ]
            return LimitOutcome(
                refused=refused,
                at_us=now_us,
                retry_in_us=longest.wait_us,
                peak_us=0,
                standing=of_refused(refused, longest.wait_us) or tightest(standings),
            )
        at_us = max([now_us, *(self._newest(whose, window) + 1 for window in windows)])
        peak_us, standings = 0, []
        for window, one in zip(windows, seen, strict=True):
            self._take(whose, window, at_us, tokens, request_id)
            added = tokens if window.measure is Measure.TOKENS else 1
            standings.append(WindowStanding(window, one.used + added, one.free_in_us or self._whole_span(window)))
            if window.measure is Measure.CALLS:
                peak_us = max(peak_us, self._peak(whose, window, at_us))
        return LimitOutcome(refused=None, at_us=at_us, retry_in_us=0, peak_us=peak_us, standing=tightest(standings))

    def ended(self, windows: Windows, request_id: UUID, more_tokens: int, now_us: int) -> None:
        for window in windows.each:
            place = (windows.whose, window.name)
            if window.measure is Measure.RUNNING:
                self._running.get(place, set()).discard(request_id)
            elif window.measure is Measure.TOKENS and more_tokens:
                seconds = self._tokens.setdefault(place, {})
                seconds[now_us // SECOND_US] = seconds.get(now_us // SECOND_US, 0) + more_tokens

    def forget_old(self, now_us: int) -> None:
        """Let go of windows in which nothing is left."""
        oldest_us = now_us - self._span_us
        self._calls = {place: calls for place, calls in self._calls.items() if calls and calls[-1] > oldest_us}
        self._tokens = {
            place: seconds
            for place, seconds in self._tokens.items()
            if seconds and (max(seconds) + 1) * SECOND_US > oldest_us
        }
        self._running = {place: running for place, running in self._running.items() if running}
        self._peaks = {whose: until for whose, until in self._peaks.items() if until > now_us}

    def _look_calls(self, whose: str, window: Window, now_us: int, tokens: int) -> _Seen:
        calls = self._calls.setdefault((whose, window.name), deque())
        while calls and calls[0] + self._span_us <= now_us:
            calls.popleft()
        _bring_back(calls, now_us)
        used = len(calls)
        wait_us = calls[used - window.limit] + self._span_us - now_us if used >= window.limit else 0
        return _Seen(used, wait_us, calls[0] + self._span_us - now_us if calls else 0)

    def _look_tokens(self, whose: str, window: Window, now_us: int, tokens: int) -> _Seen:
        seconds = self._tokens.setdefault((whose, window.name), {})
        for second in [second for second in seconds if (second + 1) * SECOND_US + self._span_us <= now_us]:
            del seconds[second]
        used = left = sum(seconds.values())
        wait_us = 0
        for second in sorted(seconds):
            if left == 0 or left + tokens <= window.limit:
                break
            left -= seconds[second]
            wait_us = (second + 1) * SECOND_US + self._span_us - now_us
        return _Seen(used, wait_us, (min(seconds) + 1) * SECOND_US + self._span_us - now_us if seconds else 0)

    def _look_running(self, whose: str, window: Window, now_us: int, tokens: int) -> _Seen:
        used = len(self._running.setdefault((whose, window.name), set()))
        return _Seen(used, SECOND_US if used >= window.limit else 0, SECOND_US if used else 0)

    def _newest(self, whose: str, window: Window) -> int:
        calls = self._calls.get((whose, window.name))
        return calls[-1] if calls and window.measure is Measure.CALLS else -1

    def _take(self, whose: str, window: Window, at_us: int, tokens: int, request_id: UUID) -> None:
        place = (whose, window.name)
        if window.measure is Measure.CALLS:
            self._calls[place].append(at_us)
        elif window.measure is Measure.TOKENS:
            seconds = self._tokens[place]
            seconds[at_us // SECOND_US] = seconds.get(at_us // SECOND_US, 0) + tokens
        else:
            self._running[place].add(request_id)

    def _peak(self, whose: str, window: Window, at_us: int) -> int:
        """From now, or from where it was known to last, until so many have left that the rest is within the rate."""
        calls = self._calls[whose, window.name]
        if not window.standard or len(calls) <= window.standard:
            return 0
        till = calls[len(calls) - window.standard - 1] + self._span_us
        since = max(at_us, self._peaks.get(whose, 0))
        if till <= since:
            return 0
        self._peaks[whose] = till
        return till - since

    def _whole_span(self, window: Window) -> int:
        return SECOND_US if window.measure is Measure.RUNNING else self._span_us


def _bring_back(calls: deque[int], now_us: int) -> None:
    """A clock that went back leaves calls in the future: they came just now."""
    ahead = 0
    while calls and calls[-1] > now_us + SECOND_US:
        calls.pop()
        ahead += 1
    calls.extend(now_us + number for number in range(ahead))
