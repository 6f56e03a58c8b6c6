"""Providers: their accounts, the way to them, and their wire formats."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.media import MediaOrder
from tollkeeper.core.calls.native import Dialect
from tollkeeper.core.catalog.families import is_of_family
from tollkeeper.core.money.prices import MILLIONTHS
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.settings import Secret

Headers = tuple[tuple[str, str], ...]
# What an account can be asked: its vendor, the parameters that it does not take, and those that it takes beside.
Capabilities = tuple[str, frozenset[str], frozenset[str]]


class ProviderAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One credential at one upstream provider, and its place in the pool."""

    id: int
    name: str
    vendor: str
    base_url: str
    secret: Secret
    place: PoolPlace = PoolPlace()
    # By our id of a model, the provider's name for it; None where it serves every model, or every one of its family,
    # under our own name.
    models: Mapping[str, str] | None = None
    family: str | None = None
    # Paused or draining by an operator, or suspended because its key was refused.
    takes_calls: bool = True
    # What it costs us, in millionths of the list price.
    cost: int = MILLIONTHS
    # Parameters of the protocol that it does not take, though its vendor's others do.
    rejects: frozenset[str] = frozenset()
    # Parameters that the protocol's table does not have, and that the operator lets pass to it.
    passes: frozenset[str] = frozenset()
    # The version of the vendor's interface to ask for; None where the vendor's usual one will do.
    api_version: str | None = None

    @property
    def capabilities(self) -> Capabilities:
        return self.vendor, self.rejects, self.passes

    def name_of(self, model_id: str) -> str | None:
        """What the provider calls a model; None where this account does not serve it."""
        if self.models is not None:
            return self.models.get(model_id)
        return model_id if self.family is None or is_of_family(model_id, self.family) else None


class ProviderAccounts(Protocol):
    async def all(self) -> Sequence[ProviderAccount]:
        """Every provider account there is, by id."""
        ...


class Suspensions(Protocol):
    """Provider accounts that are given no call until their key has been tested."""

    async def suspend(self, account_id: int, because: str) -> None:
        """Take it out, on every node. `because`: a few words for the operator. Nothing new where it is out already."""
        ...

    async def lift(self, account_id: int, *, actor: str) -> bool:
        """Whether it was suspended until now. `actor`: who is on the record for it."""
        ...


class UpstreamRequest(msgspec.Struct, frozen=True):
    """A request to a provider, as bytes."""

    url: str
    headers: Headers
    body: bytes
    # How long to wait for the answer's first byte of headers; what comes later is bounded by silence alone.
    first_byte_seconds: float
    # Told when the request goes out: from then on the provider may act on it.
    on_sent: Callable[[], None] = lambda: None
    method: str = "POST"


class Failure(StrEnum):
    """How a provider failed us, told apart by what it means for the call."""

    UNREACHABLE = "unreachable"  # No connection: nothing was sent.
    SILENT = "silent"  # Connected, and no answer began in time.
    STALLED = "stalled"  # The answer began, and then nothing came for too long.
    BROKEN = "broken"  # The connection ended before the answer did.


class UpstreamFailed(Exception):
    """The answer of a provider could not be read to its end."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.value)


class UpstreamAnswer(Protocol):
    """An answer that has begun: its status and headers are here, its body comes piece by piece."""

    status: int
    # Whether it comes in our protocol because we have translated it, and the text that no caller will hear of: the
    # vendor made it all the same.
    is_translated: bool
    untranslated: LeftOut | None
    # Where the provider answers in the caller's own dialect: what it wrote itself, of which the last `read` has
    # given what it says in our protocol. The data of one event, or a whole body; None everywhere else.
    native: bytes | None

    def header(self, name: str) -> str | None: ...

    async def read(self) -> bytes:
        """The next piece as soon as it has come; b"" at the proper end. Raise UpstreamFailed."""
        ...

    def pass_by(self, take: Callable[[bytes], bool]) -> None:
        """While a `read` waits, offer what comes to `take`, in the moment it comes. What that takes is not read; it
        takes nothing where it returns False. An answer may offer nothing."""
        ...

    async def close(self) -> None:
        """Be done with it: the connection is kept if the body was read to its end, and closed at once otherwise."""
        ...


class Upstream(Protocol):
    """The way to providers. Cancelling a call of `send` or `read` closes its connection at once."""

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Raise UpstreamFailed."""
        ...


class Vendor(Protocol):
    """A provider's wire format: what to send to it for an order, and what its answer says in our protocol."""

    def chat(
        self, order: ChatOrder, account: ProviderAccount, *, most_output_tokens: int
    ) -> tuple[str, Headers, bytes]:
        """Address, headers and body. `most_output_tokens`: what the model can answer, for vendors that must be told.
        Raise UnsupportedParameter."""
        ...

    def speaks(self, dialect: Dialect, account: ProviderAccount) -> bool:
        """Whether this account is sent orders of the dialect as their callers wrote them, and answers in it."""
        ...

    def media(self, order: MediaOrder, account: ProviderAccount) -> tuple[str, Headers, bytes]:
        """The same for images, speech, audio and embeddings. Raise UnsupportedParameter where the vendor has no such
        thing."""
        ...

    def translate(self, answer: UpstreamAnswer, order: ChatOrder | MediaOrder) -> UpstreamAnswer:
        """A good answer to `order` as our protocol has it; the very same one where the vendor speaks it."""
        ...

    def read_native(self, answer: UpstreamAnswer, order: ChatOrder) -> UpstreamAnswer:
        """A good answer in the dialect of `order`, which this vendor speaks: its own bytes, and beside them what they
        say in our protocol."""
        ...

    def meaning(self, status: int, body: bytes) -> int:
        """The status that says what a rejection means, where the vendor gave it another one."""
        ...

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        """Address and headers of the list of models, which costs nothing and needs an accepted key."""
        ...
