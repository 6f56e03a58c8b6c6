"""`console`: pages and the operator API."""

import logging
import logging.config
from functools import partial

import typer
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from tollkeeper.app.console import console as console_application
from tollkeeper.app.first_look import DatabaseRole
from tollkeeper.cli.command import command
from tollkeeper.cli.descriptors import allowed_connections
from tollkeeper.cli.process import KILL_AFTER_SECONDS, LOGGING, need_database, need_peppers, need_port
from tollkeeper.cli.speak import settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core_dumps import forbid_core_dumps


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
    # A chat has a connection to its reader and one to the gateway.
    connections = allowed_connections(chosen.connections)
    where = f"http://{chosen.console_host}:{chosen.console_port}"
    logging.getLogger(__name__).info("the console listens on %s", where)
    Granian(
        "tollkeeper.app.console:console",
        address=chosen.console_host,
        port=chosen.console_port,
        interface=Interfaces.ASGI,
        workers=chosen.console_workers,
        websockets=False,
        http=HTTPModes.http1,
        backpressure=connections,
        http1_settings=HTTP1Settings(header_read_timeout=round(chosen.idle_seconds * 1_000)),
        workers_kill_timeout=KILL_AFTER_SECONDS,
        respawn_failed_workers=True,
        log_dictconfig=LOGGING,
        # The server sets its own logger's level by this, whatever the configuration says.
        log_level=LogLevels.warning,
    ).serve(target_loader=partial(console_application, chosen), wrap_loader=False)
