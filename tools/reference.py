"""Write the reference pages that are generated from the code: settings, errors, parameters, directions, and more.

`python -m tools.reference` writes them; with `--check` it only complains where one is out of date.
"""

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tollkeeper.core.errors import GatewayError
from tollkeeper.edge.routes import ROUTES
from tollkeeper.providers.vendors.fields import CAN_BE_SPARED, FIELDS, Form
from tollkeeper.providers.vendors.media_fields import AUDIO_FIELDS, IMAGE_FIELDS, SPEECH_FIELDS
from tollkeeper.settings import FILE_VARIABLE, PREFIX, Settings, description
from tools.dependencies import dependencies_page
from tools.directions import directions_page

FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def settings_page() -> Iterator[str]:
    yield "# Settings\n"
    yield f"Each is a variable; most can also stand in the TOML file that `{FILE_VARIABLE}` names, in lower case and"
    yield f"without `{PREFIX}`. Variables win over the file. `tollkeeper settings` shows what is in force.\n"
    yield "| variable | default | what it is for |\n|---|---|---|"
    for field in msgspec.structs.fields(Settings):
        default = "required" if field.required else _shown(field.default)
        yield f"| `{PREFIX}{field.name.upper()}` | {default} | {description(field.name)} |"


def errors_page() -> Iterator[str]:
    yield "# Errors\n"
    yield 'Every refusal on `/v1` and `/v2` has the body `{"error": {"message", "type", "param", "code"}}` and an'
    yield '`x-request-id` header. The deprecated endpoints say `{"Status": 0, "Error": message}` instead.\n'
    yield "| status | code | type | what it says |\n|---|---|---|---|"
    for refusal in sorted(_leaves(GatewayError), key=lambda refusal: (refusal.status, refusal.code)):
        told = " ".join(inspect.cleandoc(refusal.__doc__ or "").split())
        yield f"| {refusal.status} | `{refusal.code}` | `{refusal.type}` | {told} |"


def routes_page() -> Iterator[str]:
    yield "# Endpoints\n"
    yield "| method | path | on the addresses | |\n|---|---|---|---|"
    for route in ROUTES:
        note = "deprecated" if dict(route.style.headers).get(b"deprecation") else ""
        yield f"| {route.method} | `{route.path}` | {', '.join(sorted(route.on))} | {note} |"
    yield "\nWithout a billing host configured, main serves the billing address's endpoints."
    yield "`/livez` and `/readyz` answer under any host name."


def parameters_page() -> Iterator[str]:
    yield "# Parameters of chat completions\n"
    yield "A model's provider speaks this protocol (vendors `openai`, `azure`), or calls are translated for it"
    yield "(`anthropic`, `gemini`). A parameter that it cannot honour is refused with 400 `unsupported_parameter`, by"
    yield "name, before anything is sent or charged; where several providers serve a model, one that can takes the"
    yield "call. What is left out changes no answer. Null asks for nothing anywhere, and so do the values in the last"
    yield "column.\n"
    yield "| parameter | openai, azure | anthropic | gemini | asks for nothing |\n|---|---|---|---|---|"
    for name, field in FIELDS.items():
        treatments = (field.in_form(form) for form in Form)
        told = " | ".join(f"{treatment.verdict}{treatment.note and ': '}{treatment.note}" for treatment in treatments)
        idle = ", ".join(f"`{msgspec.json.encode(value).decode()}`" for value in field.idle)
        yield f"| `{name}` | {told} | {idle} |"
    yield "\nParameters that are not listed are refused, and so are listed ones in other letters (`Service_Tier`). The"
    yield "same goes for what stands inside: content parts are `text`, `refusal`, `image_url` (data, or a public http"
    yield "or https address), `input_audio` and `file` (data); tools are `function` and `custom`.\n"
    yield "An operator can let more pass to an `openai` or `azure` account with `--passes PARAMETER`, but nothing that"
    yield "is listed. A provider account can be added with `--rejects PARAMETER`. It is then sent without"
    yield f"{', '.join(f'`{name}`' for name in sorted(CAN_BE_SPARED))}."
    yield "Of any other parameter, calls that have it go to another account or are refused; `max_tokens` and"
    yield "`max_completion_tokens` stand in for each other.\n"
    yield "# Parameters of images, speech and transcripts\n"
    yield "All others are refused.\n"
    for kind, names in (("Images", IMAGE_FIELDS), ("Speech", SPEECH_FIELDS), ("Transcripts", AUDIO_FIELDS)):
        yield f"* {kind}: {', '.join(f'`{name}`' for name in names)}"


def commands_page() -> Iterator[str]:
    """Typer's own account of the commands."""
    command = [sys.executable, "-m", "typer", "tollkeeper.cli", "utils", "docs", "--name", "tollkeeper"]
    yield subprocess.run([*command, "--title", "Commands"], check=True, capture_output=True, text=True).stdout


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "endpoints.md": routes_page,
    "parameters.md": parameters_page,
    "commands.md": commands_page,
    "directions.md": directions_page,
    "dependencies.md": dependencies_page,
}


def main() -> int:
    check = "--check" in sys.argv
    stale = []
    for name, page in PAGES.items():
        text = "\n".join(page()).rstrip() + "\n"
        file = FOLDER / name
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            FOLDER.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if stale and check:
        print(f"Out of date: {', '.join(stale)}. Run 'make docs'.", file=sys.stderr)
        return 1
    return 0


def _leaves(of: type[GatewayError]) -> Iterator[type[GatewayError]]:
    for below in of.__subclasses__():
        yield from _leaves(below)
    if not of.__subclasses__():
        yield of


def _shown(default: object) -> str:
    if default in {"", ()}:
        return ""
    return f"`{default}`"


if __name__ == "__main__":
    sys.exit(main())
