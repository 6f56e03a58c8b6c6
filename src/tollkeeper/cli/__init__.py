"""The command line: one file per family of commands, put together here."""

import asyncpg
import typer

from tollkeeper import __version__
from tollkeeper.cli import (
    abuse,
    books,
    calls,
    catalog,
    codes,
    customers,
    demo,
    groups,
    jobs,
    keys,
    logins,
    lots,
    partner,
    prices,
    process,
    providers,
    top_ups,
    usage,
)
from tollkeeper.cli.speak import complain, say
from tollkeeper.core.errors import GatewayError
from tollkeeper.core.one_line import NotOneLine
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.settings import BadSettings

app = typer.Typer(
    help="Tollkeeper: a model gateway that keeps honest books.", no_args_is_help=True, add_completion=False
)


@app.command()
def version() -> None:
    """Say which version this is."""
    say(__version__)


for family in (
    process,
    customers,
    keys,
    logins,
    codes,
    top_ups,
    partner,
    groups,
    catalog,
    prices,
    lots,
    providers,
    abuse,
    books,
    calls,
    usage,
    jobs,
    demo,
):
    family.register(app)


def run() -> int:
    """Run the command; what people can mend is told in a sentence, not as a traceback."""
    # Before any secret is read. `serve` and `work` allow more where the settings say so.
    forbid_core_dumps()
    try:
        app()
    except (BadSettings, NotOnFile, AlreadyOnFile, NotOneLine, GatewayError, asyncpg.PostgresError, OSError) as problem:
        complain(in_words(problem))
        return 1
    return 0


def in_words(problem: Exception) -> str:
    """The first entry that fits."""
    told: dict[type[Exception] | tuple[type[Exception], ...], str] = {
        BadSettings: f"The settings cannot be used:\n{problem}",
        (NotOnFile, AlreadyOnFile, NotOneLine): str(problem),
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
    return next(words for kind, words in told.items() if isinstance(problem, kind))
