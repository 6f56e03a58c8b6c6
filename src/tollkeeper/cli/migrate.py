"""`migrate`: the schema. Alembic and SQLAlchemy take 0.4 s and 30 MB to load; every other command does without."""

from collections.abc import Coroutine
from typing import Annotated

import typer

from tollkeeper.app import schema
from tollkeeper.cli.command import command
from tollkeeper.cli.speak import say, settings_or_complain


def register(app: typer.Typer) -> None:
    app.command()(migrate)


@command()
def migrate(
    roles_only: Annotated[
        bool,
        typer.Option("--roles-only", help="Make the roles that a dump needs before it is restored, and nothing else."),
    ] = False,
) -> Coroutine[None, None, None] | None:
    """Bring the database's schema up to date."""
    if roles_only:
        return _say_done(schema.make_roles(settings_or_complain()))
    done = schema.migrate(settings_or_complain(), say)
    if done.grants:
        say("This login may migrate, but not serve. Let it, as an administrator of the server, or serve with others:")
        for line in done.grants:
            say(f"    {line}")
    say(f"The schema is at revision {schema.newest_revision()}" + ("." if done.steps else ", as it was before."))
    return None


async def _say_done(making: Coroutine[None, None, None]) -> None:
    await making
    say("The roles are there. Restore the dump into an empty database, then run 'tollkeeper migrate'.")
