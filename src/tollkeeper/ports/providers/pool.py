"""The pool of provider accounts, as those who dispatch calls see it."""

from collections.abc import Callable, Collection
from typing import Protocol

import msgspec

from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports.providers.upstream import Capabilities, ProviderAccount


class Seat(Protocol):
    """A call's place at a provider account, from its choosing to its end."""

    account: ProviderAccount

    def succeed(self, first_byte_seconds: float) -> None:
        """The account answered well."""
        ...

    def fail(self, trouble: Trouble, because: str, retry_after_seconds: float | None = None) -> None:
        """The account did not answer, or not well. The seat is given up."""
        ...

    def leave(self, output_tokens: int = 0) -> None:
        """The call is over. Leaving twice is leaving once."""
        ...


class Pool(Protocol):
    async def choose(
        self,
        model_id: str,
        *,
        by: int,
        tried: Collection[int] = (),
        unfit: Collection[Capabilities] = (),
        conversation: Callable[[], bytes] | None = None,
    ) -> ProviderAccount | None:
        """An account that serves the model, takes calls of this customer, was not tried yet, and does not speak what is
        `unfit` for the order; None where there is none now. Calls of one `conversation`, which is asked where it
        matters, get the same account while it is well; those that have none are shared out."""
        ...

    def seat(self, account: ProviderAccount, *, model_id: str, by: int, tokens: int) -> Seat:
        """A place for a call of this customer at the account just chosen for the model."""
        ...

    def serves(self, model_id: str, *, unfit: Collection[Capabilities]) -> bool:
        """Whether an account that is fit serves the model, however it is doing just now."""
        ...

    def may_try_again(self, *, by: int) -> bool:
        """Whether a failed attempt may be followed by another: they are a tenth at most of all calls, and of each
        customer's."""
        ...

    def seconds_until_seats(self, model_id: str) -> float | None:
        """When an account that is out now will be tried again for the model."""
        ...


class PoolNews(msgspec.Struct, frozen=True):
    """What one process has learned of an account that others should know: out for so long, or back. Without a model it
    is about all of them."""

    account_id: int
    seconds: float
    trouble: Trouble | None
    model: str | None = None
