"""The line from the page to the gateway and back: one answer at a time for each session, passed on as it is made.

Rules of this file
1. Nothing of what is said is kept, or logged. It passes through, no faster than the browser takes it.
2. Who hangs up closes the call to the gateway at once, and pays for what was made until then.
3. A session has one answer on its way. This process knows its own; for those of others, quota is held in the books.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Send

from tollkeeper.console.chat.events import Listening, SaidError, line
from tollkeeper.console.chat.troubles import ALREADY_TALKING, FAILURES, ChatTrouble, trouble, trouble_of
from tollkeeper.console.visit import Visit
from tollkeeper.core.calls.sse import EventSplitter, EventTooLong
from tollkeeper.ports import Failure, UpstreamAnswer, UpstreamFailed

# Of a refusal; what is longer is none of ours.
REFUSAL_BYTES_MOST = 64 * 1024
LINES = "application/x-ndjson"


class Refusal(msgspec.Struct, frozen=True):
    error: SaidError = SaidError()


class SpokenResponse(StreamingResponse):
    """Lines that end with whoever reads them: whatever happens, what makes them is closed."""

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        # Proxies of the nginx family would otherwise gather lines before they pass them on.
        super().__init__(lines, media_type=LINES, headers={"X-Accel-Buffering": "no"})
        self._lines = lines

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._lines):
            await super().stream_response(send)


async def spoken(visit: Visit, body: bytes, key: str, *, is_busy: bool) -> AsyncGenerator[bytes, None]:
    """The answer, or why there is none, as lines."""
    talking, session_id = visit.desks.chat.talking, visit.session.session_id
    if is_busy or session_id in talking:
        yield line(trouble=trouble(visit, ALREADY_TALKING))
        return
    talking.add(session_id)
    try:
        async with aclosing(_answer(visit, body, key)) as lines:
            async for each in lines:
                yield each
    finally:
        talking.discard(session_id)


async def _answer(visit: Visit, body: bytes, key: str) -> AsyncGenerator[bytes, None]:
    try:
        answer = await visit.desks.chat.call(body, key, ip=visit.visitor.ip)
    except UpstreamFailed as failed:
        yield line(trouble=trouble(visit, FAILURES[failed.failure]))
        return
    try:
        yield line(call=answer.header("x-request-id"))
        if answer.status != 200:
            yield line(trouble=await _refusal(visit, answer))
            return
        async for each in _passed_on(visit, answer):
            yield each
    finally:
        await answer.close()


async def _passed_on(visit: Visit, answer: UpstreamAnswer) -> AsyncGenerator[bytes, None]:
    listening = Listening()
    failure = Failure.BROKEN
    try:
        async for lines in _pieces(answer, listening):
            yield lines
    except UpstreamFailed as failed:
        failure = failed.failure
    except (EventTooLong, msgspec.MsgspecError):
        listening.is_over = False
    if listening.error is not None:
        yield line(trouble=trouble_of(visit, listening.error, 200))
    elif listening.is_over:
        yield line(end=listening.reason)
    else:
        yield line(trouble=trouble(visit, FAILURES[failure]))


async def _pieces(answer: UpstreamAnswer, listening: Listening) -> AsyncGenerator[bytes, None]:
    """The lines of each piece together. It is read to its very end: who hangs up before that has left early."""
    splitter = EventSplitter()
    while piece := await answer.read():
        for event in splitter.feed(piece):
            if lines := b"".join(() if listening.is_over else listening.lines(event)):
                yield lines


async def _refusal(visit: Visit, answer: UpstreamAnswer) -> ChatTrouble:
    text = b""
    try:
        while (piece := await answer.read()) and len(text) < REFUSAL_BYTES_MOST:
            text += piece
        error = msgspec.json.decode(text, type=Refusal).error
    except (UpstreamFailed, msgspec.MsgspecError):
        error = SaidError()
    return trouble_of(visit, error, answer.status)
