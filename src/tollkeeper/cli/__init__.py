"""The command line: one file per family of commands, put together here."""

import asyncpg
import typer

from tollkeeper import __version__
from tollkeeper.cli import books, catalog, customers, process
from tollkeeper.cli.speak import complain, say
from tollkeeper.core.errors import GatewayError
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.settings import BadSettings

app = typer.Typer(
    help="Tollkeeper: a model gateway that keeps honest books.", no_args_is_help=True, add_completion=False
)


@app.command()
def version() -> None:
    """Say which version this is."""
    say(__version__)


for register in (process.register, customers.register, catalog.register, books.register):
    register(app)


def run() -> int:
    """Run the command; what people can mend is told in a sentence, not as a traceback."""
    try:
        app()
    except BadSettings as problem:
        complain(f"The settings cannot be used:\n{problem}")
    except (NotOnFile, AlreadyOnFile) as problem:
        complain(str(problem))
    except GatewayError as problem:
        complain(f"{problem.message}\nIs the database up, and is TOLLKEEPER_DATABASE_URL right?")
    except asyncpg.UndefinedTableError:
        complain("The database has no Tollkeeper schema yet. Run 'tollkeeper migrate' first.")
    except asyncpg.InvalidParameterValueError as problem:
        complain(
            f"The database refused the session: {problem}.\nRun 'tollkeeper migrate' first, and make the login of "
            f"TOLLKEEPER_DATABASE_URL a member of the tollkeeper_* roles."
        )
    except asyncpg.CheckViolationError as problem:
        complain(f"Nothing was changed: a value is out of its range ({problem.constraint_name}).")
    else:
        return 0
    return 1
