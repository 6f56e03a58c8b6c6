"""How long calls may take, by where they came in and how they are answered."""

import msgspec

from tollkeeper.core.addresses import Address

# On the backup address there is one: it has no failover.
ATTEMPTS_MOST = 3
# By which a hold outlives the longest that a call can be silent.
GRACE_SECONDS = 60


class CallTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    cut_seconds: float
    longest_seconds: int
    first_byte_seconds: float
    idle_seconds: float
    # Longer than any call can be without a sign of life, so that nobody settles one that still runs.
    hold_seconds: int = 0

    def __post_init__(self) -> None:
        silent_seconds = round(ATTEMPTS_MOST * self.first_byte_seconds + self.idle_seconds)
        hold_seconds = max(2 * self.longest_seconds, silent_seconds) + GRACE_SECONDS
        msgspec.structs.force_setattr(self, "hold_seconds", hold_seconds)

    def of(self, address: Address | None, *, streamed: bool) -> float | None:
        """How long a call may last: on the main address streams may last as long as they speak."""
        return None if streamed and address is not Address.BACKUP else self.longest_seconds

    def first_byte(self, *, streamed: bool) -> float:
        """A whole answer begins when it is complete."""
        return self.first_byte_seconds if streamed else self.longest_seconds
