"""Reading a Responses order: into a chat order, with all that its own protocol says beside it.

Rules of this file
1. What is counted and held for is the chat translation, and by its size what chat cannot say.
2. What a native account gets is what came, parameter by parameter, as far as it is listed (`form`).
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.chat_extras import Extra
from tollkeeper.core.calls.conversation import named_by_id
from tollkeeper.core.calls.json_fields import read_asked, read_fields
from tollkeeper.core.calls.native import Dialect, Native
from tollkeeper.core.dialects.responses.answer import ResponseEcho
from tollkeeper.core.dialects.responses.form import (
    ENCRYPTED,
    NOTHING,
    PASSING,
    ResponsesFields,
    TextConfig,
    check_parameters,
    decode_asked,
    wanted_here,
)
from tollkeeper.core.dialects.responses.items import InputReader, ReadInput
from tollkeeper.core.dialects.responses.tools import ToolBox, read_tools
from tollkeeper.core.errors import InvalidParameter, MissingParameter, UnsupportedParameter

# Parameters that chat has under the same name.
ALIKE = ("temperature", "top_p", "prompt_cache_key", "prompt_cache_options", "safety_identifier", "user")
# The answer must not stay at the provider, whatever its own default is.
NOT_STORED: Mapping[str, Raw] = {"store": Raw(b"false")}

encode = msgspec.json.Encoder().encode


class NativeResponses(Native, kw_only=True):
    """An order as its own protocol has it."""

    tools: ToolBox
    echo: ResponseEcho

    def keep_tools(self, priced: Collection[str]) -> frozenset[str]:
        """Tools of the provider's that have no price are left out. Raise UnsupportedParameter."""
        kept, tools = dict(self.fields), self.tools.passing(priced)
        if tools:
            kept["tools"] = Raw(encode([tool for tool, _ in tools]))
            if (allowing := self.tools.allowing(priced)) is not None:
                kept["tool_choice"] = Raw(encode(allowing))
        else:
            for name in ("tools", "tool_choice", "parallel_tool_calls"):
                kept.pop(name, None)
        self.fields = kept
        return frozenset(runs_there for _, runs_there in tools if runs_there is not None)

    def forget_content(self) -> None:
        super().forget_content()
        self.tools.offered, self.tools.functions = [], []


def read_responses(body: bytes) -> ChatOrder:
    """Raise 400."""
    fields = read_fields(body, ResponsesFields.__struct_fields__)
    asked = read_asked(body, decode_asked, wanted_here)
    check_parameters(fields)
    if not asked.model:
        raise MissingParameter("model")
    if not asked.input:
        raise MissingParameter("input")
    if any(each != ENCRYPTED for each in asked.include or ()):
        raise UnsupportedParameter("include", f"only {ENCRYPTED} is passed on here; leave the others out")
    tools = read_tools(asked.tools or (), asked.tool_choice)
    read = _read_input(asked)
    if read.left_out and isinstance(asked.input, list):
        fields["input"] = Raw(encode([raw for at, raw in enumerate(asked.input) if at not in read.left_out]))
    order = read_chat(encode(_chat_fields(asked, fields, tools, read)))
    order.native = NativeResponses(
        dialect=Dialect.RESPONSES,
        fields={**{name: value for name, value in fields.items() if name in PASSING}, **NOT_STORED},
        only_here=read.only_here or tools.only_here,
        untranslated_tokens=read.untranslated_tokens,
        tools=tools,
        echo=ResponseEcho.of(asked.model, fields),
    )
    order.extras += tuple(Extra("tools", tool) for tool in tools.demanded)
    if asked.prompt_cache_key:
        order.conversation = named_by_id(asked.prompt_cache_key)
    return order


def _read_input(asked: ResponsesFields) -> ReadInput:
    reader = InputReader()
    if asked.instructions:
        reader.read.messages.append({"role": "system", "content": asked.instructions})
    if isinstance(asked.input, str):
        reader.read.messages.append({"role": "user", "content": asked.input})
    for index, raw in enumerate(asked.input if isinstance(asked.input, list) else ()):
        reader.add(raw, index)
    read = reader.end()
    if not read.messages:
        raise InvalidParameter("input", "must have a message")
    return read


def _chat_fields(
    asked: ResponsesFields, fields: Mapping[str, Raw], tools: ToolBox, read: ReadInput
) -> dict[str, object]:
    chat: dict[str, object] = {"model": asked.model, "messages": read.messages}
    if asked.stream:
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    if asked.max_output_tokens is not None:
        chat["max_completion_tokens"] = asked.max_output_tokens
    chat |= {name: fields[name] for name in ALIKE if fields.get(name, NOTHING) != NOTHING}
    if tools.functions:
        chat["tools"] = tools.functions
        if tools.choice is not None and tools.only_here != "tool_choice":
            chat["tool_choice"] = tools.choice
        if asked.parallel_tool_calls is not None:
            chat["parallel_tool_calls"] = asked.parallel_tool_calls
    if asked.reasoning is not None and asked.reasoning.effort is not None:
        chat["reasoning_effort"] = asked.reasoning.effort
    return chat | _text(asked.text)


def _text(text: TextConfig | None) -> dict[str, Any]:
    if text is None:
        return {}
    fields: dict[str, Any] = {} if text.verbosity is None else {"verbosity": text.verbosity}
    form = text.format
    if form is None or form.type == "text":
        return fields
    if form.type != "json_schema":
        return fields | {"response_format": {"type": form.type}}
    members = {"name": form.name, "description": form.description, "schema": form.schema}
    schema: dict[str, Any] = {name: value for name, value in members.items() if value != NOTHING}
    if form.strict is not None:
        schema["strict"] = form.strict
    return fields | {"response_format": {"type": "json_schema", "json_schema": schema}}
