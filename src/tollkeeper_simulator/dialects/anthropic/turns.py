"""The rules of a conversation: whose turn it is, which results belong to which tools, and whose thoughts come back."""

from collections.abc import Sequence
from typing import NamedTuple

from tollkeeper_simulator.dialects.anthropic.blocks import Block
from tollkeeper_simulator.dialects.anthropic.fields import refuse
from tollkeeper_simulator.dialects.anthropic.signature import signature_of

THOUGHTS = ("thinking", "redacted_thinking")


class Turn(NamedTuple):
    """One message; its content as blocks."""

    role: str
    blocks: list[Block]

    @property
    def uses(self) -> list[str]:
        return [block["id"] for block in self.blocks if block["type"] == "tool_use"]

    @property
    def first_results(self) -> list[str]:
        """Results answer only where they come before anything else."""
        ids = []
        for block in self.blocks:
            if block["type"] != "tool_result":
                break
            ids.append(block["tool_use_id"])
        return ids

    @property
    def has_results(self) -> bool:
        return any(block["type"] == "tool_result" for block in self.blocks)

    @property
    def is_of_the_user_alone(self) -> bool:
        return self.role == "user" and not self.has_results


def check_turns(turns: Sequence[Turn]) -> None:
    if not turns:
        refuse("messages", "at least one message is required")
    if turns[0].role != "user":
        refuse("messages", 'first message must use the "user" role')
    for index, turn in enumerate(turns):
        if not turn.blocks and not (index == len(turns) - 1 and turn.role == "assistant"):
            said = "all messages must have non-empty content except for the optional final assistant message"
            refuse(f"messages.{index}", said)
    last = turns[-1]
    if last.role == "assistant" and last.blocks and last.blocks[-1].get("text", "x")[-1:].isspace():
        refuse("messages", "final assistant content cannot end with trailing whitespace")
    _check_tools(turns)


def _check_tools(turns: Sequence[Turn]) -> None:
    nobody = Turn("user", [])
    seen: set[str] = set()
    for index, turn in enumerate(turns):
        before = turns[index - 1] if index else nobody
        for place, block in enumerate(turn.blocks):
            if block["type"] == "tool_result" and block["tool_use_id"] not in before.uses:
                refuse(
                    f"messages.{index}.content.{place}",
                    f"unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
                )
        after = turns[index + 1] if index + 1 < len(turns) else nobody
        if open_uses := [use for use in turn.uses if use not in after.first_results]:
            refuse(
                f"messages.{index}",
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(open_uses)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            )
        if len(set(turn.uses)) < len(turn.uses) or not seen.isdisjoint(turn.uses):
            refuse("messages", "`tool_use` ids must be unique")
        seen.update(turn.uses)


def check_thoughts(turns: Sequence[Turn]) -> None:
    """For a request that wants thoughts: those that come back are as they were, and none is missing where tools run."""
    for index, turn in enumerate(turns):
        for place, block in enumerate(turn.blocks):
            if block["type"] == "thinking" and block["signature"] != signature_of(block["thinking"]):
                refuse(f"messages.{index}.content.{place}", "Invalid `signature` in `thinking` block")
    if not turns[-1].has_results:
        return
    began = max(index for index, turn in enumerate(turns) if turn.is_of_the_user_alone or index == 0)
    index, turn = next((index, turn) for index, turn in enumerate(turns) if index > began and turn.role == "assistant")
    found = turn.blocks[0]["type"]
    if found not in THOUGHTS:
        refuse(
            f"messages.{index}.content.0.type",
            f"Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final "
            "`assistant` message must start with a thinking block (preceding the last set of `tool_use` and "
            "`tool_result` blocks).",
        )
