"""Messages orders: read, checked, translated into chat, and kept as their callers wrote them.

Rules of this file
1. What is counted and held for is the chat translation. What stands beside it in the caller's own words (thoughts,
   results of the provider's tools) is held for by its size: only a provider that speaks the dialect is sent it.
2. Thoughts pass as they came. Those without a signature are of another vendor's model, and were sent to the caller by
   us: no provider of this dialect would take them, so they are left out.
3. Tools pass as they came, for the vendor's cache begins with them.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat import TOKENS_MOST, ChatOrder, read_chat
from tollkeeper.core.calls.chat_extras import Extra
from tollkeeper.core.calls.conversation import named_by_id
from tollkeeper.core.calls.json_fields import decode_array, encode, read_asked, read_fields
from tollkeeper.core.calls.native import TOO_MANY_TOOLS, TOOLS_MOST, Dialect, Native, Spoken
from tollkeeper.core.dialects.messages.fields import COUNTED, RUN_BY_CALLERS, betas_in, passing, tool_name
from tollkeeper.core.dialects.messages.form import (
    AnyBlock,
    AskedTurn,
    CacheMark,
    ContentSource,
    DocumentBlock,
    ImageBlock,
    MessagesFields,
    OfferedTool,
    ProviderToolResult,
    ProviderToolUse,
    RedactedBlock,
    SearchResultBlock,
    TextBlock,
    ThoughtBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    UrlSource,
)
from tollkeeper.core.dialects.messages.to_chat import chat_fields, is_of_caller
from tollkeeper.core.errors import InvalidParameter, MissingParameter
from tollkeeper.core.money.parts import Part
from tollkeeper.core.outward import is_public_url

BETA = "anthropic-beta"
SESSION = "x-claude-code-session-id"
# Headers that belong to an order.
HEADERS = (BETA, SESSION)
# Of text that is not counted; fewer than any tokeniser has.
CHARACTERS_PER_TOKEN = 3
# Blocks that chat has in the caller's messages alone.
OF_CALLERS = (DocumentBlock, ImageBlock, SearchResultBlock, ToolReferenceBlock, ToolResultBlock)
# Blocks that have others in them.
HOLDERS = frozenset[type]({DocumentBlock, SearchResultBlock, ToolResultBlock})
# To be counted, an order needs no cap.
NO_CAP = 1

WANTED = {
    "model": "must be the id of a model",
    "messages": "must be an array of at least one message",
    "max_tokens": f"must be a whole number from 1 to {TOKENS_MOST:,}",
    "stream": "must be true or false",
    "service_tier": "must be auto or standard_only: this service has one price",
    "tool_choice": "must be an object of type auto, any, tool or none",
    "thinking": "must be an object of type enabled, disabled or adaptive",
}
WANTED_AT_END = {
    ".ttl": "must be 5m or 1h",
    ".media_type": "must be one of those that the protocol has for this block",
    ".source.type": "must be base64, or url where it is a picture: nothing that lies elsewhere can be referred to",
    "].type": "must be a kind of block or edit that the protocol has; what lies at the provider cannot be referred to",
}
WANTED_ELSEWHERE = "is not of the form that the protocol gives it"

decode_asked = msgspec.json.Decoder(MessagesFields).decode
decode_turns: Callable[[Raw], list[dict[str, Raw]]] = msgspec.json.Decoder(list[dict[str, Raw]]).decode


def read_messages(spoken: Spoken) -> ChatOrder:
    return _read(spoken, counts_only=False)


def read_count(spoken: Spoken) -> ChatOrder:
    """An order that is to be counted, and not answered."""
    return _read(spoken, counts_only=True)


def _read(spoken: Spoken, *, counts_only: bool) -> ChatOrder:
    fields = passing(read_fields(spoken.body, MessagesFields.__struct_fields__))
    asked = read_asked(spoken.body, decode_asked, _wanted)
    if counts_only:
        fields = {name: value for name, value in fields.items() if name in COUNTED}
        asked.max_tokens, asked.stream = NO_CAP, None
    turns = _required(asked)
    blocks = _blocks(turns)
    if any(type(block) is ImageBlock for block in blocks):
        _check_addresses(turns)
    if any(_is_unsigned(block) for block in blocks if type(block) is ThoughtBlock):
        fields["messages"] = _without_unsigned(fields["messages"], turns)
    order = read_chat(encode(chat_fields(asked)))
    untranslated = _untranslated_characters(blocks) + _unsaid_characters(turns)
    order.native = _native(asked, untranslated, fields, spoken)
    order.native.counts_only = counts_only
    order.asks_to_think = asked.thinking is not None and asked.thinking.type != "disabled"
    order.parts = _parts_of(asked, blocks)
    order.extras = tuple(Extra("tools", tool) for tool in sorted({*_provider_tools(asked.tools or ())}))
    if Part.WRITTEN_1H in order.parts and not counts_only:
        # As in chat: it costs twice the input, and nobody gives that away. Other vendors are sent no marks.
        order.native.extras = (Extra("cache_control", Part.WRITTEN_1H),)
    user = asked.metadata.user_id if asked.metadata is not None else None
    if session := spoken.headers.get(SESSION) or user:
        order.conversation = named_by_id(session)
    return order


def _required(asked: MessagesFields) -> list[AskedTurn]:
    for name in ("model", "messages", "max_tokens"):
        if getattr(asked, name) is None:
            raise MissingParameter(name)
    if not asked.model:
        raise InvalidParameter("model", WANTED["model"])
    if not asked.messages:
        raise InvalidParameter("messages", WANTED["messages"])
    if len(asked.tools or ()) > TOOLS_MOST:
        raise InvalidParameter("tools", TOO_MANY_TOOLS)
    return asked.messages


def _native(asked: MessagesFields, untranslated: int, fields: dict[str, Raw], spoken: Spoken) -> Native:
    """`untranslated`: how many characters stand beside the translation."""
    betas = betas_in(spoken.headers.get(BETA, ""))
    return Native(
        dialect=Dialect.MESSAGES,
        fields=fields,
        headers=((BETA, betas),) if betas else (),
        only_here="" if all(map(is_of_caller, asked.tools or ())) else "tools",
        untranslated_tokens=-(-untranslated // CHARACTERS_PER_TOKEN),
    )


def _wanted(place: str) -> str:
    if place in WANTED:
        return WANTED[place]
    return next((wanted for end, wanted in WANTED_AT_END.items() if place.endswith(end)), WANTED_ELSEWHERE)


def _blocks(turns: Sequence[AskedTurn]) -> list[AnyBlock]:
    """Every block, those within others included."""
    found = [block for turn in turns if not isinstance(turn.content, str) for block in turn.content]
    # It grows as it is read: what stands within another may hold some itself.
    for block in found:
        if type(block) in HOLDERS:
            found += _inner(block)
    return found


def _inner(block: AnyBlock) -> Sequence[AnyBlock]:
    inner: object = None
    if isinstance(block, ToolResultBlock | SearchResultBlock):
        inner = block.content
    elif isinstance(block, DocumentBlock) and isinstance(block.source, ContentSource):
        inner = block.source.content
    return inner if isinstance(inner, list) else ()


def _check_addresses(turns: Sequence[AskedTurn]) -> None:
    for index, turn in enumerate(turns):
        for block in _blocks([turn]):
            source = block.source if isinstance(block, ImageBlock) else None
            if isinstance(source, UrlSource) and not is_public_url(source.url):
                wanted = "must be a public http or https address, with a plain host name and no user"
                raise InvalidParameter(f"messages[{index}].content.source.url", wanted)


def _is_unsigned(block: AnyBlock) -> bool:
    return isinstance(block, ThoughtBlock) and not block.signature


def _without_unsigned(messages: Raw, turns: Sequence[AskedTurn]) -> Raw:
    """The same messages, byte for byte but for thoughts that nobody has signed. One of nothing else is left out."""
    kept = []
    for written, turn in zip(decode_turns(messages), turns, strict=True):
        if isinstance(turn.content, list) and any(map(_is_unsigned, turn.content)):
            each = zip(decode_array(written["content"]), turn.content, strict=True)
            blocks = [raw for raw, block in each if not _is_unsigned(block)]
            if not blocks:
                continue
            written["content"] = Raw(encode(blocks))
        kept.append(written)
    return Raw(encode(kept))


def _untranslated_characters(blocks: Sequence[AnyBlock]) -> int:
    return sum(_characters_beside(block) for block in blocks if type(block) is not TextBlock) + sum(
        len(memoryview(block.citations)) for block in blocks if isinstance(block, TextBlock) and block.citations
    )


def _characters_beside(block: AnyBlock) -> int:
    if isinstance(block, ThoughtBlock):
        return len(block.thinking)
    if isinstance(block, RedactedBlock):
        return len(block.data)
    if isinstance(block, ProviderToolUse):
        return len(memoryview(block.input))
    return len(memoryview(block.content)) if isinstance(block, ProviderToolResult) else 0


def _unsaid_characters(turns: Sequence[AskedTurn]) -> int:
    """Characters of blocks that stand in the model's own turn, where chat has none of them: they are not translated."""
    said = [turn.content for turn in turns if turn.role == "assistant" and isinstance(turn.content, list)]
    return sum(len(encode(block)) for blocks in said for block in blocks if isinstance(block, OF_CALLERS))


def _parts_of(asked: MessagesFields, blocks: Sequence[AnyBlock]) -> frozenset[Part]:
    """The caches that may be written."""
    marked: list[CacheMark | None] = [asked.cache_control, *(tool.cache_control for tool in asked.tools or ())]
    if isinstance(asked.system, list):
        marked += [block.cache_control for block in asked.system]
    marked += [block.cache_control for block in blocks]
    lives = {mark.ttl for mark in marked if mark is not None}
    written = {Part.WRITTEN_1H if life == "1h" else Part.WRITTEN_5M for life in lives}
    return frozenset(written)


def _provider_tools(tools: Sequence[OfferedTool]) -> Iterator[str]:
    """Names of those that the provider runs. A tool of an unknown form has no name that anybody could price."""
    for index, tool in enumerate(tools):
        if is_of_caller(tool) or tool.type is None:
            continue
        name = tool_name(tool.type)
        if not name:
            raise InvalidParameter(f"tools[{index}].type", "must be custom, or a tool that the protocol defines")
        if name not in RUN_BY_CALLERS:
            yield name
