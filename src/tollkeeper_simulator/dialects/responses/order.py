"""A request to the Responses API, read and checked as the vendor does."""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import msgspec

from tollkeeper_simulator.dialects.openai import NOT_JSON
from tollkeeper_simulator.dialects.responses.seal import is_ours
from tollkeeper_simulator.order import CheckedOrder, Function, Manner, Message, Part, required, schema_in
from tollkeeper_simulator.problem import Problem, Refused

KNOWN = frozenset({
    "background", "context_management", "conversation", "include", "input", "instructions", "max_output_tokens",
    "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls", "previous_response_id", "prompt",
    "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier",
    "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs",
    "top_p", "truncation", "user",
})  # fmt: skip
MOST_TOKENS_LEAST = 16
ROLES = ("user", "assistant", "system", "developer")
CALLS = ("function_call", "custom_tool_call")
RESULTS = ("function_call_output", "custom_tool_call_output")
TEXTS = ("input_text", "output_text")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
NOT_STORED = (
    "Item with id '{}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to "
    "true, or remove this item from your input."
)
# Thoughts of a caller who wants some and does not direct how many.
THOUGHTS_UNASKED = 8

_bodies = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_responses_order(body: bytes) -> CheckedOrder:
    """Raise Refused for what the vendor would refuse."""
    try:
        sent = _bodies.decode(body)
        given = {name: msgspec.json.decode(value) for name, value in sent.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refused(Problem(400, NOT_JSON)) from None
    for name in sorted(given.keys() - KNOWN):
        refuse(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    for name in ("model", "input"):
        if given.get(name) in (None, "", []):
            refuse(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
    items = _items(given["input"])
    tools = given.get("tools") or []
    functions = [_function(tool) for tool in tools if tool.get("type") == "function"]
    return CheckedOrder(
        model=given["model"],
        messages=[*_instructions(given), *(message for item in items for message in _spoken(item))],
        stream=bool(given.get("stream")),
        most_tokens=_most_tokens(given),
        tools_text=bytes(sent["tools"]).decode() if tools else "",
        function=functions[0] if functions else None,
        required=required(functions, given.get("tool_choice")),
        schema=schema_in(form, form) if isinstance(form := (given.get("text") or {}).get("format"), dict) else None,
        ends_in_results=items[-1].get("type") in RESULTS,
        manner=_manner(given.get("reasoning") or {}),
        fields=",".join(sorted(given)),
    )


def refuse(message: str, param: str, code: str) -> NoReturn:
    raise Refused(Problem(400, message, param=param, code=code))


def _items(given: Any) -> list[dict[str, Any]]:
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    called: set[str] = set()
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") not in ROLES:
            refuse(f"Invalid value: '{item.get('role')}'.", f"input[{index}].role", "invalid_value")
        if kind in CALLS:
            called.add(item.get("call_id", ""))
        if kind in RESULTS and item.get("call_id") not in called:
            said = f"No tool call found for function call output with call_id {item.get('call_id')}."
            raise Refused(Problem(400, said, param="input"))
        if kind == "reasoning" and not (sealed := item.get("encrypted_content")):
            raise Refused(Problem(404, NOT_STORED.format(item.get("id")), param="input"))
        if kind == "reasoning" and not is_ours(sealed):
            said = "The encrypted content could not be verified."
            refuse(said, f"input[{index}].encrypted_content", "invalid_encrypted_content")
    return list(items)


def _instructions(given: Mapping[str, Any]) -> Iterator[Message]:
    if given.get("instructions"):
        yield Message("system", given["instructions"])


def _spoken(item: dict[str, Any]) -> Iterator[Message]:
    kind = item.get("type", "message")
    if kind == "message":
        yield Message("system" if item["role"] == "developer" else item["role"], _content(item.get("content")))
    elif kind in RESULTS:
        yield Message("tool", _content(item.get("output")))


def _content(content: Any) -> str | list[Part]:
    if isinstance(content, str):
        return content
    return [Part("text", part.get("text")) for part in content or () if part.get("type") in TEXTS]


def _function(tool: dict[str, Any]) -> Function:
    return Function(tool["name"], tool.get("parameters"))


def _most_tokens(given: Mapping[str, Any]) -> int | None:
    most = given.get("max_output_tokens")
    if most is not None and most < MOST_TOKENS_LEAST:
        said = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {MOST_TOKENS_LEAST}."
        refuse(said, "max_output_tokens", "integer_below_min_value")
    return None if most is None else int(most)


def _manner(reasoning: Mapping[str, Any]) -> Manner:
    effort = reasoning.get("effort")
    if effort is not None and effort not in EFFORTS:
        refuse(f"Invalid value: '{effort}'.", "reasoning.effort", "invalid_value")
    thoughts = THOUGHTS_UNASKED if effort not in (None, "none") else 0
    return Manner(shows_thoughts=bool(reasoning.get("summary")), thoughts_unasked=thoughts)
