"""From our chat request to Gemini's content request.

Rules of this file
1. Instructions (`system`, `developer`) go before the conversation, wherever they stood in it: the vendor has one place
   for them.
2. Results of tools stand in a content of their own, all of one turn together: beside other words the vendor takes them
   for something else.
3. A call that a model made goes back with the signature of the thoughts before it. Where a caller's SDK has lost it,
   the vendor's own word for "unsigned" stands in its place rather than that the vendor refuse the conversation.
4. Images, audio and documents go as data. No address is fetched, by us or at our word.
"""

from collections.abc import Mapping, Sequence

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject
from tollkeeper.core.errors import InvalidParameter, UnsupportedParameter
from tollkeeper.providers.vendors.chat_request import (
    SYSTEM_ROLES,
    TEXTS,
    ChatRequest,
    ContentPart,
    InputAudio,
    Message,
    NamedTool,
    ToolCall,
    add,
    arguments_of,
    chosen_function,
    decode_members,
    functions_in,
    is_null,
    media_in,
    signature_in,
    written,
)

TOOL_CHOICES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
# Models that think for a number of tokens; all others think at a level.
THINKING_BY_BUDGET = "gemini-2"
BUDGET_TOKENS = {
    "none": 0,
    "minimal": 1_024,
    "low": 1_024,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
LEVELS = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}
# The larger models have no level below; the vendor's own compatible endpoint takes the word for it in the same way.
LEVELS_OF_PRO = LEVELS | {"minimal": "LOW"}
# Older models do not ask for signatures.
NOT_SIGNING = ("gemini-1", "gemini-2")
# What the vendor looks for in the result of a function.
OWN_NAMES = {"output", "error"}
UNSIGNED = "skip_thought_signature_validator"
AUDIO_FORMATS = frozenset({"aac", "aiff", "flac", "mp3", "ogg", "wav"})
JSON = "application/json"
AS_DATA = "this model's provider is not sent to fetch it; send it as a data URL"


def content_request(request: ChatRequest, *, model: str) -> bytes:
    """Raise UnsupportedParameter, InvalidParameter."""
    body: JsonObject = {"contents": _contents(request.messages, model)}
    add(body, "systemInstruction", _instructions(request.messages))
    add(body, "tools", _tools(request))
    add(body, "toolConfig", _tool_config(request))
    add(body, "generationConfig", _generation_config(request, model))
    return written(body)


def _instructions(messages: Sequence[Message]) -> JsonObject:
    parts: list[JsonObject] = []
    for index, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            parts += _texts(message, f"messages[{index}]", "instructions to this model are texts")
    return {"parts": parts} if parts else {}


def _contents(messages: Sequence[Message], model: str) -> list[JsonObject]:
    contents: list[JsonObject] = []
    names: dict[str, str] = {}
    before = ""
    for index, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            continue
        parts = _turn(message, f"messages[{index}]", names)
        if not parts:
            continue
        if message.role == before:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
        before = message.role
    if not contents:
        raise InvalidParameter("messages", "must hold something beside instructions for this model's provider")
    if not model.startswith(NOT_SIGNING):
        _sign(contents)
    return contents


def _turn(message: Message, place: str, names: dict[str, str]) -> list[JsonObject]:
    """`names`: of the functions that were called so far, by the id of the call."""
    if message.role == "user":
        return _parts(message, place)
    if message.role == "tool":
        return [_result(message, place, names)]
    if message.role != "assistant":
        raise UnsupportedParameter(f"{place}.role", "this model's provider knows system, user, assistant and tool")
    if not is_null(message.function_call):
        raise UnsupportedParameter(f"{place}.function_call", "it is the old form of tool calls; send tool_calls")
    parts = _parts(message, place)
    signature = signature_in(message.extra_content)
    if parts and signature:
        parts[-1]["thoughtSignature"] = signature
    for at, call in enumerate(message.tool_calls or ()):
        parts.append(_call(call, f"{place}.tool_calls[{at}]", names))
    return parts


def _parts(message: Message, place: str) -> list[JsonObject]:
    return [_part(part, f"{place}.content[{index}]") for index, part in message.parts]


def _part(part: ContentPart, place: str) -> JsonObject:
    if part.type in TEXTS:
        return {"text": part.text or part.refusal}
    if part.type == "image_url" and part.image_url is not None:
        return _data(part.image_url.url, f"{place}.image_url.url")
    if part.type == "input_audio" and part.input_audio is not None:
        return _audio(part.input_audio, f"{place}.input_audio.format")
    if part.type == "file" and part.file is not None and part.file.file_data is not None:
        return _data(part.file.file_data, f"{place}.file.file_data")
    raise UnsupportedParameter(place, "this model's provider takes texts, and images, audio and documents as data")


def _texts(message: Message, place: str, because: str) -> list[JsonObject]:
    """The parts of a message that can be nothing but text."""
    for index, part in enumerate(message.content if isinstance(message.content, list) else ()):
        if part.type not in TEXTS:
            raise UnsupportedParameter(f"{place}.content[{index}]", because)
    return _parts(message, place)


def _data(url: str, place: str) -> JsonObject:
    media = media_in(url)
    if media is None:
        raise UnsupportedParameter(place, AS_DATA)
    return {"inlineData": {"mimeType": media[0], "data": media[1]}}


def _audio(audio: InputAudio, place: str) -> JsonObject:
    if audio.format not in AUDIO_FORMATS:
        raise UnsupportedParameter(place, f"this model's provider takes {', '.join(sorted(AUDIO_FORMATS))}")
    return {"inlineData": {"mimeType": f"audio/{audio.format}", "data": audio.data}}


def _call(call: ToolCall, place: str, names: dict[str, str]) -> JsonObject:
    if call.function is None:
        raise UnsupportedParameter(place, "this model's provider takes functions only")
    names[call.id] = call.function.name
    function: JsonObject = {"name": call.function.name, "args": arguments_of(call.function, place)}
    if call.id:
        function["id"] = call.id
    part: JsonObject = {"functionCall": function}
    add(part, "thoughtSignature", signature_in(call.extra_content))
    return part


def _sign(contents: Sequence[JsonObject]) -> None:
    """The vendor looks at the first call of each turn."""
    for content in contents:
        calls = (part for part in content["parts"] if "functionCall" in part)
        if (first := next(calls, None)) is not None:
            first.setdefault("thoughtSignature", UNSIGNED)


def _result(message: Message, place: str, names: Mapping[str, str]) -> JsonObject:
    id_ = message.tool_call_id
    if not id_ or id_ not in names:
        raise InvalidParameter(f"{place}.tool_call_id", "must be the id of a tool call in a message before this one")
    parts = _texts(message, place, "this model's provider takes results of tools as texts")
    text = "".join(part["text"] for part in parts)
    return {"functionResponse": {"id": id_, "name": names[id_], "response": _response(text)}}


def _response(text: str) -> Mapping[str, object]:
    """A result that is a JSON object, as it is; any other under a name. Of an object with one of the vendor's own names
    in it the rest would be overlooked."""
    try:
        members = decode_members(text)
    except NOT_READ:
        return {"result": text}
    return {"result": members} if OWN_NAMES & members.keys() else members


def _tools(request: ChatRequest) -> list[JsonObject]:
    declarations = []
    for _, function in functions_in(request):
        declaration: JsonObject = {"name": function.name}
        add(declaration, "description", function.description)
        if not is_null(function.parameters):
            declaration["parametersJsonSchema"] = function.parameters
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}] if declarations else []


def _tool_config(request: ChatRequest) -> JsonObject | None:
    choice = request.tool_choice
    if not request.tools or choice is None:
        return None
    if isinstance(choice, NamedTool):
        config: JsonObject = {"mode": "ANY", "allowedFunctionNames": [chosen_function(choice)]}
    elif choice in TOOL_CHOICES:
        config = {"mode": TOOL_CHOICES[choice]}
    else:
        raise InvalidParameter("tool_choice", f"must be one of {', '.join(TOOL_CHOICES)}, or name a function")
    return {"functionCallingConfig": config}


def _generation_config(request: ChatRequest, model: str) -> JsonObject:
    config: JsonObject = {}
    add(config, "maxOutputTokens", request.most_tokens)
    add(config, "temperature", request.temperature)
    add(config, "topP", request.top_p)
    add(config, "topK", request.top_k)
    add(config, "stopSequences", request.stops)
    add(config, "candidateCount", None if request.n == 1 else request.n)
    add(config, "seed", request.seed)
    add(config, "frequencyPenalty", request.frequency_penalty)
    add(config, "presencePenalty", request.presence_penalty)
    add(config, "thinkingConfig", _thinking_config(request.reasoning_effort, model))
    return config | _form(request)


def _form(request: ChatRequest) -> JsonObject:
    """Which form the answer is to have."""
    form = request.response_format
    if form is None or form.type == "text":
        return {}
    if form.type == "json_object":
        return {"responseMimeType": JSON}
    if form.type != "json_schema":
        raise UnsupportedParameter("response_format", "this model's provider takes text, json_object and json_schema")
    if form.json_schema is None or is_null(form.json_schema.schema):
        raise InvalidParameter("response_format.json_schema", "must hold a schema")
    return {"responseMimeType": JSON, "responseJsonSchema": form.json_schema.schema}


def _thinking_config(effort: str | None, model: str) -> JsonObject | None:
    if effort is None:
        return None
    if effort not in LEVELS:
        raise InvalidParameter("reasoning_effort", f"must be one of {', '.join(LEVELS)}")
    config: JsonObject = {}
    if model.startswith(THINKING_BY_BUDGET):
        config["thinkingBudget"] = BUDGET_TOKENS[effort]
    else:
        config["thinkingLevel"] = (LEVELS_OF_PRO if "-pro" in model else LEVELS)[effort]
    if effort != "none":
        config["includeThoughts"] = True
    return config
