"""The form of a Messages order: its blocks, tools and marks for caches.

Rules of this file
1. A list of what is known, as for chat (`core/calls/chat_form`): a provider that speaks the dialect is sent what the
   caller wrote, so nothing may stand in it that it would fetch, run or charge for beside what is counted.
2. What the model itself made (thoughts, its calls of the provider's tools) goes back as it came.
3. A value may be 30 MB of base64. It stays raw.
"""

from typing import Literal

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat import WholeNumber
from tollkeeper.core.calls.chat_form import Word

NOTHING = Raw()


class CacheMark(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["ephemeral"] = "ephemeral"
    ttl: Literal["5m", "1h"] | None = None
    scope: Word | None = None


class KnownBlock(msgspec.Struct, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    """What every block may have."""

    cache_control: CacheMark | None = None


class Base64Source(msgspec.Struct, forbid_unknown_fields=True, tag_field="type", tag="base64"):
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"]
    data: Raw


class UrlSource(msgspec.Struct, forbid_unknown_fields=True, tag_field="type", tag="url"):
    url: str


class TextSource(msgspec.Struct, forbid_unknown_fields=True, tag_field="type", tag="text"):
    data: str
    media_type: Literal["text/plain"] = "text/plain"


class TextBlock(KnownBlock, tag="text", kw_only=True):
    text: str
    citations: Raw = NOTHING


class ImageBlock(KnownBlock, tag="image", kw_only=True):
    source: Base64Source | UrlSource


class ContentSource(msgspec.Struct, forbid_unknown_fields=True, tag_field="type", tag="content"):
    content: str | list[TextBlock | ImageBlock]


class DocumentBlock(KnownBlock, tag="document", kw_only=True):
    """One that lies elsewhere is not fetched for our callers."""

    source: Base64Source | TextSource | ContentSource
    title: str | None = None
    context: str | None = None
    citations: Raw = NOTHING


class SearchResultBlock(KnownBlock, tag="search_result", kw_only=True):
    source: str
    title: str
    content: list[TextBlock]
    citations: Raw = NOTHING


class ToolReferenceBlock(KnownBlock, tag="tool_reference", kw_only=True):
    tool_name: Word


class ThoughtBlock(KnownBlock, tag="thinking", kw_only=True):
    thinking: str
    signature: str = ""


class RedactedBlock(KnownBlock, tag="redacted_thinking", kw_only=True):
    data: str


class ToolUseBlock(KnownBlock, tag="tool_use", kw_only=True):
    id: str
    name: str
    input: Raw = NOTHING
    caller: Raw = NOTHING


ResultPart = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReferenceBlock


class ToolResultBlock(KnownBlock, tag="tool_result", kw_only=True):
    tool_use_id: str
    content: str | list[ResultPart] | None = None
    is_error: bool | None = None


class ProviderToolUse(KnownBlock, tag="server_tool_use", kw_only=True):
    """The model's call of a tool that its provider runs, and what that gave, as the provider sent them."""

    id: str
    name: str
    input: Raw = NOTHING
    caller: Raw = NOTHING


class ProviderToolResult(KnownBlock, kw_only=True):
    tool_use_id: str
    content: Raw = NOTHING
    caller: Raw = NOTHING


class WebSearchResult(ProviderToolResult, tag="web_search_tool_result"):
    pass


class WebFetchResult(ProviderToolResult, tag="web_fetch_tool_result"):
    pass


class ToolSearchResult(ProviderToolResult, tag="tool_search_tool_result"):
    pass


OfProviderTools = ProviderToolUse | WebSearchResult | WebFetchResult | ToolSearchResult
AnyBlock = ResultPart | ThoughtBlock | RedactedBlock | ToolUseBlock | ToolResultBlock | OfProviderTools


class AskedTurn(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[AnyBlock]


class OfferedTool(msgspec.Struct, forbid_unknown_fields=True):
    """A tool of the caller's, or, by its type, one that the vendor defines."""

    name: str
    type: Word | None = None
    description: str | None = None
    input_schema: Raw = NOTHING
    cache_control: CacheMark | None = None
    strict: bool | None = None
    input_examples: Raw = NOTHING
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None
    allowed_callers: Raw = NOTHING
    # Of tools that the vendor defines.
    max_uses: int | None = None
    max_characters: int | None = None
    max_content_tokens: int | None = None
    allowed_domains: Raw = NOTHING
    blocked_domains: Raw = NOTHING
    user_location: Raw = NOTHING
    citations: Raw = NOTHING
    display_width_px: int | None = None
    display_height_px: int | None = None
    display_number: int | None = None
    enable_zoom: bool | None = None


class ChosenTool(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class AskedThinking(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = None
    display: Word | None = None


class AnswerFormat(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["json_schema"]
    schema: Raw


class OutputConfig(msgspec.Struct, forbid_unknown_fields=True):
    effort: Word | None = None
    format: AnswerFormat | None = None


class UserMetadata(msgspec.Struct, forbid_unknown_fields=True):
    user_id: str | None = None


class ContextEdit(msgspec.Struct):
    """What is taken out of a conversation. Edits that have a model write something are charged beside the answer."""

    type: Literal["clear_thinking_20251015", "clear_tool_uses_20250919"]


class ContextEdits(msgspec.Struct, forbid_unknown_fields=True):
    edits: list[ContextEdit] | None = None


class MessagesFields(msgspec.Struct):
    """The parameters of an order, each of which is looked into."""

    model: str | None = None
    messages: list[AskedTurn] | None = None
    max_tokens: WholeNumber | None = None
    system: str | list[TextBlock] | None = None
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: ChosenTool | None = None
    thinking: AskedThinking | None = None
    output_config: OutputConfig | None = None
    output_format: AnswerFormat | None = None
    context_management: ContextEdits | None = None
    cache_control: CacheMark | None = None
    metadata: UserMetadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
