"""Events on their way to webhooks: over the same client as calls to providers, with its guard against SSRF.

Rules of this file
1. Of an answer only the status is read; then its connection is closed.
2. All of it takes fifteen seconds at most: the lookup of the name, the connection and the answer.
"""

import asyncio
from collections.abc import Mapping

from tollkeeper.core.webhooks import address_problem
from tollkeeper.ports import Failure, UpstreamFailed, UpstreamRequest
from tollkeeper.ports.webhooks import NotPosted
from tollkeeper.providers.http import HttpUpstream

ATTEMPT_SECONDS = 15.0
WORDS = {
    Failure.UNREACHABLE: "it could not be reached, or leads to an address that is not called",
    Failure.SILENT: "it did not answer in time",
    Failure.STALLED: "it did not answer in time",
    Failure.BROKEN: "it closed the connection without an answer",
}


class HttpPoster:
    """The `Poster` port."""

    def __init__(
        self, upstream: HttpUpstream, *, private_allowed: bool, attempt_seconds: float = ATTEMPT_SECONDS
    ) -> None:
        self._upstream = upstream
        self._private_allowed = private_allowed
        self._attempt_seconds = attempt_seconds

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        problem = address_problem(url, private_allowed=self._private_allowed)
        if problem is not None:
            raise NotPosted(f"nothing is sent there: {problem}")
        request = UpstreamRequest(url, tuple(headers.items()), body, self._attempt_seconds)
        try:
            async with asyncio.timeout(self._attempt_seconds):
                answer = await self._upstream.send(request)
                await answer.close()
        except TimeoutError:
            raise NotPosted(WORDS[Failure.SILENT]) from None
        except ValueError:
            raise NotPosted("it is no address that can be called") from None
        except UpstreamFailed as problem_there:
            raise NotPosted(WORDS[problem_there.failure]) from None
        return answer.status

    async def close(self) -> None:
        await self._upstream.close()
