"""One message of a chat order: what may stand in it, and what of it the provider will count."""

from collections.abc import Callable
from operator import attrgetter

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat_form import TEXT_PARTS, CheckedCacheControl, CheckedPart

# The vendor's own framing of each.
MESSAGE_TOKENS = 3
ONE_TOKEN_ROLES = frozenset({"system", "user", "assistant", "tool", "developer", "function"})
# Ids of tool calls are no text for the model. What is longer is none that a provider gave.
ID_CHARACTERS = 64

# What a message can have beside its content, all of it counted as it came.
NONE = Raw()
BESIDE = (
    *("tool_calls", "function_call", "refusal", "annotations", "reasoning", "reasoning_content"),
    *("reasoning_details", "thinking_blocks", "extra_content", "provider_specific_fields", "parsed"),
    *("tool_plan", "reasoning_signature"),
)
NOTHING_BESIDE = (NONE,) * len(BESIDE)
read_beside: Callable[["CheckedMessage"], tuple[Raw, ...]] = attrgetter(*BESIDE)


class CheckedMessage(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str | list[CheckedPart] | None = None
    name: str | None = None
    tool_calls: Raw = NONE
    function_call: Raw = NONE
    tool_call_id: str | None = None
    cache_control: CheckedCacheControl | None = None
    # What an answer had beside its content, as SDKs send it back.
    refusal: Raw = NONE
    annotations: Raw = NONE
    reasoning: Raw = NONE
    reasoning_content: Raw = NONE
    reasoning_details: Raw = NONE
    thinking_blocks: Raw = NONE
    extra_content: Raw = NONE
    provider_specific_fields: Raw = NONE
    parsed: Raw = NONE
    # Pictures stand in the content.
    images: None = None
    tool_plan: Raw = NONE
    reasoning_signature: Raw = NONE
    id: str | None = None
    # An answer that was spoken lies at the provider.
    audio: None = None
    # Whether the answer goes on from this message, as some providers name it.
    prefix: bool | None = None
    partial: bool | None = None

    def texts(self) -> list[str]:
        """Everything that the provider will count, but a role that is one token."""
        found = [] if self.role in ONE_TOKEN_ROLES else [self.role]
        if self.name is not None:
            found.append(self.name)
        if isinstance(self.content, str):
            found.append(self.content)
        elif self.content is not None:
            found += [text for part in self.content for text in (part.text, part.refusal) if text is not None]
        if self.tool_call_id is not None and len(self.tool_call_id) > ID_CHARACTERS:
            found.append(self.tool_call_id)
        if (beside := read_beside(self)) != NOTHING_BESIDE:
            found += [bytes(member).decode() for member in beside if member and bytes(member) != b"null"]
        return found

    @property
    def framing_tokens(self) -> int:
        return MESSAGE_TOKENS + (self.name is not None) + (self.role in ONE_TOKEN_ROLES)

    @property
    def media_parts(self) -> list[CheckedPart]:
        if not isinstance(self.content, list):
            return []
        return [part for part in self.content if part.type not in TEXT_PARTS]
