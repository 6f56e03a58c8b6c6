"""What is to be done with an order, how far it has come, and the answer that began well."""

from collections.abc import Callable
from uuid import UUID

import msgspec

from tollkeeper.ports import UpstreamAnswer
from tollkeeper.ports.providers.pool import Seat
from tollkeeper.relay.dispatch.attempt import Attempt


class Journey(msgspec.Struct):
    """What is to be done with an order, and how far it has come."""

    request_id: UUID
    # Whose call it is: what it meets at a provider account may be of this customer's own making.
    customer: int
    tokens: int
    most_attempts: int
    first_byte_seconds: float
    # What the model can answer, for vendors that must be told.
    most_output_tokens: int
    # Whether there is still anybody for whom it would be worth trying again.
    is_awaited: Callable[[], bool]
    # Told before anything goes out.
    before_sending: Callable[[], None] = lambda: None
    attempts: list[Attempt] = []

    def note_sending(self) -> None:
        """The order is about to go out, in the last of its attempts."""
        self.before_sending()
        self.attempts[-1].sent = True


class Delivery(msgspec.Struct):
    """An answer that began well, and the seat it is given from."""

    answer: UpstreamAnswer
    seat: Seat
    first: bytes
