"""From Gemini's content, whole or as events, to our chat answer.

Rules of this file
1. Translation never raises on what a vendor could send: what is not known says nothing. A whole answer that is none is
   NotAnAnswer.
2. This vendor counts cached input as part of the input, as we do, but thoughts beside the output; ours are part of it.
3. Every event reports the usage so far. Only what comes with the end, or after it, is final, and is sent once, last.
4. The stream's end is where the connection ends: the vendor has no word for it, and some who stand between say that
   they have finished before they have.
"""

import itertools
from collections.abc import Iterable, Iterator

import msgspec

from tollkeeper.core.calls.chat import CHOICES_MOST
from tollkeeper.core.calls.loosely import (
    NOT_READ,
    JsonObject,
    a_text,
    an_object,
    decode,
    is_count,
    objects,
)
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.sse import DONE
from tollkeeper.core.money.parts import NO_PARTS, UsageParts
from tollkeeper.providers.vendors import chat_answer
from tollkeeper.providers.vendors.chat_answer import UNREADABLE, Choice, Heading, Used, chunk, completion, tool_call

BLOCKED = "content_filter"
FINISH_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": BLOCKED,
    "RECITATION": BLOCKED,
    "LANGUAGE": BLOCKED,
    "OTHER": BLOCKED,
    "BLOCKLIST": BLOCKED,
    "PROHIBITED_CONTENT": BLOCKED,
    "SPII": BLOCKED,
    "IMAGE_SAFETY": BLOCKED,
    "IMAGE_PROHIBITED_CONTENT": BLOCKED,
    "IMAGE_RECITATION": BLOCKED,
}
COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
)
# Members of an answer that have no text of the model's.
SILENT = frozenset(
    {
        *("usageMetadata", "modelVersion", "responseId", "createTime", "index", "finishReason", "role", "error"),
        *("safetyRatings", "promptFeedback", "avgLogprobs", "mimeType"),
    }
)
WRONG_KEY = "API_KEY_INVALID"
NOT_ITS_STATE = "FAILED_PRECONDITION"
# By how much output must have grown for another report on the way.
STEP_TOKENS = 256

encode = msgspec.json.Encoder().encode


def whole_answer(body: bytes, heading: Heading, *, one_tool_call: bool) -> bytes:
    """`one_tool_call`: of several calls that a choice makes, only the first is translated."""
    try:
        answer = an_object(decode(body))
    except NOT_READ:
        raise NotAnAnswer from None
    # More than anybody can have asked for are left out.
    candidates = objects(answer.get("candidates"))[:CHOICES_MOST]
    if answer.get("error") is not None or not (candidates or _is_blocked(answer)):
        raise NotAnAnswer
    heading = _named(heading, answer)
    numbers = itertools.count()
    choices = [_choice(candidate, heading, numbers, one_tool_call=one_tool_call) for candidate in candidates]
    return completion(heading, choices or [Choice(finish_reason=BLOCKED)], used_in(answer))


def _choice(candidate: JsonObject, heading: Heading, numbers: Iterator[int], *, one_tool_call: bool) -> Choice:
    choice = Choice()
    for part in _parts(candidate):
        if isinstance(part.get("functionCall"), dict):
            if not (one_tool_call and choice.tool_calls):
                choice.tool_calls.append(_call(part, heading, numbers))
            continue
        choice.extra_content = _signature(part) or choice.extra_content
        if text := a_text(part.get("text")):
            (choice.thoughts if part.get("thought") is True else choice.texts).append(text)
    choice.finish_reason = _finish_reason(candidate, has_called=bool(choice.tool_calls))
    return choice


def used_in(answer: JsonObject) -> Used | None:
    """Tokens as we count them; None where the vendor did not say."""
    usage = an_object(answer.get("usageMetadata"))
    # It leaves out what is zero.
    counts = [0 if usage.get(name) is None else usage[name] for name in COUNTS]
    if not counts[0] or not all(map(is_count, counts)):
        return None
    prompt, of_tools, cached, candidates, thoughts = counts
    return Used(
        input_tokens=prompt + of_tools,
        output_tokens=candidates + thoughts,
        cached_tokens=cached,
        thinking_tokens=thoughts,
        parts=_parts_of(usage, ("promptTokensDetails", "toolUsePromptTokensDetails"), "candidatesTokensDetails"),
        cached_parts=_parts_of(usage, ("cacheTokensDetails",)),
    )


def _parts_of(usage: JsonObject, input_names: Iterable[str], output_name: str = "") -> UsageParts:
    """Images and audio, by the names of the details of the input and of the output."""
    of_input = [detail for name in input_names for detail in objects(usage.get(name))]
    of_output = objects(usage.get(output_name))
    parts = UsageParts(
        image_input=_of_modality("IMAGE", of_input),
        audio_input=_of_modality("AUDIO", of_input),
        image_output=_of_modality("IMAGE", of_output),
        audio_output=_of_modality("AUDIO", of_output),
    )
    return NO_PARTS if parts == NO_PARTS else parts


def _of_modality(modality: str, details: Iterable[JsonObject]) -> int:
    counts = (detail.get("tokenCount") for detail in details if detail.get("modality") == modality)
    return sum(count for count in counts if is_count(count))


def is_about_the_key(body: bytes) -> bool:
    """The vendor says this as if the request were wrong. It is the account's key that is."""
    return any(detail.get("reason") == WRONG_KEY for detail in objects(_problem(body).get("details")))


def is_about_the_account(body: bytes) -> bool:
    """Not paid for, or not to be used from where we are."""
    return _problem(body).get("status") == NOT_ITS_STATE


def _problem(body: bytes) -> JsonObject:
    try:
        return an_object(an_object(decode(body)).get("error"))
    except NOT_READ:
        return {}


class _ChoiceProgress(msgspec.Struct):
    """How far a choice has come."""

    tool_calls: int = 0
    has_begun: bool = False
    has_finished: bool = False


class ContentStream:
    """The events of one answer. The `StreamTranslator` protocol."""

    silent = SILENT

    def __init__(self, heading: Heading, *, one_tool_call: bool) -> None:
        self._heading = heading
        self._one_tool_call = one_tool_call
        self._choices: dict[int, _ChoiceProgress] = {}
        self._numbers = itertools.count()
        self._so_far: Used | None = None
        # What came with the end, or after it.
        self._final: Used | None = None

    def read(self, data: bytes) -> bytes:
        try:
            event = decode(data)
        except NOT_READ:
            return UNREADABLE
        return b"".join(self._translate(an_object(event)))

    def end(self) -> bytes:
        report = b"" if self._final is None else chat_answer.usage_chunk(self._heading, self._final)
        # However many choices were asked for: there are no more.
        return report + DONE if any(choice.has_finished for choice in self._choices.values()) else b""

    def _translate(self, event: JsonObject) -> Iterator[bytes]:
        if event.get("error") is not None:
            yield _failure(an_object(event["error"]))
            return
        if not self._choices:
            self._heading = _named(self._heading, event)
        used = used_in(event)
        if used is not None:
            yield from self._count(used)
        candidates = objects(event.get("candidates"))[:CHOICES_MOST]
        for candidate in candidates:
            yield from self._candidate(candidate)
        if not candidates and _is_blocked(event):
            yield from self._block()
        if used is not None and self._choices and all(choice.has_finished for choice in self._choices.values()):
            self._final = used
            yield chat_answer.usage_so_far(self._heading, used)

    def _count(self, used: Used) -> Iterator[bytes]:
        """Thoughts may come to much before the first word does."""
        if self._so_far is None or used.output_tokens >= self._so_far.output_tokens + STEP_TOKENS:
            self._so_far = used
            yield chat_answer.usage_so_far(self._heading, used)

    def _candidate(self, candidate: JsonObject) -> Iterator[bytes]:
        index = candidate.get("index")
        index = index if is_count(index) and index < CHOICES_MOST else 0
        choice = self._choices.setdefault(index, _ChoiceProgress())
        for part in _parts(candidate):
            if delta := self._delta(part, choice):
                yield self._chunk(index, delta)
        if a_text(candidate.get("finishReason")) and not choice.has_finished:
            yield self._end(index, _finish_reason(candidate, has_called=choice.tool_calls > 0))

    def _delta(self, part: JsonObject, choice: _ChoiceProgress) -> JsonObject:
        """Nothing where a part says nothing."""
        if isinstance(part.get("functionCall"), dict):
            if self._one_tool_call and choice.tool_calls:
                return {}
            choice.tool_calls += 1
            call = _call(part, self._heading, self._numbers)
            return {"tool_calls": [{"index": choice.tool_calls - 1, **call}]}
        delta: JsonObject = {}
        if text := a_text(part.get("text")):
            delta["reasoning_content" if part.get("thought") is True else "content"] = text
        if signature := _signature(part):
            delta["extra_content"] = signature
        return delta

    def _block(self) -> Iterator[bytes]:
        for index in self._choices or (0,):
            if not self._choices.setdefault(index, _ChoiceProgress()).has_finished:
                yield self._end(index, BLOCKED)

    def _end(self, index: int, finish_reason: str) -> bytes:
        choice = self._choices[index]
        choice.has_finished = True
        return self._chunk(index, {} if choice.has_begun else {"content": ""}, finish_reason)

    def _chunk(self, index: int, delta: JsonObject, finish_reason: str | None = None) -> bytes:
        choice = self._choices[index]
        if not choice.has_begun:
            choice.has_begun = True
            delta = {"role": "assistant", **delta}
        return chunk(self._heading, delta, index=index, finish_reason=finish_reason)


def _named(heading: Heading, answer: JsonObject) -> Heading:
    return Heading(a_text(answer.get("responseId")), heading.created, heading.model)


def _call(part: JsonObject, heading: Heading, numbers: Iterator[int]) -> JsonObject:
    """`numbers`: of the calls of this answer, for those to which the vendor gave no id."""
    function: JsonObject = part["functionCall"]
    id_ = a_text(function.get("id")) or f"call_{heading.id}_{next(numbers)}"
    signature = _signature(part)
    extra = {"extra_content": signature} if signature else {}
    return tool_call(id_, a_text(function.get("name")), encode(an_object(function.get("args"))).decode(), **extra)


def _signature(part: JsonObject) -> JsonObject | None:
    """In the form in which the vendor's own compatible endpoint writes it."""
    signature = a_text(part.get("thoughtSignature"))
    return {"google": {"thought_signature": signature}} if signature else None


def _finish_reason(candidate: JsonObject, *, has_called: bool) -> str:
    reason = FINISH_REASONS.get(a_text(candidate.get("finishReason")), "stop")
    return "tool_calls" if has_called and reason == "stop" else reason


def _is_blocked(answer: JsonObject) -> bool:
    """Whether the vendor did not take the question."""
    return bool(a_text(an_object(answer.get("promptFeedback")).get("blockReason")))


def _failure(problem: JsonObject) -> bytes:
    return chat_answer.error(a_text(problem.get("message")), a_text(problem.get("status")))


def _parts(candidate: JsonObject) -> list[JsonObject]:
    return objects(an_object(candidate.get("content")).get("parts"))
