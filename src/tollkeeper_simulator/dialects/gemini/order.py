"""A request to generate content, read and checked as the vendor does."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from tollkeeper_simulator.dialects.gemini.fields import (
    boolean,
    inside,
    integer,
    items,
    members,
    number,
    refuse,
    refuse_field,
    refuse_value,
    text,
)
from tollkeeper_simulator.dialects.gemini.parts import Content, Fields, read_content
from tollkeeper_simulator.dialects.gemini.turns import check_signatures, check_turns
from tollkeeper_simulator.order import ANY_OBJECT, CheckedOrder, Function, Manner, Message, Part, Schema
from tollkeeper_simulator.problem import Problem, Refused

TOP_FIELDS = frozenset({
    "model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
    "cachedContent", "serviceTier", "store",
})  # fmt: skip
CONFIG_FIELDS = frozenset({
    "candidateCount", "enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs", "maxOutputTokens",
    "mediaResolution", "presencePenalty", "responseFormat", "responseJsonSchema", "responseLogprobs",
    "responseMimeType", "responseModalities", "responseSchema", "seed", "speechConfig", "stopSequences", "temperature",
    "thinkingConfig", "topK", "topP", "translationConfig", "audioTranscriptionConfig",
})  # fmt: skip
TOOL_FIELDS = frozenset({
    "functionDeclarations", "codeExecution", "computerUse", "fileSearch", "googleMaps", "googleSearch",
    "googleSearchRetrieval", "mcpServers", "urlContext",
})  # fmt: skip
DECLARATION_FIELDS = frozenset({
    "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior",
})  # fmt: skip
SCHEMA_FIELDS = frozenset({
    "type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "minItems",
    "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum", "pattern", "example",
    "anyOf", "propertyOrdering", "default", "additionalProperties", "ref", "defs", "$ref", "$defs",
})  # fmt: skip
FUNCTION_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$")
CHOICES_MOST = 8
# Thoughts of a caller who wants to see some and does not direct how many.
THOUGHTS_UNASKED = 8

_bodies = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_content_order(model: str, body: bytes, *, is_streamed: bool) -> CheckedOrder:
    """Raise Refused for what the vendor would refuse."""
    try:
        raw = members(_bodies.decode(body), "", TOP_FIELDS)
        given = {name: msgspec.json.decode(value) for name, value in raw.items()}
    except msgspec.ValidationError:
        raise Refused(Problem(400, "Invalid JSON payload received. An object is expected.")) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(Problem(400, "Invalid JSON payload received. Unexpected token.")) from None
    if not given.get("contents"):
        refuse_field("contents", "contents is not specified")
    contents = [read_content(turn, f"contents[{at}]") for at, turn in enumerate(items(given["contents"], "contents"))]
    check_turns(contents)
    check_signatures(model, contents)
    config = members(given.get("generationConfig") or {}, "generation_config", CONFIG_FIELDS)
    _check_numbers(config)
    functions = list(_functions(given.get("tools")))
    system = given.get("systemInstruction")
    spoken = [] if system is None else [_message("system", read_content(system, "system_instruction"))]
    return CheckedOrder(
        model=model,
        messages=[*spoken, *(message for content in contents for message in _spoken(content))],
        stream=is_streamed,
        choices=config.get("candidateCount", 1),
        most_tokens=config.get("maxOutputTokens"),
        tools_text=bytes(raw["tools"]).decode() if given.get("tools") else "",
        function=functions[0] if functions else None,
        required=_required(functions, given.get("toolConfig")),
        schema=_schema(config),
        ends_in_results=bool(contents[-1].responses),
        manner=_manner(config),
    )


def _check_numbers(config: Fields) -> None:
    path = "generation_config"
    if (
        "candidateCount" in config
        and not 1 <= integer(config["candidateCount"], f"{path}.candidate_count") <= CHOICES_MOST
    ):
        refuse_field(f"{path}.candidate_count", f"candidate_count must be in the range [1, {CHOICES_MOST}].")
    if "maxOutputTokens" in config and integer(config["maxOutputTokens"], f"{path}.max_output_tokens") < 1:
        refuse_field(f"{path}.max_output_tokens", "max_output_tokens must be positive.")
    for name, most in (("temperature", 2), ("topP", 1)):
        if name in config and not 0 <= number(config[name], inside(path, name)) <= most:
            refuse_field(inside(path, name), f"must be in the range [0.0, {most:.1f}].")
    for index, stop in enumerate(items(config.get("stopSequences", []), path)):
        text(stop, f"{path}.stop_sequences[{index}]")
    if "responseSchema" in config:
        _check_schema(config["responseSchema"], f"{path}.response_schema")


def _manner(config: Fields) -> Manner:
    path = "generation_config.thinking_config"
    thinking = members(config.get("thinkingConfig", {}), path, ("includeThoughts", "thinkingBudget", "thinkingLevel"))
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        refuse("You can only set only one of thinking budget and thinking level.")
    if "thinkingBudget" in thinking:
        integer(thinking["thinkingBudget"], f"{path}.thinking_budget")
    shown = boolean(thinking.get("includeThoughts", False), f"{path}.include_thoughts")
    return Manner(
        shows_thoughts=shown,
        thoughts_unasked=THOUGHTS_UNASKED if shown else 0,
        arguments_are_raw=True,
        arguments_in_pieces=False,
        blocks_prompts=True,
    )


def _required(functions: Sequence[Function], config: object) -> Function | None:
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if not isinstance(calling, dict) or calling.get("mode") != "ANY":
        return None
    allowed = calling.get("allowedFunctionNames") or [function.name for function in functions]
    return next((function for function in functions if function.name in allowed), None)


def _schema(config: Fields) -> Schema | None:
    if config.get("responseMimeType") != "application/json":
        return None
    schema = config.get("responseJsonSchema", config.get("responseSchema"))
    return schema if isinstance(schema, dict) else ANY_OBJECT


def _functions(tools: object) -> Iterator[Function]:
    for index, tool in enumerate(items(tools or [], "tools")):
        path = f"tools[{index}]"
        declared = members(tool, path, TOOL_FIELDS).get("functionDeclarations", [])
        for at, declaration in enumerate(items(declared, path)):
            yield _function(declaration, f"{path}.function_declarations[{at}]")


def _function(declaration: object, path: str) -> Function:
    given = members(declaration, path, DECLARATION_FIELDS)
    if not FUNCTION_NAME.match(text(given.get("name", ""), f"{path}.name")):
        refuse_field(
            f"{path}.name",
            "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
            "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        )
    if "parameters" in given and "parametersJsonSchema" in given:
        refuse_field(path, "parameters and parameters_json_schema must not both be set.")
    if "parameters" in given:
        _check_schema(given["parameters"], f"{path}.parameters")
    parameters = given.get("parameters", given.get("parametersJsonSchema"))
    return Function(given["name"], parameters if isinstance(parameters, dict) else None)


def _check_schema(value: object, path: str) -> None:
    """The vendor's own kind of schema, which knows fewer words than JSON Schema."""
    schema = members(value, path, SCHEMA_FIELDS)
    if "type" in schema:
        text(schema["type"], f"{path}.type")
    for inner, held in _inner_schemas(schema, path):
        _check_schema(held, inner)


def _inner_schemas(schema: Fields, path: str) -> Iterator[tuple[str, object]]:
    """The schemas in a schema, with their paths."""
    if "items" in schema:
        yield f"{path}.items", schema["items"]
    for index, choice in enumerate(items(schema.get("anyOf", []), path)):
        yield f"{path}.any_of[{index}]", choice
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        refuse_value(f"{path}.properties", "TYPE_MESSAGE", f'"{properties}"')
    for name, held in properties.items():
        yield f"{path}.properties[{name}]", held


def _spoken(content: Content) -> Iterator[Message]:
    """The texts of a turn; responses of tools apart, as the JSON that they are."""
    for response in content.responses:
        yield Message("tool", msgspec.json.encode(response.get("response", {})).decode())
    if len(content.responses) < len(content.parts):
        yield _message(content.role, content)


def _message(role: str, content: Content) -> Message:
    return Message(role, [Part("text", said) for said in content.texts()])
