"""What in a response, in its events and in its items, is no text of the model's.

Rules of this file
1. A member is silent only in events that are known to have it. In events that we do not know, everything is text.
2. Short things (ids, names) are silent as long as they are short.
"""

from tollkeeper.core.calls.answer_forms import QUIET_CHARACTERS_MOST
from tollkeeper.core.calls.loosely import a_text

# What no item of the model's says in its own words: short things, and what is sealed.
SHORT = frozenset({"id", "type", "status", "call_id", "name", "namespace", "role", "phase"})
SEALED = frozenset({"encrypted_content"})
# Pictures are reported and priced, but no words.
PICTURE_ITEM = "image_generation_call"
PICTURES = frozenset({"result", "partial_image_b64"})
# Of events about the whole response, of the end of something, or of a fault: members that are read by their own
# function, or say again what deltas have said.
SILENT_IN: dict[str, frozenset[str]] = {
    **{
        f"response.{state}": frozenset({"response"})
        for state in ("created", "queued", "in_progress", "completed", "incomplete", "failed", "cancelled")
    },
    "error": frozenset({"error", "code", "message", "param"}),
    "response.output_item.added": frozenset({"item"}),
    "response.output_item.done": frozenset({"item"}),
    "response.output_text.delta": frozenset({"logprobs"}),
    "response.image_generation_call.partial_image": PICTURES,
}
SAID_AGAIN: dict[str, str] = {
    "response.content_part.added": "part",
    "response.content_part.done": "part",
    "response.reasoning_summary_part.added": "part",
    "response.reasoning_summary_part.done": "part",
    "response.output_text.done": "text",
    "response.reasoning_text.done": "text",
    "response.reasoning_summary_text.done": "text",
    "response.refusal.done": "refusal",
    "response.function_call_arguments.done": "arguments",
    "response.mcp_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
    "response.code_interpreter_call_code.done": "code",
}
SILENT_AGAIN = {kind: frozenset({name, "name", "logprobs"}) for kind, name in SAID_AGAIN.items()}
SILENT_IN_NONE: frozenset[str] = frozenset()
# Of a whole response, as of the response in an event: what its items say is translated, and these say again what was
# asked for, or how it went. So they do on top alone: deeper down, their names may be those of anything.
SILENT_IN_WHOLE = frozenset(
    {
        *("output", "usage", "instructions", "tools", "text", "reasoning", "metadata", "model", "object", "created_at"),
        *("completed_at", "status", "incomplete_details", "background", "conversation", "max_output_tokens"),
        *("max_tool_calls", "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key"),
        *("prompt_cache_retention", "safety_identifier", "service_tier", "store", "temperature", "tool_choice"),
        *("top_logprobs", "top_p", "truncation", "user"),
    }
)


def words_in(item: object) -> str:
    """Everything that an item says in the model's own words."""
    is_picture = isinstance(item, dict) and item.get("type") == PICTURE_ITEM
    silent = SEALED | PICTURES if is_picture else SEALED
    found: list[str] = []
    waiting: list[object] = [item]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            waiting.extend(
                each
                for name, each in reversed(value.items())
                if name not in silent and not (name in SHORT and _is_short(each))
            )
    return "".join(found)


def _is_short(value: object) -> bool:
    return not isinstance(value, list | dict) and len(a_text(value)) <= QUIET_CHARACTERS_MOST
