"""From Anthropic's message request to our chat request: what is counted, and what providers of other vendors are sent.

Rules of this file
1. Thoughts, and what a provider's own tools gave, are one vendor's alone: they are left out, never sent as text.
2. Marks for caches are left out: other vendors' caches need none.
3. Results of tools are messages of their own in chat, and have no pictures there: those follow in the user's message.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Raw

from tollkeeper.core.dialects.messages.form import (
    AnswerFormat,
    AnyBlock,
    AskedTurn,
    Base64Source,
    ChosenTool,
    ContentSource,
    DocumentBlock,
    ImageBlock,
    MessagesFields,
    OfferedTool,
    SearchResultBlock,
    TextBlock,
    TextSource,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from tollkeeper.core.errors import InvalidParameter

JsonPart = dict[str, Any]

TOOL_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
NO_PARAMETERS: JsonPart = {"type": "object", "properties": {}}
EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


def chat_fields(asked: MessagesFields) -> dict[str, Any]:
    """The parameters of the same order in chat."""
    fields: dict[str, Any] = {
        "model": asked.model,
        "messages": [*_system(asked.system), *_messages(asked.messages or ())],
        "max_completion_tokens": asked.max_tokens,
        "stop": asked.stop_sequences or None,
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "top_k": asked.top_k,
        "tools": [_tool(tool) for tool in asked.tools or () if is_of_caller(tool)] or None,
        "response_format": _response_format(asked),
    }
    if asked.output_config is not None and asked.output_config.effort is not None:
        fields["reasoning_effort"] = EFFORTS.get(asked.output_config.effort, "medium")
    if fields["tools"] and asked.tool_choice is not None:
        fields |= _tool_choice(asked.tool_choice)
    if asked.stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    return {name: value for name, value in fields.items() if value is not None}


def is_of_caller(tool: OfferedTool) -> bool:
    return tool.type in {None, "custom"}


def _system(system: str | list[TextBlock] | None) -> list[JsonPart]:
    texts = [system] if isinstance(system, str) else [block.text for block in system or ()]
    content = [_text(text) for text in texts if text]
    return [{"role": "system", "content": content}] if content else []


def _messages(turns: Sequence[AskedTurn]) -> Iterator[JsonPart]:
    for index, turn in enumerate(turns):
        if isinstance(turn.content, str):
            yield {"role": turn.role, "content": turn.content}
        elif turn.role == "assistant":
            yield from _said(turn.content)
        else:
            yield from _asked(turn.role, turn.content, f"messages[{index}].content")


def _said(blocks: Sequence[AnyBlock]) -> Iterator[JsonPart]:
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    calls = [_call(block) for block in blocks if isinstance(block, ToolUseBlock)]
    if text or calls:
        yield {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _asked(role: str, blocks: Sequence[AnyBlock], place: str) -> Iterator[JsonPart]:
    beside: list[JsonPart] = []
    for at, block in enumerate(blocks):
        if isinstance(block, ToolResultBlock):
            parts = list(_result_parts(block, f"{place}[{at}].content"))
            texts = [part for part in parts if part["type"] == "text"]
            beside += [part for part in parts if part["type"] != "text"]
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": texts or ""}
    own = [part for at, block in enumerate(blocks) for part in _parts(block, f"{place}[{at}]")]
    if beside or own:
        yield {"role": role, "content": [*beside, *own]}


def _result_parts(result: ToolResultBlock, place: str) -> Iterator[JsonPart]:
    if isinstance(result.content, str):
        yield _text(result.content)
    else:
        for at, block in enumerate(result.content or ()):
            yield from _parts(block, f"{place}[{at}]")


def _parts(block: AnyBlock, place: str) -> Iterable[JsonPart]:
    """The parts of a chat message that a block comes to; none, where it is one vendor's alone."""
    if isinstance(block, TextBlock):
        return [_text(block.text)]
    if isinstance(block, ImageBlock):
        return [_picture(block.source, f"{place}.source")]
    if isinstance(block, DocumentBlock):
        return [*_heading(block), *_document(block.source, block.title, f"{place}.source")]
    if isinstance(block, SearchResultBlock):
        return [_text(f"{block.title}\n{block.source}"), *(_text(part.text) for part in block.content)]
    return []


def _text(text: str) -> JsonPart:
    return {"type": "text", "text": text}


def _heading(block: DocumentBlock) -> list[JsonPart]:
    words = [word for word in (block.title, block.context) if word]
    return [_text("\n".join(words))] if words else []


def _picture(source: Base64Source | UrlSource, place: str) -> JsonPart:
    url: object = source.url if isinstance(source, UrlSource) else _data_url(source, place)
    return {"type": "image_url", "image_url": {"url": url}}


def _document(source: Base64Source | TextSource | ContentSource, title: str | None, place: str) -> Iterator[JsonPart]:
    if isinstance(source, TextSource):
        yield _text(source.data)
    elif isinstance(source, Base64Source):
        file = {"file_data": _data_url(source, place), "filename": (title or "document")[:200]}
        yield {"type": "file", "file": file}
    elif isinstance(source.content, str):
        yield _text(source.content)
    else:
        for at, block in enumerate(source.content):
            yield from _parts(block, f"{place}.content[{at}]")


def _data_url(source: Base64Source, place: str) -> Raw:
    """Put together without a look at the data: that may be long."""
    data = bytes(source.data)
    if not data.startswith(b'"'):
        raise InvalidParameter(f"{place}.data", "must be base64")
    return Raw(b'"data:%b;base64,%b' % (source.media_type.encode(), data[1:]))


def _call(block: ToolUseBlock) -> JsonPart:
    arguments = bytes(block.input).decode() or "{}"
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def _tool(tool: OfferedTool) -> JsonPart:
    schema = tool.input_schema if bytes(tool.input_schema) else NO_PARAMETERS
    function: JsonPart = {"name": tool.name, "parameters": schema}
    if tool.description is not None:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _tool_choice(choice: ChosenTool) -> JsonPart:
    chosen: JsonPart = {"tool_choice": TOOL_CHOICES.get(choice.type)}
    if choice.type == "tool":
        chosen["tool_choice"] = {"type": "function", "function": {"name": choice.name or ""}}
    if choice.disable_parallel_tool_use:
        chosen["parallel_tool_calls"] = False
    return chosen


def _response_format(asked: MessagesFields) -> JsonPart | None:
    form: AnswerFormat | None = asked.output_format
    if asked.output_config is not None and asked.output_config.format is not None:
        form = asked.output_config.format
    if form is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": form.schema, "strict": True}}
