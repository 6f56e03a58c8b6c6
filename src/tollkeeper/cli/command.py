"""What all commands have in common: they are run to their end, and what people can mend is told in a sentence.

Rules of this file
1. A problem is a sentence on standard error and exit code 1. A traceback is a fault of ours.
2. A pipe that its reader closed is no problem: Typer ends the command without a word.
3. What asks a person is a function that then returns a coroutine: in an event loop, Ctrl-C would not end a prompt.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import ParamSpec

import asyncpg
import typer

from tollkeeper.cli.speak import Mistake, complain
from tollkeeper.core.errors import GatewayError
from tollkeeper.core.one_line import NotOneLine
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.settings import BadSettings

PROBLEMS = (Mistake, BadSettings, NotOnFile, AlreadyOnFile, NotOneLine, GatewayError, asyncpg.PostgresError, OSError)

Given = ParamSpec("Given")


def command(
    *refusals: type[Exception],
) -> Callable[[Callable[Given, Coroutine[None, None, None] | None]], Callable[Given, None]]:
    """Of a coroutine, or of a function that may return one. `refusals`: what else it raises with a sentence to tell."""

    def decorate(act: Callable[Given, Coroutine[None, None, None] | None]) -> Callable[Given, None]:
        @wraps(act)
        def run(*arguments: Given.args, **options: Given.kwargs) -> None:
            try:
                acting = act(*arguments, **options)
                if acting is not None:
                    asyncio.run(acting)
            except BrokenPipeError:
                raise
            except (*PROBLEMS, *refusals) as problem:
                complain(in_words(problem))
                raise typer.Exit(1) from None

        return run

    return decorate


def in_words(problem: Exception) -> str:
    """The first entry that fits, or the problem's own words."""
    told: dict[type[Exception], str] = {
        BadSettings: f"The settings cannot be used:\n{problem}",
        GatewayError: "The database did not answer. Is it up, and is TOLLKEEPER_DATABASE_URL right?\n"
        "If this command was to change something, look before you repeat it.",
        asyncpg.UndefinedTableError: "The database has no Tollkeeper schema yet. Run 'tollkeeper migrate' first.",
        asyncpg.InvalidParameterValueError: f"The database refused the session: {problem}.\nRun 'tollkeeper migrate' "
        "first, and make the login of TOLLKEEPER_DATABASE_URL a member of the tollkeeper_* roles.",
        asyncpg.CheckViolationError: "Nothing was changed: a value is out of its range "
        f"({getattr(problem, 'constraint_name', '')}).",
        asyncpg.LockNotAvailableError: "Others hold what was to be changed, and it was left as it is. Repeat the "
        "command in a moment.",
        asyncpg.PostgresError: f"Nothing was changed: the database refused ({problem}).",
        OSError: f"{problem}. Is the database up, and is TOLLKEEPER_DATABASE_URL right?",
    }
    return next((words for kind, words in told.items() if isinstance(problem, kind)), str(problem))
