"""From a response, whole or as events, to our chat answer: how an answer that passes as it came is metered.

Rules of this file
1. Translation never raises on what a vendor could send. A whole answer that is none is NotAnAnswer.
2. Every delta is sent, whatever it is a delta of. What comes again when an item is done is sent only as far as it is
   new.
3. Uses of the vendor's tools are counted by the items that show them, and written into the report.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tollkeeper.core.calls.answer_texts import beyond_tokens
from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode, is_count, objects
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.sse import DONE, event
from tollkeeper.providers.vendors import chat_answer
from tollkeeper.providers.vendors.chat_answer import UNREADABLE, Choice, Heading, chunk, tool_call
from tollkeeper.providers.vendors.response_words import SAID_AGAIN, SILENT_AGAIN, SILENT_IN, SILENT_IN_NONE, words_in

# Items that show a use of the vendor's own tools, and the name that a price has for it.
USES = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "image_generation_call": "image_generation",
    "computer_call": "computer_use",
    "mcp_call": "mcp",
}
CALLS = ("function_call", "custom_tool_call")
INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}
ITEMS_MOST = 4_096

encode = msgspec.json.Encoder().encode


def whole_answer(body: bytes, heading: Heading) -> bytes:
    try:
        answer = an_object(decode(body))
    except NOT_READ:
        raise NotAnAnswer from None
    if answer.get("status") in ("failed", "cancelled") or not isinstance(answer.get("output"), list):
        raise NotAnAnswer
    items = objects(answer["output"])
    choice = Choice(finish_reason=_finish_reason(answer, items))
    for item in items:
        _note_item(choice, item)
    answered = {
        "id": a_text(answer.get("id")),
        "object": "chat.completion",
        "created": heading.created,
        "model": heading.model,
        "choices": [choice.as_json(0)],
    }
    usage = usage_in(answer, uses_in(items))
    return encode(answered if usage is None else answered | {"usage": usage})


def _note_item(choice: Choice, item: JsonObject) -> None:
    kind = item.get("type")
    if kind in CALLS:
        given = a_text(item.get("arguments" if kind == "function_call" else "input"))
        choice.tool_calls.append(tool_call(a_text(item.get("call_id")), a_text(item.get("name")), given))
    elif kind == "message":
        choice.texts.append(words_in(item))
    else:
        choice.thoughts.append(words_in(item))


def uses_in(items: Iterable[JsonObject]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for item in items:
        kind = item.get("type")
        if isinstance(kind, str) and kind in USES:
            uses[USES[kind]] = uses.get(USES[kind], 0) + 1
    return uses


def usage_in(answer: JsonObject, uses: Mapping[str, int]) -> JsonObject | None:
    """The report, as chat has it; None where the vendor did not say."""
    usage = an_object(answer.get("usage"))
    asked, said = usage.get("input_tokens"), usage.get("output_tokens")
    if not is_count(asked) or not is_count(said):
        return None
    of_input, of_output = an_object(usage.get("input_tokens_details")), an_object(usage.get("output_tokens_details"))
    report: JsonObject = {
        "prompt_tokens": asked,
        "completion_tokens": said,
        "total_tokens": asked + said,
        "prompt_tokens_details": {"cached_tokens": _count(of_input, "cached_tokens")},
        "completion_tokens_details": {"reasoning_tokens": _count(of_output, "reasoning_tokens")},
    }
    if written := _count(of_input, "cache_write_tokens"):
        report["prompt_tokens_details"]["cache_write_tokens"] = written
    # The vendor's own count of what it charges for, where it reports one: not every step of a search is a use.
    searches = an_object(an_object(answer.get("tool_usage")).get("web_search")).get("num_requests")
    counted = {**uses, "web_search": searches} if is_count(searches) else uses
    if uses_by_name := {f"{name}_requests": times for name, times in counted.items() if times}:
        report["server_tool_use"] = uses_by_name
    return report


class ItemProgress(msgspec.Struct):
    """An item of which so much was sent; a call of the caller's tools has a number."""

    call: int | None = None
    is_thought: bool = False
    characters: int = 0


class ResponseStream:
    """The events of one response. The `StreamTranslator` protocol."""

    def __init__(self, heading: Heading) -> None:
        # Of the event that was read last.
        self.silent = SILENT_IN_NONE
        # Of words, so far.
        self._characters = 0
        self._heading = heading
        self._items: dict[str, ItemProgress] = {}
        self._calls = 0
        self._uses: dict[str, int] = {}
        self._reads = {
            "response.created": self._begin,
            "response.output_item.added": self._add,
            "response.output_item.done": self._finish_item,
            "response.completed": self._finish,
            "response.incomplete": self._finish,
            "response.failed": self._fail,
            "response.cancelled": self._fail,
            "error": self._fail,
        }

    def read(self, data: bytes) -> bytes:
        try:
            sent = an_object(decode(data))
        except NOT_READ:
            return UNREADABLE
        kind = a_text(sent.get("type"))
        self.silent = SILENT_AGAIN.get(kind) or SILENT_IN.get(kind, SILENT_IN_NONE)
        read = self._reads.get(kind)
        if read is not None:
            return read(sent)
        if kind in SAID_AGAIN:
            return self._say_again(sent, kind)
        return self._go_on(sent, kind) if isinstance(sent.get("delta"), str) else b""

    def end(self) -> bytes:
        return b""

    def _begin(self, sent: JsonObject) -> bytes:
        answer = an_object(sent.get("response"))
        self._heading = Heading(a_text(answer.get("id")), self._heading.created, self._heading.model)
        return chunk(self._heading, {"role": "assistant", "content": ""})

    def _add(self, sent: JsonObject) -> bytes:
        item = an_object(sent.get("item"))
        kind = item.get("type")
        known = ItemProgress(is_thought=kind not in ("message", *CALLS))
        if kind in CALLS:
            known.call, self._calls = self._calls, self._calls + 1
        self._keep(a_text(item.get("id")), known)
        begun = words_in(item)
        known.characters = len(begun)
        if known.call is None:
            return self._chunk(known, begun) if begun else b""
        self._characters += len(begun)
        call = tool_call(a_text(item.get("call_id")), a_text(item.get("name")), begun)
        return chunk(self._heading, {"tool_calls": [{"index": known.call, **call}]})

    def _keep(self, id_: str, item: ItemProgress) -> ItemProgress:
        if len(self._items) < ITEMS_MOST:
            self._items[id_] = item
        return item

    def _known(self, sent: JsonObject, kind: str) -> ItemProgress:
        """The item that an event is about."""
        id_ = a_text(sent.get("item_id"))
        is_thought = not kind.startswith(("response.output_text", "response.refusal"))
        return self._items.get(id_) or self._keep(id_, ItemProgress(is_thought=is_thought))

    def _go_on(self, sent: JsonObject, kind: str) -> bytes:
        item, text = self._known(sent, kind), a_text(sent.get("delta"))
        item.characters += len(text)
        if logprobs := sent.get("logprobs"):
            text += beyond_tokens([logprobs], len(text))
        return self._chunk(item, text)

    def _say_again(self, sent: JsonObject, kind: str) -> bytes:
        """Only as far as it is more than was said."""
        item = self._known(sent, kind)
        more = words_in(sent.get(SAID_AGAIN[kind]))[item.characters :]
        item.characters += len(more)
        if logprobs := sent.get("logprobs"):
            more += beyond_tokens([logprobs], item.characters)
        return self._chunk(item, more) if more else b""

    def _chunk(self, item: ItemProgress, text: str) -> bytes:
        self._characters += len(text)
        if item.call is not None:
            return chunk(self._heading, {"tool_calls": [{"index": item.call, "function": {"arguments": text}}]})
        return chunk(self._heading, {"reasoning_content" if item.is_thought else "content": text})

    def _finish_item(self, sent: JsonObject) -> bytes:
        item = an_object(sent.get("item"))
        for name, times in uses_in([item]).items():
            self._uses[name] = self._uses.get(name, 0) + times
        id_ = a_text(item.get("id"))
        known = self._items.get(id_) or self._keep(id_, ItemProgress(is_thought=item.get("type") != "message"))
        more = words_in(item)[known.characters :]
        known.characters += len(more)
        return self._chunk(known, more) if more else b""

    def _finish(self, sent: JsonObject) -> bytes:
        answer = an_object(sent.get("response"))
        items = objects(answer.get("output"))
        # Some name their items otherwise at the end: what was said is known by its length.
        more = "".join(map(words_in, items))[self._characters :]
        finish = self._chunk(ItemProgress(), more) if more else b""
        finish += chunk(self._heading, {}, finish_reason=self._reason(answer, items))
        usage = usage_in(answer, uses_in(items) or self._uses)
        if usage is None:
            return finish + DONE
        report = {
            "id": self._heading.id,
            "object": "chat.completion.chunk",
            "created": self._heading.created,
            "model": self._heading.model,
            "choices": [],
            "usage": usage,
        }
        return finish + event(encode(report)) + DONE

    def _reason(self, answer: JsonObject, items: list[JsonObject]) -> str:
        reason = _finish_reason(answer, items)
        return "tool_calls" if reason == "stop" and self._calls else reason

    def _fail(self, sent: JsonObject) -> bytes:
        problem = an_object(an_object(sent.get("response")).get("error")) or sent
        return chat_answer.error(a_text(problem.get("message")), a_text(problem.get("code")))


def _finish_reason(answer: JsonObject, items: Iterable[JsonObject]) -> str:
    if answer.get("status") == "incomplete":
        reason = an_object(answer.get("incomplete_details")).get("reason")
        return INCOMPLETE.get(reason, "length") if isinstance(reason, str) else "length"
    return "tool_calls" if any(item.get("type") in CALLS for item in items) else "stop"


def _count(counts: JsonObject, name: str) -> int:
    value = counts.get(name)
    return value if is_count(value) else 0
