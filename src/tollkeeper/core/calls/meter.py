"""Meters: what can be known of a call's usage from the answer that passes by. Of one that comes whole: `whole_meter`.

Rules of this file
1. What a provider reports is kept as reported. What it writes is counted as well, for the case that it does not report.
2. The content of a stream is counted and let go: a meter's size does not grow with it.
3. Every text of an answer is counted, wherever it stands and whatever the vendor calls it (`answer_reading`): a
   part of an answer that nobody counts would be free. Where much of it has a form that we do not know, the count is a
   guess, and the meter is `unsure`: then only the provider's own report is exact.
"""

from collections import defaultdict

from msgspec import Raw

from tollkeeper.core.calls.answer_forms import (
    NULL,
    AnswerTooLong,
    Label,
    NotAnAnswer,
    ReceivedAnswer,
    ReceivedChoice,
    ReceivedToolCall,
)
from tollkeeper.core.calls.answer_reading import read_chunk, read_usage
from tollkeeper.core.calls.answer_texts import text_beside, text_of_filters, text_of_logprobs, text_seen_again
from tollkeeper.core.calls.chat import CHOICES_MOST
from tollkeeper.core.calls.chunk_form import LearnedForm
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.repeated import NO_CHOICE, RepeatedByChoice, RepeatedCalls, RepeatedMessages
from tollkeeper.core.calls.reported_usage import usage_in
from tollkeeper.core.calls.reports import Reports
from tollkeeper.core.calls.said_twice import text_said_twice
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.tokens import CHARACTERS_PER_TOKEN, TokenCounter
from tollkeeper.core.money.prices import Usage

__all__ = ["AnswerTooLong", "Meter", "NotAnAnswer"]

# So much text of unknown form, beside an eighth of what is known, may be a vendor's remark about each chunk.
UNSURE_CHARACTERS = 64
UNSURE_PART = 8
# Of one event, or of one answer that came whole, so much is counted: what takes longer would keep other calls waiting.
EXACT_CHARACTERS_MOST = 65_536


class Meter:
    """Watches one answer of so many choices, event by event."""

    __slots__ = (
        "_calls",
        "_choices",
        "_counters",
        "_estimated_tokens",
        "_exact_characters",
        "_filters",
        "_finished",
        "_repeated",
        "_rest_tokens",
        "_strange",
        "_strange_characters",
        "_told",
        "_untranslated",
        "_untranslated_characters",
        "characters",
        "chunk_form",
        "is_translated",
        "reports",
        "said_done",
    )

    def __init__(self, choices: int = 1) -> None:
        self._choices = choices
        # Whether the provider says itself that it is done.
        self.said_done = False
        self._counters = defaultdict[int, TokenCounter](TokenCounter)
        self._finished: set[int] = set()
        self._strange = TokenCounter()
        self._strange_characters = 0
        self._estimated_tokens = 0
        # How many characters of this event may still be counted, and what the others come to, about.
        self._exact_characters = EXACT_CHARACTERS_MOST
        self._rest_tokens = 0
        self._calls = RepeatedCalls()
        self._repeated = RepeatedByChoice()
        self.chunk_form = LearnedForm()
        # By choice, the last remarks on what was filtered: the same again says nothing new.
        self._filters: dict[int, Raw] = {}
        self._told = RepeatedMessages()
        self.reports = Reports()
        # Of output so far.
        self.characters = 0
        # Whether we have translated the answer, and whatever stands in it was put there by us.
        self.is_translated = False
        self._untranslated: LeftOut | None = None
        self._untranslated_characters = 0

    @property
    def output_tokens(self) -> int:
        counted_tokens = sum(counter.total for counter in self._counters.values())
        return self.guessed_tokens + counted_tokens + self._rest_tokens

    @property
    def guessed_tokens(self) -> int:
        """Output tokens of text whose form we do not know, or that could not be read."""
        left_out_tokens = 0 if self._untranslated is None else self._untranslated.tokens
        return self._estimated_tokens + self._strange.total + left_out_tokens

    @property
    def reported(self) -> Usage | None:
        """The provider's last word."""
        return self.reports.last(self._words)

    @property
    def so_far(self) -> Usage | None:
        """What was reported on the way: its input is right, its output is not yet."""
        return self.reports.so_far(self._words)

    @property
    def _words(self) -> int:
        """Characters of output, without what a vendor remarks beside it."""
        return self.characters - self._strange_characters

    @property
    def finished(self) -> bool:
        """Whether every choice has given its reason to end; once the provider says that it is done, all that began."""
        wanted = 1 if self.said_done else self._choices
        return len(self._finished) >= wanted and self._finished >= self._counters.keys()

    @property
    def unfinished(self) -> list[int]:
        """The choices that have given no reason to end."""
        return [index for index in range(self._choices) if index not in self._finished]

    @property
    def label(self) -> Label | None:
        """What stands on every chunk alike, as far as any came."""
        return self._repeated.label

    @property
    def unsure(self) -> bool:
        """Whether so much has a form that we do not know that its count is no more than a guess."""
        return self._strange_characters > UNSURE_CHARACTERS + self.characters // UNSURE_PART

    def read_event(self, data: bytes) -> Event:
        """Watch the next event of a streamed answer."""
        if data == b"[DONE]":
            self.said_done = True
            return Event.DONE
        words = self.chunk_form.words_of(data)
        if words is not None:
            self.count_words(words)
            return Event.PASSES
        try:
            answer = read_chunk(data)
        except NotAnAnswer:
            return Event.MALFORMED
        if answer.error is not None:
            return Event.ERROR
        kind = self._read_chunk(answer)
        if self._choices == 1:
            self.chunk_form.look(data, answer)
        return kind

    def count_words(self, words: str) -> None:
        """Count what `chunk_form` has found in an event, which is all that it says."""
        self.characters += len(words)
        self._counters[0].feed(words)

    def _read_chunk(self, answer: ReceivedAnswer) -> Event:
        self._exact_characters = EXACT_CHARACTERS_MOST
        choices = answer.choices
        if not choices and (kind := self._read_report(answer)) is not Event.PASSES:
            return kind
        for choice in choices or ():
            self._watch(choice)
        usage = answer.usage
        if usage is None and choices and self._choices == 1:
            usage = choices[-1].usage
        self.reports.note(usage_in(usage), self._words)
        self._read_beside(answer)
        return Event.PASSES

    def _read_report(self, answer: ReceivedAnswer) -> Event:
        """What an event without choices is. One that callers may see, and that reports nothing, may say something."""
        if answer.usage is not None:
            reported = usage_in(answer.usage)
            self.reports.note(reported, self._words)
            if reported is None:
                self._read_beside(answer)
            return Event.USAGE
        if answer.choices is None:
            return Event.PASSES
        if answer.usage_so_far is not NULL:
            self.reports.note_on_the_way(usage_in(read_usage(answer.usage_so_far)))
        return Event.ASIDE

    def _read_beside(self, answer: ReceivedAnswer) -> None:
        """What stands beside the choices of a chunk."""
        beside = answer.strange_text
        if answer.prompt_filter_results is not NULL or answer.usage_so_far is not NULL:
            beside = text_beside(answer)
        label, index = answer.label, answer.choices[0].index if answer.choices else NO_CHOICE
        if beside or index or self._choices > 1 or label != self._repeated.label:
            # A chunk that said what the others say would be news after it.
            self.chunk_form.form = None
            self._count_strange(self._repeated.news(index, beside, label))

    def watch_whole(self, answer: ReceivedAnswer, body: bytes) -> None:
        """Watch an answer that came whole, as `body`, and with nothing before it."""
        if beside := text_beside(answer):
            self._watch(ReceivedChoice(index=CHOICES_MOST, strange_text=beside))
        for choice in reversed(answer.choices or ()):
            self._watch(choice)
        # Where a part is counted as it was written, what it says twice is in it already.
        self._count_strange(text_said_twice(body)[: max(0, len(body) - self.characters)])

    def note_untranslated(self, untranslated: LeftOut) -> None:
        """A vendor has said this in all that was left out when it was translated."""
        more = untranslated.characters - self._untranslated_characters
        self._untranslated, self._untranslated_characters = untranslated, untranslated.characters
        self._strange_characters += more
        self.characters += more

    def estimate(self, size_bytes: int) -> None:
        """So much came that could not be read: its tokens can only be estimated."""
        self._estimated_tokens += -(-size_bytes // CHARACTERS_PER_TOKEN)
        self.characters += size_bytes

    def _watch(self, choice: ReceivedChoice) -> None:
        # Choices that nobody could have asked for are counted as one.
        index = choice.index if 0 <= choice.index < CHOICES_MOST else CHOICES_MOST
        counter = self._counters[index]
        if choice.finish_reason:
            self._finished.add(index)
        # Where a whole message stands beside a delta, it says again what has been said.
        words = choice.delta or choice.message
        text = "" if words is None else words.text
        if words is not None and words.is_unusual:
            text += self._read_unusual(index, choice)
        if text:
            self.characters += len(text)
            counter.feed(self._bounded(text))
        strange = choice.strange_text
        if choice.logprobs is not None:
            strange += text_of_logprobs(choice.logprobs, len(text))
        filters = choice.content_filter_results
        if filters is not NULL and filters != self._filters.get(index):
            self._filters[index] = filters
            strange += text_of_filters(filters)
        if choice.delta is not None and choice.message is not None:
            strange += self._told.news(index, text, choice.message.text)
        if strange:
            self._count_strange(strange)

    def _read_unusual(self, index: int, choice: ReceivedChoice) -> str:
        """The text of calls of tools. What a vendor wants to see again may be output, but for thoughts that we have put
        together from parts: those were counted."""
        strange = text_seen_again(choice, thoughts=not self.is_translated)
        self._count_strange(strange)
        each = [words.calls for words in (choice.delta, choice.message) if words is not None]
        return "".join(self._text_of(index, at, call) for calls in each for at, call in enumerate(calls))

    def _text_of(self, index: int, at: int, call: ReceivedToolCall) -> str:
        text, strange = self._calls.news((index, at if call.index is None else call.index), call)
        self._count_strange(strange)
        return text

    def _bounded(self, text: str) -> str:
        """Return as much of a text as may be counted exactly now. The rest is estimated."""
        left, size = self._exact_characters, len(text)
        self._exact_characters = left - size
        if size <= left:
            return text
        exact = text[: max(0, left)]
        self._rest_tokens += -(-(size - len(exact)) // CHARACTERS_PER_TOKEN)
        return exact

    def _count_strange(self, text: str) -> None:
        """Text of a form that we do not know."""
        if not text:
            return
        self._strange.feed(self._bounded(text))
        self.characters += len(text)
        self._strange_characters += len(text)
