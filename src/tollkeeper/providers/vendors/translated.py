"""Answers of other vendors, translated into our protocol as they are read: an `UpstreamAnswer` around a translator."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import AnswerTooLong
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.ports import UpstreamAnswer
from tollkeeper.providers.vendors.chat_answer import UNREADABLE

# More than any model says; reading much more would keep other calls waiting.
WHOLE_BYTES_MOST = 8 * 1024 * 1024
# A comment: an event of the vendor's that says nothing in our protocol is no end.
SAYS_NOTHING = b":\n\n"


class StreamTranslator(Protocol):
    """Takes the vendor's events one by one. It never raises: what it does not know says nothing, and what cannot be
    read is an error."""

    # Names of what says nothing, whatever stands there.
    silent: frozenset[str]

    def read(self, data: bytes) -> bytes:
        """Events of our protocol, as many as this one of the vendor's is worth."""
        ...

    def end(self) -> bytes:
        """What is left to say when nothing more comes, and nothing was broken off."""
        ...


class TranslatedAnswer:
    """What both kinds share."""

    is_translated = True

    def __init__(self, answer: UpstreamAnswer) -> None:
        self.status = answer.status
        self.native: bytes | None = None
        self._left_out = LeftOut()
        self.untranslated: LeftOut | None = self._left_out
        self._answer = answer

    def header(self, name: str) -> str | None:
        return self._answer.header(name)

    def pass_by(self, take: Callable[[bytes], bool]) -> None:
        """Nothing does: all of it is read to be translated."""

    async def close(self) -> None:
        await self._answer.close()


class TranslatedStream(TranslatedAnswer):
    def __init__(self, answer: UpstreamAnswer, translator: StreamTranslator) -> None:
        super().__init__(answer)
        self._translator = translator
        self._splitter = EventSplitter()
        self._has_ended = False

    async def read(self) -> bytes:
        while not self._has_ended and (piece := await self._answer.read()):
            if translated := self._translated(piece):
                return translated
        if self._has_ended:
            return b""
        self._has_ended = True
        # The end ends the last event as well.
        return self._translated(b"\n\n") + self._translator.end()

    def _translated(self, piece: bytes) -> bytes:
        """What comes after an event that cannot be read is dropped, and costs no time."""
        translated = []
        for event in self._splitter.feed(piece):
            if data := data_of(event):
                translated.append(self._translate(data))
                if translated[-1] is UNREADABLE:
                    self._has_ended = True
                    break
        return b"".join(translated)

    def _translate(self, data: bytes) -> bytes:
        translated = self._translator.read(data)
        self._left_out.note(data, translated, self._translator.silent)
        return translated


class NativeStream(TranslatedStream):
    """The events of a vendor in whose dialect the caller asked: one at a time, with what it says in our protocol."""

    def __init__(self, answer: UpstreamAnswer, translator: StreamTranslator) -> None:
        super().__init__(answer, translator)
        self.native = b""
        self._waiting: deque[bytes] = deque()

    async def read(self) -> bytes:
        while not self._waiting and not self._has_ended:
            piece = await self._answer.read()
            self._has_ended = not piece
            # The end ends the last event as well.
            events = self._splitter.feed(piece or b"\n\n")
            self._waiting.extend(data for event in events if (data := data_of(event)))
        if not self._waiting:
            self.native = b""
            return b""
        self.native = self._waiting.popleft()
        translated = self._translate(self.native)
        if translated is UNREADABLE:
            self._has_ended = True
            self._waiting.clear()
        return translated or SAYS_NOTHING


class TranslatedWhole(TranslatedAnswer):
    def __init__(
        self,
        answer: UpstreamAnswer,
        translate: Callable[[bytes], bytes],
        silent: frozenset[str] = frozenset(),
        silent_on_top: frozenset[str] = frozenset(),
    ) -> None:
        """`translate` raises NotAnAnswer. `silent`: names of what says nothing, whatever stands there; `silent_on_top`:
        where it is a member of the whole."""
        super().__init__(answer)
        self._translate = translate
        self._silent = silent
        self._silent_on_top = silent_on_top
        self._is_translated = False

    async def read(self) -> bytes:
        if self._is_translated:
            return b""
        body = bytearray()
        while piece := await self._answer.read():
            body += piece
            if len(body) > WHOLE_BYTES_MOST:
                raise AnswerTooLong(len(body))
        self._is_translated = True
        translated = self._translate(bytes(body))
        self._left_out.note_whole(bytes(body), translated, self._silent, self._silent_on_top)
        return translated


class NativeWhole(TranslatedWhole):
    """The whole answer of such a vendor."""

    def __init__(
        self,
        answer: UpstreamAnswer,
        translate: Callable[[bytes], bytes],
        silent: frozenset[str] = frozenset(),
        silent_on_top: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(answer, self._keep_native, silent, silent_on_top)
        self.native = b""
        self._into_chat = translate

    def _keep_native(self, body: bytes) -> bytes:
        self.native = body
        return self._into_chat(body)
