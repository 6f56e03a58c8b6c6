"""The form that the chunks of one stream have in common: what stands before their words, and what behind.

A stream is hundreds of chunks that differ in a word each. One that has the form of a chunk that was read says what that
one said, but for its words: they are cut out instead of parsing all of it.

Rules of this file
1. A form is learned from a chunk that was read in full, has words and noise in it and nothing else that changes, and
   says nothing of its own beside them.
2. Words of this form stand in JSON as they are: without escapes or control characters, in UTF-8. Everything else is
   read in full.
3. The same bytes around other words are the same JSON around them: nothing can hide there. The words' own bytes are
   found by their text, so it must stand there once, and nothing may be written with an escape: the member itself, or a
   text that passes for its words.
"""

from typing import NamedTuple

from tollkeeper.core.calls.answer_forms import NULL, QUIET_CHARACTERS_MOST, ReceivedAnswer, ReceivedChoice, Words

QUOTE = b'"'
ESCAPE = b"\\"
# Nobody says more in one breath; who does is read in full.
WORDS_BYTES_MOST = 4_096
# After so many chunks that are all unlike it is not looked any more for what they have in common.
FORMS_MOST = 4


class ChunkForm(NamedTuple):
    # Up to the words, behind them, and behind the noise, if there is any. Each with its quotes.
    before: bytes
    behind: bytes
    at_the_end: bytes
    has_noise: bool

    def words_of(self, data: bytes) -> str | None:
        """The words of a chunk that has this form; None of another."""
        if not data.startswith(self.before):
            return None
        begin = len(self.before)
        end = data.find(QUOTE, begin, begin + WORDS_BYTES_MOST)
        if end < 0 or not self._fits(data, end):
            return None
        try:
            words = data[begin:end].decode()
        except UnicodeDecodeError:
            return None
        return words if words.isprintable() and "\\" not in words else None

    def _fits(self, data: bytes, end: int) -> bool:
        """Whether what follows the words is as it was, but for noise."""
        if not self.has_noise:
            return len(data) == end + len(self.behind) and data.endswith(self.behind)
        begin, stop = end + len(self.behind), len(data) - len(self.at_the_end)
        return (
            0 <= stop - begin <= QUIET_CHARACTERS_MOST
            and data.startswith(self.behind, end)
            and data.endswith(self.at_the_end)
            and (begin == stop or data[begin:stop].isalnum())
        )


class LearnedForm:
    """The form of a stream's chunks, as far as it is known."""

    __slots__ = ("form", "looks_left")

    def __init__(self) -> None:
        self.form: ChunkForm | None = None
        # Of how many more chunks that are unlike it is still looked for.
        self.looks_left = FORMS_MOST

    def words_of(self, data: bytes) -> str | None:
        """The words of a chunk that has the form of those before it, and says nothing else; None of another."""
        words = None if self.form is None else self.form.words_of(data)
        if words is not None:
            self.looks_left = FORMS_MOST
        return words

    def look(self, data: bytes, answer: ReceivedAnswer) -> None:
        """Learn from a chunk that was read in full."""
        if self.looks_left:
            self.looks_left -= 1
            self.form = form_of(data, answer) or self.form


def form_of(data: bytes, answer: ReceivedAnswer) -> ChunkForm | None:
    """What chunks like this one have in common. `answer`: what was read of it."""
    choices = answer.choices or []
    words = choices[0].delta if len(choices) == 1 else None
    if words is None or not words.content or not _says_words_alone(answer, choices[0], words) or ESCAPE in data:
        return None
    begin, end = _place_of(words.content, data)
    if begin < 0:
        return None
    if answer.obfuscation is None:
        return ChunkForm(data[:begin], data[end:], b"", has_noise=False)
    noise_begin, noise_end = _place_of(answer.obfuscation, data)
    if noise_begin < end:
        return None
    return ChunkForm(data[:begin], data[end:noise_begin], data[noise_end:], has_noise=True)


def _place_of(text: str, data: bytes) -> tuple[int, int]:
    """Where a text stands between its quotes; -1 where that is so more than once."""
    quoted = QUOTE + text.encode() + QUOTE
    begin = data.find(quoted)
    if begin < 0 or data.find(quoted, begin + 1) >= 0:
        return -1, -1
    return begin + 1, begin + len(quoted) - 1


def _says_words_alone(answer: ReceivedAnswer, choice: ReceivedChoice, words: Words) -> bool:
    """Whether a chunk has nothing in it that would be looked at, but for the words of its first choice."""
    beside = (answer.usage, choice.usage, answer.error, choice.message, choice.finish_reason, choice.logprobs)
    remarks = (answer.usage_so_far, answer.prompt_filter_results, choice.content_filter_results)
    strange = answer.strange_text or choice.strange_text
    is_silent = not any(beside) and not strange and all(remark == NULL for remark in remarks)
    return is_silent and choice.index == 0 and words == Words(words.role, words.content)
