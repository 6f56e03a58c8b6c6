"""One decorator for all commands: runs the coroutine, and prints a problem that the user can mend as a sentence.

Rules of this file
1. A problem is a sentence on standard error and an exit code (`exit_codes`). A traceback is a fault of ours.
2. A pipe that its reader closed is no problem: Typer ends the command without a word.
3. What asks a person is a function that then returns a coroutine: in an event loop, Ctrl-C would not end a prompt.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import ParamSpec

import asyncpg
import typer

from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.speak import Mistake, complain
from tollkeeper.core.errors import GatewayError, StoreUnavailable
from tollkeeper.core.one_line import NotOneLine
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.settings import BadSettings, load
from tollkeeper.storage.postgres.out_of_range import out_of_range
from tollkeeper.storage.postgres.trouble import DatabaseTrouble, DatabaseUnfit, place_of_database, trouble_in

PROBLEMS = (
    Mistake,
    BadSettings,
    NotOnFile,
    AlreadyOnFile,
    NotOneLine,
    GatewayError,
    DatabaseUnfit,
    asyncpg.PostgresError,
    asyncpg.ClientConfigurationError,
    OSError,
)
# Only these say something about the database.
OF_THE_DATABASE = (StoreUnavailable, DatabaseUnfit, asyncpg.PostgresError, asyncpg.ClientConfigurationError, OSError)
UNANSWERED = "The database did not answer. Is it up, and is TOLLKEEPER_DATABASE_URL right?"
LOOK_FIRST = "If this command was to change something, look before you repeat it."

Given = ParamSpec("Given")


def command(
    *refusals: type[Exception],
) -> Callable[[Callable[Given, Coroutine[None, None, None] | None]], Callable[Given, None]]:
    """Make a command of a coroutine, or of a function that may return one. `refusals`: what else it raises with a
    sentence to tell."""

    def decorate(act: Callable[Given, Coroutine[None, None, None] | None]) -> Callable[Given, None]:
        @wraps(act)
        def run(*arguments: Given.args, **options: Given.kwargs) -> None:
            try:
                acting = act(*arguments, **options)
                if acting is not None:
                    asyncio.run(acting)
            except BrokenPipeError:
                raise
            except (typer.Abort, KeyboardInterrupt):
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            except (*PROBLEMS, *refusals) as problem:
                told, code = judged(problem)
                complain(told)
                raise typer.Exit(code) from None

        return run

    return decorate


def judged(problem: Exception) -> tuple[str, ExitCode]:
    """What to say of a problem, and the exit code."""
    if isinstance(problem, Mistake):
        return str(problem), problem.code
    trouble = trouble_of(problem) if isinstance(problem, OF_THE_DATABASE) else None
    if trouble is not None:
        return trouble.told if trouble.lasts else f"{trouble.told}\n{LOOK_FIRST}", ExitCode.STORE
    if isinstance(problem, StoreUnavailable):
        return f"{UNANSWERED}\n{LOOK_FIRST}", ExitCode.STORE
    return in_words(problem), ExitCode.REFUSED


def trouble_of(problem: BaseException) -> DatabaseTrouble | None:
    """What a problem says about the database of the settings."""
    try:
        url = load(os.environ).database_url.reveal()
    except BadSettings:
        return None
    return trouble_in(problem, place_of_database(url))


def in_words(problem: Exception) -> str:
    """The first entry that fits, or the problem's own words."""
    if isinstance(problem, asyncpg.CheckViolationError):
        return out_of_range(problem)
    told: dict[type[Exception], str] = {
        BadSettings: f"The settings cannot be used:\n{problem}",
        asyncpg.LockNotAvailableError: "Others hold what was to be changed, and it was left as it is. Repeat the "
        "command in a moment.",
        asyncpg.PostgresError: f"Nothing was changed: the database refused ({problem}).",
        OSError: f"{problem}.",
    }
    return next((words for kind, words in told.items() if isinstance(problem, kind)), str(problem))
