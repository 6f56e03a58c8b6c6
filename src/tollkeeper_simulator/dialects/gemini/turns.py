"""The rules of a conversation: which responses belong to which calls, and whose signatures come back."""

from collections.abc import Sequence

from tollkeeper_simulator.dialects.gemini.fields import octets, refuse
from tollkeeper_simulator.dialects.gemini.parts import Content
from tollkeeper_simulator.dialects.gemini.signature import is_valid

# Models of this family insist on signatures.
INSISTS = "gemini-3"


def check_turns(contents: Sequence[Content]) -> None:
    nobody = Content("user", [])
    for index, content in enumerate(contents):
        before = contents[index - 1] if index else nobody
        after = contents[index + 1] if index + 1 < len(contents) else nobody
        if content.calls and (content.role != "model" or before.role != "user" or not index):
            refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        if content.responses and not before.calls:
            refuse("Please ensure that function response turn comes immediately after a function call turn.")
        if content.calls and len(after.responses) != len(content.calls):
            refuse(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )


def check_signatures(model: str, contents: Sequence[Content]) -> None:
    """In each step of the current turn the first call must have its signature."""
    if not model.startswith(INSISTS):
        return
    began = max(
        (index for index, content in enumerate(contents) if content.role == "user" and not content.responses), default=0
    )
    for index, content in enumerate(contents):
        if index > began and content.calls:
            first = content.calls[0]
            name = first["functionCall"]["name"]
            if "thoughtSignature" not in first:
                refuse(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                    "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                    f"data, function call `default_api:{name}` , position {index + 1}."
                )
            sent = first["thoughtSignature"]
            if not is_valid(sent, octets(sent, "thought_signature"), name):
                refuse("Thought signature is not valid.")
