"""Answers in another vendor's form, heard in our own: the `UpstreamAnswer` port around a translator."""

from collections.abc import Callable
from typing import Protocol

from tollkeeper.core.answer_reading import characters_left_out
from tollkeeper.core.meter import AnswerTooLong
from tollkeeper.core.sse import EventSplitter, data_of
from tollkeeper.ports import UpstreamAnswer
from tollkeeper.providers.vendors.chat_answer import UNREADABLE

# More than any model says; reading much more would keep other calls waiting.
WHOLE_BYTES_MOST = 8 * 1024 * 1024


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

    def __init__(self, heard: UpstreamAnswer) -> None:
        self.status = heard.status
        self.unheard_characters = 0
        self._heard = heard

    def header(self, name: str) -> str | None:
        return self._heard.header(name)

    async def close(self) -> None:
        await self._heard.close()


class TranslatedStream(TranslatedAnswer):
    def __init__(self, heard: UpstreamAnswer, translator: StreamTranslator) -> None:
        super().__init__(heard)
        self._translator = translator
        self._splitter = EventSplitter()
        self._has_ended = False

    async def read(self) -> bytes:
        while not self._has_ended and (piece := await self._heard.read()):
            if told := self._translated(piece):
                return told
        if self._has_ended:
            return b""
        self._has_ended = True
        # The end ends the last event as well.
        return self._translated(b"\n\n") + self._translator.end()

    def _translated(self, piece: bytes) -> bytes:
        """What comes after an event that cannot be read is heard by nobody, and costs no time."""
        told = []
        for event in self._splitter.feed(piece):
            if data := data_of(event):
                told.append(self._told(data))
                if told[-1] is UNREADABLE:
                    self._has_ended = True
                    break
        return b"".join(told)

    def _told(self, data: bytes) -> bytes:
        told = self._translator.read(data)
        self.unheard_characters += characters_left_out(data, told, self._translator.silent)
        return told


class TranslatedWhole(TranslatedAnswer):
    def __init__(self, heard: UpstreamAnswer, translate: Callable[[bytes], bytes], silent: frozenset[str]) -> None:
        """`translate` raises NotAnAnswer. `silent`: names of what says nothing, whatever stands there."""
        super().__init__(heard)
        self._translate = translate
        self._silent = silent
        self._is_told = False

    async def read(self) -> bytes:
        if self._is_told:
            return b""
        body = bytearray()
        while piece := await self._heard.read():
            body += piece
            if len(body) > WHOLE_BYTES_MOST:
                raise AnswerTooLong(len(body))
        self._is_told = True
        told = self._translate(bytes(body))
        self.unheard_characters = characters_left_out(bytes(body), told, self._silent)
        return told
