"""What a vendor said and no caller hears of, because our protocol has no place for it: it was made all the same."""

from tollkeeper.core.calls.answer_texts import STRINGS_BYTES_MOST, text_left_out
from tollkeeper.core.calls.said_twice import text_said_twice
from tollkeeper.core.calls.tokens import CHARACTERS_PER_TOKEN, TokenCounter


class LeftOut:
    """Counts it and lets it go, as a meter does."""

    __slots__ = ("_counter", "_estimated_tokens", "characters")

    def __init__(self) -> None:
        self._counter = TokenCounter()
        self._estimated_tokens = 0
        self.characters = 0

    def note(
        self, said: bytes, told: bytes, silent: frozenset[str], silent_on_top: frozenset[str] = frozenset()
    ) -> None:
        """The vendor said this, and callers are told that. `silent`: names of what says nothing, whatever stands
        there, at any depth or on top alone."""
        if len(said) > STRINGS_BYTES_MOST:
            more = max(0, len(said) - len(told))
            self.characters += more
            self._estimated_tokens += -(-more // CHARACTERS_PER_TOKEN)
        elif text := text_left_out(said, told, silent, silent_on_top):
            self.characters += len(text)
            self._counter.feed(text)

    def note_whole(
        self, said: bytes, told: bytes, silent: frozenset[str], silent_on_top: frozenset[str] = frozenset()
    ) -> None:
        """The same of an answer that came whole. Of its members that stand twice, none but the last was translated."""
        self.note(said, told, silent, silent_on_top)
        if text := text_said_twice(said):
            self.characters += len(text)
            self._counter.feed(text)

    @property
    def tokens(self) -> int:
        return self._estimated_tokens + self._counter.total
