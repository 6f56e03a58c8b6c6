"""A sum over the last seconds."""


class RecentSum:
    """A sum over the last so many seconds, kept by the second."""

    __slots__ = ("_at", "_buckets", "_until", "total")

    def __init__(self, seconds: int) -> None:
        self._buckets = [0] * seconds
        # The second to which is added, and when the next begins.
        self._at = 0
        self._until = 1
        self.total = 0

    def add(self, amount: int, now: float) -> None:
        if now >= self._until:
            self.turn(now)
        self._buckets[self._at % len(self._buckets)] += amount
        self.total += amount

    def turn(self, now: float) -> int:
        """Forget what is too old; the sum of the rest."""
        if now < self._until:
            return self.total
        second, size = int(now), len(self._buckets)
        for passed in range(max(self._until, second - size + 1), second + 1):
            self.total -= self._buckets[passed % size]
            self._buckets[passed % size] = 0
        self._at, self._until = second, second + 1
        return self.total
