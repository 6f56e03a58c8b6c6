"""`serve`: the gateway."""

import logging
import logging.config
from functools import partial

import typer

from tollkeeper.app.extras import missing_extra
from tollkeeper.app.first_look import DatabaseRole
from tollkeeper.app.gateway import gateway
from tollkeeper.app.journal import check_journal
from tollkeeper.cli.command import command
from tollkeeper.cli.descriptors import connection_limits
from tollkeeper.cli.process import KILL_AFTER_SECONDS, LOGGING, bound, need_database, need_peppers, need_port
from tollkeeper.cli.speak import Mistake, settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core.errors import ForOperators
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.server.listener import ConnectionLimits
from tollkeeper.server.worker import Served
from tollkeeper.server.workers import Workers
from tollkeeper.settings import BadSettings, Settings


def register(app: typer.Typer) -> None:
    app.command()(serve)


@command()
def serve() -> None:
    """Serve calls until stopped."""
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    _need_what_serves(chosen)
    need_port(chosen.host, chosen.port, "TOLLKEEPER_PORT")
    need_port(chosen.metrics_host, chosen.metrics_port, "TOLLKEEPER_METRICS_PORT")
    need_peppers(chosen, DatabaseRole.GATEWAY)
    logging.config.dictConfig(LOGGING)
    need_database(chosen, DatabaseRole.GATEWAY)
    logging.getLogger(__name__).info("node %s listens on http://%s:%d", chosen.node, chosen.host, chosen.port)
    raise typer.Exit(
        Workers(
            partial(_served, chosen, connection_limits(chosen)),
            bound(chosen.host, chosen.port, "TOLLKEEPER_PORT"),
            count=chosen.workers,
            renewed=gateway_as_set,
            kill_after_seconds=chosen.lame_duck_seconds + chosen.drain_seconds + KILL_AFTER_SECONDS,
        ).run()
    )


def _served(chosen: Settings, limits: ConnectionLimits) -> Served:
    return Served(gateway(chosen), limits)


def gateway_as_set() -> Served:
    """What a worker serves that follows another after SIGHUP: by the settings of that moment, if the node could begin
    with them."""
    logging.config.dictConfig(LOGGING)
    try:
        chosen = settings_or_complain()
        refuse_unknown_startup_code(chosen.startup_files)
        _need_what_serves(chosen)
        need_peppers(chosen, DatabaseRole.GATEWAY)
        return _served(chosen, connection_limits(chosen))
    except (BadSettings, ForOperators, Mistake) as problem:
        logging.getLogger(__name__).error("a worker cannot begin: %s", problem)
        raise SystemExit(1) from None


def _need_what_serves(chosen: Settings) -> None:
    check_journal(chosen)
    if told := missing_extra(chosen):
        raise Mistake(told)
