"""From our chat request to Anthropic's message request.

Rules of this file
1. Instructions (`system`, `developer`) go before the conversation, wherever they stood in it: the vendor has one place
   for them.
2. All results of one turn's tool calls go back in one message, results first.
3. A model that thinks wants its thoughts back, unchanged, before the results of its tools. Where a caller's SDK has
   lost them, it goes on without thinking rather than be refused.
4. Caching is asked for as the vendor defines it, for its usual five minutes or for an hour.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.loosely import JsonObject
from tollkeeper.core.errors import InvalidParameter, UnsupportedParameter
from tollkeeper.providers.vendors.chat_request import (
    SYSTEM_ROLES,
    CacheControl,
    ChatRequest,
    ContentPart,
    Function,
    Message,
    NamedTool,
    ToolCall,
    add,
    arguments_of,
    chosen_function,
    functions_in,
    is_null,
    media_in,
    written,
)

TEMPERATURE_MOST = 1
TOOL_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
# Models that are told for how many tokens to think; all others decide that by themselves.
THINKING_BY_BUDGET = re.compile(r"claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8})?$)")
BUDGET_TOKENS = {
    "minimal": 1_024,
    "low": 1_024,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 32_768,
}
BUDGET_TOKENS_LEAST = 1_024
NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
PDF = "application/pdf"
# Of what is cached.
USUAL_LIFE = "5m"
LONGER_LIFE = "1h"


def message_request(request: ChatRequest, *, model: str, stream: bool, most_output_tokens: int) -> bytes:
    """`most_output_tokens`: the cap to send where the caller gave none, for the vendor wants one. Raise
    UnsupportedParameter, InvalidParameter."""
    cap = request.most_tokens or most_output_tokens
    adaptive = THINKING_BY_BUDGET.match(model) is None
    body: JsonObject = {"model": model, "max_tokens": cap, "messages": _messages(request.messages)}
    add(body, "system", _instructions(request.messages))
    add(body, "stream", stream or None)
    add(body, "temperature", _temperature(request))
    add(body, "top_p", request.top_p)
    add(body, "top_k", request.top_k)
    add(body, "stop_sequences", request.stops)
    add(body, "tools", _tools(request))
    add(body, "tool_choice", _tool_choice(request))
    add(body, "thinking", _thinking(request, cap, adaptive=adaptive))
    add(body, "output_config", _output_config(request, adaptive=adaptive))
    add(body, "cache_control", _cache_control(request.cache_control, "cache_control"))
    add(body, "metadata", _metadata(request))
    return written(body)


def _instructions(messages: Iterable[Message]) -> list[JsonObject]:
    blocks = []
    for index, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            blocks += [_text(part, f"messages[{index}].content[{at}]") for at, part in message.parts]
    return blocks


def _messages(messages: Sequence[Message]) -> list[JsonObject]:
    turns: list[JsonObject] = []
    for index, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            continue
        role, blocks = _turn(message, f"messages[{index}]")
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _turn(message: Message, place: str) -> tuple[str, list[JsonObject]]:
    if message.role == "user":
        return "user", _blocks(message, place)
    if message.role == "tool":
        return "user", [_result(message, place)]
    if message.role == "assistant":
        if not is_null(message.function_call):
            raise UnsupportedParameter(f"{place}.function_call", "it is the old form of tool calls; send tool_calls")
        thoughts = [msgspec.to_builtins(block) for block in message.thinking_blocks or () if block.type in THOUGHTS]
        calls = [_call(call, f"{place}.tool_calls[{at}]") for at, call in enumerate(message.tool_calls or ())]
        return "assistant", [*thoughts, *_blocks(message, place), *calls]
    raise UnsupportedParameter(f"{place}.role", "this model's provider knows system, user, assistant and tool")


def _blocks(message: Message, place: str) -> list[JsonObject]:
    return [_block(part, f"{place}.content[{index}]") for index, part in message.parts]


def _block(part: ContentPart, place: str) -> JsonObject:
    if part.type in {"text", "refusal"}:
        return _text(part, place)
    if part.type == "image_url" and part.image_url is not None:
        block: JsonObject = {"type": "image", "source": _source(part.image_url.url)}
    elif part.type == "file" and part.file is not None and part.file.file_data is not None:
        block = {"type": "document", "source": _document(part.file.file_data, place)}
        add(block, "title", part.file.filename)
    else:
        raise UnsupportedParameter(place, "this model's provider takes texts, images and PDF documents")
    add(block, "cache_control", _cache_control(part.cache_control, f"{place}.cache_control"))
    return block


def _text(part: ContentPart, place: str) -> JsonObject:
    text = part.text or part.refusal
    if text is None:
        raise UnsupportedParameter(place, "instructions to this model are texts")
    block: JsonObject = {"type": "text", "text": text}
    add(block, "cache_control", _cache_control(part.cache_control, f"{place}.cache_control"))
    return block


def _source(url: str) -> JsonObject:
    media = media_in(url)
    if media is None:
        # The provider fetches it; we fetch nothing.
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": media[0], "data": media[1]}


def _document(url: str, place: str) -> JsonObject:
    media = media_in(url)
    if media is None or media[0] != PDF:
        raise InvalidParameter(f"{place}.file.file_data", "must be a data URL of a PDF document")
    return {"type": "base64", "media_type": PDF, "data": media[1]}


def _result(message: Message, place: str) -> JsonObject:
    if not message.tool_call_id:
        raise InvalidParameter(f"{place}.tool_call_id", "must be the id of the tool call that this answers")
    block: JsonObject = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    add(block, "content", _blocks(message, place))
    return block


def _call(call: ToolCall, place: str) -> JsonObject:
    if call.function is None:
        raise UnsupportedParameter(place, "this model's provider takes functions only")
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.function.name,
        "input": arguments_of(call.function, place),
    }


def _temperature(request: ChatRequest) -> float | None:
    if request.temperature is not None and request.temperature > TEMPERATURE_MOST:
        raise UnsupportedParameter("temperature", "this model's provider takes 0 to 1")
    return request.temperature


def _tools(request: ChatRequest) -> list[JsonObject]:
    tools = []
    for index, (tool, function) in enumerate(functions_in(request)):
        translated: JsonObject = {"name": function.name, "input_schema": _schema(function)}
        add(translated, "description", function.description)
        add(translated, "strict", function.strict or None)
        add(translated, "cache_control", _cache_control(tool.cache_control, f"tools[{index}].cache_control"))
        tools.append(translated)
    return tools


def _schema(function: Function) -> JsonObject | Raw:
    return NO_PARAMETERS if is_null(function.parameters) else function.parameters


def _tool_choice(request: ChatRequest) -> JsonObject | None:
    choice = request.tool_choice
    one_at_a_time = request.parallel_tool_calls is False
    if not request.tools or (choice is None and not one_at_a_time):
        return None
    translated: JsonObject
    if isinstance(choice, NamedTool):
        translated = {"type": "tool", "name": chosen_function(choice)}
    else:
        translated = {"type": TOOL_CHOICES.get(choice or "auto")}
    if translated["type"] is None:
        raise InvalidParameter("tool_choice", f"must be one of {', '.join(TOOL_CHOICES)}, or name a function")
    if one_at_a_time and translated["type"] != "none":
        translated["disable_parallel_tool_use"] = True
    return translated


def _thinking(request: ChatRequest, cap: int, *, adaptive: bool) -> JsonObject | None:
    asked: JsonObject | None = None
    if request.thinking is not None:
        asked = msgspec.to_builtins(request.thinking)
    elif request.reasoning_effort == "none":
        asked = {"type": "disabled"}
    elif request.reasoning_effort is not None:
        asked = {"type": "adaptive", "display": "summarized"} if adaptive else _budget(request, cap)
    may_think = asked is None or asked["type"] == "disabled" or not _has_lost_its_thoughts(request.messages)
    return asked if may_think else None


def _budget(request: ChatRequest, cap: int) -> JsonObject | None:
    """At most half of the cap: the rest is for the answer."""
    budget_tokens = min(_of_effort(BUDGET_TOKENS, request), cap // 2)
    return {"type": "enabled", "budget_tokens": budget_tokens} if budget_tokens >= BUDGET_TOKENS_LEAST else None


def _has_lost_its_thoughts(messages: Sequence[Message]) -> bool:
    """Whether the conversation stands at results of tools whose calls came without the thoughts before them."""
    for message in reversed(messages):
        if message.role == "assistant":
            return bool(message.tool_calls) and not message.thinking_blocks
        if message.role != "tool":
            return False
    return False


def _output_config(request: ChatRequest, *, adaptive: bool) -> JsonObject:
    config: JsonObject = {}
    if adaptive and request.reasoning_effort not in {None, "none"}:
        config["effort"] = _of_effort(EFFORTS, request)
    form = request.response_format
    if form is None or form.type == "text":
        return config
    if form.type != "json_schema" or form.json_schema is None or is_null(form.json_schema.schema):
        raise UnsupportedParameter(
            "response_format", "this model's provider promises JSON by a schema only; send type json_schema"
        )
    config["format"] = {"type": "json_schema", "schema": form.json_schema.schema}
    return config


def _of_effort(table: dict[str, Any], request: ChatRequest) -> Any:
    try:
        return table[request.reasoning_effort or ""]
    except KeyError:
        raise InvalidParameter("reasoning_effort", f"must be one of none, {', '.join(table)}") from None


def _cache_control(wish: CacheControl | None, place: str) -> JsonObject | None:
    if wish is None:
        return None
    if wish.ttl in {None, USUAL_LIFE}:
        return {"type": wish.type}
    if wish.ttl != LONGER_LIFE:
        raise UnsupportedParameter(f"{place}.ttl", f"this model's provider caches for {USUAL_LIFE} or {LONGER_LIFE}")
    return {"type": wish.type, "ttl": wish.ttl}


def _metadata(request: ChatRequest) -> JsonObject | None:
    user = request.safety_identifier or request.user
    return {"user_id": user} if user else None
