"""What the demo says when it is ready: where everything is, and what to paste."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from tollkeeper.demo.past.people import EMAIL
from tollkeeper.demo.past.story import Told
from tollkeeper.demo.providers import REAL_MODEL


class DemoPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a demo is."""

    gateway: str
    console: str
    folder: Path
    # A file of the settings, for whoever wants to use the commands on it.
    settings_file: Path
    # What the commands to paste ask.
    model: str = "gpt-4o"
    question: str = "Hello! [[tokens=40]]"

    @classmethod
    def of(cls, settings: Mapping[str, str], folder: Path, *, real_model: bool) -> Self:
        """Writes the settings' file."""
        file = folder / "settings"
        file.touch(mode=0o600)
        file.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(settings.items())))
        asked = {"model": REAL_MODEL, "question": "Say hello in one sentence."} if real_model else {}
        return cls(
            gateway=f"http://127.0.0.1:{settings['TOLLKEEPER_PORT']}",
            console=settings["TOLLKEEPER_CONSOLE_URL"],
            folder=folder,
            settings_file=file,
            **asked,
        )


def own_command() -> str:
    """How a shell calls this installation: by its path where `tollkeeper` would be another one, or none."""
    beside = Path(sys.executable).parent / "tollkeeper"
    found = shutil.which("tollkeeper")
    if found is not None and Path(found).absolute() == beside.absolute():
        return "tollkeeper"
    return shlex.quote(str(beside)) if beside.exists() else f"{shlex.quote(sys.executable)} -m tollkeeper"


def welcome(place: DemoPlace, told: Told) -> str:
    return f"""
Tollkeeper is running, with a customer and {told.calls:,} calls of the last two months.

Gateway:  {place.gateway}
Console:  {place.console}   sign in as {EMAIL} with: {told.password}
Key:      {told.key}

Three things to paste into another terminal. Each call stands under Usage a moment later.

1. A streamed chat, with curl:

curl -N {place.gateway}/v1/chat/completions -H 'Authorization: Bearer {told.key}' \\
  -d '{{"model": "{place.model}", "stream": true, "messages": [{{"role": "user", "content": "{place.question}"}}]}}'

2. The same from Python (pip install openai):

python3 - <<'END'
from openai import OpenAI
client = OpenAI(base_url="{place.gateway}/v1", api_key="{told.key}")
asked = [{{"role": "user", "content": "{place.question}"}}]
for chunk in client.chat.completions.create(model="{place.model}", messages=asked, stream=True):
    print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
END

3. Claude Code:

ANTHROPIC_BASE_URL={place.gateway} ANTHROPIC_API_KEY={told.key} \\
  ANTHROPIC_DEFAULT_HAIKU_MODEL=gpt-4o-mini claude --model claude-opus-5

What is left:           curl {place.gateway}/v2/account/balance -H 'Authorization: Bearer {told.key}'
Look at a receipt:      {place.console}/usage/{told.telling_call}
Top up with this code:  {told.code}
The tollkeeper command: . {place.settings_file} && {own_command()} books check
Logs:                   {place.folder}/*.log

{_provider(place)}
Stop with Ctrl-C."""


def _provider(place: DemoPlace) -> str:
    played = "`tollkeeper demo provider`, which says plain words and does what it is told in double brackets"
    if place.model == REAL_MODEL:
        return f"{REAL_MODEL} is a real model on this machine. The provider of all others is {played}."
    return f"The provider is {played}.\nA real small model: {own_command()} demo --real-model."
