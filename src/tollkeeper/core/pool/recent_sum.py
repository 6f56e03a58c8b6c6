"""A sum over the last seconds."""


class RecentSum:
    """A sum over the last so many seconds, kept by the second."""

    __slots__ = ("_at", "_buckets", "total")

    def __init__(self, seconds: int) -> None:
        self._buckets = [0] * seconds
        self._at = 0
        self.total = 0

    def add(self, amount: int, now: float) -> None:
        if int(now) != self._at:
            self.turn(now)
        self._buckets[self._at % len(self._buckets)] += amount
        self.total += amount

    def turn(self, now: float) -> int:
        """Forget what is too old; the sum of the rest."""
        second = int(now)
        if second <= self._at:
            return self.total
        size = len(self._buckets)
        for passed in range(max(self._at + 1, second - size + 1), second + 1):
            self.total -= self._buckets[passed % size]
            self._buckets[passed % size] = 0
        self._at = second
        return self.total
