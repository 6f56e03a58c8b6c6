"""What was wrong with the invalid calls of the last minute, by client: a ban's explanation shows it.

Rules of this file
1. A call is forgotten when it leaves the window that counts it: what a ban tells of adds up to no more than its calls.
2. So many calls are remembered in all, whoever sent them: a flood from many clients fills no memory.
"""

from collections import Counter, deque
from collections.abc import Mapping

CALLS_REMEMBERED = 100_000


class RecentCodes:
    def __init__(self, span_seconds: float, most: int = CALLS_REMEMBERED) -> None:
        self._span_seconds = span_seconds
        self._most = most
        # When, of whom, what; and the count in which it stands.
        self._calls: deque[tuple[float, str, str, Counter[str]]] = deque()
        self._by_client: dict[str, Counter[str]] = {}

    def add(self, client: str, code: str, now: float) -> None:
        """`now`: by a clock that never goes back."""
        self._forget(now)
        counted = self._by_client.setdefault(client, Counter())
        counted[code] += 1
        self._calls.append((now, client, code, counted))

    def of(self, client: str, now: float) -> Mapping[str, int]:
        self._forget(now)
        return dict(self._by_client.get(client, {}))

    def _forget(self, now: float) -> None:
        while self._calls and (self._calls[0][0] <= now - self._span_seconds or len(self._calls) >= self._most):
            _, client, code, counted = self._calls.popleft()
            counted[code] -= 1
            if not counted[code]:
                del counted[code]
            if not counted:
                self._by_client.pop(client, None)
