"""Count the console's requests and how long they took, around the whole application."""

import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tollkeeper.metrics import table
from tollkeeper.metrics.series import Distribution, Sample, each

CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
# Asked by balancers, again and again.
NOT_COUNTED = frozenset({"/livez", "/readyz"})


class PageFigures:
    """What one worker process has counted of the console's requests."""

    def __init__(self) -> None:
        self._requests = dict.fromkeys(CLASSES, 0)
        self._seconds = Distribution(table.PAGE_SECONDS.buckets)

    def note(self, status: int, seconds: float) -> None:
        self._requests[CLASSES[status // 100 - 1]] += 1
        self._seconds.note(seconds)

    async def collect(self) -> Iterable[Sample]:
        return [*each(table.PAGES, self._requests.items()), (table.PAGE_SECONDS, (), self._seconds)]


class CountedPages:
    """The application, counted."""

    def __init__(self, app: ASGIApp, figures: PageFigures) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in NOT_COUNTED:
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            # Only the message that begins an answer has one.
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._figures.note(status, time.perf_counter() - begun)
