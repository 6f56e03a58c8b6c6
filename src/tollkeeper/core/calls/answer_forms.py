"""The forms of an answer: a whole one, or one chunk of a stream, as the protocol has them.

What the protocol does not know is forbidden here, and what is no output has a length: so `core/calls/answer_reading`
notices both. These bounds cost nothing where they hold, for the decoder looks at them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw

from tollkeeper.core.calls.reported_usage import ReportedUsage

NULL = Raw(b"null")
# What is no output has so many characters at most. More of it is a text like any other.
QUIET_CHARACTERS_MOST = 128
QuietText = Annotated[str, Meta(max_length=QUIET_CHARACTERS_MOST)]
QuietNumber = Annotated[int, Meta(ge=-(2**62), le=2**62)]
# A list, or an object, of which only the empty one says nothing.
EmptyList = list[None] | None
EmptyObject = dict[str, None] | None
# What providers really say; another word is a text like any other.
MessageRole = Literal["assistant", "system", "user", "tool", "developer", "function", "model"]
FinishReason = Literal[
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "function_call",
    "eos",
    "end_turn",
    "max_tokens",
    "tool_use",
    "stop_sequence",
    "completed",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "error",
    "",
]


class NotAnAnswer(ValueError):
    """A body that should be a whole answer, and is none."""


class AnswerTooLong(ValueError):
    """More came than can be read in one piece. Whoever asked for so much has it made once, and no more."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        super().__init__(f"{size_bytes} bytes")


class ReceivedFunction(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None
    arguments: str | None = None


class Custom(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None
    input: str | None = None


class ReceivedToolCall(msgspec.Struct, forbid_unknown_fields=True):
    index: QuietNumber | None = None
    id: QuietText | None = None
    type: Literal["function", "custom"] | None = None
    function: ReceivedFunction | None = None
    custom: Custom | None = None
    # What the vendor wants to see again. Where we have translated an answer, it was counted when it came.
    extra_content: Raw = NULL

    @property
    def name(self) -> str:
        of_function = self.function.name if self.function is not None else None
        return of_function or (self.custom.name if self.custom is not None else None) or ""

    @property
    def text(self) -> str:
        """What the tool is given."""
        text = (self.function.arguments or "") if self.function is not None else ""
        return text if self.custom is None else text + (self.custom.input or "")


class Words(msgspec.Struct, forbid_unknown_fields=True):
    """A message, or the next part of one: everything in it that a provider counts as output. Its text is all of that
    but for calls of tools."""

    role: MessageRole | None = None
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ReceivedToolCall] | None = None
    function_call: ReceivedFunction | None = None
    annotations: EmptyList = None
    reasoning_details: EmptyList = None
    images: EmptyList = None
    audio: None = None
    provider_specific_fields: EmptyObject = None
    # As of a tool call.
    thinking_blocks: Raw = NULL
    extra_content: Raw = NULL

    @property
    def text(self) -> str:
        text = self.content or ""
        if self.reasoning_content or self.reasoning or self.refusal:
            # Two names for the same thoughts: some providers send both. Where they differ, both are thoughts.
            other = None if self.reasoning == self.reasoning_content else self.reasoning
            text += (self.reasoning_content or "") + (other or "") + (self.refusal or "")
        return text

    @property
    def calls(self) -> list[ReceivedToolCall]:
        """Calls of tools, and of functions as they were called before there were tools."""
        calls = self.tool_calls or []
        return (
            calls if self.function_call is None else [*calls, ReceivedToolCall(index=-1, function=self.function_call)]
        )

    @property
    def is_unusual(self) -> bool:
        """Whether there is more to look at than its text."""
        if self.tool_calls or self.function_call is not None:
            return True
        return self.thinking_blocks != NULL or self.extra_content != NULL

    @property
    def seen_again(self) -> list[Raw]:
        """What the vendor wants to see again."""
        found = [self.thinking_blocks, self.extra_content, *(call.extra_content for call in self.tool_calls or ())]
        return [value for value in found if value != NULL]


class ReceivedChoice(msgspec.Struct, forbid_unknown_fields=True):
    index: QuietNumber = 0
    delta: Words | None = None
    message: Words | None = None
    finish_reason: FinishReason | None = None
    # It says again what stands in the content, token by token.
    logprobs: dict[str, Raw] | None = None
    native_finish_reason: FinishReason | None = None
    stop_reason: QuietNumber | None = None
    # Of vendors (Moonshot) that report here.
    usage: ReportedUsage | None = None
    content_filter_results: Raw = NULL
    # Not of the protocol: text of a form that we do not know.
    strange_text: str = ""


Label = tuple[str | None, ...]


class ReceivedAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A whole answer, or one chunk of it."""

    choices: list[ReceivedChoice] | None = None
    usage: ReportedUsage | None = None
    error: Any = None
    # Not of the protocol: what a translator tells us on the way of a vendor that reports early. No caller sees it.
    usage_so_far: Raw = NULL
    id: QuietText | None = None
    object: QuietText | None = None
    created: QuietNumber | float | None = None
    model: QuietText | None = None
    system_fingerprint: QuietText | None = None
    service_tier: QuietText | None = None
    # Noise by which a vendor hides how long its words are.
    obfuscation: QuietText | None = None
    provider: QuietText | None = None
    prompt_filter_results: Raw = NULL
    # Text beside the choices, of a form that we do not know.
    strange_text: str = ""

    @property
    def label(self) -> Label:
        """What stands on every chunk of a stream alike."""
        return self.id, self.model, self.system_fingerprint, self.object, self.service_tier, self.provider
