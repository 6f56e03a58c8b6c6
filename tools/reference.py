"""Write the pages that are generated: settings, errors, parameters and more, and the index of the decisions.

`python -m tools.reference` writes them; with `--check` it only complains where one is out of date.
"""

import html
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tollkeeper.cli.exit_codes import MEANINGS
from tollkeeper.console.admin.openapi import openapi_json
from tollkeeper.core.dialects.responses.form import ENCRYPTED, LEFT_OUT, PASSING, REFUSED
from tollkeeper.edge.routes import ROUTES
from tollkeeper.office.table import ACTS
from tollkeeper.providers.vendors.fields import CAN_BE_SPARED, FIELDS, WireFormat
from tollkeeper.providers.vendors.media_fields import (
    AUDIO_FIELDS,
    EMBEDDING_FIELDS,
    IMAGE_EDIT_FIELDS,
    IMAGE_FIELDS,
    SPEECH_FIELDS,
)
from tollkeeper.settings import FILE_VARIABLE, PREFIX, Settings, description
from tools.dependencies import dependencies_page
from tools.directions import directions_page
from tools.metrics_page import metrics_page
from tools.openapi.document import openapi_document
from tools.records import records_page
from tools.refusals import refusals

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
    for refusal in refusals():
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
        treatments = (field.in_form(form) for form in WireFormat)
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
    yield from _of_responses()
    yield "# Parameters of images, speech, transcripts and embeddings\n"
    yield "All others are refused.\n"
    for kind, names in (
        ("Images", IMAGE_FIELDS),
        ("Edited images", IMAGE_EDIT_FIELDS),
        ("Speech", SPEECH_FIELDS),
        ("Transcripts", AUDIO_FIELDS),
        ("Embeddings", EMBEDDING_FIELDS),
    ):
        yield f"* {kind}: {', '.join(f'`{name}`' for name in names)}"


def _of_responses() -> Iterator[str]:
    yield "# Parameters of responses\n"
    yield f"Passed on, or translated: {', '.join(f'`{name}`' for name in sorted(PASSING | {'tools'}))}."
    yield f"Left out: {', '.join(f'`{name}`' for name in sorted(LEFT_OUT))}; `store` is always false."
    yield f"Of `include` there is `{ENCRYPTED}`. All others are refused:\n"
    yield "| parameter | why | asks for nothing |\n|---|---|---|"
    for name, (idle, because) in REFUSED.items():
        yield f"| `{name}` | {because} | {', '.join(f'`{msgspec.json.encode(value).decode()}`' for value in idle)} |"
    yield ""


def operator_document() -> Iterator[str]:
    """The operator API, as it publishes itself."""
    yield openapi_json(ACTS).decode()


def commands_page() -> Iterator[str]:
    """Typer's own account of the commands, and what holds for all of them."""
    command = [sys.executable, "-m", "typer", "tollkeeper.cli", "utils", "docs", "--name", "tollkeeper"]
    told = subprocess.run([*command, "--title", "Commands"], check=True, capture_output=True, text=True).stdout
    # Typer writes for HTML; an apostrophe needs no escape in Markdown, nor does anything within code.
    yield html.unescape(told).rstrip() + "\n"
    yield "# For every command\n"
    yield "## Exit codes\n"
    yield "| code | means |\n|---|---|"
    yield from (f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items())
    yield "\n## Lists, pipes and programs\n"
    yield "On a terminal a list is a table; where its columns do not fit beside each other, each row is a block with a"
    yield "line for each column. In a pipe a row is a line with tabs between its cells, and the first line has their"
    yield "names. Nothing is ever cut. Whatever shows something has `--json`: one document, with the rows of a list in"
    yield "`data`. Names of fields do not change. Amounts are integers, `…_micro_quota` (of cash: `…_micro_usd`), with"
    yield "text in USD beside them, `…_usd`; times are ISO 8601 in UTC. Complaints, and the progress of long work,"
    yield "go to standard error.\n"
    yield "## Completion\n"
    yield "`tollkeeper --install-completion` teaches your shell (bash, zsh, fish) to complete commands and options;"
    yield "open a new one afterwards. `tollkeeper --show-completion` prints what it would add, for packagers."


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "endpoints.md": routes_page,
    "parameters.md": parameters_page,
    "openapi.json": openapi_document,
    "operator-openapi.json": operator_document,
    "commands.md": commands_page,
    "directions.md": directions_page,
    "metrics.md": metrics_page,
    "dependencies.md": dependencies_page,
    "../decisions/README.md": records_page,
}


def stale_pages() -> dict[str, str]:
    """The pages that are not what the code says, with what they should be."""
    texts = {name: "\n".join(page()).rstrip() + "\n" for name, page in PAGES.items()}
    return {name: text for name, text in texts.items() if _read(FOLDER / name) != text}


def main() -> int:
    stale = stale_pages()
    if stale and "--check" in sys.argv:
        print(f"Out of date: {', '.join(stale)}. Run 'make docs'.", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in stale.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def _shown(default: object) -> str:
    if default in {"", ()}:
        return ""
    return f"`{default}`"


if __name__ == "__main__":
    sys.exit(main())
