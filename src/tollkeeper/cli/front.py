"""`front`: what stands before the gateway."""

import logging.config

import typer
import uvloop

from tollkeeper.app.front import front as run_front
from tollkeeper.cli.command import command
from tollkeeper.cli.descriptors import allowed_connections
from tollkeeper.cli.process import LOGGING, need_port, until_stopped
from tollkeeper.cli.speak import settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code


def register(app: typer.Typer) -> None:
    app.command()(front)


@command()
def front() -> None:
    """Stand before `serve`: let only well-formed requests through, and few connections per IP."""
    chosen = settings_or_complain()
    refuse_unknown_startup_code(chosen.startup_files)
    need_port(chosen.front_host, chosen.front_port, "TOLLKEEPER_FRONT_PORT")
    logging.config.dictConfig(LOGGING)
    allowed_connections(chosen.connections)
    where = f"{chosen.front_host}:{chosen.front_port}, before {chosen.host}:{chosen.port}"
    uvloop.run(until_stopped(run_front(chosen), f"the front listens on {where}"))
