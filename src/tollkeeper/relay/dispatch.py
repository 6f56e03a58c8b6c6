"""Dispatch: choose a provider account, send the order there, and say what became of it.

Rules of this file
1. A provider's own troubles (its key, its limits, its failures) are ours: the caller hears of none of them but 503.
2. What a provider rejects as malformed is the caller's to correct, and costs nothing.
"""

import asyncio
import time
from collections.abc import Mapping
from uuid import UUID

import msgspec

from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.errors import GatewayError, ProviderRejected, ProviderUnavailable
from tollkeeper.core.provider_errors import read_rejection
from tollkeeper.ports import (
    ProviderAccount,
    ProviderAccounts,
    Upstream,
    UpstreamAnswer,
    UpstreamFailed,
    UpstreamRequest,
    Vendor,
)

LOOP_HEADER = "x-tollkeeper-loop"
REFUSED = "refused"
REJECTED = frozenset({400, 413, 422})
REJECTION_BYTES_MOST = 64 * 1024
REJECTION_SECONDS = 5.0


class Attempt(msgspec.Struct):
    """One sending of an order to one provider account, as the receipt tells it."""

    account: str
    outcome: str = ""
    status: int | None = None
    first_byte_ms: int | None = None
    begun: float = 0.0
    sent: bool = False

    def note_sent(self) -> None:
        self.sent = True

    @property
    def may_have_cost(self) -> bool:
        """Whether the provider has the order and has not refused it."""
        return self.sent and self.outcome != REFUSED

    def told(self, ending: str) -> Mapping[str, object]:
        """For the receipt; an attempt with no outcome of its own ended as its call did."""
        shown = {"account": self.account, "outcome": self.outcome or ending, "ms": _milliseconds_since(self.begun)}
        known = {"status": self.status, "first_byte_ms": self.first_byte_ms}
        return shown | {name: value for name, value in known.items() if value is not None}


class Dispatcher:
    def __init__(
        self, accounts: ProviderAccounts, vendors: Mapping[str, Vendor], upstream: Upstream, *, loop_mark: str
    ) -> None:
        """`loop_mark` goes with every order: a call that comes in with it has come from here."""
        self._loop_mark = loop_mark
        self._accounts = accounts
        self._vendors = vendors
        self._upstream = upstream
        self._turn = 0

    async def send(
        self, order: ChatOrder, request_id: UUID, attempts: list[Attempt], *, first_byte_seconds: float
    ) -> UpstreamAnswer:
        """An answer that began well. Raise a refusal, or UpstreamFailed where nobody knows what became of the order."""
        account = await self._choose()
        attempt = Attempt(account.name, begun=time.monotonic())
        attempts.append(attempt)
        address, headers, body = self._vendors[account.vendor].chat(order, account)
        headers += (("x-request-id", str(request_id)), (LOOP_HEADER, self._loop_mark))
        request = UpstreamRequest(address, headers, body, first_byte_seconds, attempt.note_sent)
        try:
            answer = await self._upstream.send(request)
        except UpstreamFailed as problem:
            attempt.outcome = problem.failure.value
            raise
        attempt.status = answer.status
        attempt.first_byte_ms = _milliseconds_since(attempt.begun)
        if answer.status == 200:
            return answer
        attempt.outcome = REFUSED
        raise await _refusal(answer, account)

    async def _choose(self) -> ProviderAccount:
        """Each in its turn."""
        accounts = [account for account in await self._accounts.all() if account.vendor in self._vendors]
        if not accounts:
            raise ProviderUnavailable
        self._turn += 1
        return accounts[self._turn % len(accounts)]


async def _refusal(answer: UpstreamAnswer, account: ProviderAccount) -> GatewayError:
    if answer.status not in REJECTED:
        await answer.close()
        return ProviderUnavailable()
    body = bytearray()
    try:
        async with asyncio.timeout(REJECTION_SECONDS):
            while len(body) < REJECTION_BYTES_MOST and (piece := await answer.read()):
                body += piece
    except (TimeoutError, UpstreamFailed):
        body.clear()
    finally:
        await answer.close()
    rejection = read_rejection(bytes(body), account.secret.reveal())
    return ProviderRejected(rejection.message, param=rejection.param, code=rejection.code)


def _milliseconds_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1_000)
