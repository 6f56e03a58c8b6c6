"""From Anthropic's message, whole or as events, to our chat answer.

Rules of this file
1. Translation never raises on what a vendor could send: what is not known says nothing. A whole answer that is none is
   NotAnAnswer.
2. This vendor counts cached and cache-written input beside the input; ours is part of it.
3. What a model thought goes to the caller twice: as text to read, and as blocks to send back unchanged.
"""

import msgspec

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode, is_count
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.reported_usage import uses_in, written_in
from tollkeeper.core.calls.sse import DONE
from tollkeeper.core.money.parts import NO_PARTS, UsageParts
from tollkeeper.providers.vendors import chat_answer
from tollkeeper.providers.vendors.chat_answer import UNREADABLE, Choice, Heading, Used, chunk, completion, tool_call

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
# A tuple: a kind may be anything, also what has no hash.
THOUGHTS = ("thinking", "redacted_thinking")
# Beginnings of what the vendor says of an account, as if the request were wrong.
ABOUT_THE_ACCOUNT = (
    "Your credit balance is too low",
    "This organization has been disabled",
    "You have reached your specified API usage limits",
)
# Members of a message and its events that have no text of the model's.
SILENT = frozenset(
    {
        *("type", "id", "model", "role", "index", "usage", "stop_reason", "error", "request_id", "tool_use_id"),
        "container",
    }
)
# More thoughts than any model has are not kept for sending back.
THOUGHT_CHARACTERS_MOST = 4 * 1024 * 1024

encode = msgspec.json.Encoder().encode


def whole_answer(body: bytes, heading: Heading) -> bytes:
    try:
        message = decode(body)
    except NOT_READ:
        raise NotAnAnswer from None
    if not isinstance(message, dict) or message.get("type") == "error" or not isinstance(message.get("content"), list):
        raise NotAnAnswer
    choice = Choice(finish_reason=_finish_reason(message))
    for block in map(an_object, message["content"]):
        _note_block(choice, block)
    return completion(_named(heading, message), [choice], used_in(an_object(message.get("usage"))))


def _note_block(choice: Choice, block: JsonObject) -> None:
    kind = block.get("type")
    if kind == "text":
        choice.texts.append(a_text(block.get("text")))
    elif kind == "tool_use":
        choice.tool_calls.append(
            tool_call(a_text(block.get("id")), a_text(block.get("name")), _json(block.get("input")))
        )
    elif kind == "thinking":
        choice.thoughts.append(a_text(block.get("thinking")))
        choice.thinking_blocks.append(block)
    elif kind == "redacted_thinking":
        choice.thinking_blocks.append(block)


def used_in(usage: JsonObject) -> Used | None:
    """Tokens as we count them; None where the vendor did not say."""
    fresh, output = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    if fresh is None or output is None:
        return None
    cached = _count(usage, "cache_read_input_tokens") or 0
    by_life = {name: count for name, count in an_object(usage.get("cache_creation")).items() if is_count(count)}
    written_5m, written_1h = written_in(_count(usage, "cache_creation_input_tokens"), by_life)
    thinking = _count(an_object(usage.get("output_tokens_details")), "thinking_tokens") or 0
    uses = {name: count for name, count in an_object(usage.get("server_tool_use")).items() if is_count(count)}
    parts = UsageParts(written_5m=written_5m, written_1h=written_1h, tools=uses_in(uses))
    return Used(
        input_tokens=fresh + cached + written_5m + written_1h,
        output_tokens=output,
        cached_tokens=cached,
        thinking_tokens=thinking,
        parts=NO_PARTS if parts == NO_PARTS else parts,
    )


def is_about_the_account(body: bytes) -> bool:
    """What a message quotes of a request never stands at its beginning, so that no caller can say it."""
    try:
        problem = an_object(an_object(decode(body)).get("error"))
    except NOT_READ:
        return False
    return a_text(problem.get("message")).startswith(ABOUT_THE_ACCOUNT)


class MessageStream:
    """The events of one message. The `StreamTranslator` protocol."""

    silent = SILENT

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        # What was reported of usage, by name: later events report what has changed.
        self._usage: JsonObject = {}
        self._tool_calls = 0
        # The block of thoughts that is being sent, and its pieces: it can be sent back only whole.
        self._thoughts: JsonObject | None = None
        self._pieces: dict[str, list[str]] = {}
        self._thought_characters = 0
        self._has_arguments = True
        self._reads = {
            "message_start": self._begin,
            "content_block_start": self._begin_block,
            "content_block_delta": self._go_on,
            "content_block_stop": self._end_block,
            "message_delta": self._finish,
            "message_stop": lambda _: DONE,
            "error": self._fail,
        }

    def read(self, data: bytes) -> bytes:
        try:
            event = an_object(decode(data))
        except NOT_READ:
            return UNREADABLE
        kind = event.get("type")
        read = self._reads.get(kind) if isinstance(kind, str) else None
        return b"" if read is None else read(event)

    def end(self) -> bytes:
        return b""

    def _begin(self, event: JsonObject) -> bytes:
        message = an_object(event.get("message"))
        self._heading = _named(self._heading, message)
        self._usage = an_object(message.get("usage"))
        used = used_in(self._usage)
        so_far = b"" if used is None else chat_answer.usage_so_far(self._heading, used)
        return so_far + chunk(self._heading, {"role": "assistant", "content": ""})

    def _begin_block(self, event: JsonObject) -> bytes:
        block = an_object(event.get("content_block"))
        kind = block.get("type")
        if kind == "tool_use":
            self._tool_calls += 1
            self._has_arguments = False
            call = tool_call(a_text(block.get("id")), a_text(block.get("name")), "")
            return self._tool_delta(call)
        if kind == "text":
            return self._delta({"content": a_text(block.get("text"))}) if block.get("text") else b""
        self._thoughts, self._pieces = (block if kind in THOUGHTS else None), {}
        return b""

    def _go_on(self, event: JsonObject) -> bytes:
        delta = an_object(event.get("delta"))
        kind = delta.get("type")
        if kind == "text_delta":
            return self._delta({"content": a_text(delta.get("text"))})
        if kind == "input_json_delta":
            self._has_arguments = self._has_arguments or bool(delta.get("partial_json"))
            return self._tool_delta({"function": {"arguments": a_text(delta.get("partial_json"))}})
        if kind == "thinking_delta":
            thought = a_text(delta.get("thinking"))
            self._think("thinking", thought)
            return self._delta({"reasoning_content": thought})
        if kind == "signature_delta":
            self._think("signature", a_text(delta.get("signature")))
        return b""

    def _think(self, name: str, more: str) -> None:
        self._thought_characters += len(more)
        if self._thoughts is not None and self._thought_characters <= THOUGHT_CHARACTERS_MOST:
            self._pieces.setdefault(name, [a_text(self._thoughts.get(name))]).append(more)
        else:
            self._thoughts = None

    def _end_block(self, _: JsonObject) -> bytes:
        if not self._has_arguments:
            # A call without arguments is one with none, as it is in a whole answer.
            self._has_arguments = True
            return self._tool_delta({"function": {"arguments": "{}"}})
        if self._thoughts is None:
            return b""
        block = self._thoughts | {name: "".join(pieces) for name, pieces in self._pieces.items()}
        self._thoughts = None
        return self._delta({"thinking_blocks": [block]})

    def _finish(self, event: JsonObject) -> bytes:
        usage = an_object(event.get("usage"))
        self._usage |= {name: value for name, value in usage.items() if value is not None}
        delta = an_object(event.get("delta"))
        if delta.get("stop_reason") is None:
            return b""
        finish = chunk(self._heading, {}, finish_reason=_finish_reason(delta))
        used = used_in(self._usage)
        # What the first event said of the output was said too early to count.
        is_final = used is not None and _count(usage, "output_tokens") is not None
        return finish + chat_answer.usage_chunk(self._heading, used) if used and is_final else finish

    def _fail(self, event: JsonObject) -> bytes:
        problem = an_object(event.get("error"))
        return chat_answer.error(a_text(problem.get("message")), a_text(problem.get("type")))

    def _delta(self, delta: JsonObject) -> bytes:
        return chunk(self._heading, delta)

    def _tool_delta(self, call: JsonObject) -> bytes:
        return self._delta({"tool_calls": [{"index": max(0, self._tool_calls - 1), **call}]})


def _named(heading: Heading, message: JsonObject) -> Heading:
    return Heading(a_text(message.get("id")), heading.created, heading.model)


def _finish_reason(message: JsonObject) -> str:
    reason = message.get("stop_reason")
    return FINISH_REASONS.get(reason, "stop") if isinstance(reason, str) else "stop"


def _json(value: object) -> str:
    return encode({} if value is None else value).decode()


def _count(counts: JsonObject, name: str) -> int | None:
    value = counts.get(name)
    return value if is_count(value) else None
