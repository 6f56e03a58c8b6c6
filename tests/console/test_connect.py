"""What agents are told to paste is one paste: a shell that gets it whole starts the agent, with all its settings."""

import os
import subprocess
from pathlib import Path

import pytest

from tollkeeper.console.connect import CLIENTS, snippet

TYPED = {"claude-code": "claude", "codex": "codex"}
# Writes what it was started with, one word per line, and of its settings those that are ours.
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > started
env | grep -E '^(ANTHROPIC|GATEWAY)_' | sort >> started
"""


def started(agent: str, folder: Path) -> list[str]:
    """The words and settings of an agent, after its text was pasted into a shell."""
    program = folder / TYPED[agent]
    program.write_text(STAND_IN)
    program.chmod(0o755)
    pasted = snippet(CLIENTS[agent], "https://gateway.example", "gpt-5")
    done = subprocess.run(
        ["sh", "-e"],
        input=pasted,
        env={"PATH": f"{folder}:{os.defpath}"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout + done.stderr == ""
    return (folder / "started").read_text().splitlines()


@pytest.mark.not_quick
def test_codex_is_started_by_one_paste_with_the_address_the_key_and_the_model(tmp_path: Path) -> None:
    assert started("codex", tmp_path) == [
        *("--model", "gpt-5"),
        *("-c", "model_provider=gateway"),
        *("-c", "model_providers.gateway.name=Gateway"),
        *("-c", "model_providers.gateway.base_url=https://gateway.example/v1"),
        *("-c", "model_providers.gateway.env_key=GATEWAY_API_KEY"),
        *("-c", "model_providers.gateway.wire_api=responses"),
        "GATEWAY_API_KEY=YOUR_KEY",
    ]


@pytest.mark.not_quick
def test_claude_code_is_started_by_one_paste_with_the_address_the_key_and_the_model(tmp_path: Path) -> None:
    assert started("claude-code", tmp_path) == [
        *("--model", "gpt-5"),
        "ANTHROPIC_API_KEY=YOUR_KEY",
        "ANTHROPIC_BASE_URL=https://gateway.example",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL=gpt-5",
    ]
