"""Tools of a Responses order: which pass where, and how chat knows them.

Rules of this file
1. A tool that the caller runs passes. One that the provider runs (`VENDORS`) costs beside its tokens: it passes where
   the model's price says what a use costs, and is left out where it does not, unless the order cannot do without it.
2. Chat has one flat list of functions. A tool in a namespace is a function with both names; a custom tool is a function
   of one text, its grammar written into its description, for few chat providers know grammars.
3. What a provider keeps for us (files, containers) is no caller's to name.
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.loosely import JsonObject
from tollkeeper.core.calls.native import TOO_MANY_TOOLS, TOOLS_MOST
from tollkeeper.core.dialects.responses.form import NOTHING, decode_anything, decode_at
from tollkeeper.core.errors import InvalidParameter, UnsupportedParameter

# Tools that the provider runs, by the beginning of their type, and the name that a price has for a use.
VENDORS = {
    "web_search": "web_search",
    "file_search": "file_search",
    "code_interpreter": "code_interpreter",
    "image_generation": "image_generation",
    "computer": "computer_use",
    "mcp": "mcp",
}
# Tools that the caller runs, which only the vendor's own protocol has.
NATIVE = frozenset({"local_shell", "shell", "apply_patch", "tool_search"})
CHOICES = frozenset({"auto", "none", "required"})
NAME_CHARACTERS_MOST = 64
# The one argument of a function that stands for a custom tool.
INPUT = "input"
CUSTOM_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {INPUT: {"type": "string", "description": "The whole input of the tool, as plain text."}},
    "required": [INPUT],
    "additionalProperties": False,
}
KEPT_THERE = frozenset({"file_id", "file_ids", "vector_store_ids", "container_id", "skill_id", "connector_id"})
NOT_YOURS = "it names what lies at the provider, which is not yours; send what it holds in the input"
NOT_SOLD_HERE = "this model has no price for a use of the provider's tools; send functions, or leave tool_choice out"
NOT_RUN_THERE = (
    'a shell that the provider runs has no price here; run it yourself, with the environment {"type": "local"}'
)
# Of containers with more memory the provider takes more for a use.
MEMORY = "1g"
WANTED_OF_TOOLS = "must be a tool with a type and, where you run it, a name"
WANTED_OF_CHOICES = "must be auto, none, required, or name a tool that is among the tools"


class ResponseTool(msgspec.Struct):
    type: str
    name: str | None = None
    description: str | None = None
    parameters: Raw = NOTHING
    strict: bool | None = None
    # Of a custom tool: its grammar.
    format: Raw = NOTHING
    # Of a namespace.
    tools: list[Raw] | None = None
    # Of a shell: where it runs.
    environment: Raw = NOTHING


class CalledTool(msgspec.Struct, frozen=True):
    """A tool by the name that the caller knows."""

    name: str
    namespace: str | None = None
    is_custom: bool = False


class ToolBox(msgspec.Struct, kw_only=True):
    """The tools of one order."""

    # As they came, each with the name that a price has for it; None for one that the caller runs.
    offered: list[tuple[Raw, str | None]] = []
    # As chat has them, and whom each name there stands for.
    functions: list[JsonObject] = []
    names: dict[str, CalledTool] = {}
    choice: object = None
    # That choice as it came, where it is a list of allowed tools.
    allowed: JsonObject | None = None
    # A tool that the provider runs and the choice demands; and the place of what chat has not.
    demanded: frozenset[str] = frozenset()
    only_here: str = ""

    def passing(self, priced: Collection[str]) -> list[tuple[Raw, str | None]]:
        """The tools that go to a provider who runs some itself, at a price that has these. Raise
        UnsupportedParameter."""
        kept = [(tool, runs_there) for tool, runs_there in self.offered if runs_there is None or runs_there in priced]
        if self.offered and not kept and self.choice == "required":
            raise UnsupportedParameter("tool_choice", NOT_SOLD_HERE)
        return kept

    def allowing(self, priced: Collection[str]) -> object | None:
        """The list of allowed tools without those that do not pass; None where it stays as it is. Raise
        UnsupportedParameter."""
        listed: list[object] = [] if self.allowed is None else self.allowed["tools"]
        kept = [tool for tool in listed if _allowed_there(tool) in {None, *priced}]
        if self.allowed is None or len(kept) == len(listed):
            return None
        if not kept and self.choice == "required":
            raise UnsupportedParameter("tool_choice", NOT_SOLD_HERE)
        return {**self.allowed, "tools": kept} if kept else "none"


decode_tool = msgspec.json.Decoder(ResponseTool).decode


def flat_name(name: str, namespace: str | None) -> str:
    """One name for a tool in a namespace, of the letters and the length that chat allows."""
    whole = name if not namespace else f"{namespace}__{name}"
    if len(whole) <= NAME_CHARACTERS_MOST:
        return whole
    mark = f"_{zlib.crc32(whole.encode()):08x}"
    return whole[: NAME_CHARACTERS_MOST - len(mark)] + mark


def read_tools(tools: Sequence[Raw], choice: Raw) -> ToolBox:
    """Raise InvalidParameter, UnsupportedParameter."""
    if len(tools) > TOOLS_MOST:
        raise InvalidParameter("tools", TOO_MANY_TOOLS)
    box = ToolBox()
    for index, raw in enumerate(tools):
        place = f"tools[{index}]"
        tool = decode_at(decode_tool, raw, place, WANTED_OF_TOOLS)
        runs_there = _runs_there(tool)
        box.offered.append((raw, runs_there))
        if runs_there is not None:
            check_own(decode_anything(raw), place)
        elif tool.type in NATIVE:
            _check_shell(tool, place)
            box.only_here = box.only_here or place
        else:
            _add(box, tool, place, None)
    if bytes(choice) != b"null":
        _choose(box, decode_anything(choice))
    return box


def _runs_there(tool: ResponseTool) -> str | None:
    """The name that a price has for a use of it, where the provider runs it."""
    return next((name for start, name in VENDORS.items() if tool.type.startswith(start)), None)


def _check_shell(tool: ResponseTool, place: str) -> None:
    environment = decode_anything(tool.environment)
    if tool.type == "shell" and (not isinstance(environment, dict) or environment.get("type") != "local"):
        raise UnsupportedParameter(f"{place}.environment", NOT_RUN_THERE)


def check_own(given: object, place: str) -> None:
    """Nothing in it names what the provider keeps, nor what costs more than a use of the tool."""
    waiting = [given]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            named = [name for name in value if name in KEPT_THERE and value[name]]
            container = value.get("container")
            if named or isinstance(container, str):
                raise UnsupportedParameter(f"{place}.{named[0] if named else 'container'}", NOT_YOURS)
            if isinstance(container, dict) and container.get("memory_limit") not in (None, MEMORY):
                raise UnsupportedParameter(f"{place}.container.memory_limit", f"must be {MEMORY}, or left out")
            waiting.extend(value.values())


def _add(box: ToolBox, tool: ResponseTool, place: str, namespace: str | None) -> None:
    if tool.type == "namespace" and namespace is None:
        for at, raw in enumerate(tool.tools or ()):
            inner = f"{place}.tools[{at}]"
            _add(box, decode_at(decode_tool, raw, inner, WANTED_OF_TOOLS), inner, tool.name or "")
        return
    if tool.type not in {"function", "custom"}:
        raise UnsupportedParameter(place, f"tools of the type {tool.type[:64]} are not known here; leave it out")
    if not tool.name:
        raise InvalidParameter(f"{place}.name", "must be the tool's name")
    flat = flat_name(tool.name, namespace)
    box.names[flat] = CalledTool(tool.name, namespace, tool.type == "custom")
    box.functions.append(_function(tool, flat))


def _function(tool: ResponseTool, name: str) -> JsonObject:
    function: JsonObject = {"name": name}
    description = tool.description or ""
    if tool.type == "custom":
        function["parameters"] = CUSTOM_PARAMETERS
        description += _grammar(tool.format)
    else:
        if bytes(tool.parameters) != b"null":
            function["parameters"] = tool.parameters
        if tool.strict:
            function["strict"] = True
    if description:
        function["description"] = description
    return {"type": "function", "function": function}


def _grammar(form: Raw) -> str:
    grammar = decode_anything(form)
    if not isinstance(grammar, dict) or not isinstance(grammar.get("definition"), str):
        return ""
    return f"\n\nThe input must follow this {grammar.get('syntax') or ''} grammar:\n{grammar['definition']}"


def _choose(box: ToolBox, choice: object) -> None:
    box.choice = choice
    if isinstance(choice, str):
        if choice not in CHOICES:
            raise InvalidParameter("tool_choice", WANTED_OF_CHOICES)
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    if not isinstance(kind, str) or not isinstance(choice, dict):
        raise InvalidParameter("tool_choice", WANTED_OF_CHOICES)
    if kind in {"function", "custom"}:
        box.choice = {"type": "function", "function": {"name": _chosen(box, choice)}}
    elif kind == "allowed_tools":
        _allow(box, choice)
    else:
        box.demanded = frozenset(filter(None, [_runs_there(ResponseTool(type=kind))]))
        box.only_here = "tool_choice"


def _allow(box: ToolBox, choice: Mapping[str, Any]) -> None:
    """Leave only the tools that the choice allows: no others are sent to chat."""
    listed = choice.get("tools")
    if not isinstance(listed, list):
        raise InvalidParameter("tool_choice.tools", "must be an array of tools")
    box.allowed = {**choice}
    allowed = [tool for tool in listed if isinstance(tool, dict)]
    names = {_chosen(box, tool) for tool in allowed if tool.get("type") in ("function", "custom")}
    box.functions = [function for function in box.functions if function["function"]["name"] in names]
    box.choice = "required" if choice.get("mode") == "required" else "auto"


def _allowed_there(tool: object) -> str | None:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return _runs_there(ResponseTool(type=kind)) if isinstance(kind, str) else None


def _chosen(box: ToolBox, choice: Mapping[str, Any]) -> str:
    name, namespace = choice.get("name"), choice.get("namespace")
    flat = flat_name(name, namespace) if isinstance(name, str) and isinstance(namespace, str | None) else ""
    if flat not in box.names:
        raise InvalidParameter("tool_choice", WANTED_OF_CHOICES)
    return flat
