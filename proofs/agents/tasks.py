"""What the agents are asked to do, and what the model that the simulator plays lets them do: read, edit, finish.

What the model does is written into the task as stage directions, turn by turn: an agent sends its task along with
every call.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FILE = "notes.txt"
BEFORE = "The quick brown fox jumps over the lazy dgo.\n"
AFTER = "The quick brown fox jumps over the lazy dog.\n"
# Without thoughts: those that a vendor hides cannot be counted in a stream that breaks off.
LAST_WORDS = "tokens=24 thinking=0"


class ToolUse(NamedTuple):
    """A tool of an agent's, and what the model calls it with."""

    tool: str
    arguments: Mapping[str, str]


def claude_uses(folder: Path) -> Sequence[ToolUse]:
    path = str(folder / FILE)
    return (
        ToolUse("Read", {"file_path": path}),
        ToolUse("Edit", {"file_path": path, "old_string": "dgo", "new_string": "dog"}),
    )


def codex_uses(folder: Path) -> Sequence[ToolUse]:
    return (
        ToolUse("exec_command", {"cmd": f"cat {FILE}", "workdir": str(folder)}),
        ToolUse("exec_command", {"cmd": f"sed -i s/dgo/dog/ {FILE}", "workdir": str(folder)}),
    )


USES: Mapping[str, Callable[[Path], Sequence[ToolUse]]] = {"claude-code": claude_uses, "codex": codex_uses}


def task(agent: str, run: str, folder: Path, writes: Sequence[str]) -> str:
    """In words and directions. `writes`: what each turn writes into the vendor's cache; it reads from there what was
    sent before. The account that is asked first fails once, and a stream breaks off once in the middle of its last
    words."""
    turns = [f"call={use.tool} arguments={_written(use.arguments)}" for use in USES[agent](folder)]
    directions = [f"turn={turn} remembers=1 {what}" for turn, what in enumerate((*turns, LAST_WORDS))]
    directions += [f"turn={turn} {write}" for turn, write in enumerate(writes)]
    directions += [f"turn=0 only=one once={run}-fails status=503", f"turn={len(turns)} once={run}-breaks cut_at=8"]
    return f"Correct the spelling in {FILE}. {' '.join(f'[[{each}]]' for each in directions)}"


def _written(arguments: Mapping[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(arguments).encode()).decode()
