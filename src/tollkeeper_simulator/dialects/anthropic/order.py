"""A request to the Messages API, read and checked as the vendor does."""

import re
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from tollkeeper_simulator.dialects.anthropic.blocks import Block, read_content, texts_of
from tollkeeper_simulator.dialects.anthropic.fields import (
    boolean,
    integer,
    items,
    members,
    number,
    one_of,
    refuse,
    text,
)
from tollkeeper_simulator.dialects.anthropic.turns import Turn, check_thoughts, check_turns
from tollkeeper_simulator.order import CheckedOrder, Function, Manner, Message, Part, Schema, required, schema_in
from tollkeeper_simulator.problem import Problem, Refused

REQUIRED = ("model", "messages")
OPTIONAL = frozenset({
    "cache_control", "container", "context_management", "diagnostics", "inference_geo", "metadata", "output_config",
    "service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools",
    "top_k", "top_p", "user_profile_id", "workspace_id",
})  # fmt: skip
TO_COUNT = frozenset({
    "cache_control", "context_management", "output_config", "system", "thinking", "tool_choice", "tools",
})  # fmt: skip
# No thoughts are longer.
COUNTED_CAP = 10**9
TOOL_OPTIONAL = frozenset({
    "allowed_callers", "cache_control", "defer_loading", "description", "eager_input_streaming", "input_examples",
    "strict", "type",
})  # fmt: skip
TOOL_NAME = re.compile("^[a-zA-Z0-9_-]{1,128}$")
LEAST_BUDGET = 1_024
# Thoughts of a caller who wants some and does not direct how many: the vendor would hardly think nothing.
THOUGHTS_UNASKED = 8

_bodies = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_messages_order(body: bytes, *, to_count: bool = False) -> CheckedOrder:
    """Raise Refused for what the vendor would refuse. What is only counted has no cap."""
    try:
        sent = _bodies.decode(body)
        given = {name: msgspec.json.decode(value) for name, value in sent.items()}
    except msgspec.ValidationError:
        raise Refused(Problem(400, "Input should be a valid dictionary")) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(Problem(400, "The request body is not valid JSON.")) from None
    _check_names(given, TO_COUNT if to_count else OPTIONAL, () if to_count else ("max_tokens",))
    model = text(given["model"], "model")
    most_tokens = COUNTED_CAP if to_count else integer(given["max_tokens"], "max_tokens", least=1)
    _check_numbers(given)
    thinking = _thinking(given, most_tokens)
    turns = [_turn(message, f"messages.{index}") for index, message in enumerate(items(given["messages"], "messages"))]
    check_turns(turns)
    if thinking is not None:
        check_thoughts(turns)
    tools = _tools(given.get("tools"))
    _check_tool_choice(given, thinks=thinking is not None)
    streamed = boolean(given.get("stream", False), "stream")
    return CheckedOrder(
        model=model,
        messages=[*_system(given.get("system")), *(message for turn in turns for message in _spoken(turn))],
        stream=streamed,
        most_tokens=most_tokens,
        tools_text=bytes(sent["tools"]).decode() if tools else "",
        function=next((tool for tool in tools if tool is not None), None),
        required=_required(tools, given.get("tool_choice") or {}),
        schema=_schema(given.get("output_config")),
        ends_in_results=turns[-1].has_results,
        manner=_manner(thinking, is_streamed=streamed),
    )


def _check_names(given: dict[str, Any], optional: Collection[str], beside: Collection[str]) -> None:
    required = (*REQUIRED, *beside)
    for name in required:
        if name not in given:
            refuse(name, "Field required")
    for name in given:
        if name not in required and name not in optional:
            refuse(name, "Extra inputs are not permitted")


def _check_numbers(given: dict[str, Any]) -> None:
    for name in ("temperature", "top_p"):
        if name in given:
            number(given[name], name, most=1)
    if "top_k" in given:
        integer(given["top_k"], "top_k")
    for index, stop in enumerate(items(given.get("stop_sequences", []), "stop_sequences")):
        if not text(stop, f"stop_sequences.{index}").strip():
            refuse("stop_sequences", "each stop sequence must contain non-whitespace")
    metadata = members(given.get("metadata", {}), "metadata", (), ("user_id",))
    if metadata.get("user_id") is not None:
        text(metadata["user_id"], "metadata.user_id")


def _thinking(given: dict[str, Any], most_tokens: int) -> dict[str, Any] | None:
    """How thoughts are wanted, or None."""
    wanted = given.get("thinking", {"type": "disabled"})
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    one_of(kind, "thinking.type", ("enabled", "disabled", "adaptive"))
    if kind == "disabled":
        members(wanted, "thinking.disabled", ("type",))
        return None
    budget = ("budget_tokens",) if kind == "enabled" else ()
    members(wanted, f"thinking.{kind}", ("type", *budget), ("display",))
    if budget and integer(wanted["budget_tokens"], "thinking.enabled.budget_tokens", LEAST_BUDGET) >= most_tokens:
        raise Refused(Problem(400, "`max_tokens` must be greater than `thinking.budget_tokens`."))
    if wanted.get("display") is not None:
        one_of(wanted["display"], f"thinking.{kind}.display", ("summarized", "omitted"))
    if given.get("temperature", 1) != 1:
        raise Refused(Problem(400, "`temperature` may only be set to 1 when thinking is enabled."))
    if "top_k" in given:
        raise Refused(Problem(400, "`top_k` must be unset when thinking is enabled."))
    return dict(wanted)


def _turn(message: object, path: str) -> Turn:
    given = members(message, path, ("role", "content"))
    if given["role"] == "system":
        refuse(
            "messages",
            'Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an '
            "input message role.",
        )
    role = one_of(given["role"], f"{path}.role", ("user", "assistant"))
    return Turn(role, read_content(given["content"], f"{path}.content", role))


def _tools(value: object) -> list[Function | None]:
    """The caller's own tools; those that the vendor runs itself are None."""
    if value is None:
        return []
    return [_tool(tool, f"tools.{index}") for index, tool in enumerate(items(value, "tools"))]


def _tool(tool: object, path: str) -> Function | None:
    if isinstance(tool, dict) and tool.get("type", "custom") not in (None, "custom"):
        return None
    given = members(tool, f"{path}.custom", ("name", "input_schema"), TOOL_OPTIONAL)
    if not TOOL_NAME.match(text(given["name"], f"{path}.custom.name")):
        refuse(f"{path}.custom.name", f"String should match pattern '{TOOL_NAME.pattern}'")
    schema = given["input_schema"]
    if not isinstance(schema, dict):
        refuse(f"{path}.custom.input_schema", "Input should be a valid dictionary")
    if "type" not in schema:
        refuse(f"{path}.custom.input_schema.type", "Field required")
    one_of(schema["type"], f"{path}.custom.input_schema.type", ("object",))
    return Function(given["name"], schema)


def _check_tool_choice(given: dict[str, Any], *, thinks: bool) -> None:
    if "tool_choice" not in given:
        return
    choice = given["tool_choice"]
    kind = choice.get("type") if isinstance(choice, dict) else None
    one_of(kind, "tool_choice.type", ("auto", "any", "tool", "none"))
    named = ("name",) if kind == "tool" else ()
    members(choice, f"tool_choice.{kind}", ("type", *named), () if kind == "none" else ("disable_parallel_tool_use",))
    if kind != "none" and not given.get("tools"):
        refuse("tool_choice", "tool_choice may only be specified while providing tools")
    if named and choice["name"] not in [tool.get("name") for tool in given["tools"]]:
        refuse("tool_choice", f"Tool '{choice['name']}' not found in provided tools")
    if thinks and kind in ("any", "tool"):
        raise Refused(Problem(400, "Thinking may not be enabled when tool_choice forces tool use."))


def _required(tools: list[Function | None], choice: dict[str, Any]) -> Function | None:
    return required(tools, "required" if choice.get("type") == "any" else choice)


def _schema(config: object) -> Schema | None:
    form = config.get("format") if isinstance(config, dict) else None
    return schema_in(form, form) if isinstance(form, dict) else None


def _manner(thinking: dict[str, Any] | None, *, is_streamed: bool) -> Manner:
    return Manner(
        shows_thoughts=thinking is None or thinking.get("display") != "omitted",
        thoughts_unasked=0 if thinking is None else THOUGHTS_UNASKED,
        arguments_are_raw=not is_streamed,
    )


def _system(value: object) -> Iterator[Message]:
    if value is not None:
        yield Message("system", _parts(read_content(value, "system", "system")))


def _spoken(turn: Turn) -> Iterator[Message]:
    """The texts of a turn; results of tools apart."""
    for block in turn.blocks:
        if block["type"] == "tool_result":
            content = block.get("content", "")
            yield Message("tool", content if isinstance(content, str) else _parts(content))
    if any(block["type"] != "tool_result" for block in turn.blocks):
        yield Message(turn.role, _parts(turn.blocks))


def _parts(blocks: list[Block]) -> list[Part]:
    return [Part("text", said) for said in texts_of(blocks)]
