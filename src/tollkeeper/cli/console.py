"""`console`: pages and the operator API."""

import logging
import logging.config
from functools import partial

import typer

from tollkeeper.app.console import console as console_application
from tollkeeper.app.first_look import DatabaseRole
from tollkeeper.cli.command import command
from tollkeeper.cli.descriptors import connection_limits
from tollkeeper.cli.process import KILL_AFTER_SECONDS, LOGGING, bound, need_database, need_peppers, need_port
from tollkeeper.cli.speak import settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.server.asgi import application_of
from tollkeeper.server.listener import ConnectionLimits
from tollkeeper.server.worker import Served
from tollkeeper.server.workers import Workers
from tollkeeper.settings import Settings


def register(app: typer.Typer) -> None:
    app.command()(console)


@command()
def console() -> None:
    """Serve the customers' console until stopped."""
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    need_port(chosen.console_host, chosen.console_port, "TOLLKEEPER_CONSOLE_PORT")
    need_port(chosen.metrics_host, chosen.console_metrics_port, "TOLLKEEPER_CONSOLE_METRICS_PORT")
    need_peppers(chosen, DatabaseRole.CONSOLE)
    logging.config.dictConfig(LOGGING)
    need_database(chosen, DatabaseRole.CONSOLE)
    where = f"http://{chosen.console_host}:{chosen.console_port}"
    logging.getLogger(__name__).info("the console listens on %s", where)
    listening = bound(chosen.console_host, chosen.console_port, "TOLLKEEPER_CONSOLE_PORT")
    raise typer.Exit(
        Workers(
            partial(_served, chosen, connection_limits(chosen)),
            listening,
            count=chosen.console_workers,
            kill_after_seconds=KILL_AFTER_SECONDS,
        ).run()
    )


def _served(chosen: Settings, limits: ConnectionLimits) -> Served:
    return Served(application_of(console_application(chosen)), limits)
