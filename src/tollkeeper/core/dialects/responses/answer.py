"""A chat answer that came whole, translated into a response: its object, its items, its usage.

Rules of this file
1. What a response says of its own order is what came, as far as it is short: long instructions and tools are not kept
   in memory for the sake of an echo.
2. Thoughts that a chat provider shows become the summary of a reasoning item. They cannot be sealed, so nothing is
   lost when the item does not come back.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode, is_count
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.dialects.responses.tools import INPUT, CalledTool
from tollkeeper.core.money.prices import Usage

ToolNames = Mapping[str, CalledTool]

# Of each parameter, so much is kept to be sent back.
ECHO_BYTES_MOST = 16 * 1024
# What a response says of its order, and what that is where the order did not say.
ECHOED: Mapping[str, object] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
    "metadata": {},
}
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

encode = msgspec.json.Encoder().encode


class ResponseEcho(msgspec.Struct, frozen=True):
    """What a response repeats of its order."""

    model: str
    members: Mapping[str, object]

    @classmethod
    def of(cls, model: str, fields: Mapping[str, Raw]) -> "ResponseEcho":
        members = dict(ECHOED)
        for name in ECHOED:
            value = fields.get(name)
            if value is not None and value != Raw(b"null") and len(memoryview(value)) <= ECHO_BYTES_MOST:
                # Written anew: line breaks would end an event, and a part of the body would keep all of it.
                members[name] = Raw(encode(decode(value)))
        return cls(model, members)


class ResponseLabel(msgspec.Struct, frozen=True):
    """What every object of one response repeats."""

    # Of the call, and so of the response and its items.
    name: str
    created_at: int
    echo: ResponseEcho

    @property
    def id(self) -> str:
        return f"resp_{self.name}"

    def item_id(self, start: str, index: int) -> str:
        return f"{start}_{self.name}{index:02x}"


def response(
    label: ResponseLabel, status: str, output: Sequence[object] = (), usage: object = None, **more: object
) -> JsonObject:
    return {
        "id": label.id,
        "object": "response",
        "created_at": label.created_at,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": label.echo.model,
        "output": output,
        "previous_response_id": None,
        "service_tier": "default",
        "store": False,
        "top_logprobs": 0,
        "usage": usage,
        **label.echo.members,
        **more,
    }


def ended_response(label: ResponseLabel, finish_reason: str, output: Sequence[object], usage: object) -> JsonObject:
    """Complete, or ended before its time."""
    reason = INCOMPLETE.get(finish_reason)
    if reason is None:
        return response(label, "completed", output, usage)
    return response(label, "incomplete", output, usage, incomplete_details={"reason": reason})


def text_part(text: str) -> JsonObject:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def refusal_part(text: str) -> JsonObject:
    return {"type": "refusal", "refusal": text}


def message_item(id_: str, status: str, content: Sequence[JsonObject] = ()) -> JsonObject:
    return {"id": id_, "type": "message", "status": status, "content": content, "role": "assistant"}


def reasoning_item(id_: str, texts: Sequence[str] = ()) -> JsonObject:
    return {"id": id_, "type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in texts]}


def call_item(id_: str, status: str, call_id: str, tool: CalledTool, arguments: str) -> JsonObject:
    item: JsonObject = {"id": id_, "type": "custom_tool_call" if tool.is_custom else "function_call", "status": status}
    item |= {INPUT: custom_input(arguments)} if tool.is_custom else {"arguments": arguments}
    item |= {"call_id": call_id, "name": tool.name}
    return item if tool.namespace is None else item | {"namespace": tool.namespace}


def custom_input(arguments: str) -> str:
    """What a custom tool is given, of the arguments of the function that stands for it. A model that did not keep to
    the function's form has said it plainly."""
    try:
        given = decode(arguments) if arguments else ""
    except NOT_READ:
        return arguments
    return given[INPUT] if isinstance(given, dict) and isinstance(given.get(INPUT), str) else arguments


def usage_of(reported: object) -> JsonObject | None:
    """A report of chat's, in this protocol's words."""
    usage = an_object(reported)
    asked, said = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if asked is None or said is None:
        return None
    of_input, of_output = an_object(usage.get("prompt_tokens_details")), usage.get("completion_tokens_details")
    cached, written = (_count(of_input.get(name)) or 0 for name in ("cached_tokens", "cache_write_tokens"))
    thoughts = _count(an_object(of_output).get("reasoning_tokens")) or 0
    return _usage(asked, said, cached, written, thoughts)


def usage_in_responses(usage: Usage) -> JsonObject:
    """Usage as we know it ourselves."""
    return _usage(usage.input_units, usage.output_units, usage.cached_units)


def _usage(asked: int, said: int, cached: int, written: int = 0, thoughts: int = 0) -> JsonObject:
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": thoughts},
        "total_tokens": asked + said,
    }


def whole_response(body: bytes, label: ResponseLabel, tools: ToolNames, usage: Usage) -> bytes:
    """`usage` is written where the answer has no report. Raise NotAnAnswer."""
    try:
        answer = an_object(decode(body))
    except NOT_READ:
        raise NotAnAnswer from None
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NotAnAnswer
    choice = an_object(choices[0])
    label = msgspec.structs.replace(label, created_at=_count(answer.get("created")) or 0)
    finish_reason = a_text(choice.get("finish_reason"))
    status = "incomplete" if finish_reason in INCOMPLETE else "completed"
    output = _items(an_object(choice.get("message")), label, status, tools)
    return encode(
        ended_response(label, finish_reason, output, usage_of(answer.get("usage")) or usage_in_responses(usage))
    )


def _items(message: JsonObject, label: ResponseLabel, status: str, tools: ToolNames) -> list[JsonObject]:
    items: list[JsonObject] = []
    if thoughts := thoughts_in(message):
        items.append(reasoning_item(label.item_id("rs", 0), [thoughts]))
    content, refusal = a_text(message.get("content")), a_text(message.get("refusal"))
    parts = [make(text) for make, text in ((text_part, content), (refusal_part, refusal)) if text]
    calls = calls_in(message)
    if parts or not calls:
        parts = parts or [text_part("")]
        items.append(message_item(label.item_id("msg", len(items)), status, parts))
    for call in calls:
        function = an_object(call.get("function"))
        tool = tool_called(a_text(function.get("name")), tools)
        id_ = label.item_id(id_start(tool), len(items))
        items.append(call_item(id_, status, a_text(call.get("id")), tool, a_text(function.get("arguments"))))
    return items


def thoughts_in(words: JsonObject) -> str:
    """Two names for the same thoughts: some providers send both."""
    return a_text(words.get("reasoning_content")) or a_text(words.get("reasoning"))


def calls_in(words: JsonObject) -> list[JsonObject]:
    calls = words.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def tool_called(name: str, tools: ToolNames) -> CalledTool:
    return tools.get(name) or CalledTool(name)


def id_start(tool: CalledTool) -> str:
    return "ctc" if tool.is_custom else "fc"


def _count(value: object) -> int | None:
    return value if is_count(value) else None
